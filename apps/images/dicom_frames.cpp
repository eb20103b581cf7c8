#include "apps/images/dicom_frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include "apps/images/dicom_data_set.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

// PS3.6
constexpr DicomTag sop_class = 0x00080016, slice_thickness = 0x00180050, spacing_between_slices = 0x00180088,
                   imager_pixel_spacing = 0x00181164, nominal_pixel_spacing = 0x00182010, position_patient = 0x00200032,
                   orientation_patient = 0x00200037, stack_id = 0x00209056, frame_content = 0x00209111,
                   plane_position = 0x00209113, plane_orientation = 0x00209116, temporal_position = 0x00209128,
                   position_volume = 0x00209301, orientation_volume = 0x00209302, plane_position_volume = 0x0020930e,
                   plane_orientation_volume = 0x0020930f, samples = 0x00280002, number_of_frames = 0x00280008,
                   frame_increment_pointer = 0x00280009, rows_tag = 0x00280010, columns_tag = 0x00280011,
                   bits_allocated = 0x00280100, pixel_spacing = 0x00280030, rescale_intercept = 0x00281052,
                   rescale_slope = 0x00281053, modality_lut = 0x00283000, pixel_measures = 0x00289110,
                   value_transformation = 0x00289145, detector_information = 0x00540022,
                   grid_frame_offsets = 0x3004000c, dose_grid_scaling = 0x3004000e, shared_groups = 0x52009229,
                   frame_groups = 0x52009230;

class Frames {
 public:
  Frames(const DicomDataSet& file, const std::string& path) : file_(file), path_(path) {}

  DicomFrames read() {
    out_.columns = file_.whole(columns_tag).value_or(0);
    out_.rows = file_.whole(rows_tag).value_or(0);
    const auto count = file_.numbers(number_of_frames);
    if (!count.empty()) {
      if (!(count[0] >= 1 && count[0] <= 1e7) || count[0] != std::floor(count[0]))
        refuse(fmt::format("NumberOfFrames is '{}'; a whole number from 1 is expected", file_.text(number_of_frames)));
      out_.count = static_cast<std::size_t>(count[0]);
      if (const auto bytes = std::filesystem::file_size(path_); out_.count > bytes)
        refuse(fmt::format("it is truncated: NumberOfFrames is {}, and the file has {} bytes", out_.count, bytes));
    }
    const auto groups = file_.items(frame_groups).size();
    out_.functional_groups = groups > 0 || !file_.items(shared_groups).empty();
    if (groups > 0 && groups != out_.count)
      refuse(fmt::format("it has {} frames, but {} functional groups of frames; it is damaged, or cut", out_.count,
                         groups));
    if (file_.whole(bits_allocated) == 1u)  // before GDCM, which ends the process over some
      throw InputError(
          fmt::format("'{}' has pixels of 1 bit; 8, 16 and 32 are read; convert it to grey values in .mha, .nrrd or "
                      "usual DICOM",
                      path_));
    require_all_pixels();
    read_rescales();
    for (std::size_t n = 0; n < out_.count; ++n) out_.pixels.push_back(pixels(n));
    if (out_.functional_groups)
      places_of_groups();
    else
      places_without_groups();
    if (out_.places.empty() && out_.guess.empty())
      out_.guess = fmt::format(
          "its frames have no positions; taken for slices {:.6g} mm apart (SpacingBetweenSlices), in their order",
          std::abs(out_.between));
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { throw InputError(fmt::format("'{}': {}", path_, why)); }

  // Colours, and pixels of other sizes, are refused by what reads the pixels.
  void require_all_pixels() const {
    const auto bits = file_.whole(bits_allocated).value_or(0);
    if (!file_.pixel_bytes() || file_.whole(samples).value_or(1) != 1 || (bits != 8 && bits != 16 && bits != 32))
      return;
    const double needed = static_cast<double>(out_.rows) * static_cast<double>(out_.columns) *
                          static_cast<double>(out_.count) * (bits / 8.0);
    if (static_cast<double>(*file_.pixel_bytes()) < needed)
      throw InputError(
          fmt::format("'{}' is truncated: its pixel data has {} bytes, {} x {} x {} pixels of {} bits need {:.0f}",
                      path_, *file_.pixel_bytes(), out_.rows, out_.columns, out_.count, bits, needed));
  }

  // The item of a functional group that holds for a frame; the file itself if there is none.
  const DicomDataSet* group(DicomTag sequence, std::size_t frame) const {
    const auto& own = file_.items(frame_groups);
    if (frame < own.size() && !own[frame].items(sequence).empty()) return &own[frame].items(sequence).front();
    const auto& shared = file_.items(shared_groups);
    if (!shared.empty() && !shared.front().items(sequence).empty()) return &shared.front().items(sequence).front();
    return nullptr;
  }
  std::vector<double> numbers(DicomTag sequence, DicomTag tag, std::size_t frame) const {
    if (const auto* item = group(sequence, frame); item != nullptr && item->has(tag)) return item->numbers(tag);
    return top(tag);
  }
  // The place of the file; nuclear medicine keeps places with its detectors.
  std::vector<double> top(DicomTag tag) const {
    const auto& detectors = file_.items(detector_information);
    return file_.has(tag) || detectors.empty() ? file_.numbers(tag) : detectors.front().numbers(tag);
  }
  std::vector<double> volume_numbers(DicomTag sequence, DicomTag tag, std::size_t frame) const {
    const auto* item = group(sequence, frame);
    return item == nullptr ? std::vector<double>{} : item->doubles(tag);
  }

  void require_finite(const std::vector<double>& values, const char* attribute) const {
    if (!std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); }))
      refuse(fmt::format("{} holds something else than finite numbers", attribute));
  }

  void read_rescales() {
    if (file_.has(modality_lut) && !file_.items(modality_lut).empty())
      refuse("its values go through a table (Modality LUT), which is not applied here; convert it to rescaled values");
    const auto in_groups = [&](DicomTag tag) {
      for (std::size_t n = 0; n < out_.count; ++n)
        if (const auto* item = group(value_transformation, n); item != nullptr && item->has(tag)) return true;
      return false;
    };
    const bool slopes = in_groups(rescale_slope), intercepts = in_groups(rescale_intercept);
    std::vector<StatedRescale> all;
    for (std::size_t n = 0; n < out_.count; ++n) {
      require_one_rescale(n);
      const auto* item = group(value_transformation, n);
      all.push_back({stated(slopes ? item : &file_, rescale_slope, "RescaleSlope"),
                     stated(intercepts ? item : &file_, rescale_intercept, "RescaleIntercept"),
                     stated(&file_, dose_grid_scaling, "DoseGridScaling"), fmt::format("frame {}", n + 1)});
      out_.rescales.push_back(scaling_of(all.back(), n));
    }
    require_rescales_of_all(all, fmt::format("'{}'", path_));
    out_.stated = all.front();
    out_.stated.name = fmt::format("'{}'", path_);
  }

  std::optional<double> stated(const DicomDataSet* where, DicomTag tag, const char* attribute) const {
    const auto values = where == nullptr ? std::vector<double>{} : where->numbers(tag);
    require_finite(values, attribute);
    return values.empty() ? std::nullopt : std::optional(values.front());
  }

  // Refuses a frame's value that contradicts that of all frames.
  void require_one_rescale(std::size_t frame) const {
    const auto& own = file_.items(frame_groups);
    const auto& shared = file_.items(shared_groups);
    if (frame >= own.size() || shared.empty()) return;
    const auto &one = own[frame].items(value_transformation), &all = shared.front().items(value_transformation);
    if (one.empty() || all.empty()) return;
    for (const auto& [tag, attribute] :
         {std::pair(rescale_slope, "RescaleSlope"), std::pair(rescale_intercept, "RescaleIntercept")})
      if (one.front().numbers(tag) != all.front().numbers(tag))
        refuse(
            fmt::format("frame {} has the {} '{}', but all frames together (SharedFunctionalGroupsSequence) have "
                        "'{}': which of the two holds is not known; leave one of them out",
                        frame + 1, attribute, one.front().text(tag), all.front().text(tag)));
  }

  Scaling scaling_of(const StatedRescale& from, std::size_t frame) const {
    const Scaling dose{from.dose.value_or(1), 0};
    if (dose.slope == 0) refuse("DoseGridScaling is 0, which leaves nothing of its values");
    if (dose.slope != 1) return dose;
    const Scaling scaling{from.slope.value_or(1), from.intercept.value_or(0)};
    if (scaling.slope == 0)
      refuse(fmt::format("RescaleSlope{} is 0, which leaves nothing of its values",
                         out_.functional_groups ? fmt::format(" of frame {}", frame + 1) : ""));
    return scaling;
  }

  std::array<double, 2> pixels(std::size_t frame) {
    const std::pair<const char*, std::vector<double>> all[] = {
        {"PixelSpacing", numbers(pixel_measures, pixel_spacing, frame)},
        {"ImagerPixelSpacing", file_.numbers(imager_pixel_spacing)},
        {"NominalScannedPixelSpacing", file_.numbers(nominal_pixel_spacing)}};
    for (const auto& [attribute, values] : all)
      if (!values.empty()) {
        if (frame == 0) out_.pixels_from = attribute;
        if (values.size() != 2 || !(values[0] > 0 && values[1] > 0))
          refuse(fmt::format("the pixel spacing of frame {} is no pair of positive numbers", frame + 1));
        return {values[1], values[0]};  // the distance of rows comes first
      }
    return {0, 0};
  }

  // Other attributes that distinguish frames of one place.
  std::string kind(std::size_t frame) const {
    const auto* content = group(frame_content, frame);
    if (content == nullptr) return {};
    std::string text;
    if (const auto stack = content->text(stack_id); !stack.empty()) text = fmt::format("stack '{}'", stack);
    if (const auto time = content->whole(temporal_position))
      text += fmt::format("{}temporal position {}", text.empty() ? "" : ", ", *time);
    return text;
  }

  SlicePlace place(std::size_t frame, const std::vector<double>& position, const std::vector<double>& orientation) {
    SlicePlace out;
    std::copy_n(position.begin(), 3, out.position.begin());
    std::copy_n(orientation.begin(), 6, out.orientation.begin());
    out.spacing = out_.pixels[frame];
    out.size = {out_.columns, out_.rows};
    out.name = out_.count == 1 ? fmt::format("'{}'", path_) : fmt::format("frame {} of '{}'", frame + 1, path_);
    out.group = kind(frame);
    return out;
  }

  void places_of_groups() {
    std::vector<std::size_t> without;
    for (std::size_t n = 0; n < out_.count; ++n) {
      auto position = numbers(plane_position, position_patient, n);
      auto orientation = numbers(plane_orientation, orientation_patient, n);
      if (position.empty()) position = volume_numbers(plane_position_volume, position_volume, n);
      if (orientation.empty()) orientation = volume_numbers(plane_orientation_volume, orientation_volume, n);
      require_place(n, position, orientation);
      if (position.size() == 3 && orientation.size() == 6)
        out_.places.push_back(place(n, position, orientation));
      else
        without.push_back(n);
    }
    if (!without.empty() && !out_.places.empty())
      refuse(fmt::format("frame {} has no position or orientation, unlike {} of {} others; remove such frames",
                         without.front() + 1, out_.places.size(), out_.count - 1));
    require_orientation();
    if (out_.places.empty() || out_.count == 1) steps_without_places();
  }

  // Requires nothing, or three and six numbers; an orientation where there is a position. GDCM ends the process over
  // some others.
  void require_place(std::size_t frame, const std::vector<double>& position,
                     const std::vector<double>& orientation) const {
    const auto& own = file_.items(frame_groups);
    if (frame < own.size() && own[frame].has(plane_position) && own[frame].items(plane_position).empty())
      refuse(
          fmt::format("frame {} has a PlanePositionSequence without an item; write its position, or leave the "
                      "sequence out",
                      frame + 1));
    require_counts(fmt::format("frame {}", frame + 1), position, orientation);
    if (!position.empty() && orientation.empty())
      refuse(
          fmt::format("frame {} has a position, but no orientation (PlaneOrientationSequence): where its pixels "
                      "lie is not known; write the orientation, or convert the file to .mha",
                      frame + 1));
  }

  void require_counts(const std::string& of, const std::vector<double>& position,
                      const std::vector<double>& orientation) const {
    const auto require = [&](const char* what, const std::vector<double>& numbers, std::size_t expected) {
      require_finite(numbers, fmt::format("the {} of {}", what, of).c_str());
      if (!numbers.empty() && numbers.size() != expected)
        refuse(fmt::format("the {} of {} has {} numbers, {} are expected; write it again, or convert the file to .mha",
                           what, of, numbers.size(), expected));
    };
    require("position", position, 3);
    require("orientation", orientation, 6);
  }

  // GDCM ends the process over files of these kinds that say none, whatever they say of a volume's.
  void require_orientation() const {
    static const std::string root = "1.2.840.10008.5.1.4.1.1.";
    static constexpr std::string_view kinds[] = {"2.1",  "2.2",      "4.1",    "4.3",    "4.4",    "7.2",
                                                 "7.3",  "13.1.1",   "13.1.2", "13.1.3", "13.1.4", "13.1.5",
                                                 "66.4", "77.1.5.4", "128.1",  "130"};
    const std::string kind = file_.text(sop_class);
    const auto listed = [&](std::string_view each) { return kind == root + std::string(each); };
    if (std::none_of(std::begin(kinds), std::end(kinds), listed)) return;
    for (std::size_t n = 0; n < out_.count; ++n)
      if (!numbers(plane_orientation, orientation_patient, n).empty()) return;
    refuse(
        fmt::format("its frames have no orientation (PlaneOrientationSequence), which is needed to read DICOM of its "
                    "kind ({}); write the orientation, or convert the file to .mha",
                    kind));
  }

  void places_without_groups() {
    const auto position = top(position_patient), orientation = top(orientation_patient);
    require_counts("the image", position, orientation);
    steps_without_places();
    if (position.empty() || orientation.empty()) return;
    const auto offsets = offsets_along_normal(orientation);
    const auto n = normal(orientation);
    for (std::size_t frame = 0; frame < out_.count; ++frame) {
      out_.places.push_back(place(frame, position, orientation));
      for (int w = 0; w < 3; ++w) out_.places.back().position[static_cast<std::size_t>(w)] += offsets[frame] * n[w];
    }
  }

  static std::array<double, 3> normal(const std::vector<double>& o) {
    return {o[1] * o[5] - o[2] * o[4], o[2] * o[3] - o[0] * o[5], o[0] * o[4] - o[1] * o[3]};
  }

  // Distances of each frame from the first.
  std::vector<double> offsets_along_normal(const std::vector<double>& orientation) {
    auto offsets = file_.numbers(grid_frame_offsets);
    if (offsets.size() == out_.count && out_.count > 1) {
      require_finite(offsets, "GridFrameOffsetVector");
      out_.guess.clear();
      const double first = offsets.front();
      // offsets that do not begin with 0 are z coordinates
      const double sense = first != 0 ? normal(orientation)[2] : 1;
      if (std::abs(std::abs(sense) - 1) > 1e-4)
        refuse(
            "GridFrameOffsetVector does not begin with 0, and so holds z coordinates, but its planes are oblique; "
            "convert it to one whose planes have positions of their own");
      for (double& offset : offsets) offset = (offset - first) * (sense < 0 ? -1 : 1);
      return offsets;
    }
    if (!offsets.empty() && out_.count > 1)
      refuse(fmt::format("GridFrameOffsetVector has {} numbers for {} frames", offsets.size(), out_.count));
    offsets.resize(out_.count);
    for (std::size_t n = 0; n < out_.count; ++n) offsets[n] = static_cast<double>(n) * out_.between;
    return offsets;
  }

  void steps_without_places() {
    const auto first = [&](DicomTag tag) {
      const auto values = numbers(pixel_measures, tag, 0);
      require_finite(values, tag == slice_thickness ? "SliceThickness" : "SpacingBetweenSlices");
      return values.empty() ? 0 : values.front();
    };
    const double between = first(spacing_between_slices), thickness = first(slice_thickness);
    out_.between = between != 0 ? between : thickness > 0 ? thickness : 1;
    if (between != 0) return;
    const std::string_view pointer = file_.has(frame_increment_pointer) ? times() : "";
    out_.guess = fmt::format("its frames have neither positions nor a distance{}; taken for slices {:.6g} mm apart{}",
                             pointer, out_.between, thickness > 0 ? ", which is their thickness (SliceThickness)" : "");
  }

  std::string_view times() const {
    const auto pointer = file_.whole(frame_increment_pointer).value_or(0);
    // the group comes first, 2 bytes each
    return (pointer & 0xffff) == 0x0018 || pointer >> 16 == 0x0018 ? ", and follow each other in time" : "";
  }

  const DicomDataSet& file_;
  const std::string& path_;
  DicomFrames out_;
};

}  // namespace

std::optional<DicomFrames> read_dicom_frames(const std::string& path) {
  const auto file = read_dicom_data_set(path);
  if (!file || !file->has(rows_tag) || !file->has(columns_tag)) return {};
  return Frames(*file, path).read();
}

}  // namespace halocline

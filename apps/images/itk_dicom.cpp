#include "apps/images/itk_dicom.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <itkGDCMSeriesFileNames.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

#include "apps/images/dicom_frames.hpp"
#include "apps/images/dicom_rescale.hpp"
#include "apps/images/itk_image.hpp"
#include "apps/images/new_warning.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

bool read_here(const DicomFrames& frames) {
  return frames.count > 1 || frames.functional_groups;
}

itk::GDCMSeriesFileNames::Pointer names_in(const std::string& folder) {
  auto names = itk::GDCMSeriesFileNames::New();
  names->SetUseSeriesDetails(false);
  names->SetDirectory(folder);
  return names;
}

// Warns once of each `about`: headers are read again and again.
void warn_once(const std::string& about, const std::string& path, const std::string& text) {
  if (!text.empty() && is_new_warning(about)) spdlog::warn("'{}': {}", path, text);
}

void warn_of_guess(const std::string& path, const std::string& guess) {
  warn_once("distance " + path, path, guess);
}

struct Piece {
  std::string file;
  std::optional<DicomFrames> frames;  // nothing for a file of one image that ITK places
  Component component = Component::float32;
  Scaling applied;  // by ITK, to each frame
  std::size_t count() const { return frames ? frames->count : 1; }
  bool rescaled_otherwise() const {
    return frames && std::any_of(frames->rescales.begin(), frames->rescales.end(),
                                 [&](const Scaling& own) { return !(own == applied); });
  }
};

class DicomStack {
 public:
  DicomStack(const std::vector<std::string>& files, const std::string& name) : name_(name) {
    for (const std::string& file : files) {
      check_interrupt();
      add(file, files.size() > 1);
    }
    require_rescales_of_all(stated_, fmt::format("the DICOM series in '{}'", name));
    stack_ = stack_slices(places_, files.size() > 1 ? fmt::format("the DICOM series in '{}'", name)
                                                    : fmt::format("the DICOM file '{}'", name));
    if (places_.size() == 1) stack_.grid.spacing[2] = single_spacing_;
    component_ = pieces_.front().component;
    for (const Piece& piece : pieces_)
      if (piece.component != component_ || piece.rescaled_otherwise()) component_ = Component::float32;
  }

  ImageInfo info() const {
    return {stack_.grid, component_name(component_), pieces_.size() > 1 ? "DICOM series" : "DICOM", {}};
  }

  // The files in the order of their places, of one frame each.
  std::vector<std::string> files_in_order() const {
    std::vector<std::string> out;
    for (const std::size_t n : stack_.order) out.push_back(pieces_[n].file);
    return out;
  }

  TypedVolume read() const {
    check_grid(stack_.grid, "'" + name_ + "'");
    TypedVolume out(stack_.grid, component_);
    std::vector<std::size_t> place(stack_.order.size());  // places of each frame, in the order of the files
    for (std::size_t n = 0; n < place.size(); ++n) place[stack_.order[n]] = n;
    const std::size_t slice = stack_.grid.slice();
    std::size_t frame = 0;
    for (const Piece& piece : pieces_) {
      check_interrupt();
      const TypedVolume read = piece.frames ? read_itk_frames(piece.file) : read_itk_typed(piece.file);
      if (read.grid.count() != slice * piece.count())
        throw InputError(fmt::format("'{}' was changed while it was read", piece.file));
      const std::size_t from_bytes = slice * component_bytes(read.component),
                        to_bytes = slice * component_bytes(component_);
      for (std::size_t n = 0; n < piece.count(); ++n, ++frame) {
        const std::byte* from = read.bytes() + n * from_bytes;
        std::byte* to = out.bytes() + place[frame] * to_bytes;
        if (component_ == read.component && !piece.rescaled_otherwise())
          std::memcpy(to, from, from_bytes);
        else
          convert_to_float(read.component, from, false, reinterpret_cast<float*>(to), slice, meaning(piece, n));
      }
    }
    return out;
  }

 private:
  // The scaling from ITK's value of a stored number to the frame's.
  static Scaling meaning(const Piece& piece, std::size_t frame) {
    if (!piece.frames) return {};
    const Scaling own = piece.frames->rescales[frame];
    if (own == piece.applied) return {};
    const double slope = own.slope / piece.applied.slope;
    return {slope, own.offset - slope * piece.applied.offset};
  }

  void add(const std::string& file, bool several) {
    auto frames = read_dicom_frames(file);
    if (several && frames && frames->places.empty())
      throw InputError(
          fmt::format("'{}' of the DICOM series in '{}' does not say where it lies (ImagePositionPatient and "
                      "ImageOrientationPatient); a volume is made of slices that do",
                      file, name_));
    if (frames) stated_.push_back(frames->stated);
    Piece piece{file, {}, {}, {}};
    if (!frames || !read_here(*frames)) {
      const ImageInfo info = read_itk_image_info(file);
      piece.component = component_named(info.component);
      add_place(info.grid, file);
    } else {
      const ImageInfo info = read_itk_frames_info(file);
      piece.component = component_named(info.component);
      piece.applied = info.scaling;
      if (piece.applied.slope == 0) piece.applied = {1, 0};
      if (info.grid.count() != frames->columns * frames->rows * frames->count)
        throw InputError(fmt::format("'{}' has {} frames of {} x {} pixels by its header, but {} in its pixel data",
                                     file, frames->count, frames->columns, frames->rows,
                                     fmt::join(info.grid.size, " x ")));
      single_spacing_ = std::abs(frames->between) > 0 ? std::abs(frames->between) : 1;
      add_places(*frames, info.grid, file);
      piece.frames = std::move(frames);
    }
    pieces_.push_back(std::move(piece));
  }

  void add_place(const Grid& grid, const std::string& file) {
    SlicePlace place;
    place.position = grid.origin;
    place.orientation = {grid.direction[0], grid.direction[3], grid.direction[6],
                         grid.direction[1], grid.direction[4], grid.direction[7]};
    place.spacing = {grid.spacing[0], grid.spacing[1]};
    place.size = {grid.size[0], grid.size[1]};
    place.name = fmt::format("'{}'", file);
    places_.push_back(place);
  }

  // itk: the grid that ITK has for the file, of which no more is used than what the file itself leaves open.
  void add_places(const DicomFrames& frames, const Grid& itk, const std::string& file) {
    if (frames.pixels_from.empty())
      warn_once("pixels " + file, file,
                fmt::format("it has no PixelSpacing; its pixels are taken for {:.6g} x {:.6g} mm", itk.spacing[0],
                            itk.spacing[1]));
    const auto pixels = [&](std::size_t frame) {
      return frames.pixels[frame][0] > 0 ? frames.pixels[frame] : std::array{itk.spacing[0], itk.spacing[1]};
    };
    if (!frames.places.empty()) {
      for (std::size_t n = 0; n < frames.places.size(); ++n) {
        places_.push_back(frames.places[n]);
        places_.back().spacing = pixels(n);
      }
      if (frames.count > 1 && !frames.functional_groups) warn_of_guess(file, frames.guess);
      return;
    }
    warn_of_guess(file, frames.count > 1 ? frames.guess : "");
    for (std::size_t n = 0; n < frames.count; ++n) {
      Grid frame = itk;
      for (int w = 0; w < 3; ++w)
        frame.origin[w] += static_cast<double>(n) * std::abs(frames.between) * itk.direction[3 * w + 2];
      add_place(frame, file);
      places_.back().spacing = pixels(n);
      places_.back().name = fmt::format("frame {} of '{}'", n + 1, file);
    }
  }

  std::string name_;
  std::vector<Piece> pieces_;
  std::vector<SlicePlace> places_;     // frames of all files, file by file
  std::vector<StatedRescale> stated_;  // number of each file
  SliceStack stack_;
  Component component_ = Component::float32;
  double single_spacing_ = 1;
};

}  // namespace

bool holds_dicom_frames(const std::string& path) {
  check_input_file(path, "'" + path + "'");
  const auto frames = read_dicom_frames(path);
  return frames && read_here(*frames);
}

void warn_of_unsaid_pixels(const std::string& path, const Grid& itk) {
  if (itk.spacing[0] != 1 || itk.spacing[1] != 1) return;
  const auto frames = read_dicom_frames(path);
  if (!frames || frames->pixels_from == "PixelSpacing") return;
  std::string text = "it has no PixelSpacing; its pixels are taken for 1 x 1 mm";
  if (!frames->pixels_from.empty())
    text += fmt::format(", although {} says {:.6g} mm", frames->pixels_from, fmt::join(frames->pixels.front(), " x "));
  warn_once("pixels in " + std::filesystem::path(path).parent_path().string(), path, text);
}

bool holds_dicom_series(const std::string& folder) {
  return !names_in(folder)->GetSeriesUIDs().empty();
}

std::vector<std::string> dicom_series_files(const std::string& folder) {
  const auto names = names_in(folder);
  const auto& series = names->GetSeriesUIDs();
  if (series.empty())
    throw InputError(fmt::format(
        "the folder '{}' holds no DICOM series and no TIFF files; name a file, a folder of DICOM slices or of "
        "TIFF files, or a series by a pattern such as 'proj*.tif'",
        folder));
  if (series.size() > 1)
    throw InputError(fmt::format("the folder '{}' holds {} DICOM series ({}); put one of them into a folder of its own",
                                 folder, series.size(), fmt::join(series, ", ")));
  return names->GetFileNames(series.front());
}

bool have_dicom_places(const std::vector<std::string>& files) {
  std::set<std::array<double, 3>> positions;
  for (const std::string& file : files) {
    check_interrupt();
    check_input_file(file, "'" + file + "'");
    const auto frames = read_dicom_frames(file);
    if (!frames || frames->count != 1 || frames->places.size() != 1) return false;
    positions.insert(frames->places.front().position);
  }
  return positions.size() > 1;
}

ImageInfo order_dicom_files(std::vector<std::string>& files, const std::string& name) {
  const DicomStack stack(files, name);
  files = stack.files_in_order();
  return stack.info();
}

void require_dicom_rescales(const std::vector<std::string>& files, const std::string& what) {
  std::vector<StatedRescale> stated;
  for (const std::string& file : files) {
    check_interrupt();
    if (const auto frames = read_dicom_frames(file)) stated.push_back(frames->stated);
  }
  require_rescales_of_all(stated, what);
}

ImageInfo read_dicom_info(const std::vector<std::string>& files, const std::string& name) {
  return DicomStack(files, name).info();
}

TypedVolume read_dicom(const std::vector<std::string>& files, const std::string& name) {
  return DicomStack(files, name).read();
}

}  // namespace halocline

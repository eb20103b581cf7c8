#include "apps/options/counts_options.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "algorithms/preprocessing/unmeasured.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "apps/options/counts_report.hpp"
#include "apps/options/geometry_file.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

std::string quoted(const std::string& option, const std::string& path) {
  return fmt::format("{} '{}'", option, path);
}

double check_field(Job& job, const std::string& option, const std::string& path, const Grid& counts,
                   const std::string& counts_path) {
  const Grid grid = job.input_image(option, path).grid;
  require_same_detector(grid, quoted(option, path), counts, "'" + counts_path + "'");
  return grid_bytes(grid);
}

}  // namespace

void add_counts_files(Settings& settings, CountsArguments& arguments) {
  const std::string needed = settings.find("counts") != nullptr ? "counts" : "";
  for (Setting* setting :
       {&settings
             .add("flat", arguments.flats,
                  "Images without the object (u, v, n); their mean is taken. Two files: from before and after the "
                  "scan, and the beam is interpolated over the views, as it is for one file if its images have one "
                  "clear step of less than 30 % about half-way. This, --air or both; transmissions (0 to 1) need "
                  "neither")
             .named("--flat,--flats")
             .at_most(2),
        &settings.add("dark", arguments.dark, "Images without the beam (u, v, n); their mean is taken. Default: 0")
             .named("--dark,--darks"),
        &settings.add("bad-pixels", arguments.bad_pixels,
                      "Map of the detector (u, v), not 0 where a pixel is bad: it is interpolated from the good ones "
                      "around it. Default: pixels are looked for that are dark, stuck at one count, or whose flat is "
                      "below half or above double that of those around them")})
    setting->unit("FILE").group(counts_group).needs(needed);
}

void take_white_level(Job& job, bool counts, const std::string& geometry, CountsArguments& arguments) {
  if (!counts || !arguments.flats.empty() || arguments.options.air) return;
  arguments.white_level = white_level_in(geometry);
  if (!arguments.white_level) return;
  arguments.white_level_name = fmt::format("WhiteLevel of '{}'", geometry);
  job.say(fmt::format("neither --flat nor --air: the beam alone gives {:.6g} counts, the WhiteLevel of '{}'",
                      *arguments.white_level, geometry));
}

double check_counts_arguments(Job& job, const CountsArguments& arguments, const ImageInfo& counts,
                              const std::string& counts_path) {
  const bool whole = is_integer(component_named(counts.component)) && counts.scaling.identity();
  check_counts_options(arguments.options, counts.grid, arguments.has_open_beam(), !whole, "'" + counts_path + "'");
  double bytes = 0;
  for (const auto& [option, path] : field_files(arguments))
    bytes += check_field(job, option, path, counts.grid, counts_path);
  return bytes;
}

std::vector<std::pair<const char*, std::string>> field_files(const CountsArguments& arguments) {
  std::vector<std::pair<const char*, std::string>> files;
  for (const std::string& path : arguments.flats) files.emplace_back("--flat", path);
  if (!arguments.dark.empty()) files.emplace_back("--dark", arguments.dark);
  if (!arguments.bad_pixels.empty()) files.emplace_back("--bad-pixels", arguments.bad_pixels);
  return files;
}

TypedVolume read_counts(Job& job, const ImageInfo& info, const std::string& path) {
  if (info.component != "uint16" || !info.scaling.identity()) return to_typed(job.images().read_rays(path));
  TypedVolume counts(info.grid, Component::uint16);
  TypedSink sink(counts);
  const auto source = job.images().open_rays(path);
  job.timed("read", [&] { copy_voxels(*source, sink); });
  return counts;
}

double check_counts_or_integrals(Job& job, bool counts, const CountsArguments& arguments, const ImageInfo& info,
                                 const std::string& path) {
  if (counts) return check_counts_arguments(job, arguments, info, path);
  check_ring_width(arguments.options.ring_width, info.grid, "'" + path + "'");
  if (is_integer(component_named(info.component)) && info.scaling.identity())
    spdlog::warn("'{}' holds whole numbers ({}), where line integrals are expected: if they are counts, give --counts",
                 path, info.component);
  return 0;
}

DetectorOffsets find_rings(Job& job, const CountsArguments& arguments, const VolumeSource& line_integrals,
                           const std::string& path) {
  DetectorOffsets offsets =
      job.timed("rings", [&] { return ring_offsets(line_integrals, arguments.options.ring_width, "'" + path + "'"); });
  job.results()["ring_offset_rms"] = offsets.rms;
  job.results()["ring_pixels"] = offsets.count;
  job.say(fmt::format("'{}': {}", path, rings_text(offsets.count, offsets.rms)));
  return offsets;
}

namespace {

// Values that are not finite, where they are allowed.
ReplacedValues fill_unmeasured_rays(Job& job, const CountsArguments& arguments, const VolumeSource& line_integrals,
                                    const std::string& path) {
  if (!job.common().allow_nonfinite) return {};
  FilledValues found = job.timed(
      "fill", [&] { return fill_nonfinite(line_integrals, arguments.options.within_views, "'" + path + "'"); });
  const std::size_t count = found.replaced.count();
  job.results()["not_measured"] = count;
  if (count > 0)
    spdlog::warn("'{}': {} NaN or infinite: taken for not measured, and interpolated", path,
                 plural(count, "value is", "values are"));
  warn_of_edges(found.edges, path);
  return std::move(found.replaced);
}

// Line integrals with interpolated ones in them. Holds both.
class FilledSource : public VolumeSource {
 public:
  FilledSource(std::unique_ptr<VolumeSource> source, ReplacedValues replaced)
      : source_(std::move(source)), replaced_(std::move(replaced)), mended_(*source_, replaced_) {}
  const Grid& grid() const override { return source_->grid(); }
  void read(std::size_t first, std::size_t count, float* to) const override { mended_.read(first, count, to); }

 private:
  std::unique_ptr<VolumeSource> source_;
  ReplacedValues replaced_;
  MendedSource mended_;
};

}  // namespace

std::unique_ptr<VolumeSource> open_line_integrals(Job& job, const CountsArguments& arguments, const std::string& path,
                                                  ReplacedValues* replaced) {
  auto file = job.images().open_rays(path);
  ReplacedValues filled = fill_unmeasured_rays(job, arguments, *file, path);
  if (replaced != nullptr) *replaced = filled;
  if (!filled.empty()) file = std::make_unique<FilledSource>(std::move(file), std::move(filled));
  if (arguments.options.ring_width == 0) return file;
  DetectorOffsets offsets = find_rings(job, arguments, *file, path);
  return std::make_unique<RingFreeSource>(std::move(file), std::move(offsets));
}

Volume read_line_integrals(Job& job, const CountsArguments& arguments, const std::string& path,
                           ReplacedValues* replaced) {
  Volume projections = job.images().read_rays(path);
  ReplacedValues filled = fill_unmeasured_rays(job, arguments, MemorySource(projections), path);
  filled.put(0, projections.voxels.size(), projections.voxels.data());
  if (replaced != nullptr) *replaced = std::move(filled);
  if (arguments.options.ring_width == 0) return projections;
  take_off(find_rings(job, arguments, MemorySource(projections), path), 0, projections.voxels.size(),
           projections.voxels.data());
  return projections;
}

CountsCalibrator begin_calibration(Job& job, const CountsArguments& arguments, const VolumeSource& counts,
                                   const ImageInfo& info, const std::string& counts_path) {
  const auto read = [&](const std::string& path) { return path.empty() ? Volume() : job.images().read_rays(path); };
  const std::string flat = arguments.flats.empty() ? "" : arguments.flats.front(),
                    after = arguments.flats.size() < 2 ? "" : arguments.flats.back();
  Volume flats = read(flat);
  if (arguments.white_level) {
    flats.grid.size = {info.grid.size[0], info.grid.size[1], 1};
    flats.voxels.assign(flats.grid.count(), static_cast<float>(*arguments.white_level));
  }
  const Volume flats_after = read(after), darks = read(arguments.dark),
               bad = arguments.bad_pixels.empty() ? Volume() : job.images().read(arguments.bad_pixels);
  const auto field = [&](const Volume& stack, const std::string& option, const std::string& path) {
    return CountsField{path.empty() ? nullptr : &stack, quoted(option, path)};
  };
  CountsOptions options = arguments.options;
  if (const auto stored = component_named(info.component);
      !options.saturation && is_integer(stored) && info.scaling.identity())
    options.saturation = component_highest(stored);
  options.allow_nonfinite = job.common().allow_nonfinite;
  const CountsField open_beam =
      arguments.white_level ? CountsField{&flats, arguments.white_level_name, false} : field(flats, "--flat", flat);
  return job.timed("calibrate", [&] {
    return CountsCalibrator(counts,
                            {open_beam, field(flats_after, "--flat", after), field(darks, "--dark", arguments.dark),
                             field(bad, "--bad-pixels", arguments.bad_pixels), "'" + counts_path + "'"},
                            options);
  });
}

CountsCalibration calibrate(Job& job, const CountsArguments& arguments, const VolumeSource& counts,
                            const ImageInfo& info, const std::string& counts_path) {
  const CountsCalibrator calibrator = begin_calibration(job, arguments, counts, info, counts_path);
  report_counts(job, calibrator.calibration());
  warn_of_calibration(calibrator, counts_path);
  return calibrator.calibration();
}

}  // namespace halocline

#include "apps/options/projection_options.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <numeric>
#include <regex>

#include "algorithms/geometry/field_of_view.hpp"
#include "algorithms/jobs/setting_values.hpp"
#include "apps/job/report.hpp"
#include "apps/options/geometry_file.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

// Both ends belong to it; views count from 0.
std::vector<std::size_t> parse_views(const std::string& text, std::size_t count, const std::string& of) {
  static const std::regex form("([0-9]{1,9}):([0-9]{1,9})(:([0-9]{1,9}))?");
  std::smatch found;
  if (!std::regex_match(text, found, form))
    throw InputError(fmt::format("--views {}: FIRST:LAST or FIRST:LAST:STEP is expected, e.g. 0:359:2", text));
  const std::size_t first = std::stoul(found[1]), last = std::stoul(found[2]),
                    step = found[4].matched ? std::stoul(found[4]) : 1;
  if (step == 0) throw InputError(fmt::format("--views {}: the step is 0, at least 1 is expected", text));
  if (first > last)
    throw InputError(fmt::format("--views {}: the first view, {}, comes after the last, {}", text, first, last));
  if (last >= count)
    throw InputError(fmt::format("--views {}: {} has {}, so the last is {}", text, of, views_text(count), count - 1));
  std::vector<std::size_t> views;
  for (std::size_t view = first; view <= last; view += step) views.push_back(view);
  return views;
}

// Pixels of projections that do not state them; empty if the geometry does not either. Throws InputError if it is about
// other images.
DetectorPixels pixels_of_geometry(const std::string& geometry, const Grid& images, const std::string& name) {
  if (geometry.empty()) return {};
  const DetectorPixels known = detector_in(geometry);
  if (!known.spacing) return {};
  const auto& size = images.size;
  if (known.size && size[0] > 0 && ((*known.size)[0] != size[0] || (*known.size)[1] != size[1]))
    throw InputError(fmt::format(
        "{} has images of {} x {} pixels, but '{}' is about a detector of {} x {}; if they were put together or cut, "
        "give --pixel DU,DV and the geometry as XML ('halocline geometry convert'), else the geometry of these images",
        name, size[0], size[1], geometry, (*known.size)[0], (*known.size)[1]));
  spdlog::info("{}: pixels of {:.9g} x {:.9g} mm, as '{}' says", name, (*known.spacing)[0], (*known.spacing)[1],
               geometry);
  return known;
}

}  // namespace

Grid placed_projections(const DetectorPixels& detector, const ImageInfo& file, const std::string& name,
                        const std::string& geometry) {
  auto pixel = detector.spacing, origin = detector.origin;
  if (file.format.starts_with("TIFF") && !pixel) {
    const DetectorPixels known = pixels_of_geometry(geometry, file.grid, name);
    pixel = known.spacing;
    if (!origin) origin = known.origin;
    if (!pixel)
      throw InputError(fmt::format(
          "{}: TIFF files do not say where their pixels lie{}; give --pixel DU,DV in mm (and --detector-origin U,V "
          "unless the detector is centred)",
          name, geometry.empty() ? "" : fmt::format(", nor does '{}'", geometry)));
  }
  if (!pixel && !origin) return file.grid;
  Grid grid = file.grid;
  for (int axis = 0; axis < 2; ++axis) {
    if (pixel) grid.spacing[axis] = (*pixel)[axis];
    grid.origin[axis] =
        origin ? (*origin)[axis] : -0.5 * (static_cast<double>(grid.size[axis]) - 1) * grid.spacing[axis];
  }
  grid.direction = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  return grid;
}

namespace {

void choose_window(const ProjectionOptions& options, const Grid& file, const std::string& name, ProjectionPart& part) {
  part.size = {file.size[0], file.size[1]};
  if (options.crop) {
    const auto& c = *options.crop;
    for (int axis = 0; axis < 2; ++axis) {
      part.first[axis] = c[axis];
      part.size[axis] = c[2 + axis];
      if (c[2 + axis] == 0 || c[axis] + c[2 + axis] > file.size[axis])
        throw InputError(fmt::format("--crop {},{},{},{}: {} {} from {} on are not in {}, which has {}", c[0], c[1],
                                     c[2], c[3], c[2 + axis], axis == 0 ? "columns" : "rows", c[axis], name,
                                     file.size[axis]));
    }
  }
  const auto wide_enough = [&](std::size_t columns, const std::string& option) {
    if (columns > 1 || file.size[0] == 1 || !options.filtered) return;
    throw InputError(
        fmt::format("{}: one column of {} is left; filtering goes along the columns, so leave two at the very least",
                    option, name));
  };
  if (options.crop) wide_enough(part.size[0], "--crop");
  if (options.bin.empty()) return;
  part.bin[0] = static_cast<std::size_t>(options.bin[0]);
  part.bin[1] = options.bin.size() > 1 ? static_cast<std::size_t>(options.bin[1]) : part.size[1] == 1 ? 1 : part.bin[0];
  for (int axis = 0; axis < 2; ++axis)
    if (part.bin[axis] > part.size[axis])
      throw InputError(fmt::format("--bin: {} {} of {} cannot be put together, there are {}", part.bin[axis],
                                   axis == 0 ? "columns" : "rows", name, part.size[axis]));
  wide_enough(part.size[0] / part.bin[0], fmt::format("--bin {}", part.bin[0]));
}

}  // namespace

namespace {
constexpr const char* projections_group = "Which projections";
}

void add_views_option(Settings& settings, ProjectionOptions& options, const std::string& of_what) {
  settings
      .add("views", options.views,
           "Only the views from FIRST to LAST, counted from 0 and both included, and of these every STEP-th" + of_what +
               ". The geometry is that of all views in the file")
      .unit("FIRST:LAST[:STEP]")
      .group(projections_group);
}

void add_projection_options(Settings& settings, ProjectionOptions& options) {
  add_views_option(settings, options, "; with --views-per-frame: of each frame");
  settings
      .add("views-per-frame", options.views_per_frame,
           "Dynamic scan: so many views are a frame, and the file holds one after the other. Each becomes a "
           "volume of its own, written when it is done: -o (and --variance-out, --halves-out) need a place for the "
           "number, from 0 on, as "
           "in frame_%02d.mha, which denoise --method pdu4d takes. The geometry has the views of one frame, which "
           "then serve for all, or those of all frames")
      .whole_from(1)
      .initial("")
      .unit("N")
      .group(projections_group);
  add_detector_options(settings, options);
}

void add_detector_options(Settings& settings, ProjectionOptions& options) {
  settings
      .add_list(
          "crop", options.crop, "U0,V0,NU,NV", Numbers::indices,
          "Only NU columns from U0 on and NV rows from V0 on. The pixels keep their places: what is left may be a "
          "displaced detector, and rows that cut through the object are truncated, see --pad of fdk")
      .group(projections_group);
  settings
      .add("bin", SettingKind::numbers,
           "Put U columns and V rows together (after --crop): the mean of the line integrals; with --counts the sum of "
           "the counts over that of the flats, before the logarithm, so that no noise is made a bias; counts "
           "that were not measured are interpolated before. What does not fill a last bin is left out. Default for V: "
           "U, but 1 if there is one row",
           [&options](const std::vector<std::string>& words) {
             options.bin = parse_numbers("--bin", words);
             require_whole("--bin", options.bin, 1);
             if (options.bin.size() > 2)
               throw InputError("--bin: more than two numbers were given, expected: --bin U[,V]");
           })
      .at_most(2)
      .unit("U[,V]")
      .group(projections_group);
  add_pixel_options(settings, options.detector, projections_group);
}

void add_pixel_options(Settings& settings, DetectorPixels& detector, const std::string& group) {
  settings
      .add_list(
          "pixel", detector.spacing, "DU,DV", Numbers::positive,
          "Pixel pitch, mm, instead of what the file says; the detector is then centred unless there is a "
          "--detector-origin. Needed for TIFF, which keeps neither, unless the geometry file does (.xtekct, .pca, "
          "what 'geometry find-axis' and 'convert' make of them)")
      .group(group);
  settings
      .add_list("detector-origin", detector.origin, "U,V", Numbers::any,
                "Position of the centre of the file's pixel (0,0), mm, instead of what the file says")
      .group(group);
}

Geometry ChosenProjections::geometry(const Geometry& all, std::size_t n) const {
  if (all.views.size() == file.size[2]) return select_views(all, frames[n].views);
  return select_views(all, frames.front().views);
}

std::vector<std::size_t> ChosenProjections::views(const Geometry& all) const {
  if (all.views.size() != file.size[2]) return frames.front().views;
  std::vector<std::size_t> taken;
  for (const ProjectionPart& frame : frames) taken.insert(taken.end(), frame.views.begin(), frame.views.end());
  return taken;
}

ChosenProjections choose_projections(const ProjectionOptions& options, const ImageInfo& file, const std::string& name,
                                     const std::string& geometry) {
  ChosenProjections chosen;
  chosen.file = placed_projections(options.detector, file, name, geometry);
  const std::size_t views = file.grid.size[2], a_frame = options.views_per_frame.value_or(views);
  if (views % a_frame != 0)
    throw InputError(fmt::format("--views-per-frame {}: {} has {}, which are no whole number of frames", a_frame, name,
                                 views_text(views)));
  ProjectionPart part;
  choose_window(options, file.grid, name, part);
  part.views.resize(a_frame);
  std::iota(part.views.begin(), part.views.end(), std::size_t{0});
  if (!options.views.empty())
    part.views = parse_views(options.views, a_frame, options.views_per_frame ? "a frame" : name);
  for (std::size_t frame = 0; frame < views / a_frame; ++frame) {
    chosen.frames.push_back(part);
    for (auto& view : part.views) view += a_frame;
  }
  chosen.whole = options.views.empty() && !options.views_per_frame && !options.crop && options.bin.empty();
  return chosen;
}

void check_view_count(const ChosenProjections& chosen, const ProjectionOptions& options, const Geometry& all,
                      const std::string& name, const std::string& geometry_name) {
  const std::size_t found = all.views.size(), views = chosen.file.size[2];
  if (found == views || found == options.views_per_frame) return;
  if (options.views_per_frame)
    throw InputError(
        fmt::format("{} has {}; with --views-per-frame it needs the {} of a frame or the {} of all frames in {}",
                    geometry_name, views_text(found), *options.views_per_frame, views, name));
  throw InputError(fmt::format("{} has {}, but {} has {}{}", name, views_text(views), geometry_name, found,
                               options.views.empty()
                                   ? "; give the geometry of these projections"
                                   : "; --views chooses from both, so give the geometry of all projections"));
}

void warn_of_coverage(Job& job, const Geometry& geometry, const Grid& stack, const Grid& volume, bool displaced,
                      bool chosen) {
  if (geometry.radius_cylindrical_detector > 0) return;  // the field of view is that of flat detectors
  const Coverage seen = volume_coverage(geometry, DetectorPixels::of(stack), volume);
  job.results()["coverage"] = {{"every_view", seen.every_view}, {"half_of_views", seen.half_of_views}};
  if (seen.every_view == 0 && seen.half_of_views == 0)
    throw InputError(
        "no part of the volume is seen in as many as half of the views, so nothing would be right; check --origin, "
        "--spacing and --direction (the grid's axes against the rotation axis, which is y), and the geometry with "
        "\"halocline geometry show\"");
  const double covered = displaced ? seen.half_of_views : seen.every_view;
  if (covered < 1 && !chosen)
    spdlog::warn(
        "the volume reaches outside the field of view: {:.1f} % of it are seen in {}; the rest is wrong, so choose a "
        "smaller volume or leave it out of account",
        100 * covered, displaced ? "at least half of the views (a displaced detector)" : "every view");
}

}  // namespace halocline

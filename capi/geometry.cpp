#include "capi/geometry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>

#include "algorithms/fdk/redundancy.hpp"
#include "algorithms/geometry/default_volume.hpp"
#include "algorithms/geometry/geometry_xml.hpp"
#include "algorithms/geometry/scan_file.hpp"
#include "capi/log.hpp"
#include "capi/status.hpp"
#include "host/system/log.hpp"

namespace halocline::capi {
namespace {

std::size_t positive_size(int64_t size, const char* what) {
  constexpr int64_t most = int64_t{1} << 31;
  if (size < 1 || size > most)
    throw InputError({.what = what, .found = fmt::to_string(size), .expected = fmt::format("1 to {}", most)});
  return static_cast<std::size_t>(size);
}

CircularOptions circular_of(const halocline_circular_options& options) {
  CircularOptions circular;
  circular.sid = options.sid;
  circular.sdd = options.sdd;
  circular.projections = positive_size(options.views, "`views`");
  circular.arc = options.arc;
  circular.first_angle = options.first_angle;
  if (options.angles != nullptr) circular.angles.assign(options.angles, options.angles + options.views);
  circular.projection_offset_x = options.projection_offset_x;
  circular.projection_offset_y = options.projection_offset_y;
  circular.source_offset_x = options.source_offset_x;
  circular.source_offset_y = options.source_offset_y;
  circular.out_of_plane_angle = options.out_of_plane_angle;
  circular.in_plane_angle = options.in_plane_angle;
  circular.fan_stack = options.fan_stack != 0;
  return circular;
}

using Numbers = double[HALOCLINE_VIEW_NUMBERS];

// The view's members in the order of the interface.
template <class V, class Use>
void for_each_number(V& view, const Use& use) {
  std::size_t n = 0;
  for (auto* member :
       {&view.sid, &view.sdd, &view.gantry_angle, &view.out_of_plane_angle, &view.in_plane_angle, &view.source_offset_x,
        &view.source_offset_y, &view.projection_offset_x, &view.projection_offset_y})
    use(*member, n++);
}

halocline_geometry* made(Geometry geometry) {
  return std::make_unique<halocline_geometry>(halocline_geometry{std::move(geometry)}).release();
}

void write_text(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw FileError(fmt::format("'{}' cannot be written; check the folder and the room on the disk", path));
}

bool is_displaced(const Geometry& geometry, const Grid& stack) {
  try {
    return redundancy_of(geometry, stack).displaced();
  } catch (const InputError&) {  // which is told when the scan is reconstructed
    return false;
  }
}

}  // namespace

Grid grid_of(const halocline_grid& grid, const char* what) {
  constexpr double most = 0x1p48;
  Grid result;
  double count = 1;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    result.size[axis] = positive_size(grid.size[axis], what);
    count *= static_cast<double>(grid.size[axis]);
  }
  if (count > most)
    throw InputError({.what = what, .found = fmt::format("{:.3g} values", count), .expected = "at most 2^48"});
  std::copy_n(grid.spacing, 3, result.spacing.begin());
  std::copy_n(grid.origin, 3, result.origin.begin());
  std::copy_n(grid.direction, 9, result.direction.begin());
  check_grid(result, what);
  return result;
}

std::vector<Grid> grids_of(const halocline_grid* grids, int64_t count, const char* what) {
  required(grids, what);
  if (count < 1)
    throw InputError({.what = "`count`", .found = fmt::to_string(count), .expected = "a number from 1 on"});
  std::vector<Grid> result;
  for (int64_t n = 0; n < count; ++n)
    result.push_back(grid_of(grids[n], fmt::format("{}, number {}", what, n).c_str()));
  return result;
}

halocline_grid c_grid(const Grid& grid) {
  halocline_grid result = HALOCLINE_GRID_INIT;
  for (std::size_t axis = 0; axis < 3; ++axis) result.size[axis] = static_cast<int64_t>(grid.size[axis]);
  std::copy(grid.spacing.begin(), grid.spacing.end(), result.spacing);
  std::copy(grid.origin.begin(), grid.origin.end(), result.origin);
  std::copy(grid.direction.begin(), grid.direction.end(), result.direction);
  return result;
}

}  // namespace halocline::capi

using namespace halocline;
using namespace halocline::capi;

extern "C" int halocline_grid_volume(const int64_t size[3], const double spacing[3], halocline_grid* grid) noexcept {
  return guarded([&] {
    required(size, "`size`");
    required(spacing, "`spacing`");
    std::array<std::size_t, 3> voxels{};
    for (std::size_t axis = 0; axis < 3; ++axis) voxels[axis] = positive_size(size[axis], "`size`");
    const Grid made = default_grid(voxels, {spacing[0], spacing[1], spacing[2]});
    check_grid(made, "the grid");
    required(grid, "`grid`") = c_grid(made);
  });
}

extern "C" int halocline_grid_projections(int64_t columns, int64_t rows, int64_t views, double column_pitch,
                                          double row_pitch, halocline_grid* grid) noexcept {
  return guarded([&] {
    DetectorPixels pixels;
    pixels.size = {positive_size(columns, "`columns`"), positive_size(rows, "`rows`")};
    pixels.spacing = {column_pitch, row_pitch};
    const Grid made = pixels.grid(positive_size(views, "`views`"));
    check_grid(made, "the grid");
    required(grid, "`grid`") = c_grid(made);
  });
}

extern "C" int halocline_grid_part(const halocline_grid* grid, const int64_t first[3], const int64_t size[3],
                                   halocline_grid* part) noexcept {
  return guarded([&] {
    const Grid whole = grid_of(required(grid, "`grid`"), "the grid");
    required(first, "`first`");
    required(size, "`size`");
    halocline_grid result = *grid;
    for (int axis = 0; axis < 3; ++axis) {
      if (first[axis] < 0 || size[axis] < 1 || size[axis] > grid->size[axis] ||
          first[axis] > grid->size[axis] - size[axis])
        throw InputError({.what = "the part of the grid",
                          .found = fmt::format("{} values from {} on along axis {}", size[axis], first[axis], axis),
                          .expected = fmt::format("a part of its {}", grid->size[axis])});
      result.size[axis] = size[axis];
    }
    const auto origin =
        whole.world(static_cast<double>(first[0]), static_cast<double>(first[1]), static_cast<double>(first[2]));
    std::copy(origin.begin(), origin.end(), result.origin);
    required(part, "`part`") = result;
  });
}

extern "C" int halocline_geometry_circular(const halocline_circular_options* options,
                                           halocline_geometry** geometry) noexcept {
  return guarded([&] {
    auto& result = required(geometry, "`geometry`");
    const auto all =
        taken(options, halocline_circular_options(HALOCLINE_CIRCULAR_OPTIONS_INIT), "halocline_circular_options");
    result = made(circular_geometry(circular_of(all)));
  });
}

extern "C" int halocline_geometry_from_views(const double* views, int64_t count, double cylinder_radius,
                                             halocline_geometry** geometry) noexcept {
  return guarded([&] {
    auto& result = required(geometry, "`geometry`");
    const double* numbers = &required(views, "`views`");
    Geometry read;
    read.radius_cylindrical_detector = cylinder_radius;
    read.views.resize(positive_size(count, "`count`"));
    for (View& view : read.views) {
      for_each_number(view, [&](double& member, std::size_t n) { member = numbers[n]; });
      numbers += HALOCLINE_VIEW_NUMBERS;
    }
    check_geometry(read, "the geometry");
    result = made(std::move(read));
  });
}

extern "C" int halocline_geometry_read(const char* path, const halocline_grid* projections,
                                       halocline_geometry** geometry) noexcept {
  return guarded([&] {
    take_over_log();
    auto& result = required(geometry, "`geometry`");
    DetectorPixels pixels;
    if (projections != nullptr) pixels = DetectorPixels::of(grid_of(*projections, "the grid of the projections"));
    const std::string file = &required(path, "`path`");
    ScanFile scan = read_scan_file(file, {}, pixels);
    if (!scan.sense.empty()) library_log()->warn("{}: {}", file, scan.sense);
    for (const auto& note : scan.notes) library_log()->warn("{}: {}", file, note);
    result = made(std::move(scan.geometry));
  });
}

extern "C" int halocline_geometry_write(const halocline_geometry* geometry, const char* path) noexcept {
  return guarded(
      [&] { write_text(&required(path, "`path`"), geometry_xml(required(geometry, "`geometry`").geometry)); });
}

extern "C" int halocline_geometry_view_count(const halocline_geometry* geometry, int64_t* count) noexcept {
  return guarded([&] {
    required(count, "`count`") = static_cast<int64_t>(required(geometry, "`geometry`").geometry.views.size());
  });
}

extern "C" int halocline_geometry_views(const halocline_geometry* geometry, double* views, int64_t count) noexcept {
  return guarded([&] {
    const auto& all = required(geometry, "`geometry`").geometry.views;
    double* numbers = &required(views, "`views`");
    if (count < 0 || static_cast<std::size_t>(count) > all.size())
      throw InputError({.what = "`count`",
                        .found = fmt::to_string(count),
                        .expected = fmt::format("at most the {} views of the geometry", all.size())});
    for (std::size_t view = 0; view < static_cast<std::size_t>(count); ++view) {
      for_each_number(all[view], [&](double member, std::size_t n) { numbers[n] = member; });
      numbers += HALOCLINE_VIEW_NUMBERS;
    }
  });
}

extern "C" int halocline_geometry_volume(const halocline_geometry* geometry, const halocline_grid* projections,
                                         halocline_grid* volume) noexcept {
  return guarded([&] {
    const Geometry& scan = required(geometry, "`geometry`").geometry;
    const Grid stack = grid_of(required(projections, "`projections`"), "the grid of the projections");
    check_projections(stack, "the projections", scan, "the geometry", DetectorShape::flat_or_cylinder);
    required(volume, "`volume`") = c_grid(default_volume(scan, stack, is_displaced(scan, stack)));
  });
}

extern "C" void halocline_geometry_free(halocline_geometry* geometry) noexcept {
  delete geometry;
}

#include "algorithms/checks/projector_scans.hpp"

#include <cmath>
#include <utility>

namespace halocline {
namespace {

using SizeOfGrid = std::array<std::size_t, 3>;
using Triple = std::array<double, 3>;

constexpr double cone_sdd = 300, parallel_sdd = 0;

Grid centred_at(Grid grid, const Triple& point) {
  grid.origin = {0, 0, 0};
  const auto middle =
      grid.world(0.5 * (static_cast<double>(grid.size[0]) - 1), 0.5 * (static_cast<double>(grid.size[1]) - 1),
                 0.5 * (static_cast<double>(grid.size[2]) - 1));
  for (int axis = 0; axis < 3; ++axis) grid.origin[axis] = point[axis] - middle[axis];
  return grid;
}

// Index axes along the world's, so that the rotation axis is along j.
Grid upright_grid(const SizeOfGrid& size, const Triple& spacing) {
  Grid grid;
  grid.size = size;
  grid.spacing = spacing;
  return grid;
}

// Rz(30) Rx(50) degrees: no index axis is along one of the world's.
Grid turned_grid(const SizeOfGrid& size, const Triple& spacing) {
  Grid grid = upright_grid(size, spacing);
  const double ca = std::sqrt(0.75), sa = 0.5, cc = 0.6427876096865394, sc = 0.766044443118978;
  grid.direction = {ca, -sa * cc, sa * sc, sa, ca * cc, -ca * sc, 0, sc, cc};
  return grid;
}

Grid detector(std::size_t columns, std::size_t rows, double du, double dv, std::size_t views) {
  Grid grid;
  grid.size = {columns, rows, views};
  grid.spacing = {du, dv, 1};
  grid.origin = {-0.5 * du * (static_cast<double>(columns) - 1), -0.5 * dv * (static_cast<double>(rows) - 1), 0};
  return grid;
}

// Angles are not those at which a ray follows two axes equally.
CircularOptions circle(double sdd, std::vector<double> angles) {
  CircularOptions options;
  options.sid = 200;
  options.sdd = sdd;
  options.angles = std::move(angles);
  return options;
}

CircularOptions displaced(CircularOptions options) {
  options.source_offset_x = 2;
  options.source_offset_y = -3;
  options.projection_offset_x = 5;
  options.projection_offset_y = -4;
  options.out_of_plane_angle = 7;
  options.in_plane_angle = -4;
  return options;
}

ProjectorScan scan(std::string name, const CircularOptions& options, const Grid& pixels, const Grid& volume) {
  ProjectorScan result{std::move(name), circular_geometry(options), volume, pixels};
  result.projections.size[2] = result.geometry.views.size();
  return result;
}

}  // namespace

std::vector<ProjectorScan> projector_scans() {
  const std::vector<double> seven{3, 37, 118, 166, 203, 290, 341}, along_axes{0, 90, 180, 270, 20};
  const Grid along_axis = centred_at(default_grid({13, 9, 7}, {2, 3, 1.5}), {3, -2, 4});
  const Grid off_faces = centred_at(default_grid({13, 9, 7}, {2, 3, 1.5}), {3.37, -2.21, 4.13});
  const Grid across = centred_at(upright_grid({7, 19, 12}, {3, 1, 2}), {-4, 1, 2});
  const Grid fan_volume = centred_at(default_grid({15, 11, 1}, {2, 2.5, 1}), {1, 0, -2});
  const Grid turned_volume = centred_at(turned_grid({10, 15, 9}, {2, 1.5, 2.5}), {2, 3, -1});
  const Grid pixels = detector(33, 33, 1.5, 1.25, 7);
  return {
      scan("parallel", circle(parallel_sdd, seven), detector(33, 7, 1.25, 1.5, 7), along_axis),
      scan("parallel, along the axes", circle(parallel_sdd, along_axes), detector(7, 7, 1.9, 1.3, 5), off_faces),
      scan("fan", circle(280, seven), detector(33, 1, 1.7, 2, 7), fan_volume),
      scan("cone", circle(cone_sdd, seven), pixels, along_axis),
      scan("cone, displaced and tilted", displaced(circle(cone_sdd, seven)), pixels, along_axis),
      scan("cone, axis across the slices", displaced(circle(cone_sdd, seven)), pixels, across),
      scan("cone, turned volume", displaced(circle(cone_sdd, seven)), pixels, turned_volume),
      scan("cone, one view", circle(cone_sdd, {37}), detector(33, 7, 1.5, 3, 1),
           default_grid({33, 33, 7}, {1, 1.5, 2})),
      scan("cone, one voxel", circle(cone_sdd, seven), detector(7, 7, 2, 2, 7), default_grid({1, 1, 1}, {3, 3, 3}))};
}

ProjectorScan tiny_projector_scan() {
  return scan("tiny", displaced(circle(cone_sdd, {3, 118})), detector(7, 5, 6, 6, 2),
              centred_at(default_grid({5, 3, 4}, {6, 8, 5}), {3, -2, 4}));
}

}  // namespace halocline

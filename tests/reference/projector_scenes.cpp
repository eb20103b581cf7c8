#include "tests/reference/projector_scenes.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <stdexcept>

namespace halocline::reference {
namespace {

Grid rotated_grid(std::array<std::size_t, 3> size, std::array<double, 3> spacing) {
  Grid grid = default_grid(size, spacing);
  // Rz(30) Ry(-20) Rx(50) degrees: no axis is along another
  const double a = 0.5235987755982988, b = -0.3490658503988659, c = 0.8726646259971648;
  const double ca = std::cos(a), sa = std::sin(a), cb = std::cos(b), sb = std::sin(b), cc = std::cos(c),
               sc = std::sin(c);
  grid.direction = {ca * cb,
                    ca * sb * sc - sa * cc,
                    ca * sb * cc + sa * sc,
                    sa * cb,
                    sa * sb * sc + ca * cc,
                    sa * sb * cc - ca * sc,
                    -sb,
                    cb * sc,
                    cb * cc};
  return grid;
}

/// Puts the middle of the grid at a point.
Grid centred_at(Grid grid, std::array<double, 3> point) {
  grid.origin = {0, 0, 0};
  const auto middle =
      grid.world(0.5 * (static_cast<double>(grid.size[0]) - 1), 0.5 * (static_cast<double>(grid.size[1]) - 1),
                 0.5 * (static_cast<double>(grid.size[2]) - 1));
  for (int axis = 0; axis < 3; ++axis) grid.origin[axis] = point[axis] - middle[axis];
  return grid;
}

Geometry scan(double sdd, bool tilted, std::vector<double> angles) {
  CircularOptions options;
  options.sid = 200;
  options.sdd = sdd;
  options.angles = std::move(angles);
  if (tilted) {
    options.source_offset_x = 2;
    options.source_offset_y = -3;
    options.projection_offset_x = 5;
    options.projection_offset_y = -4;
    options.out_of_plane_angle = 7;
    options.in_plane_angle = -4;
  }
  return circular_geometry(options);
}

Geometry fan_stack(std::vector<double> angles, bool upside_down) {
  CircularOptions options;
  options.sid = 200;
  options.sdd = 280;
  options.angles = std::move(angles);
  options.source_offset_x = 2;
  options.projection_offset_x = 5;
  options.projection_offset_y = -1.5;
  options.in_plane_angle = upside_down ? 180 : 0;
  options.fan_stack = true;
  return circular_geometry(options);
}

Grid moved(Grid grid, std::array<double, 3> by) {
  for (int axis = 0; axis < 3; ++axis) grid.origin[axis] += by[axis];
  return grid;
}

}  // namespace

Grid detector(std::size_t columns, std::size_t rows, std::size_t views, double du, double dv) {
  Grid grid;
  grid.size = {columns, rows, views};
  grid.spacing = {du, dv, 1};
  grid.origin = {-0.5 * du * (static_cast<double>(columns) - 1), -0.5 * dv * (static_cast<double>(rows) - 1), 0};
  return grid;
}

std::vector<Scene> scenes() {
  const std::vector<double> angles{3, 37, 81, 118, 166, 203, 251, 290, 341};
  const std::size_t views = angles.size();
  const Grid along_y = centred_at(default_grid({13, 9, 11}, {2, 3, 1.5}), {3, -2, 4});
  Grid world;  // index axes are the world's
  world.size = {7, 19, 12};
  world.spacing = {3, 1, 2};
  world = centred_at(world, {-4, 1, 2});
  Grid slab = default_grid({93, 7, 1}, {0.4, 5, 4});
  Grid flipped_detector = detector(33, 41, views, 1.5, 1.25);
  flipped_detector.direction = {-1, 0, 0, 0, -1, 0, 0, 0, 1};
  flipped_detector.origin = {24, 25, 0};
  return {{"cone", scan(300, false, angles), detector(33, 41, views, 1.5, 1.25), along_y},
          {"cone_tilted", scan(300, true, angles), detector(33, 41, views, 1.5, 1.25), along_y},
          {"cone_world_axes", scan(300, true, angles), flipped_detector, world},
          {"cone_axis_along_j", scan(300, false, angles), detector(33, 41, views, 1.5, 1.25), world},
          {"cone_turned_grid", scan(300, true, angles), detector(33, 36, views, 1.6, 1.6),
           centred_at(rotated_grid({10, 15, 9}, {2, 1.5, 2.5}), {2, 3, -1})},
          {"cone_one_slice", scan(300, false, angles), detector(33, 7, views, 2, 2), slab},
          {"cone_one_voxel", scan(300, false, angles), detector(7, 7, views, 2, 2), default_grid({1, 1, 1}, {3, 3, 3})},
          {"fan", scan(280, false, angles), detector(33, 1, views, 1.7, 2),
           centred_at(default_grid({15, 11, 1}, {2, 2.5, 1}), {1, 0, -2})},
          {"fan_stack", fan_stack(angles, false), detector(33, 15, views, 1.7, 1.5),
           centred_at(default_grid({13, 9, 11}, {2, 3, 1.5}), {3, -3, 4})},
          {"fan_stack_between", fan_stack(angles, true), detector(35, 12, views, 1.9, 1.8), along_y},
          {"parallel", scan(0, false, angles), detector(33, 23, views, 1.25, 1.5), along_y},
          {"parallel_tilted", scan(0, true, angles), detector(33, 23, views, 1.25, 1.5), world}};
}

Scene scene_named(const std::string& name) {
  for (const Scene& scene : scenes())
    if (scene.name == name) return scene;
  throw std::logic_error("no scene " + name);
}

std::vector<Scene> upright_scenes() {
  std::vector<Scene> all;
  for (const char* name : {"cone", "cone_one_slice", "cone_one_voxel", "fan", "parallel"})
    all.push_back(scene_named(name));
  CircularOptions options;
  options.sid = 200;
  options.sdd = 300;
  options.angles = {3, 38, 44, 47, 81, 131, 137, 166, 203, 222, 251, 318};
  const std::size_t views = options.angles.size();
  const auto add = [&](const char* name, const Grid& detector, const Grid& grid) {
    all.push_back({name, circular_geometry(options), detector, grid});
  };
  const Grid plain = detector(41, 37, views, 1.4, 1.3), grid = default_grid({13, 9, 11}, {2, 3, 1.5});
  add("size_1", plain, default_grid({1, 1, 1}, {2, 2, 2}));
  add("size_7", plain, moved(default_grid({7, 7, 7}, {2, 1.5, 3}), {3, -2, 4}));
  add("size_33", detector(61, 53, views, 1.5, 1.6), moved(default_grid({33, 33, 33}, {1, 1.2, 0.9}), {-5, 4, 3}));
  add("thin_93", detector(93, 5, views, 0.9, 3), default_grid({93, 2, 93}, {0.6, 1, 4}));
  add("long_93", detector(9, 151, views, 3, 1.1), moved(default_grid({3, 93, 5}, {2, 1, 2}), {1, 7, -1}));
  add("coarse_pixels", detector(25, 19, views, 7, 6), grid);
  add("fine_pixels", detector(129, 127, views, 0.25, 0.2), grid);
  add("one_row", detector(41, 1, views, 1.4, 5), grid);
  add("cut_on_all_sides", detector(29, 27, views, 1.5, 1.5), default_grid({21, 19, 15}, {4, 4, 4}));
  Grid backwards = plain;
  backwards.direction = {-1, 0, 0, 0, -1, 0, 0, 0, 1};
  backwards.origin = {29, 24, 0};
  add("backwards", backwards, grid);
  options.projection_offset_x = 18;
  options.source_offset_y = 3;
  options.projection_offset_y = -4;
  add("displaced", plain, grid);
  options.sid = 40;
  options.sdd = 70;
  add("wide_fan", detector(41, 25, views, 1.2, 0.8), default_grid({17, 19, 12}, {1.5, 1.3, 1.1}));
  options.angles.clear();
  for (int n = 0; n < 19; ++n) options.angles.push_back(11 + 11.3 * n);
  options.sdd = 0;
  add("parallel_arc", detector(33, 23, 19, 1.25, 1.5), grid);
  return all;
}

Volume random_volume(const Grid& grid, unsigned seed) {
  Volume volume(grid);
  std::mt19937 generator(seed);
  for (float& value : volume.voxels) value = static_cast<float>(generator() >> 8) / 16777216.0f;
  return volume;
}

RunOptions split(int slabs, int batch) {
  RunOptions options;
  options.plan.minimum_slabs = slabs;
  options.plan.batch = batch;
  return options;
}

const std::vector<Device>& device() {
  static const std::vector<Device> devices = open_devices({});
  return devices;
}

std::string cpu_or_default() {
  const auto all = list_devices();
  return std::any_of(all.begin(), all.end(), [](const DeviceInfo& each) { return each.cpu(); }) ? "cpu" : "";
}

const std::vector<Device>& undivided() {
  static const std::vector<Device> opened =
      open_devices({.device = cpu_or_default(), .sub_devices = 0, .device_memory = 0});
  return opened;
}

const std::vector<Device>& sub_devices(int parts) {
  static std::map<int, std::vector<Device>> opened;
  const auto found = opened.find(parts);
  if (found != opened.end()) return found->second;
  DeviceSelection selection;
  selection.device = cpu_or_default();
  selection.sub_devices = parts;
  return opened.emplace(parts, open_devices(selection)).first->second;
}

}  // namespace halocline::reference

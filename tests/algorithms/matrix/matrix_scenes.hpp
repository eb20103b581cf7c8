// Scans within one slice, for tests of its system matrix.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "algorithms/matrix/tile_structure.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::matrix_test {

struct MatrixScene {
  reference::Scene scene;
  Projector::Named projector;
};
/// "fan_joseph", for names of tests.
inline std::string name_of(const MatrixScene& each) {
  std::string name = each.scene.name + "_" + projector_name(each.projector);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
inline void PrintTo(const MatrixScene& each, std::ostream* out) {
  *out << each.scene.name << ' ' << projector_name(each.projector);
}

inline reference::Scene slice_scene(const std::string& name, Grid detector, const Grid& grid, double sdd = 0,
                                    double offset = 0) {
  CircularOptions options;
  options.sid = 200;
  options.sdd = sdd;
  options.projection_offset_x = offset;
  options.angles = {0, 3, 37, 45, 81, 90, 118, 135, 166, 180, 203, 225, 251, 270, 290, 315, 341};
  detector.size[2] = options.angles.size();
  return {name, circular_geometry(options), detector, grid};
}

/// Parallel and fan beams with grids and detectors of any sizes and places; rays along lines of voxels and in faces.
inline std::vector<MatrixScene> matrix_scenes() {
  const auto pixels = [](std::size_t columns, double pitch) { return reference::detector(columns, 1, 1, pitch, 1); };
  Grid moved = default_grid({15, 11, 1}, {2, 2.5, 1});
  moved.origin[0] += 1, moved.origin[2] -= 2;
  Grid flipped = pixels(29, 1.25);
  flipped.direction = {-1, 0, 0, 0, -1, 0, 0, 0, 1};
  flipped.origin = {17.5, 0, 0};
  std::vector<MatrixScene> scenes;
  for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven})
    for (const auto& scene : {slice_scene("parallel", pixels(29, 1.25), default_grid({13, 9, 1}, {2, 2, 1})),
                              slice_scene("through_centres", pixels(17, 1), default_grid({17, 17, 1}, {1, 1, 1})),
                              slice_scene("in_faces", pixels(17, 1), default_grid({16, 16, 1}, {1, 1, 1})),
                              slice_scene("fine_columns", pixels(150, 0.2), default_grid({13, 9, 1}, {2, 3, 1})),
                              slice_scene("coarse_columns", pixels(7, 6), default_grid({33, 30, 1}, {1, 1, 1}), 0, 0.7),
                              slice_scene("displaced", pixels(40, 1.1), default_grid({7, 33, 1}, {3, 1, 1}), 0, 9.3),
                              slice_scene("one_voxel", pixels(7, 0.7), default_grid({1, 1, 1}, {3, 3, 1})),
                              slice_scene("one_line", pixels(17, 1), default_grid({33, 1, 1}, {1, 1, 1})),
                              slice_scene("flipped", flipped, moved), slice_scene("fan", pixels(33, 1.7), moved, 280),
                              slice_scene("wide_fan", pixels(61, 8), default_grid({33, 31, 1}, {2, 2.5, 1}), 280, 5)})
      scenes.push_back({scene, projector});
  return scenes;
}

inline SliceRays rays_of(const MatrixScene& each) {
  return {each.scene.geometry, each.scene.grid, each.scene.projections, each.projector};
}

/// Tiles that are listed: [ray tile][pixel tile].
class ListedTiles {
 public:
  explicit ListedTiles(const TileStructure& structure)
      : structure_(structure), listed_(std::size_t{structure.rays.tiles()} * structure.pixels.tiles()) {
    const auto &begins = structure.ray_super_begins, &places = structure.ray_super_places;
    for (std::uint32_t super = 0; 2 * super + 2 < begins.size(); ++super)
      for (std::uint32_t at = begins[2 * super]; at < begins[2 * super + 2]; ++at)
        for (std::uint32_t n = 0; n < super_ray_tiles; ++n)
          if ((places[at] >> n & 1) != 0)
            listed_[place(super_ray_tiles * super + n, places[at] >> super_ray_tiles)] = true;
  }
  /// Ray: column + columns * view, voxel: i + nx j.
  bool hold(std::size_t ray, std::size_t voxel) const { return listed_[place_of(ray, voxel)]; }
  /// Number of its tile among all.
  std::size_t place_of(std::size_t ray, std::size_t voxel) const {
    const auto at = [](const TileOrder& order, std::size_t element) {
      const auto n = static_cast<std::uint32_t>(element);
      return order.place_of(n % order.size[0], n / order.size[0]) / order.elements_of_tile();
    };
    return place(at(structure_.rays, ray), at(structure_.pixels, voxel));
  }

 private:
  std::size_t place(std::uint32_t ray_tile, std::uint32_t pixel_tile) const {
    return std::size_t{ray_tile} * structure_.pixels.tiles() + pixel_tile;
  }
  const TileStructure& structure_;
  std::vector<bool> listed_;
};

}  // namespace halocline::matrix_test

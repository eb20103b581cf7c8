// Pseudo-Morton orders of the elements of an image (Nourazar & Goossens 2021, Alg. 2): those of a tile are neighbours
// in the order, and so are the tiles of a group.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace halocline {

/// x and y: detector pixels and views of rays, voxels along i and j of a slice.
using Size2 = std::array<std::uint32_t, 2>;

/// Elements are ordered with x fastest in a tile, tiles with x fastest in a group, groups with x fastest. Tiles and
/// groups at the far edges are padded: some of their places have no element.
struct TileOrder {
  Size2 size{};       ///< elements along x and y
  Size2 tile{1, 1};   ///< elements of a tile, powers of 2
  Size2 group{1, 1};  ///< tiles of a group

  std::uint32_t elements_of_tile() const { return tile[0] * tile[1]; }
  std::uint32_t tiles_of_group() const { return group[0] * group[1]; }
  Size2 groups_across() const;
  /// Tiles along x and y, those of padding among them.
  Size2 tiles_across() const;
  std::uint32_t tiles() const { return tiles_across()[0] * tiles_across()[1]; }
  /// Places, those of padding among them: elements_of_tile() for each tile.
  std::uint32_t places() const { return tiles() * elements_of_tile(); }

  /// Number of the tile that is the x-th along x, the y-th along y.
  std::uint32_t tile_number(std::uint32_t x, std::uint32_t y) const;
  Size2 tile_at(std::uint32_t number) const;  ///< its inverse
  /// Place of an element.
  std::uint32_t place_of(std::uint32_t x, std::uint32_t y) const;
  Size2 element_at(std::uint32_t place) const;  ///< its inverse; not within `size`: padding
  bool has_element(std::uint32_t place) const;
};

/// Throws InputError that names `projections` or `volume` if there are no rays or pixels, or 2^31 places or more.
void check_orders(const TileOrder& rays, const TileOrder& pixels);

/// Places of all elements: [x + size[0] y].
std::vector<std::uint32_t> places_of_elements(const TileOrder& order);
/// Elements x + size[0] y of all places, or no_element: [place].
std::vector<std::uint32_t> elements_of_places(const TileOrder& order);
inline constexpr std::uint32_t no_element = 0xffffffffU;

}  // namespace halocline

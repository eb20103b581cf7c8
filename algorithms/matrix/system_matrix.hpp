// The system matrix of a scan whose rays run within slices, stored on the device as tiles of half precision, and the
// products with it and its transpose (cl/matrix.cl; Nourazar & Goossens 2021).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/matrix/sectors.hpp"
#include "algorithms/matrix/tile_structure.hpp"
#include "algorithms/projectors/joseph_slices.hpp"
#include "algorithms/projectors/projector.hpp"
#include "algorithms/support/kernel_numbers.hpp"
#include "host/opencl/matrix_units.hpp"
#include "scheduling/slabs/slab.hpp"

namespace halocline {

namespace structs {
using uint = std::uint32_t;
#include "cl/matrix.clh"
static_assert(sizeof(Tiling) == 15 * 4);
static_assert(RAY_MASK_BITS == super_ray_tiles && PIXEL_TILES == super_pixel_tiles);
}  // namespace structs

struct MatrixOptions {
  MatrixUnits units = MatrixUnits::none;                ///< none: float32
  bool half_vectors = false;                            ///< units: one half a number of x and y, not the sum of two
  std::size_t warps = 4;                                ///< units: of a work-group, which share a list of tiles
  bool symmetric = false;                               ///< the rays of an eighth of the scan; needs one part
  std::vector<int> parts = {};                          ///< views of each part, e.g. of subsets; empty: one part
  std::uint64_t chunk_bytes = std::uint64_t{16} << 30;  ///< most bytes of tiles in a buffer
};

/// Tiles of some of the views, which are multiplied together.
struct MatrixPart {
  Range views;   ///< that its rays, or those they stand for, belong to
  Range stored;  ///< of the rays
  TileStructure structure;
  std::vector<std::int32_t> ray_places;  ///< column and view of each ray tile's first ray
};

/// The sentence with which SystemMatrix() refuses a scan, with the remedy; empty: it stores it.
std::string refusal_to_store(const Geometry& geometry, const Grid& volume, const Grid& projections,
                             const Projector& projector);

/// Parts that both directions share: lists, tiles, and their arrays.
class SystemMatrix {
 public:
  /// Throws InputError for rays that leave their slices, rows that are not on slices, users' projectors, pixels of
  /// the distance-driven projector that are higher than slices, matrices beyond 2^32 tiles, and as sectors_of() does.
  SystemMatrix(const Geometry& geometry, const Grid& volume, const Grid& projections, const Projector& projector,
               const MatrixOptions& options);

  /// Sizes and the arrays that hold the matrix, which are called alike in both directions.
  void declare(Requirements& requirements) const;
  std::vector<std::string> arrays() const;
  /// Fills them.
  void start(Slab& slab) const;

  const Grid& volume() const { return volume_; }
  const Grid& projections() const { return projections_; }
  const std::vector<MatrixPart>& parts() const { return parts_; }
  std::size_t pixel_tiles() const { return pixel_places_.size() / 2; }
  std::uint32_t first_ray_tile(std::size_t part) const;  ///< among those of all parts
  std::size_t ray_tiles() const { return first_ray_tile(parts_.size()); }
  std::uint64_t tile_bytes() const;  ///< of the tiles
  std::size_t lanes() const;
  std::size_t value_bytes() const { return units() && options_.half_vectors ? 2 : 4; }  ///< of x and y
  std::size_t halves() const { return units() && !options_.half_vectors ? 2 : 1; }      ///< of a number
  bool units() const { return options_.units != MatrixUnits::none; }
  /// A launch for a part and so many slices; all its blocks, and first to end of what each kernel says.
  structs::Tiling tiling(std::size_t part, std::size_t slices, std::uint32_t first, std::uint32_t end,
                         std::uint32_t first_tile) const;
  const SliceRows& slice_rows() const { return rows_; }
  /// Options of the kernels for so many slices.
  std::string options(std::size_t slices) const;
  /// Copies of a slice that are multiplied: one for each sector (cl/matrix_sectors.clh).
  std::size_t copies() const { return sectors_ ? Sectors::count : 1; }
  /// Blocks of so many slices, and those of a work-group. Blocks of several work-groups fill them.
  std::size_t blocks(std::size_t slices) const {
    const std::size_t with_slices = parts_of(copies() * slices, slices_of_block);
    return with_slices > most_together() ? most_together() * parts_of(with_slices, most_together()) : with_slices;
  }
  std::size_t together(std::size_t slices) const { return std::min(blocks(slices), most_together()); }
  std::size_t slices_together(std::size_t slices) const { return slices_of_block * together(slices) / copies(); }
  /// Multiples of so many slices fill the blocks of work-groups, whatever part of the volume a slab holds.
  std::size_t slice_step() const {
    return std::max<std::size_t>(slices_of_block * together(volume_.size[2]) / copies(), 1);
  }

  /// Ray tiles of a super-tile: fewer of an eighth of the rays, which has to fill a device.
  std::uint32_t super_rays() const { return sectors_ ? super_ray_tiles / 2 : super_ray_tiles; }

  /// Work-items along y of a kernel whose warps share a super-tile's list, or each have one, of so many super-tiles.
  std::size_t warps_for(std::size_t supers) const { return (units() ? warps() : 1) * supers; }

  std::size_t warps() const { return options_.warps; }

  static constexpr std::size_t slices_of_block = 16;
  static std::string tiles_name(std::size_t part, std::size_t chunk);
  static std::string list_name(std::size_t part, const char* list);

 private:
  void fill(Slab& slab, std::size_t part) const;
  /// Blocks of a work-group at most, whose sums are in registers: 8 lanes of Intel's have those of one.
  std::size_t most_together() const { return options_.units == MatrixUnits::intel_8 ? 1 : 2; }

  MatrixOptions options_;
  Grid volume_, projections_;
  RayTable table_;
  Projector::Named projector_;
  SliceRows rows_;
  std::optional<Sectors> sectors_;
  std::vector<MatrixPart> parts_;
  std::vector<std::int32_t> pixel_places_;  // i and j of each pixel tile's first pixel
};

}  // namespace halocline

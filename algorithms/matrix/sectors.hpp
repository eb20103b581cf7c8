// Scans that the symmetry of a square maps to themselves: an eighth of their system matrix stands for all (future work
// of Nourazar & Goossens 2021; cl/matrix_sectors.clh).
#pragma once

#include <cstdint>

#include "algorithms/geometry/geometry.hpp"
#include "algorithms/matrix/tile_order.hpp"

namespace halocline {

/// Rays that are stored, and the turns of the slice by which they stand for all rays.
struct Sectors {
  static constexpr std::uint32_t count = 8;

  bool fan = false;                ///< of full turns; else of half turns of a parallel beam
  std::uint32_t quarter = 0;       ///< views of a quarter of a turn
  std::uint32_t first_column = 0;  ///< of the stored rays; the last is the detector's
  std::uint32_t stored_views = 0;  ///< from view 0 on: an eighth of a turn
  std::uint32_t turns = 0;         ///< three bits a sector, as cl/matrix_sectors.clh says
};

/// The ray of the scan for which a stored ray stands in a sector; column -1: another sector or stored ray stands for
/// it.
struct SectorRay {
  std::int32_t column, view;
};
SectorRay ray_of_sector(const Sectors& sectors, std::int32_t columns, std::int32_t column, std::int32_t view,
                        std::uint32_t sector);

/// Throws InputError that says what is missing, and the remedy: a square slice about the axis of rotation, a detector
/// centred on it, equal steps over half a turn (parallel) or a full turn (fan) from a multiple of 45 degrees on, with
/// views that a quarter of a turn maps to views.
Sectors sectors_of(const Geometry& geometry, const Grid& volume, const Grid& projections);

}  // namespace halocline

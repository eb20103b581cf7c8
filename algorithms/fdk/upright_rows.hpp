// Rows across the rotation axis for scans whose rows are not: every view as a flat detector that stands upright and
// faces the axis would have measured it. Filtered back-projection filters along such rows, for they hold the rays of
// the planes through the source and the way that it moves (Feldkamp, Davis & Kress 1984).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/geometry/geometry.hpp"
#include "scheduling/planning/range.hpp"

namespace halocline {

/// Rows that leave the way of the source by less than so many of them over the detector's width are across the axis.
constexpr double noticeable_drift = 0.02;

struct UprightRows {
  /// Map from pixels of the upright detector to the measured one, along the rays.
  struct Map {
    /// Row-major, (X, Y, Z) = to_measured (column, row, 1): the pixel (X/Z, Y/Z) of a flat detector; of a cylindrical
    /// one the slopes (ray_slopes()).
    std::array<double, 9> to_measured{};
    /// X/Z of the measured detector's outermost columns, the one on the side of the upright's column 0 first.
    std::array<double, 2> ends{};
  };

  /// A cone beam's views have no angle but the gantry's and no source offset x; those of a parallel beam keep the
  /// out-of-plane angle.
  Geometry geometry;
  /// Detector whose columns run along the path of the source. It has the measured pitch and covers all that is measured
  /// in any view; its centre is that of the measured detector, but for half a pitch if columns are to be symmetric.
  Grid detector;
  std::vector<Map> maps;  ///< a view
};

/// Upright detector of a scan; nothing if rows are across the axis in all views (noticeable_drift; but with `kept`), or
/// if they cannot be made so: a detector of one row, or rays far from the plane across the axis. kept: columns and rows
/// of the upright detector of earlier views, if any, which these keep unless they need a good deal more (2 pixels and
/// 1/64). symmetric: for all scans, and with columns in pairs equally far from the axis on either side; those at the
/// detector's ends reach to the outer edges of its pixels.
std::optional<UprightRows> upright_rows(const Geometry& geometry, const Grid& projections,
                                        const std::array<std::size_t, 2>& kept = {0, 0}, bool symmetric = false);

/// Reach of the columns that are measured in all views on the detector's short side, the left one if `right`, as the
/// tangent of the fan angle (parallel beam: mm).
double measured_on_both_sides(const UprightRows& upright, bool right);

/// True if rows leave the path of the source noticeably in some view.
bool rows_are_slanted(const Geometry& geometry, const Grid& projections);

/// Warning about filtered back-projection if rows stand at more than a degree to the path of the source and cannot be
/// made upright; nothing otherwise.
std::optional<std::string> remaining_slant(const Geometry& geometry, const Grid& projections);

/// A row each of `plane` (upright->detector, or without it the plane that a cylinder touches): the measured rows that
/// it is interpolated from, in any view.
std::vector<Range> measured_rows(const Geometry& geometry, const Grid& projections, const Grid& plane,
                                 const UprightRows* upright);

}  // namespace halocline

// Detector that filtered back-projection filters on: the places of its rows and the length of their transform.
#pragma once

#include <cstddef>
#include <optional>

#include "algorithms/fdk/fdk_parameters.hpp"
#include "algorithms/fdk/upright_rows.hpp"

namespace halocline {

/// Number of columns on either side of the axis below which rays seen twice are weighed in columns that are symmetric
/// about it. Rays from opposite sides that fall between each other's columns share their weight only up to the error of
/// interpolation between columns, which grows with the third power of how steep the weights are, and near the axis with
/// the line integral over the attenuation of a voxel.
constexpr double narrow_overlap = 32;

/// The rows that are filtered: on a flat detector (a cylindrical one is projected onto the plane that touches it), or
/// on an upright one where rows are not across the rotation axis, as wide as back-projection reads them.
struct FilteredRows {
  std::optional<UprightRows> upright;  ///< if rows are not across the axis
  Geometry geometry;                   ///< of the views on that detector
  Grid measured;                       ///< the stack on it
  Grid padded;                         ///< detector with the columns that a displaced detector lacks
  std::size_t before = 0;              ///< number of these before the measured ones
  std::size_t low_extent = 0;          ///< columns by which a truncated row is continued, on either side
  std::size_t high_extent = 0;
  std::size_t length = 0;  ///< of the Fourier transform
  bool symmetric = false;  ///< columns are in pairs equally far from the axis on either side (narrow_overlap)
  double limit = 0;        ///< Redundancy::limit, of these columns
};
/// earlier: the rows of views that came before, whose upright detector is kept if it is large enough. least_length: of
/// the Fourier transform.
FilteredRows filtered_rows(const Geometry& geometry, const Grid& projections, const FdkParameters& parameters,
                           const FilteredRows* earlier = nullptr, std::size_t least_length = 0);

/// Columns of the same pitch on the plane that a cylindrical detector touches, over all that some view measures; its
/// rows. A flat detector is its own.
Grid flat_detector(const Geometry& geometry, const Grid& projections);

}  // namespace halocline

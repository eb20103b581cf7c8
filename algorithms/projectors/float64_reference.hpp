// Single voxels and rays in double, whatever the size of the scan: the reference for the errors of float32 kernels in
// benches. It is computed from the geometry itself, without the tables that the kernels read.
#pragma once

#include <array>
#include <cstddef>
#include <functional>

#include "algorithms/geometry/geometry.hpp"
#include "algorithms/projectors/projector.hpp"

namespace halocline {

using Index3 = std::array<std::size_t, 3>;
/// The value of pixel (column, row) of a view, or of voxel (i, j, k).
using ValueAt = std::function<double(std::size_t, std::size_t, std::size_t)>;

/// A flat detector and a grid in a scan.
struct ExactScan {
  const Geometry& geometry;
  const Grid& volume;
  const Grid& stack;
};

/// The sum over the views of pixels interpolated bilinearly where the point is seen, zero outside the detector, times
/// 1/w^2 if the beam diverges (see index_to_detector). `point`: a fractional volume index. value(column, row, view).
/// The detector has more than one row.
double exact_backprojection(const ExactScan& scan, const std::array<double, 3>& point, const ValueAt& value);

/// Exact value after FDK's weights and filter (Ram-Lak): upright views of a full circle.
double exact_fdk(const ExactScan& scan, const std::array<double, 3>& point, const ValueAt& value);

/// A sum of voxels along a ray, or of rays through a voxel, and how many took part with a weight.
struct ExactSum {
  double value = 0;
  std::size_t terms = 0;
};
/// The ray through pixel (column, row) of view pixel[2], by the projector's definition. value(i, j, k).
ExactSum exact_projection(const ExactScan& scan, Projector projector, const Index3& pixel, const ValueAt& value);
/// The adjoint, at a voxel. value(column, row, view).
ExactSum exact_adjoint(const ExactScan& scan, Projector projector, const Index3& voxel, const ValueAt& value);

}  // namespace halocline

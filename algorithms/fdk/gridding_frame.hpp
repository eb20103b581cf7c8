// Places of a parallel beam's samples in the Fourier space of slices, and of slices on the detector (cl/gridding.cl).
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "algorithms/fdk/fdk_parameters.hpp"
#include "algorithms/geometry/geometry.hpp"
#include "scheduling/planning/range.hpp"

namespace halocline {

/// Reach of the spreading kernel in frequencies of the Cartesian grid; REACH of cl/gridding.cl.
constexpr double gridding_reach = 3.5;
/// The least ratio of the grid's frequencies to voxels; lengths are powers of two.
constexpr double gridding_oversampling = 1.5;

/// Throws InputError that names the cause and a remedy unless slices are independent problems of a parallel beam:
/// straight, not tilted, the volume's axis k along the rotation axis, voxels of up to 128 columns, the detector at one
/// height, exact interpolation, and no variance.
void check_gridding(const Geometry& geometry, const Grid& projections, const Grid& grid,
                    const FdkParameters& parameters);

/// Length of the rows' transforms with which no voxel meets the periodic repetition of a row of `detector`.
std::size_t gridding_length(const Geometry& geometry, const Grid& detector, const Grid& grid);

/// Numbers that the kernels read.
struct GriddingFrame {
  std::size_t width = 0, height = 0;  ///< frequencies of the Cartesian grid
  std::vector<int> order;             ///< views by the angle of their lines
  std::vector<float> lines;           ///< 8 a view, in that order
  std::array<float, 2> limits{};      ///< where samples end along x and y, with the kernel's reach
  std::array<float, 2> beta{};        ///< the kernel's exponent along x and y, of 2
  std::vector<float> corrections;     ///< nx + ny
  std::vector<float> slice_rows;      ///< 2 a slice

  /// Detector rows between which these slices lie, of `rows`.
  Range rows_of(Range slices, std::int64_t rows) const;
};
/// length: of the transforms of rows of `detector`.
GriddingFrame gridding_frame(const Geometry& geometry, const Grid& detector, const Grid& grid, std::size_t length);

/// Exponent of the kernel for a ratio of frequencies to voxels (Barnett, Magland & af Klinteberg 2019).
double gridding_beta(double oversampling);
/// Fourier transform of the kernel at `frequency`, cycles a frequency of the grid.
double gridding_transform(double beta, double frequency);

}  // namespace halocline

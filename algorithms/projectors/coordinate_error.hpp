// Error that float32 causes in the detector coordinates of voxel-driven back-projection. With 4096^3 voxels and 4096^2
// pixels, displaced and tilted, it is 0.0012 pixels at most and cannot be more than 0.0034: less than a step of a
// texture unit's 8-bit fractions (0.0039).
#pragma once

#include <array>

#include "algorithms/geometry/geometry.hpp"

namespace halocline {

/// Error of one coordinate (u or v), in pixels.
struct CoordinateError {
  double error = 0;  ///< of the operations of cl/backproject.cl in float32, against double
  double bound = 0;  ///< on it, whatever the last bits are: see the source
};

/// The larger of u's and v's, by bound, at a voxel `index` that is in front of the source. `matrix`: as
/// index_to_detector() makes it of a grid of `size`, and of a stack of fans if that is set.
CoordinateError coordinate_error(const Matrix34& matrix, const std::array<std::size_t, 3>& size,
                                 const std::array<std::size_t, 3>& index, bool fan_stack = false);

/// The largest of both over so many pseudo-random voxels, the corners among them, a view each in turn, that are seen by
/// a detector of the stack.
CoordinateError worst_coordinate_error(const Geometry& geometry, const Grid& volume, const Grid& stack,
                                       int voxels = 4096);

/// Pixels that float32 may put a coordinate beside where it is: more is seen in images.
inline constexpr double most_coordinate_error = 0.05;
/// Throws InputError if voxel-driven back-projection exceeds that, at 512 voxels.
void check_coordinates(const Geometry& geometry, const Grid& volume, const Grid& stack);
/// The error that check_coordinates() throws.
[[noreturn]] void refuse_coordinates(double error);

}  // namespace halocline

// System matrices of slices: their sizes, and a picture of where their non-zeros lie. Counted on the host.
#pragma once

#include <cstddef>
#include <string>

#include "algorithms/matrix/matrix_size.hpp"
#include "algorithms/projectors/scan_forms.hpp"
#include "apps/images/png.hpp"

namespace halocline {

/// A slice of size^2 pixels and a centred detector as wide as the slice at the axis.
struct MatrixProblem {
  std::size_t size = 512, views = 720, columns = 512;
  bool fan = false;  ///< over 360 degrees, from 2 widths of the slice, the detector at 4; parallel: over 180 degrees
  Projector::Named projector = Projector::joseph;

  /// "512^2 pixels, 720 x 512 rays, parallel beam, joseph"
  std::string text() const;
};

/// The problem on so many slices, each with its row of the detector: a parallel beam or a stack of fans.
Scan scan_of(const MatrixProblem& problem, std::size_t slices);
SliceRays rays_of(const MatrixProblem& problem);

/// Side of a panel of the picture at most.
inline constexpr std::uint32_t panel_side = 512;
/// A part of the matrix row by row, on the left, and in the orders of its tiles: rays through the middle of the slice,
/// an eighth of the way round, and pixels there, black where a weight is.
GreyImage sparsity_picture(const SliceRays& rays, const Size2& shape);

}  // namespace halocline

#include "algorithms/preprocessing/counts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "algorithms/support/parallel_slices.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

using std::fma;
using std::fmax;
using std::log;
#include "cl/counts.clh"

}  // namespace

CountsCalibration CountsCalibration::of_views(const std::vector<std::size_t>& views) const {
  CountsCalibration part = *this;
  part.size[2] = views.size();
  part.replaced = replaced.of_views(views);
  part.beams.clear();
  for (const std::size_t view : views) part.beams.push_back(beams.at(view));
  return part;
}

void attenuations_of_row(const CountsCalibration& calibration, std::size_t row, std::size_t view, const float* counts,
                         float* q) {
  const std::size_t columns = calibration.size[0];
  const auto* pixels = calibration.pixels.data() + row * columns;
  const float beam = calibration.beams[view];
  for (std::size_t column = 0; column < columns; ++column) {
    const auto& [dark, open] = pixels[column];
    q[column] = counts_attenuation(counts_signal(counts[column], dark, calibration.floor), open, beam);
  }
}

void require_calibrated(const CountsCalibration& calibration, const Grid& stack, const std::string& name) {
  if (stack.size == calibration.size) return;
  throw InputError(fmt::format("{}: the stack has {} values, but its calibration {}; calibrate these very counts", name,
                               fmt::join(stack.size, " x "), fmt::join(calibration.size, " x ")));
}

void view_to_line_integrals(const CountsCalibration& calibration, std::size_t view, float* values) {
  const std::size_t columns = calibration.size[0], rows = calibration.size[1];
  const auto polynomial_degree = static_cast<int>(calibration.coefficients.size());
  calibration.replaced.put(view * rows * columns, rows * columns, values);
  for (std::size_t row = 0; row < rows; ++row)
    attenuations_of_row(calibration, row, view, values + row * columns, values + row * columns);
  for (std::size_t n = 0; n < rows * columns; ++n)
    values[n] = counts_hardened(values[n], calibration.coefficients.data(), polynomial_degree);
}

void counts_to_line_integrals(Volume& counts, const CountsCalibration& calibration, const std::string& name) {
  require_calibrated(calibration, counts.grid, name);
  parallel_slices(counts.grid.size[2], [&](std::size_t view) {
    view_to_line_integrals(calibration, view, counts.voxels.data() + view * counts.grid.slice());
  });
}

}  // namespace halocline

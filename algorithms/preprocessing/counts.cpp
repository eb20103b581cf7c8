#include "algorithms/preprocessing/counts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "algorithms/support/parallel_slices.hpp"
#include "host/error.hpp"

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
  part.beams.clear();
  for (const std::size_t view : views) part.beams.push_back(beams.at(view));
  return part;
}

std::vector<std::array<std::size_t, 2>> CountsCalibration::rows_read() const {
  std::vector<std::array<std::size_t, 2>> read;
  for (const std::size_t row : bad_rows) {
    auto& [first, last] = read.emplace_back(std::array{row, row});
    for (std::size_t at = row * size[0]; at < (row + 1) * size[0]; ++at)
      for (const float steps : {pixels[at].left, pixels[at].right}) {
        const auto good = static_cast<std::ptrdiff_t>(at) + static_cast<std::ptrdiff_t>(steps);
        first = std::min(first, static_cast<std::size_t>(good) / size[0]);
        last = std::max(last, static_cast<std::size_t>(good) / size[0]);
      }
  }
  return read;
}

void attenuations_of_row(const CountsCalibration& calibration, std::size_t row, std::size_t view, const float* counts,
                         float* q) {
  const std::size_t columns = calibration.size[0];
  const auto* pixels = calibration.pixels.data() + row * columns;
  const float beam = calibration.beams[view];
  const auto good = [&](std::size_t column, float steps) {
    const auto at = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(column) + static_cast<std::ptrdiff_t>(steps));
    return counts_attenuation(counts_signal(counts[at], pixels[at].dark, calibration.floor), pixels[at].open, beam);
  };
  for (std::size_t column = 0; column < columns; ++column) {
    const auto& pixel = pixels[column];
    q[column] = good(column, pixel.left);
    if (!(pixel.right > pixel.left)) continue;
    const float share = counts_share(pixel.left, pixel.right);
    q[column] = (1 - share) * q[column] + share * good(column, pixel.right);
  }
}

void require_calibrated(const CountsCalibration& calibration, const Grid& stack, const std::string& name) {
  if (stack.size == calibration.size) return;
  throw InputError(fmt::format("{}: the stack has {} values, but its calibration {}; calibrate these very counts", name,
                               fmt::join(stack.size, " x "), fmt::join(calibration.size, " x ")));
}

void view_to_line_integrals(const CountsCalibration& calibration, std::size_t view, float* values) {
  const std::size_t columns = calibration.size[0], rows = calibration.size[1];
  const auto degree = static_cast<int>(calibration.coefficients.size());
  std::vector<float> q(rows * columns);  // of all, for rows may need others
  for (std::size_t row = 0; row < rows; ++row)
    attenuations_of_row(calibration, row, view, values + row * columns, q.data() + row * columns);
  for (std::size_t n = 0; n < q.size(); ++n) values[n] = counts_hardened(q[n], calibration.coefficients.data(), degree);
}

void counts_to_line_integrals(Volume& counts, const CountsCalibration& calibration, const std::string& name) {
  require_calibrated(calibration, counts.grid, name);
  parallel_slices(counts.grid.size[2], [&](std::size_t view) {
    view_to_line_integrals(calibration, view, counts.voxels.data() + view * counts.grid.slice());
  });
}

}  // namespace halocline

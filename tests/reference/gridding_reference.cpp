#include "tests/reference/gridding_reference.hpp"

#include <cmath>
#include <complex>
#include <numbers>

#include "algorithms/fdk/gridding_frame.hpp"
#include "tests/reference/projector_reference.hpp"

namespace halocline::reference {
namespace {

using Samples = std::vector<std::complex<double>>;

// Samples at k = -length/2 + 1 to length/2 - 1.
Samples transform_of(const double* row, std::size_t length) {
  const auto half = static_cast<std::int64_t>(length / 2), size = static_cast<std::int64_t>(length);
  Samples samples;
  for (std::int64_t k = 1 - half; k < half; ++k) {
    std::complex<double> sum = 0;
    for (std::int64_t n = 0; n < size; ++n)
      sum += row[n] *
             std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k * n % size) / static_cast<double>(size));
    const double turns = static_cast<double>(k) / static_cast<double>(size),
                 linear = k == 0 ? 1 : std::sin(std::numbers::pi * turns) / (std::numbers::pi * turns);
    samples.push_back(sum * linear * linear / static_cast<double>(size));
  }
  return samples;
}

double value_at(const Samples& samples, double u) {
  const auto most = static_cast<double>(samples.size() / 2);
  const double step = 2 * std::numbers::pi * u / static_cast<double>(samples.size() + 1);
  const std::complex<double> turn = std::polar(1.0, step);
  std::complex<double> sum = 0, phase = std::polar(1.0, -most * step);
  for (const auto& sample : samples) {
    sum += sample * phase;
    phase *= turn;
  }
  return sum.real();
}

}  // namespace

std::vector<double> direct_fourier(const Volume& projections, const Geometry& geometry, const Grid& grid,
                                   const FdkParameters& parameters) {
  const FilteredRows detector = filtered_rows(geometry, projections.grid, parameters);
  const auto [values, stack, seen, weights] =
      filtered_stack(projections, geometry, parameters, gridding_length(detector.geometry, detector.padded, grid));
  const auto rows = static_cast<std::int64_t>(stack.size[1]);
  std::vector<double> out(grid.count(), 0.0);
  for (std::size_t n = 0; n < seen.views.size(); ++n) {
    std::vector<Samples> samples;
    for (std::int64_t row = 0; row < rows; ++row)
      samples.push_back(transform_of(
          values.data() + stack.size[0] * (static_cast<std::size_t>(row) + stack.size[1] * n), stack.size[0]));
    const Matrix34 m = projection_matrix(seen.views[n]);
    std::size_t at = 0;
    for (std::size_t k = 0; k < grid.size[2]; ++k)
      for (std::size_t j = 0; j < grid.size[1]; ++j)
        for (std::size_t i = 0; i < grid.size[0]; ++i, ++at) {
          const auto x = grid.world(static_cast<double>(i), static_cast<double>(j), static_cast<double>(k));
          const auto mm = [&](int r) { return m[r] * x[0] + m[r + 1] * x[1] + m[r + 2] * x[2] + m[r + 3]; };
          auto [u, v] = pixel_index(stack, mm(0), mm(4));
          if (rows == 1) v = std::abs(v) > 0.5 ? -2 : 0;
          const double v0 = std::floor(v);
          for (int next = 0; next < 2; ++next) {
            const auto row = static_cast<std::int64_t>(v0) + next;
            const double share = next == 1 ? v - v0 : 1 - v + v0;
            if (row < 0 || row >= rows || share == 0) continue;
            out[at] += weights.scale[n] * share * value_at(samples[static_cast<std::size_t>(row)], u);
          }
        }
  }
  return out;
}

}  // namespace halocline::reference

#include "algorithms/fdk/row_filter_trial.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "algorithms/fdk/fdk.hpp"
#include "host/opencl/trial_values.hpp"
#include "scheduling/profiling/measure.hpp"

namespace halocline {
namespace {

constexpr std::size_t trial_rows = 3, trial_views = 12,
                      trial_batch = 2;  // an odd number of rows: the last has no partner

// Pixel width with which the filter scales by 1, with so many views all round half a circle.
constexpr double trial_pixel = std::numbers::pi / trial_views;

Grid stack_of(std::size_t columns) {
  Grid stack;
  stack.size = {columns, trial_rows, trial_views};
  stack.spacing = {trial_pixel, trial_pixel, 1};
  stack.origin = {-0.5 * trial_pixel * static_cast<double>(columns - 1), -0.5 * trial_pixel * (trial_rows - 1), 0};
  return stack;
}

Geometry half_circle() {
  CircularOptions options;
  options.sdd = 0;  // a parallel beam
  options.projections = trial_views;
  options.arc = 180;
  return circular_geometry(options);
}

// Each row convolved with the ramp's kernel on a circle of `length`.
void convolve(const Volume& raw, std::size_t length, Volume& result) {
  const auto kernel = kernel_of_transfer(ramp_transfer(Window::ram_lak, 1, length));
  const std::size_t columns = raw.grid.size[0];
  for (std::size_t row = 0; row < raw.voxels.size(); row += columns)
    for (std::size_t column = 0; column < columns; ++column) {
      double sum = 0;
      for (std::size_t n = 0; n < columns; ++n)
        sum += raw.voxels[row + n] * kernel[(length + column - n) & (length - 1)];
      result.voxels[row + column] = static_cast<float>(sum);
    }
}

}  // namespace

RowFilterTrial row_filter_trial(const Device& device, std::size_t length, bool in_local_memory) {
  const std::size_t columns = length / 2 - (length < 16 ? 0 : length / 16 | 1);
  const Grid stack = stack_of(columns);
  FdkParameters parameters;
  parameters.longest_local_rows = in_local_memory ? length : 0;
  const FdkFilter filter(half_circle(), stack, parameters);
  Requirements requirements;
  requirements.size = {1, 1, 1};
  requirements.stack = stack.size;
  filter.declare(requirements);
  DeviceSlab slab(device, whole_plan(requirements, trial_batch), 0);

  Grid part = stack;
  part.size[2] = trial_batch;
  Volume raw(part);
  for (std::size_t n = 0; n < raw.voxels.size(); ++n) raw.voxels[n] = trial_value(n);
  filter.start(slab);
  slab.upload_bytes("raw", 0, raw.voxels.data(), raw.voxels.size() * sizeof(float));
  filter.run(slab, {0, trial_batch});
  constexpr std::size_t pairs = (trial_rows + 1) / 2;
  std::vector<float> spectrum(trial_batch * pairs * length * 2);
  slab.download_bytes("spectrum", 0, spectrum.data(), spectrum.size() * sizeof(float));
  slab.wait();

  RowFilterTrial trial{Volume(part), Volume(part), 2e-6};  // of values up to about 0.5
  for (std::size_t view = 0; view < trial_batch; ++view)
    for (std::size_t row = 0; row < trial_rows; ++row)
      for (std::size_t column = 0; column < columns; ++column)
        trial.filtered.at(column, row, view) = spectrum[2 * ((view * pairs + row / 2) * length + column) + row % 2];
  convolve(raw, length, trial.expected);
  return trial;
}

}  // namespace halocline

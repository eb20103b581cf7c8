// labels: app device nightly
// Time frames of a measured gel (Heikkila et al. 2020, arXiv 2003.02841): contrast flows through straws.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/denoise/denoise.hpp"
#include "algorithms/denoise/frames.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "algorithms/geometry/geometry.hpp"
#include "apps/images/image_file.hpp"
#include "tests/reference/real_data.hpp"

namespace halocline::real_frames_test {
namespace {

constexpr std::size_t frames = 17, views = 72;

Volume reconstructed_frames(const Volume& projections, const std::vector<Device>& devices) {
  CircularOptions options{.sid = 99.9995, .sdd = 299.99926, .projections = static_cast<int>(views)};
  const double voxel = 0.26667;
  const Grid grid = default_grid({128, 128, 1}, {voxel, voxel, voxel});
  Volume stack(stacked_grid(grid, frames));
  Volume frame = projections;
  frame.grid.size[2] = views;
  for (std::size_t n = 0; n < frames; ++n) {
    const auto begin = projections.voxels.begin() + static_cast<std::ptrdiff_t>(n * frame.grid.count());
    frame.voxels.assign(begin, begin + static_cast<std::ptrdiff_t>(frame.grid.count()));
    put_frame(stack, n, fdk(frame, circular_geometry(options), grid, {}, devices).output);
  }
  return stack;
}

// The median second difference along time, as a standard deviation.
double flicker(const Volume& stack) {
  std::vector<double> differences;
  const std::size_t slice = stack.grid.slice();
  for (std::size_t n = 0; n + 2 * slice < stack.voxels.size(); ++n)
    differences.push_back(std::abs(stack.voxels[n] - 2.0 * stack.voxels[n + slice] + stack.voxels[n + 2 * slice]) /
                          std::sqrt(6.0));
  const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
  std::nth_element(differences.begin(), middle, differences.end());
  return *middle / 0.6745;
}

TEST(DynamicGel, FlickerGoesAndTheInflowStays) {
  SKIP_WITHOUT("fan_gel_dynamic/gel_17x72_projections.mha");
  const auto devices = open_devices({});
  const Volume noisy =
      reconstructed_frames(read_image(real_data("fan_gel_dynamic/gel_17x72_projections.mha")), devices);
  DenoiseParameters parameters{.method = "pdu4d"};
  parameters.time = {.weight = 0.3};
  const auto result = denoise(noisy, nullptr, parameters, devices);
  EXPECT_TRUE(result.converged);
  // Places of the contrast at frame 10, and its amount: the mean change since the first frame.
  double before = 0, after = 0, voxels = 0;
  const std::size_t slice = noisy.grid.slice();
  for (std::size_t n = 0; n < slice; ++n) {
    const double change = result.output.voxels[n + 10 * slice] - result.output.voxels[n];
    if (change < 0.01) continue;
    before += noisy.voxels[n + 10 * slice] - noisy.voxels[n];
    after += change;
    ++voxels;
  }
  std::printf("alpha %.4g (%s), flicker %.3g to %.3g per mm, contrast in %.0f voxels %.4f to %.4f per mm\n",
              result.alpha, result.alpha_choice.c_str(), flicker(noisy), flicker(result.output), voxels,
              before / voxels, after / voxels);
  EXPECT_LT(flicker(result.output), 0.2 * flicker(noisy));
  EXPECT_GT(voxels, 100);
  EXPECT_GT(after, 0.85 * before);  // total variation takes 2 lambda / radius of a straw, and as much in time
  EXPECT_LT(after, 1.02 * before);
}

}  // namespace
}  // namespace halocline::real_frames_test

#include "algorithms/denoise/frames.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/support/volume_sample.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

// Standard deviation of a voxel from the differences along time, 0 where there are none; a fixed sample of the voxels
// of all frames. Those that do not change at all (masked) do not count.
double noise_between_frames(const Volume& stack) {
  constexpr std::size_t most_samples = 1 << 20;
  const std::size_t frame = stack.grid.slice(), frames = stack.grid.size[2];
  if (frames < 2) return 0;
  const std::size_t span = std::min<std::size_t>(frames, 3);
  const std::size_t stride = (stack.voxels.size() / most_samples) | 1;
  std::vector<double> differences;
  for (std::size_t n = 0; n < (frames - span + 1) * frame; n += stride) {
    const double a = stack.voxels[n], b = stack.voxels[n + frame];
    const double c = span == 3 ? stack.voxels[n + 2 * frame] : 0;
    if (a == b && (span == 2 || b == c)) continue;
    differences.push_back(span == 3 ? std::abs(a - 2 * b + c) / std::sqrt(6.0) : std::abs(a - b) / std::sqrt(2.0));
  }
  if (differences.empty()) return 0;
  const auto middle = differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2);
  std::nth_element(differences.begin(), middle, differences.end());
  return *middle / 0.6745;
}

}  // namespace

FrameNoise estimate_noise_of_frames(const Volume& stack, std::size_t depth) {
  FrameNoise result;
  result.noise = estimate_noise(take_frame(stack, stack.grid.size[2] / 2, frame_grid(stack.grid, depth)));
  const double between = noise_between_frames(stack);
  if (between > 0 && between < result.noise.sigma) {
    result.noise.sigma = between;
    result.between_frames = true;
  }
  return result;
}

FramePart central_frames(const Volume& stack, std::size_t depth, std::size_t voxels) {
  constexpr std::size_t most_frames = 16;
  const Grid frame = frame_grid(stack.grid, depth);
  const std::size_t frames = stack.grid.size[2], count = std::min(frames, most_frames);
  FramePart part;
  for (std::size_t n = 0; n < count; ++n) {
    const Volume central = central_part(take_frame(stack, (frames - count) / 2 + n, frame), voxels / count);
    if (n == 0) part = {Volume(stacked_grid(central.grid, count)), central.grid.size[2]};
    put_frame(part.stack, n, central);
  }
  return part;
}

LambdaChoice choose_lambda_of_frames(const Volume& stack, const TimeAxis& time, std::optional<double> target_fidelity,
                                     const std::vector<Device>& devices) {
  const auto part = central_frames(stack, time.depth, most_searched_voxels);
  const Grid frame = frame_grid(part.stack.grid, part.depth);
  const auto [noise, between_frames] = estimate_noise_of_frames(part.stack, part.depth);
  DiscrepancyProblem problem;
  problem.method = "pdu4d";
  problem.parameters.size = part.stack.grid.size;
  problem.parameters.spacing = part.stack.grid.spacing;
  problem.parameters.time = {time.weight, part.depth};
  problem.inputs["f"] = &part.stack;
  problem.sigma = noise.sigma;
  problem.variance = noise.active_fraction;
  problem.noise = between_frames ? " from the differences between frames" : " from the middle frame";
  problem.target_fidelity = target_fidelity;
  problem.whole_voxels = stack.grid.count();
  problem.spacing = frame.count() > 1 ? typical_spacing(frame) : *time.weight;
  problem.object = "frames";
  if (part.stack.grid.count() < stack.grid.count())
    problem.part = fmt::format(", on the central {} x {} x {} voxels of {} frames", frame.size[0], frame.size[1],
                               frame.size[2], part.stack.grid.size[2]);
  return choose_lambda(problem, devices.front());
}

}  // namespace halocline

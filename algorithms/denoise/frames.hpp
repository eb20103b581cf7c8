// Noise of time frames, and the strength that suits it.
#pragma once

#include <vector>

#include "algorithms/denoise/discrepancy.hpp"
#include "algorithms/denoisers/frame_stack.hpp"
#include "algorithms/denoisers/time_axis.hpp"
#include "algorithms/noise/noise_estimate.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

/// The middle frames, at most 16, and of each the central part: together at most `voxels` voxels.
struct FramePart {
  Volume stack;
  std::size_t depth = 1;
};
FramePart central_frames(const Volume& stack, std::size_t depth, std::size_t voxels);

/// The smaller of two estimates, as both take some of the object for noise: estimate_noise() of the middle frame
/// (texture and streaks), and the median absolute difference between frames / 0.6745 (change), which is right, too,
/// where voxels of a frame share noise. With two frames first differences are taken, with more second ones; with one
/// frame none.
struct FrameNoise {
  NoiseEstimate noise;
  bool between_frames = false;  // the second
};
FrameNoise estimate_noise_of_frames(const Volume& stack, std::size_t depth);

/// choose_lambda() for pdu4d, by estimate_noise_of_frames(), on at most 128^3 voxels.
LambdaChoice choose_lambda_of_frames(const Volume& stack, const TimeAxis& time, std::optional<double> target_fidelity,
                                     const std::vector<Device>& devices);

}  // namespace halocline

// Several volumes of `halocline denoise` as time frames.
#pragma once

#include <string>
#include <vector>

#include "apps/images/image_file.hpp"
#include "apps/job/job.hpp"

namespace halocline {

struct FrameOptions {
  std::vector<std::string> inputs;  // in the order of time

  bool several() const { return inputs.size() > 1; }
};

/// Takes all inputs for the job; the grid of each, which is one. Throws InputError if they differ.
Grid input_frames(Job& job, const FrameOptions& options);
/// The grid of the volume that is denoised: of one input, or of the frames stacked.
Grid input_grid(const FrameOptions& options, const Grid& frame);
/// Takes the outputs for the job: `pattern` itself for one input; for several, its "%02d" filled with their numbers.
/// Throws InputError if it has none.
std::vector<std::string> output_frames(Job& job, const FrameOptions& options, const std::string& pattern);

Volume read_frames(Job& job, const FrameOptions& options, const Grid& frame);
/// Each to its place; returns how many values the type of the voxels could not hold.
std::size_t write_frames(Job& job, const Volume& result, std::vector<ReservedImage>& images, const Grid& frame);

/// "17 frames of 256 x 256 x 1 of ..." for result lines.
std::string frames_summary(const FrameOptions& options, const Grid& frame);

}  // namespace halocline

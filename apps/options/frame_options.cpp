#include "apps/options/frame_options.hpp"

#include <fmt/format.h>

#include "algorithms/denoise/frames.hpp"
#include "apps/job/report.hpp"
#include "apps/options/file_names.hpp"
#include "host/system/error.hpp"

namespace halocline {

Grid input_frames(Job& job, const FrameOptions& options) {
  const Grid first = job.input_volume("-i", options.inputs.front()).grid;
  for (std::size_t n = 1; n < options.inputs.size(); ++n)
    require_same_grid(first, "'" + options.inputs.front() + "'", job.input_volume("-i", options.inputs[n]).grid,
                      "'" + options.inputs[n] + "'");
  return first;
}

Grid input_grid(const FrameOptions& options, const Grid& frame) {
  return options.several() ? stacked_grid(frame, options.inputs.size()) : frame;
}

std::vector<std::string> output_frames(Job& job, const FrameOptions& options, const std::string& pattern) {
  std::vector<std::string> outputs;
  for (std::size_t n = 0; n < options.inputs.size(); ++n) {
    outputs.push_back(options.several() ? numbered("-o", pattern, n) : pattern);
    job.output_image("-o", outputs.back());
  }
  return outputs;
}

Volume read_frames(Job& job, const FrameOptions& options, const Grid& frame) {
  if (!options.several()) return job.images().read(options.inputs.front());
  Volume stack(input_grid(options, frame));
  for (std::size_t n = 0; n < options.inputs.size(); ++n) put_frame(stack, n, job.images().read(options.inputs[n]));
  return stack;
}

std::size_t write_frames(Job& job, const Volume& result, std::vector<ReservedImage>& images, const Grid& frame) {
  std::size_t changed = 0;
  for (std::size_t n = 0; n < images.size(); ++n)
    changed += job.images().write(take_frame(result, n, frame), images[n]);
  return changed;
}

std::string frames_summary(const FrameOptions& options, const Grid& frame) {
  return options.several() ? fmt::format("{} frames of {}", options.inputs.size(), grid_summary(frame))
                           : grid_summary(frame);
}

}  // namespace halocline

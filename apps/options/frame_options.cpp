#include "apps/options/frame_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "algorithms/denoise/frames.hpp"
#include "apps/images/image_series.hpp"
#include "apps/job/report.hpp"
#include "apps/job/validators.hpp"
#include "host/system/error.hpp"

namespace halocline {

std::string numbered(const std::string& option, const std::string& pattern, std::size_t number) {
  const NumberPlace place = number_place(pattern);
  if (!place.found)
    throw InputError(
        fmt::format("{} '{}' is one name for several frames; give it a place for their numbers, as in frame_%02d.mha",
                    option, pattern));
  // Of two places the first is that of the frame, and the last that of the slice.
  if (const NumberPlace first = number_place(place.before); first.found)
    return first.with(number) + pattern.substr(place.before.size());
  return place.with(number);
}

void add_time_options(CLI::App& sub, FrameOptions& options, TimeAxis& time) {
  const char* group = "Time";
  sub.add_option(
         "--time-weight", time.weight,
         "pdu4d, --time-axis: differences between frames are divided by it, in mm, as those between voxels by their "
         "spacing: the larger, the less frames are made alike")
      ->check(positive_number())
      ->type_name("W")
      ->group(group);
  sub.add_option("--time-axis", options.time_axis, "pdu, spdu: the axis of the volume that is time (2D frames)")
      ->check(CLI::IsMember({"z"}))
      ->default_str("")
      ->group(group);
}

void check_frame_options(const FrameOptions& options, const DenoiseParameters& parameters) {
  const auto& method = parameters.method;
  const bool frames = method == "pdu4d", weighted = parameters.time.weight.has_value();
  if (options.several() && !frames)
    throw InputError(fmt::format("there are {} -i, but {} takes one volume; for time frames use --method pdu4d",
                                 options.inputs.size(), method));
  if (!options.several() && frames)
    throw InputError(
        "pdu4d takes the frames as several -i, and there is one; for a volume whose z axis is time use --method pdu "
        "--time-axis z");
  if (!options.time_axis.empty() && method != "pdu" && method != "spdu")
    throw InputError(fmt::format("--time-axis is for --method pdu and spdu; {} {}", method,
                                 frames ? "takes the frames as several -i" : "knows no time"));
  if (!options.time_axis.empty() && !weighted)
    throw InputError("--time-axis needs --time-weight, the mm by which differences along that axis are divided");
  if (options.time_axis.empty() && weighted && !frames)
    throw InputError("--time-weight is for --method pdu4d, or belongs to --time-axis z; leave it out");
}

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
  if (!options.several()) return job.read(options.inputs.front());
  Volume stack(input_grid(options, frame));
  for (std::size_t n = 0; n < options.inputs.size(); ++n) put_frame(stack, n, job.read(options.inputs[n]));
  return stack;
}

std::size_t write_frames(Job& job, const Volume& result, std::vector<ReservedImage>& images, const Grid& frame) {
  std::size_t changed = 0;
  for (std::size_t n = 0; n < images.size(); ++n) changed += job.write(take_frame(result, n, frame), images[n]);
  return changed;
}

std::string frames_summary(const FrameOptions& options, const Grid& frame) {
  return options.several() ? fmt::format("{} frames of {}", options.inputs.size(), grid_summary(frame))
                           : grid_summary(frame);
}

}  // namespace halocline

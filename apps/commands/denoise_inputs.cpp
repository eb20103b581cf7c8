#include "apps/commands/denoise_inputs.hpp"

#include <fmt/format.h>

#include "algorithms/noise/noise_map.hpp"

namespace halocline {

Volume DenoiseInputs::read(Job& job, const std::string& path) const {
  return path.empty() ? Volume() : widened ? job.images().read(path, *widened) : job.images().read(path);
}

DenoiseInputs look_at_inputs(Job& job, DenoiseCommand& command) {
  const auto& control = command.control;
  const bool several = command.frames.several();
  DenoiseInputs inputs;
  inputs.frame = input_frames(job, command.frames);
  inputs.whole = input_grid(command.frames, inputs.frame);
  inputs.header = read_image_info(command.input);
  command.parameters.time.depth = several ? inputs.frame.size[2] : 1;
  const auto same_grid = [&](const char* option, const std::string& path) {
    if (path.empty()) return;
    require_same_grid(several ? inputs.frame : inputs.whole, "'" + command.input + "'",
                      job.input_volume(option, path).grid, fmt::format("{} '{}'", option, path));
  };
  if (command.weights_given()) same_grid("--weights", command.weights);
  for (const auto& half : command.half_volumes) same_grid("--halves", half);
  same_grid("--init", control.init);
  same_grid("--reference", command.reference);
  same_grid("--truth", command.truth);
  if (!control.roi.empty()) {
    inputs.region = parse_roi(control.roi, inputs.whole.size);
    inputs.widened = inputs.region->grown(roi_margin, inputs.whole.size);
  }
  inputs.grid = inputs.widened ? cut_out(inputs.whole, *inputs.widened) : inputs.whole;
  return inputs;
}

// A constant volume shows no noise, and no weights change anything there: as with methods that take none, it is to
// pass through.
Volume estimated_variances(Job& job, const DenoiseCommand& command, const Volume& volume, const Volume& half_a,
                           const Volume& half_b) {
  const ValueRange values = value_range(MemorySource(volume));
  if (command.weights == "estimate" && values.least == values.greatest) {
    job.results()["weights"] = "any: the volume is constant";
    return Volume(volume.grid, 1);
  }
  auto map = job.timed("noise map", [&] {
    return command.weights == "estimate"
               ? noise_map(volume)
               : noise_map(half_a, half_b, "'" + command.half_volumes[0] + "'", "'" + command.half_volumes[1] + "'");
  });
  job.results()["weights"] = map.how;
  const char* doubt = command.weights == "estimate" ? " (less reliable: fine texture passes for noise)" : "";
  job.say(fmt::format("weights: noise {}{}, standard deviation {:.4g} to {:.4g}", map.how, doubt, map.least, map.most));
  return std::move(map.variance);
}

}  // namespace halocline

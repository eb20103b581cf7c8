#include "apps/commands/denoise_outputs.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "apps/drawing/preview.hpp"
#include "apps/images/png.hpp"
#include "apps/options/file_names.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

void claim_outputs(Job& job, const DenoiseCommand& command) {
  if (command.parameters.alpha_path.empty()) job.output_image("-o", command.output);
  for (const double alpha : command.parameters.alpha_path)
    job.output_image("-o with --alpha-path", path_output(command.output, alpha));
  if (command.control.png.empty()) return;
  require_png("--png", command.control.png);
  job.output("--png", command.control.png);
}

// The storage of the result; the scaling of --rescale is not known yet.
ImageStorage output_storage(const DenoiseCommand& command, const ImageInfo& input) {
  const bool same = command.output_type == "same";
  ImageStorage storage{component_named(same ? input.component : command.output_type), {}, input.notes};
  if (same && !command.rescale) storage.scaling = input.scaling;
  if (command.rescale && !is_integer(storage.component))
    throw InputError(
        fmt::format("--rescale is for --output-type uint8, int16 or uint16; {} keeps the values as they are",
                    component_name(storage.component)));
  check_storage(command.output, {storage.component, command.rescale ? Scaling{2, 0} : storage.scaling});
  return storage;
}

// The scaling that maps all values that the result may have to the type's range: total variation makes none larger or
// smaller than all that were in the volume and the image to start from, and bounds then hold.
Scaling rescaling(const VolumeSource& input, const DenoiseParameters& parameters, Component component) {
  ValueRange range = value_range(input);
  if (parameters.init != nullptr) {
    const ValueRange start = value_range(MemorySource(*parameters.init));
    range = {std::min(range.least, start.least), std::max(range.greatest, start.greatest)};
  }
  const auto& box = parameters.regulariser;
  const double least = std::clamp<double>(range.least, box.minimum, box.maximum);
  const double greatest = std::clamp<double>(range.greatest, box.minimum, box.maximum);
  if (!(greatest > least)) return {1, least};
  const double low = component_lowest(component), high = component_highest(component);
  const double slope = (greatest - least) / (high - low);
  return {slope, least - slope * low};
}

}  // namespace

DenoiseOutputs::DenoiseOutputs(Job& job, const DenoiseCommand& command, const DenoiseInputs& inputs)
    : job_(job),
      command_(command),
      inputs_(inputs),
      streamed_(!command.frames.several() && !inputs.region && command.parameters.alpha_path.empty() &&
                command.control.png.empty() && !command.finds_weights()),
      storage_(output_storage(command, inputs.header)) {
  if (command.frames.several())
    frame_names_ = output_frames(job, command.frames, command.output);
  else
    claim_outputs(job, command);
}

void DenoiseOutputs::scale_to(const VolumeSource& input) {
  if (command_.rescale) storage_.scaling = rescaling(input, command_.parameters, storage_.component);
}

VolumeSink& DenoiseOutputs::begin_stream() {
  stream_ = job_.images().create(command_.output, inputs_.grid, storage_);
  return *stream_;
}

void DenoiseOutputs::reserve() {
  for (const auto& path : frame_names_) frames_.emplace_back(path, inputs_.frame, storage_);
  if (!frame_names_.empty()) return;
  std::vector<std::string> paths;
  for (const double alpha : command_.parameters.alpha_path) paths.push_back(path_output(command_.output, alpha));
  if (paths.empty()) paths.push_back(command_.output);
  const Grid grid = inputs_.output_grid();
  for (const auto& path : paths) images_.try_emplace(path, path, grid, storage_);
}

void DenoiseOutputs::write_image(const Volume& in_memory, const std::string& path) {
  const auto& region = inputs_.region;
  const Volume part = region ? cut_out(in_memory, region->within(*inputs_.widened)) : Volume();
  changed_ += job_.images().write(region ? part : in_memory, images_.at(path));
}

void DenoiseOutputs::write_stage(int stage, const Volume& result) {
  written_.clear();  // empties the list of a run that began again
  for (int n = 0; n <= stage; ++n)
    written_.push_back(path_output(command_.output, command_.parameters.alpha_path[static_cast<std::size_t>(n)]));
  write_image(result, written_.back());
}

void DenoiseOutputs::write(const Volume& in_memory, const DenoiseResult& result) {
  if (stream_) {
    job_.images().commit(*stream_);
    changed_ = stream_->changed();
  } else if (command_.frames.several()) {
    changed_ = write_frames(job_, in_memory, frames_, inputs_.frame);
  } else {
    write_image(in_memory, name(result));
  }
}

void DenoiseOutputs::show(const DenoiseResult& result) const {
  const bool several = command_.frames.several();
  const Grid grid = several ? inputs_.frame : inputs_.region ? cut_out(inputs_.whole, *inputs_.region) : inputs_.whole;
  const auto picture = [&](const std::string& name, const std::string& unit) {
    return Picture{name + (several ? " (frame 0)" : ""), unit, false, grid, inputs_.region};
  };
  job_.page().show(picture("before", ""), command_.input);
  job_.page().show(picture("after " + command_.parameters.method, ""), several ? frame_names_.front() : name(result));
  job_.page().show(picture("reference", "of the reference"), command_.reference);
  if (command_.weights_given()) job_.page().show(picture("noise variance", "squared"), command_.weights);
}

void DenoiseOutputs::write_picture(const Volume& in_memory) const {
  if (command_.control.png.empty()) return;
  const auto& region = inputs_.region;
  const Volume part = region ? cut_out(in_memory, region->within(*inputs_.widened)) : Volume();
  PreviewOptions montage;
  montage.montage = true;
  write_png(render_preview(region ? part : in_memory, montage), command_.control.png);
}

std::string DenoiseOutputs::name(const DenoiseResult& result) const {
  return result.stages.empty() ? command_.output : path_output(command_.output, result.alpha);
}

}  // namespace halocline

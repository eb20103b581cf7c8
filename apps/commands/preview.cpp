// halocline preview
#include "apps/drawing/preview.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/jobs/setting_values.hpp"
#include "apps/commands/subcommands.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

struct PreviewCommand {
  std::vector<std::string> inputs;
  std::string output, axis = "z";
  PreviewOptions preview;
};

// A description of the shown part of an input, whose slice is checked.
std::string shown_of(const std::string& input, const Grid& grid, const PreviewOptions& options) {
  if (options.montage) return fmt::format("the three middle slices of {}", input);
  const std::size_t slices = grid.size[static_cast<std::size_t>(options.axis - 'x')];
  if (options.slice && *options.slice >= slices)
    throw InputError(
        fmt::format("--slice {}: '{}' has slices 0 to {} along {}", *options.slice, input, slices - 1, options.axis));
  return fmt::format("slice {} of {} along {} of {}", options.slice.value_or(slices / 2), slices, options.axis, input);
}

void run_preview(Job& job, PreviewCommand& command) {
  auto& options = command.preview;
  options.axis = command.axis.front();
  std::vector<std::string> shown;
  double bytes = 0;
  for (const auto& input : command.inputs) {
    const Grid grid = job.input_volume("-i", input).grid;
    shown.push_back(shown_of(input, grid, options));
    bytes = std::max(bytes, preview_bytes(grid, options) + (is_read_in_pieces(input) ? 0 : grid_bytes(grid)));
  }
  require_png("-o", command.output);
  job.output("-o", command.output);
  job.host().require(bytes);
  const std::string what = fmt::format("{}", fmt::join(shown, ", "));
  if (job.dry_run()) return job.print(fmt::format("would write {}: {}", command.output, what));
  std::vector<GreyImage> images;
  for (const auto& input : command.inputs) {
    const auto volume = job.images().open(input);
    job.timed("preview", [&] {
      if (command.inputs.size() > 1) options.window = preview_window(*volume, options);  // the first one's for all
      images.push_back(render_preview(*volume, options));
    });
  }
  const GreyImage image = images.size() == 1 ? images.front() : side_by_side(images);
  write_png(image, command.output);
  job.results() = {{"width", image.width}, {"height", image.height}};
  job.say(fmt::format("{}: {}, {} x {} pixels", command.output, what, image.width, image.height));
}

}  // namespace

std::unique_ptr<Command> preview_command() {
  auto sub = std::make_unique<Command>("preview", "Picture of a slice (PNG)");
  Settings& settings = sub->settings;
  auto command = std::make_shared<PreviewCommand>();
  settings
      .add("input", command->inputs,
           "Volume or projections; several are shown side by side, with the grey values of the first")
      .named("-i,--input")
      .required()
      .unit("FILE");
  settings.add("axis", command->axis, "Index axis of the file across which to cut").one_of({"x", "y", "z"});
  settings
      .add("slice", command->preview.slice,
           "Which slice, from 0: nothing but it is read of MetaImage, NRRD, NIfTI and TIFF that are not compressed and "
           "of series. Default: the middle one")
      .whole_from(0)
      .unit("N");
  settings.add_list(
      "window", command->preview.window, "LO,HI", Numbers::any,
      "Values shown as black and white. Default: the 0.5 and 99.5 percentiles of the volume, with --slice of that "
      "slice");
  settings.add("montage", command->preview.montage, "The three middle slices side by side")
      .excludes("axis")
      .excludes("slice");
  settings.add("output", command->output, "Picture to write (.png)")
      .named("-o,--output")
      .required()
      .writes(FileKind::picture);
  sub->footer = "Example:\n  halocline preview -i volume.mha --axis z --slice 64 --window 0,0.04 -o slice.png";
  sub->run = [command](Job& job) { run_preview(job, *command); };
  return sub;
}

}  // namespace halocline

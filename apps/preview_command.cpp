// halocline preview
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/job.hpp"
#include "apps/preview.hpp"
#include "apps/report.hpp"
#include "apps/subcommands.hpp"
#include "apps/validators.hpp"
#include "host/error.hpp"

namespace halocline {
namespace {

struct PreviewCommand {
  std::string input, output, axis = "z";
  PreviewOptions preview;
};

void run_preview(Job& job, PreviewCommand& command) {
  const Grid grid = job.input_volume("-i", command.input).grid;
  require_png("-o", command.output);
  job.output("-o", command.output);
  auto& options = command.preview;
  options.axis = command.axis.front();
  const std::size_t slices = grid.size[static_cast<std::size_t>(options.axis - 'x')];
  if (options.slice && *options.slice >= slices)
    throw InputError(fmt::format("--slice {}: '{}' has slices 0 to {} along {}", *options.slice, command.input,
                                 slices - 1, options.axis));
  const std::string what = options.montage ? "the three middle slices"
                                           : fmt::format("slice {} of {} along {}", options.slice.value_or(slices / 2),
                                                         slices, options.axis);
  job.require_host_memory(grid_bytes(grid));
  if (job.dry_run()) return job.print(fmt::format("would write {}: {} of {}", command.output, what, command.input));
  const Volume volume = job.read(command.input);
  const GreyImage image = job.timed("preview", [&] { return render_preview(volume, options); });
  write_png(image, command.output);
  job.results() = {{"width", image.width}, {"height", image.height}};
  job.say(fmt::format("{}: {} of {}, {} x {} pixels", command.output, what, command.input, image.width, image.height));
}

}  // namespace

void add_preview(CLI::App& app, Action& action) {
  auto* sub = app.add_subcommand("preview", "Picture of a slice (PNG)");
  auto command = std::make_shared<PreviewCommand>();
  sub->add_option("-i,--input", command->input, "Volume or projections")->required()->type_name("FILE");
  auto* axis = sub->add_option("--axis", command->axis, "Index axis of the file across which to cut")
                   ->check(CLI::IsMember({"x", "y", "z"}));
  auto* slice = sub->add_option("--slice", command->preview.slice, "Which slice, from 0. Default: the middle one")
                    ->check(whole_number_from(0))
                    ->type_name("N");
  add_list(*sub, "--window", command->preview.window, "LO,HI", Numbers::any,
           "Values shown as black and white. Default: the 0.5 and 99.5 percentiles");
  sub->add_flag("--montage", command->preview.montage, "The three middle slices side by side")
      ->excludes(axis)
      ->excludes(slice);
  sub->add_option("-o,--output", command->output, "Picture to write (.png)")->required()->type_name("FILE");
  sub->footer("Example:\n  halocline preview -i volume.mha --axis z --slice 64 --window 0,0.04 -o slice.png");
  sub->callback([&action, command] { action = [command](Job& job) { run_preview(job, *command); }; });
}

}  // namespace halocline

// halocline counts
#include "algorithms/preprocessing/counts.hpp"

#include <fmt/format.h>

#include <memory>

#include "apps/commands/subcommands.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "apps/options/counts_options.hpp"
#include "apps/options/counts_report.hpp"
#include "apps/options/projection_options.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

struct CountsCommand {
  std::string input, output;
  DetectorPixels detector;
  CountsArguments arguments;
};

void run_counts(Job& job, const CountsCommand& command) {
  const ImageInfo info = job.input_image("-i", command.input);
  const Grid stack = placed_projections(command.detector, info, "'" + command.input + "'");
  const double fields = check_counts_arguments(job, command.arguments, info, command.input);
  job.output_image("-o", command.output);
  const std::string what = fmt::format("line integrals of {}", views_text(info.grid.size[2]));
  job.host().require(grid_bytes(stack) + fields);
  if (job.dry_run()) return job.print(fmt::format("would write {}: {}", command.output, what));
  Volume counts = job.images().read_rays(command.input);
  counts.grid = stack;
  const auto calibration = calibrate(job, command.arguments, MemorySource(counts), info, command.input);
  job.timed("counts", [&] { counts_to_line_integrals(counts, calibration, "'" + command.input + "'"); });
  job.images().write(counts, command.output, info.notes);
  job.page().show({"line integrals", "", true, stack}, command.output);
  job.page().show({"counts", "counts", true, stack}, command.input);
  job.say(fmt::format("{}: {}; {}", command.output, what, counts_summary(calibration)));
}

}  // namespace

std::unique_ptr<Command> counts_command() {
  auto sub =
      std::make_unique<Command>("counts", "A detector's counts to line integrals, which fdk --counts does by itself");
  Settings& settings = sub->settings;
  auto command = std::make_shared<CountsCommand>();
  add_input(settings, command->input, "Counts (u, v, view)");
  add_counts_settings(settings, command->arguments.options);
  add_counts_files(settings, command->arguments);
  add_pixel_options(settings, command->detector);
  add_output_image(settings, command->output, "Line integrals to write");
  sub->footer = "Example:\n  halocline counts -i counts.mha --flat flats.mha --dark darks.mha -o projections.mha";
  sub->run = [command](Job& job) { run_counts(job, *command); };
  return sub;
}

}  // namespace halocline

// halocline counts
#include "algorithms/counts.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "apps/job.hpp"
#include "apps/report.hpp"
#include "apps/subcommands.hpp"
#include "host/error.hpp"

namespace halocline {
namespace {

struct CountsCommand {
  std::string input, flats, darks, output;
};

void require_same_detector(const Grid& counts, const std::string& counts_path, const Grid& field,
                           const std::string& option, const std::string& path) {
  if (field.size[0] == counts.size[0] && field.size[1] == counts.size[1]) return;
  throw InputError(fmt::format(
      "{} '{}' has a detector of {} x {} pixels, but '{}' has {} x {}; give the fields of the same detector", option,
      path, field.size[0], field.size[1], counts_path, counts.size[0], counts.size[1]));
}

void run_counts(Job& job, const CountsCommand& command) {
  const Grid grid = job.input_image("-i", command.input).grid;
  const Grid flat_grid = job.input_image("--flats", command.flats).grid,
             dark_grid = job.input_image("--darks", command.darks).grid;
  require_same_detector(grid, command.input, flat_grid, "--flats", command.flats);
  require_same_detector(grid, command.input, dark_grid, "--darks", command.darks);
  job.output_image("-o", command.output);
  const std::string what = fmt::format("line integrals of {} views, from the means of {} flats and {} darks",
                                       grid.size[2], flat_grid.size[2], dark_grid.size[2]);
  if (job.dry_run()) return job.print(fmt::format("would write {}: {}", command.output, what));
  Volume counts = job.read(command.input);
  const Volume flats = job.read(command.flats), darks = job.read(command.darks);
  const auto report = job.timed("counts", [&] {
    return counts_to_line_integrals(counts, flats, darks, "'" + command.input + "'", "'" + command.flats + "'",
                                    "'" + command.darks + "'");
  });
  job.write(counts, command.output);
  job.results() = {
      {"pixels", report.pixels}, {"counts_not_positive", report.nonpositive}, {"dead_pixels", report.dead_pixels}};
  job.say(fmt::format(
      "{}: {}; {} of {} counts were not above the dark field and became half a count, {} detector pixels are dead",
      command.output, what, report.nonpositive, report.pixels, report.dead_pixels));
}

}  // namespace

void add_counts(CLI::App& app, Action& action) {
  auto* sub = app.add_subcommand("counts", "Counts to line integrals: flat field, dark field and -ln");
  auto command = std::make_shared<CountsCommand>();
  sub->add_option("-i,--input", command->input, "Counts (u, v, view)")->required()->type_name("FILE");
  sub->add_option("--flats", command->flats, "Images without the object (u, v, n); their mean is taken")
      ->required()
      ->type_name("FILE");
  sub->add_option("--darks", command->darks, "Images without the beam (u, v, n); their mean is taken")
      ->required()
      ->type_name("FILE");
  sub->add_option("-o,--output", command->output, "Line integrals to write")->required()->type_name("FILE");
  sub->footer("Example:\n  halocline counts -i counts.mha --flats flats.mha --darks darks.mha -o projections.mha");
  sub->callback([&action, command] { action = [command](Job& job) { run_counts(job, *command); }; });
}

}  // namespace halocline

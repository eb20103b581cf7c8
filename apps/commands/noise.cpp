// halocline noise
#include "algorithms/noise/noise.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <memory>

#include "algorithms/jobs/setting_values.hpp"
#include "apps/commands/subcommands.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "apps/options/projection_options.hpp"

namespace halocline {
namespace {

struct NoiseCommand {
  std::string input, output;
  DetectorPixels detector;
  double photons = 0, electronic = 0;
  std::uint64_t seed = 1;
};

void run_noise(Job& job, const NoiseCommand& command) {
  const ImageInfo info = job.input_image("-i", command.input);
  const Grid grid = placed_projections(command.detector, info, "'" + command.input + "'");
  job.output_image("-o", command.output);
  const std::string what = fmt::format("noise of {:.6g} photons a pixel, electronic noise {:.6g}, seed {}",
                                       command.photons, command.electronic, command.seed);
  job.host().require(grid_bytes(grid));
  if (job.dry_run()) return job.print(fmt::format("would write {}: {} with {}", command.output, command.input, what));
  Volume projections = job.images().read(command.input);
  projections.grid = grid;
  const auto report =
      job.timed("noise", [&] { return add_noise(projections, command.photons, command.electronic, command.seed); });
  job.images().write(projections, command.output, info.notes);
  job.page().show({"without noise", "", true, grid}, command.input);
  job.page().show({"with noise", "", true, grid}, command.output);
  if (2 * report.nonpositive > report.pixels)
    spdlog::warn(
        "most counts ({} of {}) were <= 0 and became 0.5: hardly anything is left of the object; give more --photons, "
        "and line integrals (-ln of the transmission) as -i",
        report.nonpositive, report.pixels);
  job.results() = {{"pixels", report.pixels}, {"counts_not_positive", report.nonpositive}};
  job.say(fmt::format("{}: {} with {}; {} of {} counts were <= 0 and became 0.5", command.output, command.input, what,
                      report.nonpositive, report.pixels));
}

}  // namespace

std::unique_ptr<Command> noise_command() {
  auto sub = std::make_unique<Command>("noise", "Add quantum and electronic noise to line integrals");
  Settings& settings = sub->settings;
  auto command = std::make_shared<NoiseCommand>();
  add_input(settings, command->input, "Projections (u, v, view): line integrals");
  settings.add("photons", command->photons, "Mean photons a pixel of the unattenuated beam")
      .positive()
      .required()
      .unit("I0")
      .initial("");
  settings.add("electronic", command->electronic, "Standard deviation of the electronic noise, photons")
      .not_negative()
      .unit("S");
  settings.add("seed", command->seed, "Seed of the random numbers, up to 2^64 - 1; the same seed gives the same noise")
      .unit("N");
  add_pixel_options(settings, command->detector);
  add_output_image(settings, command->output, "Noisy projections to write");
  sub->footer = "Example:\n  halocline noise -i projections.mha --photons 1e5 --electronic 10 --seed 7 -o noisy.mha";
  sub->run = [command](Job& job) { run_noise(job, *command); };
  return sub;
}

}  // namespace halocline

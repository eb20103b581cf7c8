// halocline noise
#include "algorithms/noise/noise.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>
#include <memory>

#include "apps/commands/subcommands.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "apps/job/validators.hpp"
#include "apps/options/projection_options.hpp"

namespace halocline {
namespace {

struct NoiseCommand {
  std::string input, output;
  DetectorPixels detector;
  double photons = 0, electronic = 0;
  std::uint64_t seed = 1;
};

// Not through a double, which has 53 of them.
CLI::Validator whole_number_of_64_bits() {
  return CLI::Validator(
      [](std::string& text) {
        std::uint64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        return error == std::errc() && end == text.data() + text.size()
                   ? std::string()
                   : fmt::format("'{}' was given, expected a whole number from 0 to {}", text,
                                 std::numeric_limits<std::uint64_t>::max());
      },
      "");
}

void run_noise(Job& job, const NoiseCommand& command) {
  const ImageInfo info = job.input_image("-i", command.input);
  const Grid grid = placed_projections(command.detector, info, "'" + command.input + "'");
  job.output_image("-o", command.output);
  const std::string what = fmt::format("noise of {:.6g} photons a pixel, electronic noise {:.6g}, seed {}",
                                       command.photons, command.electronic, command.seed);
  job.require_host_memory(grid_bytes(grid));
  if (job.dry_run()) return job.print(fmt::format("would write {}: {} with {}", command.output, command.input, what));
  Volume projections = job.read(command.input);
  projections.grid = grid;
  const auto report =
      job.timed("noise", [&] { return add_noise(projections, command.photons, command.electronic, command.seed); });
  job.write(projections, command.output, info.notes);
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

void add_noise(CLI::App& app, Action& action) {
  auto* sub = app.add_subcommand("noise", "Add quantum and electronic noise to line integrals");
  auto command = std::make_shared<NoiseCommand>();
  sub->add_option("-i,--input", command->input, "Projections (u, v, view): line integrals")
      ->required()
      ->type_name("FILE");
  sub->add_option("--photons", command->photons, "Mean photons a pixel of the unattenuated beam")
      ->check(positive_number())
      ->required()
      ->type_name("I0")
      ->default_str("");
  sub->add_option("--electronic", command->electronic, "Standard deviation of the electronic noise, photons")
      ->check(not_negative())
      ->type_name("S");
  sub->add_option("--seed", command->seed, "Seed of the random numbers; the same seed gives the same noise")
      ->check(whole_number_of_64_bits())
      ->type_name("N");
  add_pixel_options(*sub, command->detector);
  sub->add_option("-o,--output", command->output, std::string("Noisy projections to write") + slice_files_help)
      ->required()
      ->type_name("FILE");
  sub->footer("Example:\n  halocline noise -i projections.mha --photons 1e5 --electronic 10 --seed 7 -o noisy.mha");
  sub->callback([&action, command] { action = [command](Job& job) { run_noise(job, *command); }; });
}

}  // namespace halocline

// halocline noise-map
#include "algorithms/noise/noise_map.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <array>
#include <memory>

#include "apps/commands/subcommands.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "apps/options/file_names.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

struct NoiseMapCommand {
  std::string input, halves, output;
};

void run_noise_map(Job& job, const NoiseMapCommand& command) {
  if (command.input.empty() == command.halves.empty())
    throw InputError(
        fmt::format("give {} -i VOLUME or --halves A,B", command.input.empty() ? "either" : "only one of"));
  std::array<std::string, 2> files{command.input, ""};
  ImageInfo info;
  if (command.halves.empty()) {
    info = job.input_volume("-i", command.input);
  } else {
    files = parse_pair("--halves", command.halves);
    info = job.input_volume("--halves", files[0]);
    require_same_grid(info.grid, "'" + files[0] + "'", job.input_volume("--halves", files[1]).grid,
                      "'" + files[1] + "'");
  }
  const Grid& grid = info.grid;
  job.output_image("-o", command.output);
  const std::string source = command.halves.empty() ? files[0] : files[0] + " and " + files[1];
  job.host().require(grid_bytes(grid) * (command.halves.empty() ? 2 : 3));
  if (job.dry_run()) return job.print(fmt::format("would write {}: noise variance of {}", command.output, source));

  const Volume first = job.images().read(files[0]);
  const Volume second = files[1].empty() ? Volume() : job.images().read(files[1]);
  const NoiseMap map = job.timed("noise map", [&] {
    return files[1].empty() ? noise_map(first) : noise_map(first, second, "'" + files[0] + "'", "'" + files[1] + "'");
  });
  job.images().write(map.variance, command.output, info.notes);
  for (const auto& file : files) job.page().show({file, ""}, file);
  job.page().show({"noise variance", "squared grey values"}, command.output);
  const bool reliable = !files[1].empty();
  job.results() = {{"grid", grid_json(grid)},     {"how", map.how},           {"reliable", reliable},
                   {"noise_sigma", map.sigma},    {"sigma_least", map.least}, {"sigma_most", map.most},
                   {"correlated", map.correlated}};
  if (!reliable)
    spdlog::warn(
        "a map from the volume alone is less reliable than one from --halves or from the scan (fdk --variance-out): "
        "texture as fine as the voxels passes for noise");
  job.say(fmt::format("{}: {}, noise variance of {} {}; standard deviation {:.4g} to {:.4g}, RMS {:.4g}",
                      command.output, grid_summary(grid), source, map.how, map.least, map.most, map.sigma));
}

}  // namespace

std::unique_ptr<Command> noise_map_command() {
  auto sub = std::make_unique<Command>("noise-map", "Noise variance of a volume, for denoise --weights");
  Settings& settings = sub->settings;
  auto command = std::make_shared<NoiseMapCommand>();
  settings
      .add("input", command->input,
           "Noisy volume, where there is nothing else: local and robust, but less reliable, because texture as "
           "fine as the voxels passes for noise")
      .named("-i,--input")
      .unit("FILE");
  settings
      .add("halves", command->halves,
           "Reconstructions of the odd and of the even views, as fdk --halves-out makes them: the variance of "
           "their mean, smoothed over some 12 voxels")
      .unit("A,B")
      .file(FileKind::image, false, true);
  add_output_image(settings, command->output, "Variances to write, squared grey values");
  sub->footer = "Example:\n  halocline noise-map --halves odd.mha,even.mha -o variance.mha";
  sub->run = [command](Job& job) { run_noise_map(job, *command); };
  return sub;
}

}  // namespace halocline

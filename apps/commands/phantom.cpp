// halocline phantom
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "algorithms/jobs/setting_values.hpp"
#include "algorithms/phantoms/phantoms.hpp"
#include "apps/commands/subcommands.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "apps/options/grid_options.hpp"

namespace halocline {
namespace {

struct PhantomCommand {
  std::string type, output;
  GridOptions grid;
  std::optional<double> width;
  double mu = 0.02;
  std::optional<std::size_t> seed;
  int supersampling = 3;
};

double smallest_extent(const Grid& grid) {
  double smallest = static_cast<double>(grid.size[0]) * grid.spacing[0];
  for (int axis = 1; axis < 3; ++axis)
    smallest = std::min(smallest, static_cast<double>(grid.size[axis]) * grid.spacing[axis]);
  return smallest;
}

void run_phantom(Job& job, const PhantomCommand& command) {
  job.input("--like", command.grid.like);
  job.output_image("-o", command.output);
  const Grid grid = make_grid(command.grid);
  const double width = command.width.value_or(smallest_extent(grid));
  const auto primitives = phantom_primitives(phantom_type(command.type), width, command.mu, command.seed);
  job.results() = {
      {"type", command.type}, {"phantom_size_mm", width}, {"mu_per_mm", command.mu}, {"grid", grid_json(grid)}};
  const std::string what = fmt::format("{} phantom {:.6g} mm wide, mu {:.6g} per mm, {}", command.type, width,
                                       command.mu, grid_summary(grid));
  job.host().require(grid_bytes(grid));
  if (job.dry_run()) return job.print(fmt::format("would write {}: {}", command.output, what));
  const Volume volume = job.timed("phantom", [&] { return voxelise(primitives, grid, command.supersampling); });
  job.images().write(volume, command.output);
  job.page().show({command.type, "1/mm"}, command.output);
  job.say(fmt::format("{}: {}", command.output, what));
}

}  // namespace

std::unique_ptr<Command> phantom_command() {
  auto sub = std::make_unique<Command>("phantom", "Make a volume of a known object");
  Settings& settings = sub->settings;
  auto command = std::make_shared<PhantomCommand>();
  settings.add("type", command->type, "Which object").one_of(phantom_names()).required();
  add_grid_options(settings, command->grid);
  settings.add("phantom-size", command->width, "Full width of the object, mm. Default: the volume's smallest extent")
      .positive()
      .unit("MM");
  settings.add("mu", command->mu, "Attenuation of the object's value 1, 1/mm").positive().unit("MU");
  settings.add("seed", command->seed, "gravel: seed of the random grains, up to 2^64 - 1. Default: 1")
      .unit("N")
      .whole_of_64_bits();
  settings
      .add("supersampling", command->supersampling,
           "Points along each axis of a voxel whose mean it gets; 1: its centre")
      .whole_from(1, 16)
      .unit("N");
  add_output_image(settings, command->output, "Volume to write");
  sub->footer =
      "Example:\n  halocline phantom --type shepp-logan --size 128,128,128 --spacing 1.5,1.5,1.5 -o phantom.mha";
  sub->run = [command](Job& job) { run_phantom(job, *command); };
  return sub;
}

}  // namespace halocline

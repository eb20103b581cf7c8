// halocline project
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>

#include "algorithms/checks/visibility.hpp"
#include "algorithms/jobs/project_settings.hpp"
#include "algorithms/jobs/setting_values.hpp"
#include "algorithms/phantoms/phantoms.hpp"
#include "algorithms/projectors/projector.hpp"
#include "apps/commands/projector_tables.hpp"
#include "apps/commands/subcommands.hpp"
#include "apps/images/image_file.hpp"
#include "apps/job/rank_checks.hpp"
#include "apps/job/report.hpp"
#include "apps/job/streamed_run.hpp"
#include "apps/options/geometry_file.hpp"
#include "apps/options/grid_options.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

struct ProjectCommand : ProjectSettings {
  std::string input, phantom, geometry, output;
  std::optional<double> phantom_width;
  double mu = 0.02;
  std::optional<std::size_t> seed;
  std::optional<std::array<std::size_t, 2>> detector;
  std::optional<std::array<double, 2>> pixel, origin;
};

Grid detector_grid(const ProjectCommand& command, std::size_t views) {
  Grid grid;
  const auto& size = *command.detector;
  const auto& pixel = *command.pixel;
  grid.size = {size[0], size[1], views};
  grid.spacing = {pixel[0], pixel[1], 1};
  for (int axis = 0; axis < 2; ++axis)
    grid.origin[axis] =
        command.origin ? (*command.origin)[axis] : -0.5 * (static_cast<double>(size[axis]) - 1) * pixel[axis];
  require_reasonable(grid, "--detector and the number of views");
  return grid;
}

std::string stack_summary(const Grid& stack) {
  return fmt::format("{} of {} x {} pixels of {} x {} mm", views_text(stack.size[2]), stack.size[0], stack.size[1],
                     stack.spacing[0], stack.spacing[1]);
}

void project_phantom(Job& job, const ProjectCommand& command, const Geometry& geometry, const Grid& stack) {
  if (!command.phantom_width)
    throw InputError("--phantom-size is missing: the analytic phantom needs its full width in mm");
  refuse_several_ranks("project --phantom");
  const auto primitives =
      phantom_primitives(phantom_type(command.phantom), *command.phantom_width, command.mu, command.seed);
  job.results() = {{"type", command.phantom},
                   {"phantom_size_mm", *command.phantom_width},
                   {"mu_per_mm", command.mu},
                   {"grid", grid_json(stack)}};
  const std::string what = fmt::format("{}, exact line integrals of the {} phantom {:.6g} mm wide, mu {:.6g} per mm",
                                       stack_summary(stack), command.phantom, *command.phantom_width, command.mu);
  if (job.dry_run()) return job.print(fmt::format("would write {}: {}; computed on the host", command.output, what));
  ReservedImage image(command.output, stack);
  const Volume projections = job.timed("project", [&] { return project_analytic(primitives, geometry, stack); });
  job.images().write(projections, image);
  job.page().show({"projections", "", true, stack}, command.output);
  job.say(fmt::format("{}: {}", command.output, what));
}

void project_volume(Job& job, const ProjectCommand& command, const Geometry& scan, const Grid& stack) {
  const Grid grid = job.input_volume("-i", command.input).grid;
  require_seen(grid, "the volume '" + command.input + "'", stack, "--detector and --pixel", scan);
  const bool hardware = command.hardware();
  const RayChoices choices =
      choose_rays(command.rays, hardware, scan, grid, "the volume '" + command.input + "'", stack, table_numbers(job));
  const Geometry& geometry = choices.geometry;
  const ProjectionParameters parameters = command.parameters(choices.projector);
  job.tune_first_run("project");
  const StreamedRun run{
      "project",
      command.input,
      command.output,
      grid,
      stack,
      plan_project(geometry, grid, stack, parameters, device_models(job.devices()), job.plan_options()),
      {0, static_cast<double>(stack.count()), "rays"}};
  const auto result =
      run_streamed(job, run, [&](const VolumeSource& volume, VolumeSink& to, const RunOptions& options) {
        return project_into(volume, geometry, to, parameters, job.devices(), options);
      });
  if (!result) return;
  job.page().show({"projections", "", true, stack}, command.output);
  job.results()["grid"] = grid_json(stack);
  job.say(
      fmt::format("{}: {}, line integrals of {} by {}{}{}", command.output, stack_summary(stack), command.input,
                  projector_text(choices.projector),
                  parameters.hardware_interpolation ? fmt::format(" with {} interpolation", command.interpolation) : "",
                  job.how(*result)));
}

void run_project(Job& job, const ProjectCommand& command) {
  if (command.input.empty() == command.phantom.empty())
    throw InputError(
        "what is to be projected is not clear; give either -i with a volume, or --phantom with a phantom's name");
  job.input("--geometry", command.geometry);
  job.output_image("-o", command.output);
  const Geometry geometry = load_geometry(command.geometry, {}, DetectorPixels::of(detector_grid(command, 1))).geometry;
  const Grid stack = detector_grid(command, geometry.views.size());
  check_projections(stack, "--detector", geometry, "'" + command.geometry + "'", DetectorShape::flat_or_cylinder);
  if (command.input.empty())
    project_phantom(job, command, geometry, stack);
  else
    project_volume(job, command, geometry, stack);
}

}  // namespace

std::unique_ptr<Command> project_command() {
  auto sub =
      std::make_unique<Command>("project", "Line integrals of a volume (by a projector) or of a phantom (exact)");
  Settings& settings = sub->settings;
  auto command = std::make_shared<ProjectCommand>();
  settings.add("input", command->input, "Volume of attenuations, 1/mm").named("-i,--input").unit("FILE");
  settings.add("phantom", command->phantom, "Project this phantom exactly, instead of -i").one_of(phantom_names());
  settings.add("phantom-size", command->phantom_width, "Full width of the phantom, mm; required with --phantom")
      .positive()
      .unit("MM")
      .needs("phantom");
  settings.add("mu", command->mu, "Attenuation of the phantom's value 1, 1/mm").positive().unit("MU").needs("phantom");
  settings.add("seed", command->seed, "gravel: seed of the random grains, up to 2^64 - 1. Default: 1")
      .unit("N")
      .whole_of_64_bits()
      .needs("phantom");
  add_project_settings(settings, *command);
  for (const char* name : {"projector", "rays", "interpolation"}) settings.find(name)->excludes("phantom");
  add_geometry_option(settings, command->geometry,
                      ". Of -i, rays run from the source to the detector (flat or cylindrical; see --rays), those of a "
                      "parallel beam through all of it; of --phantom, they are whole lines");
  settings.add_list("detector", command->detector, "NU,NV", Numbers::sizes, "Detector pixels: columns (u), rows (v)")
      .required();
  settings.add_list("pixel", command->pixel, "DU,DV", Numbers::positive, "Pixel pitch, mm").required();
  settings.add_list("detector-origin", command->origin, "U,V", Numbers::any,
                    "Position of the centre of pixel (0,0), mm. Default: the detector is centred");
  add_output_image(settings, command->output, "Projections (u, v, view) to write");
  sub->footer =
      "Example:\n  halocline project -i phantom.mha --geometry geometry.xml --detector 256,192 --pixel 1.2,1.2 -o "
      "projections.mha";
  sub->on_ranks = true;
  sub->run = [command](Job& job) { run_project(job, *command); };
  return sub;
}

}  // namespace halocline

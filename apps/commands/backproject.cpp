// halocline backproject
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "algorithms/checks/visibility.hpp"
#include "algorithms/jobs/project_settings.hpp"
#include "algorithms/projectors/backprojection.hpp"
#include "algorithms/projectors/projector.hpp"
#include "algorithms/projectors/ray_ends.hpp"
#include "apps/commands/projector_tables.hpp"
#include "apps/commands/subcommands.hpp"
#include "apps/images/image_file.hpp"
#include "apps/job/report.hpp"
#include "apps/job/streamed_run.hpp"
#include "apps/options/geometry_file.hpp"
#include "apps/options/grid_options.hpp"
#include "apps/options/projection_options.hpp"
#include "apps/options/scan_grid.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

struct BackprojectCommand : BackprojectSettings {
  std::string input, geometry, output;
  DetectorPixels detector;
  GridOptions grid;
};

// Voxel-driven back-projection has no rays that end at a detector; warns of a source within the volume all the same.
Geometry through_all(Geometry geometry, const Grid& volume, const Grid& projections) {
  geometry.ray_ends = RayEnds::through;
  for (const std::string& note : notes_on_ray_ends(geometry, volume, "the volume", projections))
    spdlog::warn("{}", note);
  return geometry;
}

void run_backproject(Job& job, const BackprojectCommand& command) {
  command.check();
  const bool voxels = command.voxels();
  const BackprojectionParameters parameters = command.parameters();
  const ImageInfo input = job.input_image("-i", command.input);
  job.input("--geometry", command.geometry);
  const Grid stack = placed_projections(command.detector, input, "'" + command.input + "'", command.geometry);
  job.input("--like", command.grid.like);
  job.output_image("-o", command.output);
  const std::optional<Grid> stated = stated_grid(command.grid);
  const ScanFile scan = load_geometry(command.geometry, {}, DetectorPixels::of(stack));
  if (voxels && scan.geometry.radius_cylindrical_detector > 0)
    throw InputError(
        fmt::format("--projector voxel takes flat detectors only, but that of '{}' is a cylinder of radius {} mm; the "
                    "adjoints of joseph, siddon and distance-driven take it",
                    command.geometry, scan.geometry.radius_cylindrical_detector));
  const Grid grid =
      stated ? *stated
             : make_grid(command.grid, [&] { return scan_grid(job, command.grid, scan, scan.geometry, stack); });
  check_projections(stack, "'" + command.input + "'", scan.geometry, "'" + command.geometry + "'",
                    DetectorShape::flat_or_cylinder);
  require_seen(grid, "the volume", stack, "'" + command.input + "'", scan.geometry);
  const RayChoices rays =
      voxels ? RayChoices{through_all(scan.geometry, grid, stack)}
             : choose_rays(command.rays, false, scan.geometry, grid, "the volume", stack, table_numbers(job));
  const Geometry& geometry = rays.geometry;
  job.tune_first_run(voxels ? "fdk" : "project");
  const Plan plan =
      voxels
          ? plan_backproject(geometry, stack, grid, parameters, device_models(job.devices()), job.plan_options())
          : plan_backproject(geometry, stack, grid, rays.projector, device_models(job.devices()), job.plan_options());
  const StreamedRun run{"backproject",
                        command.input,
                        command.output,
                        stack,
                        grid,
                        plan,
                        {0, static_cast<double>(grid.count()) * static_cast<double>(stack.size[2]), "updates"}};
  const auto result = run_streamed(job, run, [&](const VolumeSource& from, VolumeSink& to, const RunOptions& options) {
    return voxels ? backproject_into(from, geometry, to, parameters, job.devices(), options)
                  : backproject_into(from, geometry, to, rays.projector, job.devices(), options);
  });
  if (!result) return;
  job.page().show({"back-projection", "", false, grid}, command.output);
  job.results()["grid"] = grid_json(grid);
  job.say(fmt::format("{}: {}, {} of {}{}", command.output, grid_summary(grid),
                      voxels ? fmt::format("voxel-driven back-projection ({} interpolation)", command.interpolation)
                             : fmt::format("the adjoint of {}", projector_text(rays.projector)),
                      views_text(stack.size[2]), job.how(*result)));
}

}  // namespace

std::unique_ptr<Command> backproject_command() {
  auto sub = std::make_unique<Command>("backproject", "Unfiltered back-projection: the adjoint of project (A^T y)");
  Settings& settings = sub->settings;
  auto command = std::make_shared<BackprojectCommand>();
  add_input(settings, command->input, "Projections (u, v, view)");
  add_geometry_option(settings, command->geometry);
  add_backproject_settings(settings, *command);
  add_pixel_options(settings, command->detector);
  add_grid_options(settings, command->grid, true);
  add_output_image(settings, command->output, "Volume to write");
  sub->footer =
      "Example:\n  halocline backproject -i projections.mha --geometry geometry.xml --size 128,128,128 --spacing "
      "1.5,1.5,1.5 -o volume.mha";
  sub->on_ranks = true;
  sub->run = [command](Job& job) { run_backproject(job, *command); };
  return sub;
}

}  // namespace halocline

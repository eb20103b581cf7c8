#include "algorithms/projectors/projector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "algorithms/projectors/faster_forms.hpp"
#include "algorithms/projectors/ray_ends.hpp"
#include "algorithms/projectors/scan_forms.hpp"
#include "algorithms/projectors/user_projector.hpp"
#include "algorithms/support/check_input.hpp"
#include "algorithms/support/norm.hpp"
#include "host/opencl/quirks.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/device_selection.hpp"
#include "scheduling/planning/program_plan.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {

void check_projection_grids(const Geometry& geometry, const Grid& volume, const Grid& projections) {
  check_grid(volume, "the volume");
  check_fan_stack(geometry, volume, "the volume");
  check_projections(projections, "the projections", geometry, "the geometry", DetectorShape::flat_or_cylinder);
  const auto& d = projections.direction;
  if (geometry.radius_cylindrical_detector != 0 && std::max(std::abs(d[1]), std::abs(d[3])) > 1e-4)
    throw InputError(
        "the projections: the direction matrix turns the images in their plane, but a cylindrical detector bends along "
        "their rows; resample the projections along u and v");
}

namespace {

// The program of a user's method, with the norm of its input if it takes that.
template <class Method>
Program users_program(const std::shared_ptr<const Method>& method, std::optional<double> norm = std::nullopt) {
  Program program = program_of(method);
  if (norm) program.scalars[input_norm] = *norm;
  return program;
}

template <class Method, class Output>
RunResult run_users(const std::shared_ptr<const Method>& method, const std::string& array, const VolumeSource& input,
                    Output& output, const std::vector<Device>& devices, const RunOptions& options) {
  const auto norm = method->takes_norm() ? std::optional(norm_of(input)) : std::nullopt;
  return run_on_selection([&](const std::vector<Device>&) { return users_program(method, norm); }, {{array, &input}},
                          output, devices, options);
}

// Throws InputError for forms that only named projectors have.
void check_users(const ProjectionParameters& parameters) {
  if (parameters.hardware_interpolation || parameters.images)
    throw InputError(fmt::format("{} goes with `projector = joseph`; {} reads the volume as it is written",
                                 parameters.images ? "reading images" : "`hardware_interpolation`",
                                 projector_name(parameters.projector)));
}

// Output: a VolumeSink, or the grid of RunResult::output.
template <class Output>
RunResult project_to(const VolumeSource& volume, const Geometry& geometry, Output& output, const Grid& projections,
                     const ProjectionParameters& parameters, const std::vector<Device>& devices,
                     const RunOptions& options) {
  const Grid& grid = volume.grid();
  check_projection_grids(geometry, grid, projections);
  log_automatic_ray_ends(geometry, grid, projections);
  if (const UserProjector* users = parameters.projector.users()) {
    check_users(parameters);
    return run_users(users->forward(geometry, grid, projections), "volume", volume, output, devices, options);
  }
  if (parameters.hardware_interpolation)
    require_textures(false, parameters.half_texels, devices,
                     parameters.half_texels ? "`half_texels`" : "`hardware_interpolation`");
  const double largest = parameters.half_texels ? value_range(volume).largest() : 1;
  const auto program_for = [&](const std::vector<Device>& used) {
    const auto models =
        checked_models(used, parameters.projector, Directions::forward, geometry, grid, projections, options.plan);
    ProjectionParameters taken = faster_forms(parameters, models, geometry, grid, projections);
    taken.largest_voxel = largest;
    if (images_pay(geometry, grid, projections, taken, models, options.plan)) taken.images = true;
    auto method = std::make_shared<RayProjection>(geometry, grid, projections, taken);
    for (const Device& device : used) method->check_device(device.info());
    return program_of(std::move(method));
  };
  return run_on_selection(program_for, {{"volume", &volume}}, output, devices, options);
}

}  // namespace

RunResult project(const Volume& volume, const Geometry& geometry, const Grid& projections,
                  const ProjectionParameters& parameters, const std::vector<Device>& devices,
                  const RunOptions& options) {
  check_devices(devices);
  check_volume(volume, "the volume");
  return project_to(MemorySource(volume), geometry, projections, projections, parameters, devices, options);
}

RunResult project_into(const VolumeSource& volume, const Geometry& geometry, VolumeSink& projections,
                       const ProjectionParameters& parameters, const std::vector<Device>& devices,
                       const RunOptions& options) {
  check_devices(devices);
  return project_to(volume, geometry, projections, projections.grid(), parameters, devices, options);
}

RunResult project(const Volume& volume, const Geometry& geometry, const Grid& projections,
                  const std::vector<Device>& devices, const RunOptions& options) {
  return project(volume, geometry, projections, ProjectionParameters{}, devices, options);
}

namespace {

template <class Output>
RunResult backproject_to(const VolumeSource& projections, const Geometry& geometry, Output& output, const Grid& volume,
                         Projector projector, const std::vector<Device>& devices, const RunOptions& options) {
  const Grid& stack = projections.grid();
  check_projection_grids(geometry, volume, stack);
  log_automatic_ray_ends(geometry, volume, stack);
  if (const UserProjector* users = projector.users())
    return run_users(users->adjoint(geometry, volume, stack), "raw", projections, output, devices, options);
  const auto program_for = [&](const std::vector<Device>& used) {
    const auto models = checked_models(used, projector, Directions::adjoint, geometry, volume, stack, options.plan);
    return program_of(faster_adjoint(geometry, stack, volume, projector, models));
  };
  return run_on_selection(program_for, {{"raw", &projections}}, output, devices, options);
}

}  // namespace

RunResult backproject(const Volume& projections, const Geometry& geometry, const Grid& volume, Projector projector,
                      const std::vector<Device>& devices, const RunOptions& options) {
  check_devices(devices);
  check_volume(projections, "the projections");
  return backproject_to(MemorySource(projections), geometry, volume, volume, projector, devices, options);
}

RunResult backproject_into(const VolumeSource& projections, const Geometry& geometry, VolumeSink& volume,
                           Projector projector, const std::vector<Device>& devices, const RunOptions& options) {
  check_devices(devices);
  return backproject_to(projections, geometry, volume, volume.grid(), projector, devices, options);
}

Plan plan_project(const Geometry& geometry, const Grid& volume, const Grid& projections,
                  const ProjectionParameters& parameters, const std::vector<DeviceModel>& models,
                  const PlanOptions& options) {
  check_projection_grids(geometry, volume, projections);
  if (const UserProjector* users = parameters.projector.users()) {
    check_users(parameters);
    const auto method = users->forward(geometry, volume, projections);
    return plan_on_selection([&](const std::vector<DeviceModel>&) { return users_program(method); }, models, options);
  }
  const auto program_for = [&](const std::vector<DeviceModel>& used) {
    ProjectionParameters taken = faster_forms(parameters, used, geometry, volume, projections);
    if (images_pay(geometry, volume, projections, taken, used, options)) taken.images = true;
    return program_of(std::make_shared<RayProjection>(geometry, volume, projections, taken));
  };
  return plan_on_selection(program_for, models, options);
}

Plan plan_backproject(const Geometry& geometry, const Grid& projections, const Grid& volume, Projector projector,
                      const std::vector<DeviceModel>& models, const PlanOptions& options) {
  check_projection_grids(geometry, volume, projections);
  if (const UserProjector* users = projector.users()) {
    const auto method = users->adjoint(geometry, volume, projections);
    return plan_on_selection([&](const std::vector<DeviceModel>&) { return users_program(method); }, models, options);
  }
  const auto program_for = [&](const std::vector<DeviceModel>& used) {
    return program_of(faster_adjoint(geometry, projections, volume, projector, used));
  };
  return plan_on_selection(program_for, models, options);
}

}  // namespace halocline

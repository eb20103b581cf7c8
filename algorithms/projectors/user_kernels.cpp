#include "algorithms/projectors/user_kernels.hpp"

#include <fmt/format.h>

#include "algorithms/projectors/ray_arguments.hpp"
#include "algorithms/projectors/user_arguments.hpp"
#include "host/opencl/kernel_arguments.hpp"
#include "host/opencl/work_groups.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr const char* project_signature =
    "\"__kernel void project(__global const float* volume, __global float* projections, PROJECTOR_PARAMETERS)\"";
constexpr const char* backproject_signature =
    "\"__kernel void backproject(__global const float* projections, __global float* volume, PROJECTOR_PARAMETERS)\"";

}  // namespace

UserKernels::UserKernels(const UserProjector& projector, const Geometry& geometry, const Grid& volume,
                         const Grid& projections)
    : projector_(projector),
      volume_(volume),
      projections_(projections),
      table_(whole_rays(projector, geometry, volume, projections)) {
  for (const View& view : geometry.views)
    for (const double value : index_to_detector(view, volume, projections))
      matrices_.push_back(static_cast<float>(value));
}

void UserKernels::declare(Requirements& requirements) const {
  requirements.size = volume_.size;
  requirements.stack = projections_.size;
  add_table_arrays(requirements, table_);
  add_user_tables(requirements, projector_);
  requirements.arrays.push_back({.name = "matrices", .kind = ArrayKind::fixed, .elements = matrices_.size()});
}

void UserKernels::start(Slab& slab) const {
  set_table(slab, table_);
  set_user_tables(slab, projector_);
  slab.set("matrices", matrices_.data(), matrices_.size() * sizeof(float));
}

ViewTables UserKernels::view_tables() const {
  ViewTables tables = halocline::view_tables(table_, projections_.size[0]);
  tables.push_back({"matrices", 12});
  return tables;
}

void UserKernels::launch(Slab& slab, const std::string& kernel, const std::array<std::size_t, 3>& global,
                         const std::string& read, const std::string& written, Range slices, Range rows,
                         Range views) const {
  std::vector<SlabArgument> arguments{in(read), inout(written), in("rays"), in("matrices")};
  add_table(arguments, table_, projections_.size[0], false);
  arguments.insert(arguments.end(),
                   {slab.extent(slices), per_axis(volume_.spacing), batch_of(projections_, rows, views)});
  add_user_tables(arguments, projector_);
  try {
    launch_user_kernel(slab, projector_, kernel, table_options(table_), global, arguments);
  } catch (const ClError& error) {
    if (exceeds_group_limits(error))
      throw InputError({.what = fmt::format("the work-group of the kernel {} of {}", kernel, projector_.name()),
                        .found = "one that the kernel does not take",
                        .expected = "\"#define PROJECTOR_GROUP columns, rows, views\" as in its reqd_work_group_size",
                        .remedy = error.what()});
    if (!is_wrong_argument(error)) throw;
    throw InputError({.what = fmt::format("the kernel {} of {}", kernel, projector_.name()),
                      .found = "one of other parameters",
                      .expected = kernel == "project" ? project_signature : backproject_signature});
  }
}

Requirements UserProjection::requirements() const {
  Requirements requirements;
  requirements.algorithm = "project";
  requirements.form = ProgramForm::ray_sums;
  requirements.arrays = {{.name = "volume", .kind = ArrayKind::volume, .lifetime = Lifetime::input},
                         {.name = "projections", .kind = ArrayKind::projections, .lifetime = Lifetime::output}};
  kernels_.declare(requirements);
  requirements.halo_high = kernels_.projector().halo();
  requirements.kernels = {"project"};
  requirements.cost.bytes = 20;
  return requirements;
}

void UserProjection::project(Slab& slab, Range views, const Scalars&) const {
  const auto& size = kernels_.projections().size;
  kernels_.launch(slab, "project", {size[0], size[1], views.size()}, "volume", "projections", slab.interior(),
                  {0, static_cast<std::int64_t>(size[1])}, views);
}

Requirements UserBackprojection::requirements() const {
  Requirements requirements;
  requirements.algorithm = "backproject";
  requirements.form = ProgramForm::voxel_sums;
  requirements.arrays = {{.name = "raw", .kind = ArrayKind::projections, .lifetime = Lifetime::input},
                         {.name = "volume", .kind = ArrayKind::volume, .lifetime = Lifetime::output}};
  kernels_.declare(requirements);
  requirements.kernels = {"backproject"};
  requirements.cost.bytes = 20;
  return requirements;
}

void UserBackprojection::accumulate(Slab& slab, Range views, Range slices, const Scalars&) const {
  const auto& size = kernels_.volume().size;
  kernels_.launch(slab, "backproject", {size[0], size[1], slices.size()}, "raw", "volume", slices, slab.rows(), views);
}

}  // namespace halocline

#include "algorithms/projectors/user_kernels.hpp"

#include <fmt/format.h>

#include "algorithms/projectors/batch_argument.hpp"
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
      arrays_(projector, geometry, volume, projections) {
  refuse_fan_stack(geometry, projector.name(), "write it as a ray model (`trace`), or take a named projector");
  for (const View& view : geometry.views)
    for (const double value : index_to_detector(view, volume, projections))
      matrices_.push_back(static_cast<float>(value));
}

void UserKernels::declare(Requirements& requirements) const {
  requirements.size = volume_.size;
  requirements.stack = projections_.size;
  arrays_.declare(requirements);
  requirements.arrays.push_back({.name = "matrices", .kind = ArrayKind::fixed, .elements = matrices_.size()});
}

void UserKernels::start(Slab& slab) const {
  arrays_.start(slab);
  slab.set("matrices", matrices_.data(), matrices_.size() * sizeof(float));
}

ViewTables UserKernels::view_tables() const {
  ViewTables tables = arrays_.view_tables();
  tables.push_back({"matrices", 12});
  return tables;
}

void UserKernels::launch(Slab& slab, const std::string& kernel, const std::array<std::size_t, 3>& global,
                         const std::string& read, const std::string& written, Range slices, Range rows,
                         Range views) const {
  std::vector<SlabArgument> arguments{in(read), inout(written), in("matrices")};
  arrays_.add_rays(arguments);
  arguments.insert(arguments.end(),
                   {slab.extent(slices), per_axis(volume_.spacing), batch_of(projections_, rows, views)});
  arrays_.add_tables(arguments);
  const std::string options = fmt::format("{} {}", arrays_.options(), with_argument_names);
  try {
    check_arguments(slab, kernel, options, arguments.size());
    launch_user_kernel(slab, projector_, kernel, options, global, arguments);
  } catch (const ClError& error) {
    if (exceeds_group_limits(error))
      throw InputError({.what = fmt::format("the work-group of the kernel {} of {}", kernel, projector_.name()),
                        .found = "one that the kernel does not take",
                        .expected = "\"#define PROJECTOR_GROUP columns, rows, views\" as in its reqd_work_group_size",
                        .remedy = error.what()});
    if (is_wrong_argument(error)) refuse(kernel, "of other parameters");
    throw;
  }
}

// The kernel takes its two arrays of floats, and as many arguments as it gets.
void UserKernels::check_arguments(Slab& slab, const std::string& kernel, const std::string& options,
                                  std::size_t count) const {
  const DeclaredArguments declared = user_kernel_arguments(slab, projector_, kernel, options);
  if (declared.count != count) refuse(kernel, "of other parameters");
  for (std::size_t n = 0; n < 2 && n < declared.list.size(); ++n)
    if (!takes_floats(declared.list[n], n == 1))
      refuse(kernel, fmt::format("with \"{}\" as parameter {}", text_of(declared.list[n]), n + 1));
}

void UserKernels::refuse(const std::string& kernel, const std::string& found) const {
  const bool forward = kernel == "project";
  throw InputError({.what = fmt::format("the kernel {} of {}, line {},", kernel, projector_.name(),
                                        projector_.lines()[forward ? 0 : 1]),
                    .found = "one " + found,
                    .expected = forward ? project_signature : backproject_signature});
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

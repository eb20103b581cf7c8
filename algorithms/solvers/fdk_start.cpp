#include "algorithms/solvers/fdk_start.hpp"

#include <fmt/format.h>

#include "algorithms/fdk/fdk.hpp"
#include "host/system/error.hpp"
#include "scheduling/transport/rank_devices.hpp"
#include "scheduling/transport/share_volume.hpp"

namespace halocline {
namespace {

FdkParameters parameters_for(const ReconstructionParameters& parameters) {
  FdkParameters fdk;
  fdk.log_notes = false;
  fdk.redundancy.allow_incomplete_arc = solver_method(parameters.method).fdk;
  return fdk;
}

// The error of a scan that cannot be reconstructed so; empty: it can.
std::string refusal_of(const Geometry& geometry, const Grid& stack, const Grid& grid, const FdkParameters& fdk) {
  try {
    check_fdk(geometry, stack, grid, "the projections", "the geometry", fdk.redundancy);
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

// A rank without slices has the image, too.
PlanOptions with_idle_ranks(PlanOptions options) {
  options.idle_ranks = true;
  return options;
}

// Each rank makes its part of the image.
RunResult make_on_all(Ranks& all, const VolumeSource& projections, const Geometry& geometry, Volume& image,
                      const FdkParameters& fdk, const std::vector<Device>& devices, const RunOptions& options) {
  MemorySink whole(image);
  PartOfRank part(whole);
  RunResult run = fdk_into(projections, projections.grid(), geometry, part, fdk, devices, options);
  const std::size_t before = all.sent();
  share_volume(all, part.made(), image.grid.count(), image.voxels.data());
  run.rank_bytes += static_cast<double>(all.sent() - before);
  run.plan.rank_bytes += shared_bytes(image.grid, all);
  return run;
}

}  // namespace

FdkStart fdk_start(const VolumeSource& projections, const Geometry& geometry, const Grid& grid,
                   const ReconstructionParameters& parameters, const std::vector<Device>& devices,
                   const RunOptions& options) {
  const FdkParameters fdk = parameters_for(parameters);
  Ranks& all = ranks_of(options.plan);
  for (const std::string& refusal :
       all.gather("whether fdk takes the scan", refusal_of(geometry, projections.grid(), grid, fdk)))
    if (!refusal.empty())
      return {.why_not = fmt::format(
                  "the iterations begin with a constant image, not with that of fdk, which would say: {}", refusal)};
  FdkStart start{.image = Volume::uninitialised(grid)};
  RunOptions shared = options;
  shared.plan = with_idle_ranks(options.plan);
  if (all.several()) {
    start.run = make_on_all(all, projections, geometry, *start.image, fdk, devices, shared);
  } else {
    MemorySink sink(*start.image);
    start.run = fdk_into(projections, projections.grid(), geometry, sink, fdk, devices, shared);
  }
  return start;
}

std::optional<Plan> plan_fdk_start(const Geometry& geometry, const Grid& stack, const Grid& grid,
                                   const ReconstructionParameters& parameters, const std::vector<DeviceModel>& models,
                                   const PlanOptions& options) {
  const FdkParameters fdk = parameters_for(parameters);
  if (!refusal_of(geometry, stack, grid, fdk).empty()) return std::nullopt;
  Plan plan = plan_fdk(geometry, stack, grid, fdk, models, with_idle_ranks(options));
  plan.rank_bytes += shared_bytes(grid, ranks_of(options));
  return plan;
}

}  // namespace halocline

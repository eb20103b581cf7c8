#include "algorithms/solvers/fdk_start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "algorithms/fdk/fdk.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/device_selection.hpp"
#include "scheduling/execution/output_store.hpp"
#include "scheduling/planning/missing_slices.hpp"
#include "scheduling/transport/rank_devices.hpp"

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

Range all_slices(const Grid& grid) {
  return {0, static_cast<std::int64_t>(grid.size[2])};
}

// Voxels that are not to be made, as though a run before had stored them.
class NotWanted : public OutputStore {
 public:
  explicit NotWanted(RangeSet voxels) : voxels_(std::move(voxels)) {}
  RangeSet give_back(VolumeSink&) override { return voxels_; }
  void keep(std::size_t, std::size_t, const float*) override {}

 private:
  RangeSet voxels_;
};

// An image of which slices are made as they are read.
class FdkImage : public VolumeSource {
 public:
  FdkImage(const VolumeSource& projections, ProgramForDevices program_for, const Grid& grid,
           const std::vector<Device>& devices, RunOptions options)
      : projections_(projections),
        program_for_(std::move(program_for)),
        devices_(devices),
        options_(std::move(options)),
        image_(Volume::uninitialised(grid)) {}

  const Grid& grid() const override { return image_.grid; }
  void read(std::size_t first, std::size_t count, float* to) const override {
    {
      const std::lock_guard lock(mutex_);
      if (!made_.contains(range_of(first, count))) make(all_slices(grid()));
    }
    std::copy_n(image_.voxels.data() + first, count, to);
  }
  const float* data() const override {
    const std::lock_guard lock(mutex_);
    return made_.contains(range_of(0, grid().count())) ? image_.voxels.data() : nullptr;
  }

  // Makes those of these slices that are not there.
  RunResult make(Range slices) const {
    const Range wanted = range_of(grid().slice() * unsigned_count(slices.begin), grid().slice() * slices.size());
    RangeSet others = made_;
    others.add({0, wanted.begin});
    others.add({wanted.end, static_cast<std::int64_t>(grid().count())});
    NotWanted store(std::move(others));
    RunOptions options = options_;
    if (slices != all_slices(grid()) || !made_.empty()) options.output_store = &store;
    MemorySink sink(image_);
    RunResult run = run_on_selection(program_for_, {{"raw", &projections_}}, sink, devices_, options);
    made_.add(wanted);
    return run;
  }

 private:
  const VolumeSource& projections_;
  ProgramForDevices program_for_;
  const std::vector<Device>& devices_;
  RunOptions options_;
  mutable std::mutex mutex_;
  mutable RangeSet made_;  // voxels
  mutable Volume image_;
};

}  // namespace

FdkStart fdk_start(const VolumeSource& projections, const Geometry& geometry, const Grid& grid,
                   const ReconstructionParameters& parameters, const std::vector<Device>& devices,
                   const RunOptions& options, Range slices) {
  const FdkParameters fdk = parameters_for(parameters);
  if (const std::string refusal = refusal_of(geometry, projections.grid(), grid, fdk); !refusal.empty())
    return {.why_not = fmt::format(
                "the iterations begin with a constant image, not with that of fdk, which would say: {}", refusal)};
  ProgramForDevices program_for = [=, stack = projections.grid(),
                                   plan = options.plan](const std::vector<Device>& used) {
    return fdk_program(geometry, stack, grid, fdk, used, plan);
  };
  // Ranks agree on it once, as each of them may run it again.
  if (ranks_of(options.plan).several())
    program_for = [program = program_for(devices)](const std::vector<Device>&) { return program; };
  RunOptions own = options;
  own.plan = of_this_rank(options.plan);
  auto image = std::make_unique<FdkImage>(projections, std::move(program_for), grid, devices, std::move(own));
  RunResult run = image->make(slices);
  return {.image = std::move(image), .run = std::move(run)};
}

std::optional<Plan> plan_fdk_start(const Geometry& geometry, const Grid& stack, const Grid& grid,
                                   const ReconstructionParameters& parameters, const std::vector<DeviceModel>& models,
                                   const PlanOptions& options, Range slices) {
  const FdkParameters fdk = parameters_for(parameters);
  if (slices.empty() || !refusal_of(geometry, stack, grid, fdk).empty()) return std::nullopt;
  const PlanOptions own = of_this_rank(options);
  Plan plan = plan_fdk(geometry, stack, grid, fdk, models, own);
  if (slices == all_slices(grid)) return plan;
  return plan_missing(plan.requirements, models, own, std::vector{slices});
}

}  // namespace halocline

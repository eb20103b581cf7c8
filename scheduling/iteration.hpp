// Methods that improve a volume by stencil iterations (PDU, S-PDU, TV-GD), and the runner that takes them over slabs
// and devices.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "host/volume.hpp"
#include "scheduling/progress.hpp"
#include "scheduling/slab.hpp"

namespace halocline {

/// One instance serves all slabs of one run; launches are the same for every slab, so that 1 slab == N slabs bit for
/// bit. The method is called by one thread per device at a time for start/iterate/reduce (which must not change its
/// members), and by one thread for reduced().
class IterativeMethod {
 public:
  virtual ~IterativeMethod() = default;
  virtual Requirements requirements() const = 0;
  /// A run begins (again, if memory ran out and it was planned anew): forget what reduced() was told.
  virtual void begin() {}
  /// First visit: fills state and output arrays over slab.extended() from the inputs, which are there.
  virtual void start(Slab& slab) const = 0;
  /// Iteration number `iteration` (from 0). Must compute the state right on `core`, given that it was right on core
  /// grown by the declared halos (cut at the volume's faces).
  virtual void iterate(Slab& slab, int iteration, Range core) const = 0;
  /// How many iterations iterate_together() can take at once.
  virtual int together() const { return 1; }
  /// Iterations `first` to `first + count - 1`, count at most together(): the state on `core` must be right afterwards,
  /// given that it was right on core grown by count times the declared halos. The bits are those of iterate().
  virtual void iterate_together(Slab& slab, int first, [[maybe_unused]] int count, Range core) const {
    iterate(slab, first, core);
  }
  /// The first number of iterations > done (or >= 0 for done = -1) at which reduce() is due. Fixed numbers, never
  /// dependent on the plan. A reduction after the last iteration is always taken.
  virtual int next_reduction(int done) const = 0;
  /// After `done` iterations: writes one value a component and slice of `interior` into the array of lifetime `sums`.
  /// The state is right on interior grown by reduction_halo.
  virtual void reduce(Slab& slab, int done, Range interior) const = 0;
  /// `sums`: the components added over all slices in order in double. Returns true to stop here.
  virtual bool reduced(int done, std::span<const double> sums) = 0;
  /// For methods whose every iteration waits for a reduction: how many of them the device can go on by itself where the
  /// slab is the whole volume, 0 if it can not.
  virtual int steered(const Slab&) const { return 0; }
  /// After reduce(): does on the device what reduced() would do, which is called later with the same sums. Once
  /// reduced() would say stop, further iterations must not change anything.
  virtual void steer(Slab&, int /*done*/) const {}
  /// The sums of the last `count` calls of steer(), the last of which was for `done`; waits for them.
  virtual std::vector<std::vector<double>> steered_sums(Slab&, int /*done*/, int /*count*/) const { return {}; }
  /// For progress lines.
  virtual std::string note() const { return {}; }
};

/// What the method declares, with the reductions that next_reduction() names.
Requirements requirements_with_reductions(const IterativeMethod& method);

struct RunResult {
  Volume output;
  int iterations = 0;
  Plan plan;  // the last one used, if memory ran out and it was made smaller
  double seconds = 0;
  std::size_t peak_bytes = 0;  // on the device that used most
  double bus_bytes = 0;        // moved in fact
};

struct RunOptions {
  PlanOptions plan;
  Progress progress;
};

/// Budgets of open devices for the planner.
std::vector<DeviceBudget> budgets(const std::vector<Device>& devices);

/// Plans and runs. `inputs`: by the names of arrays of lifetime input, all of the method's size. The result lies on
/// `grid`. Throws PlanError, ClError, BuildError, Interrupted. When a device's driver runs out of memory, the work is
/// planned again with smaller slabs.
RunResult run_iterations(IterativeMethod& method, const std::map<std::string, const Volume*>& inputs, const Grid& grid,
                         const std::vector<Device>& devices, const RunOptions& options = {});

}  // namespace halocline

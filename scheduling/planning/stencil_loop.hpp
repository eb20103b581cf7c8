// Iterations of a stencil over volumes: kernel launches of an iteration, forms that take several iterations at once,
// and the sums that steer them.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "scheduling/planning/range.hpp"

namespace halocline {

class Slab;

/// One instance serves all slabs of a run; launches are the same for every slab, so results for 1 and N slabs are
/// bitwise identical. Called by one thread per device at a time: no function changes members.
class StencilLoop {
 public:
  virtual ~StencilLoop() = default;
  /// Fills state and output arrays over slab.extended() from the inputs, before the first iteration. A restored state
  /// replaces them.
  virtual void start(Slab& slab) const = 0;
  /// Iteration number `iteration` (from 0). Computes the state on `core`, given the state on core grown by the declared
  /// halos (cut at the volume's faces).
  virtual void iterate(Slab& slab, int iteration, Range core) const = 0;
  /// Number of iterations that iterate_together() can take (temporal blocking).
  virtual int together() const { return 1; }
  /// Iterations `first` to `first + count - 1`, count at most together(), given the state on core grown by count times
  /// the declared halos. Bitwise identical to iterate().
  virtual void iterate_together(Slab& slab, int first, [[maybe_unused]] int count, Range core) const {
    iterate(slab, first, core);
  }
  /// True where iterate_parts() works on this slab: not in place.
  virtual bool takes_parts(const Slab&) const { return false; }
  /// iterate_together() in parts, which do not overlap: launches them in this order and calls launched(n) after part n.
  virtual void iterate_parts(Slab&, int /*first*/, int /*count*/, std::span<const Range> /*parts*/,
                             const std::function<void(std::size_t)>& /*launched*/) const {}
};

/// Steering by the device, for loops whose every iteration waits for a reduction, on a device that holds the whole
/// volume. The host reads the sums of many iterations at once.
class DeviceSteering {
 public:
  virtual ~DeviceSteering() = default;
  /// Number of iterations between two reads of the sums, 0 if the device cannot steer this slab.
  virtual int window(const Slab&) const = 0;
  /// Does on the device, after Reduction::reduce(), what Reduction::reduced() would do, which receives the same sums
  /// later. Once that would return true, further iterations must not change anything.
  virtual void steer(Slab&, int done) const = 0;
  /// Sums of the last `count` calls of steer(), the last of which was for `done`; waits for them.
  virtual std::vector<std::vector<double>> sums(Slab&, int done, int count) const = 0;
};

/// Sums over the volume between iterations, and their consequences. reduce() is called by one thread per device and
/// must not change members; the others are called by one thread.
class Reduction {
 public:
  virtual ~Reduction() = default;
  /// Begins a run, perhaps again after a failure: discards what reduced() received. A restored run then repeats the
  /// earlier calls of reduced(), from which all state on the host must follow.
  virtual void begin() {}
  /// The first number of iterations > done (or >= 0 for done = -1) at which reduce() is due. May depend on what
  /// reduced() received, never on the plan. A reduction after the last iteration is always taken.
  virtual int next_reduction(int done) const = 0;
  /// Numbers below `iterations` at which reductions are expected, ascending, for the planner. Default: by
  /// next_reduction() without any sums.
  virtual std::vector<int> expected_reductions(int iterations) const;
  /// Expected number of iterations, for the time left; 0: not known, or all.
  virtual double expected_iterations() const { return 0; }
  /// Writes one value a component and slice of `interior`, after `done` iterations, to the array of lifetime `sums`.
  /// The state is valid on interior grown by reduction_halo.
  virtual void reduce(Slab& slab, int done, Range interior) const = 0;
  /// Receives the components added over all slices in order in double, and behind them the seconds since the run began
  /// (seconds_scalar). Returns true to stop. Where Requirements::reductions_steer is false, later iterations may have
  /// been launched: then it must not influence them, and its result counts after the last reduction alone.
  virtual bool reduced(int done, std::span<const double> sums) = 0;
  /// True after reduced() returned false where the current output is a result of its own (RunOptions::stage_output).
  virtual bool stage_ended() const { return false; }
  /// Returns true for another reduction where the run ends early, after `done` iterations.
  virtual bool ends_early(int /*done*/) { return false; }
  /// Text for progress lines.
  virtual std::string note() const { return {}; }
  /// Steering by the device; nullptr: the host needs the sums of every iteration.
  virtual const DeviceSteering* on_device() const { return nullptr; }
};

}  // namespace halocline

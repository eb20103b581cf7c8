// Methods that improve a volume by stencil iterations (PDU, S-PDU, TV-GD), and the runner that takes them over slabs
// and devices.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "host/volume.hpp"
#include "host/volume_source.hpp"
#include "scheduling/execution/run.hpp"
#include "scheduling/planning/requirements.hpp"
#include "scheduling/slabs/slab.hpp"

namespace halocline {

/// One instance serves all slabs of one run; launches are the same for every slab, so that results for 1 and N slabs
/// are bitwise identical. The method is called by one thread per device at a time for start/iterate/reduce (which must
/// not change its members), and by one thread for reduced().
class IterativeMethod {
 public:
  virtual ~IterativeMethod() = default;
  virtual Requirements requirements() const = 0;
  /// A run begins (again, if memory ran out and it was planned anew): forget what reduced() was told. A run that goes
  /// on from a kept state then tells reduced() once more what it was told before: what the host knows must follow from
  /// that.
  virtual void begin() {}
  /// First visit: fills state and output arrays over slab.extended() from the inputs, which are there. A run that goes
  /// on from a kept state puts it in their place.
  virtual void start(Slab& slab) const = 0;
  /// Iteration number `iteration` (from 0). Must compute the state right on `core`, given that it was right on core
  /// grown by the declared halos (cut at the volume's faces).
  virtual void iterate(Slab& slab, int iteration, Range core) const = 0;
  /// How many iterations iterate_together() can take at once.
  virtual int together() const { return 1; }
  /// Iterations `first` to `first + count - 1`, count at most together(): the state on `core` must be right afterwards,
  /// given that it was right on core grown by count times the declared halos. Bitwise identical to iterate().
  virtual void iterate_together(Slab& slab, int first, [[maybe_unused]] int count, Range core) const {
    iterate(slab, first, core);
  }
  /// Whether iterate_together() on this slab can be had in parts: where it does not work in place.
  virtual bool takes_parts(const Slab&) const { return false; }
  /// iterate_together() of a core that is the sum of these parts, which do not overlap: launches them in this order and
  /// calls launched(n) after part n.
  virtual void iterate_parts(Slab&, int /*first*/, int /*count*/, std::span<const Range> /*parts*/,
                             const std::function<void(std::size_t)>& /*launched*/) const {}
  /// The first number of iterations > done (or >= 0 for done = -1) at which reduce() is due. It may depend on what
  /// reduced() was told, never on the plan. A reduction after the last iteration is always taken.
  virtual int next_reduction(int done) const = 0;
  /// Numbers below `iterations` at which reductions may be expected, ascending, before anything is known: for the
  /// planner. Here those of next_reduction(), which are right where they depend on nothing.
  virtual std::vector<int> expected_reductions(int iterations) const;
  /// Iterations that the run is expected to take, for the time left; 0: not known, or all.
  virtual double expected_iterations() const { return 0; }
  /// After `done` iterations: writes one value a component and slice of `interior` into the array of lifetime `sums`.
  /// The state is right on interior grown by reduction_halo.
  virtual void reduce(Slab& slab, int done, Range interior) const = 0;
  /// `sums`: the components added over all slices in order in double. Returns true to stop here. Where
  /// Requirements::reductions_steer is false, later iterations may have been launched: then it must change nothing of
  /// what they do, and what it returns counts after the last reduction alone.
  virtual bool reduced(int done, std::span<const double> sums) = 0;
  /// After reduced() said to go on: whether the output as it is now is a result of its own (RunOptions::stage_output).
  virtual bool stage_ended() const { return false; }
  /// The run ends after `done` iterations, before the method would have: whether it wants another reduction to say what
  /// came of it.
  virtual bool ends_early(int /*done*/) { return false; }
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

/// What the method declares, with the reductions that it expects.
Requirements requirements_with_reductions(const IterativeMethod& method);

/// Plans and runs. `inputs`: by the names of arrays of lifetime input, all of the method's size. The result lies on
/// `grid`. Throws PlanError, ClError, BuildError, Interrupted. When a device's driver runs out of memory, the work is
/// planned again with smaller slabs; when one of several devices fails, with the others. Slabs of several devices get
/// other borders between passes when the devices turn out to be faster or slower than was thought.
RunResult run_iterations(IterativeMethod& method, const std::map<std::string, const Volume*>& inputs, const Grid& grid,
                         const std::vector<Device>& devices, const RunOptions& options = {});

/// The same without volumes in host memory: inputs are read as slabs are uploaded (again on every pass where slabs
/// are streamed), the result goes to `output` when it is final, and RunResult::output stays empty. Streamed slabs
/// keep their state on the host as float32, in output.data() as far as there is one.
RunResult run_iterations(IterativeMethod& method, const std::map<std::string, const VolumeSource*>& inputs,
                         VolumeSink& output, const std::vector<Device>& devices, const RunOptions& options = {});

}  // namespace halocline

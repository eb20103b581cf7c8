// Iterations of a stencil over volumes, as a program declares them: what an iteration launches, forms in which several
// iterations are done at once, and the sums by which they are steered.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "scheduling/planning/range.hpp"

namespace halocline {

class Slab;

/// One instance serves all slabs of one run; launches are the same for every slab, so that results for 1 and N slabs
/// are bitwise identical. Called by one thread per device at a time: no function changes members.
class StencilLoop {
 public:
  virtual ~StencilLoop() = default;
  /// Before the first iteration: fills state and output arrays over slab.extended() from the inputs, which are there. A
  /// run that goes on from a kept state puts it in their place.
  virtual void start(Slab& slab) const = 0;
  /// Iteration number `iteration` (from 0). Must compute the state right on `core`, given that it was right on core
  /// grown by the declared halos (cut at the volume's faces).
  virtual void iterate(Slab& slab, int iteration, Range core) const = 0;
  /// How many iterations iterate_together() can take at once (temporal blocking).
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
};

/// For loops whose every iteration waits for a reduction, on a device that holds the whole volume: it goes on by itself
/// for many iterations, and the host reads their sums at once.
class DeviceSteering {
 public:
  virtual ~DeviceSteering() = default;
  /// How many iterations the device can go on by itself with this slab, 0 if it cannot.
  virtual int window(const Slab&) const = 0;
  /// After Reduction::reduce(): does on the device what Reduction::reduced() would do, which is called later with the
  /// same sums. Once that would say stop, further iterations must not change anything.
  virtual void steer(Slab&, int done) const = 0;
  /// The sums of the last `count` calls of steer(), the last of which was for `done`; waits for them.
  virtual std::vector<std::vector<double>> sums(Slab&, int done, int count) const = 0;
};

/// Sums over the volume between iterations, and what follows from them. reduce() is called by one thread per device
/// and must not change members; the others are called by one thread.
class Reduction {
 public:
  virtual ~Reduction() = default;
  /// A run begins (again, if memory ran out and it was planned again): forget what reduced() was told. A run that goes
  /// on from a kept state then tells reduced() once more what it was told before: what the host knows must follow from
  /// that.
  virtual void begin() {}
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
  /// The run ends after `done` iterations, before the loop would have: whether another reduction is wanted to say what
  /// came of it.
  virtual bool ends_early(int /*done*/) { return false; }
  /// For progress lines.
  virtual std::string note() const { return {}; }
  /// Nothing: the host has to see the sums of every iteration.
  virtual const DeviceSteering* on_device() const { return nullptr; }
};

}  // namespace halocline

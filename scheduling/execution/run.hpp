// Options and results of a run of a program, whatever it computes.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/volume/volume.hpp"
#include "scheduling/execution/progress.hpp"
#include "scheduling/execution/stop_rule.hpp"
#include "scheduling/planning/plan.hpp"

namespace halocline {

class CheckpointStore;
class OutputStore;
class VolumeSink;

struct RunResult {
  Volume output;
  int iterations = 0;
  Plan plan;  // the last one used, if memory ran out or the devices were not as fast as was thought
  double seconds = 0;
  std::size_t peak_bytes = 0;             // on the device that used most
  double bus_bytes = 0;                   // moved in fact
  std::vector<int> taken_by;              // of voxel sums, by slab of the plan: the device that worked on it
  std::map<std::string, double> scalars;  // of a program's steps, as they are after the last iteration
  StoppedBy stopped_by = StoppedBy::iterations;
};

struct RunOptions {
  PlanOptions plan;
  /// What the run carries out, where it was planned before: by `plan`, for the same program and some of the devices.
  /// Nothing, or where it is of something else or has been overtaken by a rate that was measured since: the run plans.
  std::optional<Plan> planned;
  Progress progress;
  /// Seconds of the run, transfers included, after which it ends with what it has; 0: no limit. Looked at between
  /// passes, and passes are cut to fit. A reduction is taken at the end.
  double time_limit = 0;
  /// Bytes that the process may hold when slabs get other borders (their state is then on the host for a moment); 0:
  /// what the host has.
  std::size_t host_memory = 0;
  /// Ctrl-C ends the run with what it has, a reduction included, instead of throwing Interrupted. All slabs then are at
  /// the same iteration. A second Ctrl-C throws.
  bool keep_partial = false;
  /// What state, output and scratch arrays of kind volume and type float32 hold before the first iteration, by name,
  /// instead of what start() writes. Of the method's size; the caller keeps them alive.
  std::map<std::string, const Volume*> initial;
  /// Of programs of steps: volumes beside the output that go to sinks after the last step, by name.
  std::map<std::string, VolumeSink*> also;
  /// Called with the number (from 0) and the output of a stage of the method that has ended when another one follows
  /// (stage_ended()); from 0 again if memory ran out and the run began again.
  std::function<void(int stage, const Volume& output)> stage_output;
  /// Keeps the state after passes, and gives the one to go on from. With it Ctrl-C ends a run after an iteration of all
  /// slabs, and what there is then is kept, too, before Interrupted is thrown; so is the state at a time limit.
  CheckpointStore* checkpoint_store = nullptr;
  /// Seconds from one time to the next; longer where more than a tenth of the run would go into it. 0: after every
  /// pass.
  double keep_every = 60;
  /// Of voxel sums: keeps slices as they are done, and gives back those that an earlier run has.
  OutputStore* output_store = nullptr;
};

/// The run may end before all iterations are done, or keeps its state on the way: its slabs stay where they fit.
inline bool can_end_early(const RunOptions& options) {
  return options.checkpoint_store != nullptr || options.time_limit > 0 || options.keep_partial;
}

}  // namespace halocline

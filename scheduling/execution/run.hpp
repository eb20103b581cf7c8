// Options and results of a run.
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
  Plan plan;  // the last one used
  double seconds = 0;
  double iterating_seconds = 0;           // steps: seconds_scalar at the end
  std::size_t peak_bytes = 0;             // on the device that used most
  double bus_bytes = 0;                   // moved over the bus
  double rank_bytes = 0;                  // sent by this rank to others
  std::vector<int> taken_by;              // voxel sums: the device of each slab of the plan
  std::map<std::string, double> scalars;  // steps: final values
  StoppedBy stopped_by = StoppedBy::iterations;
};

struct RunOptions {
  PlanOptions plan;
  /// Plan to carry out, made by `plan` for the same program and some of the devices. The run makes another one where
  /// this does not fit, or a rate has been measured since.
  std::optional<Plan> planned;
  Progress progress;
  /// Limit of the run in seconds, transfers included; 0: none. Checked between passes, which are cut to fit. A
  /// reduction is taken at the end.
  double time_limit = 0;
  /// Limit in bytes of the process while slabs get other borders and their state is on the host; 0: the host's memory.
  std::size_t host_memory = 0;
  /// Ctrl-C ends the run with the result so far, a reduction included, instead of throwing Interrupted. All slabs are
  /// then at the same iteration. A second Ctrl-C throws.
  bool keep_partial = false;
  /// Contents of float32 volumes of lifetime state, output and scratch before the first iteration, by name, instead of
  /// those of start(). Kept by reference.
  std::map<std::string, const Volume*> initial;
  /// Steps: volumes besides the output that are written to sinks after the last step, by name.
  std::map<std::string, VolumeSink*> also;
  /// Receives the number (from 0) and the output of a stage of the method before the next one begins
  /// (Reduction::stage_ended()); from 0 again if the run begins again.
  std::function<void(int stage, const Volume& output)> stage_output;
  /// Stores the state after passes, and restores it. Ctrl-C and time limits then end a run after the same iteration of
  /// all slabs, and store the state.
  CheckpointStore* checkpoint_store = nullptr;
  /// Seconds between two checkpoints; longer where they would take more than a tenth of the run. 0: after every pass.
  double keep_every = 60;
  /// Voxel sums: stores finished slices, and restores those of an earlier run.
  OutputStore* output_store = nullptr;
};

/// True where the run may end early or store its state on the way, so that slabs stay resident if they fit.
inline bool can_end_early(const RunOptions& options) {
  return options.checkpoint_store != nullptr || options.time_limit > 0 || options.keep_partial;
}

}  // namespace halocline

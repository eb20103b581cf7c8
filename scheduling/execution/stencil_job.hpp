// State that a run of a stencil loop shares with its slabs (resident_slabs.hpp, streamed_slabs.hpp).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scheduling/execution/checkpoint_store.hpp"
#include "scheduling/execution/device_threads.hpp"
#include "scheduling/execution/executors.hpp"
#include "scheduling/execution/load_balance.hpp"
#include "scheduling/execution/stop_rule.hpp"
#include "scheduling/transport/bus_traffic.hpp"
#include "scheduling/transport/transport.hpp"

namespace halocline {

struct StencilJob {
  /// Keeps all references.
  StencilJob(const RunRequest& request, const std::vector<Device>& on, const Plan& by);

  const VolumeSource& input(const std::string& name) const { return *inputs.at(name).source; }
  std::size_t slice_bytes(const std::string& name) const;
  /// Allocates the sums of so many reductions: `sums_array` of the transport, a value a component and slice.
  void hold_sums(std::size_t reductions);
  /// Brings the sums of so many reductions from all ranks to each.
  void share_sums(std::size_t reductions);
  /// The components of reduction number `which` of a pass, added over all slices in order.
  std::vector<double> added_sums(std::size_t which) const;

  const StencilLoop& loop;
  Reduction& reduction;
  const ProgramInputs& inputs;
  VolumeSink& output;
  std::vector<Device> devices;
  Plan plan;  ///< changes when slabs get other borders
  const Requirements& requirements;
  const RunOptions& options;
  Ranks& ranks;
  std::vector<std::string> states;  ///< names of arrays of lifetime state and output
  std::string sums_name, output_name;
  std::size_t components = 0;
  std::optional<RunState> kept;  ///< state of an earlier run to continue
  int begun_at = 0;              ///< iterations done in it
  CommonStop stop;
  BusTraffic traffic;
  Transport transport;
  DeviceThreads threads;
  LoadBalance balance;
  /// Receives, from the thread of each device, the slices and further iterations done in a pass over streamed slabs.
  std::function<void(std::int64_t slices, int iterations)> progressed;
};

/// All slabs of a run, for one thread.
class StencilSlabs {
 public:
  virtual ~StencilSlabs() = default;
  /// Does `count` iterations from number `first`, or as many as StencilJob::stop allows, and takes the sums after those
  /// of `due` (ascending, counted from `first`). `last`: if all are done, the output alone is needed afterwards.
  virtual void pass(int first, int count, const std::vector<int>& due, bool last) = 0;
  /// True if the busy times of all passes so far are known.
  virtual bool settled() const { return true; }
  /// Bytes [first, first + count) of a state array of the whole volume.
  virtual void read_state(const std::string& name, std::size_t first, std::size_t count, std::byte* to) = 0;
  virtual Volume current_output() = 0;
  /// Changes to the slabs of another plan, which becomes the job's.
  virtual void move_to(const Plan& better) = 0;
  /// Writes the result to the output.
  virtual void write_output() = 0;
};

}  // namespace halocline

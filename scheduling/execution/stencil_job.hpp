// What a run of a stencil loop (ProgramForm::stencil) has in common with the slabs that carry it out:
// resident_slabs.hpp or streamed_slabs.hpp.
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
  /// All references are kept.
  StencilJob(const RunRequest& request, const std::vector<Device>& devices, const Plan& plan);

  const VolumeSource& input(const std::string& name) const { return *inputs.at(name).source; }
  /// Bytes of a slice of one of the program's arrays.
  std::size_t slice_bytes(const std::string& name) const;
  /// Room for the sums of so many reductions: the array `sums_array` of the transport, a value a component and slice.
  void hold_sums(std::size_t reductions);
  /// Of the reduction number `which` of a pass: the components added over all slices in order.
  std::vector<double> added_sums(std::size_t which) const;

  const StencilLoop& loop;
  Reduction& reduction;
  const ProgramInputs& inputs;
  VolumeSink& output;
  std::vector<Device> devices;
  Plan plan;  ///< slabs may get other borders
  const Requirements& requirements;
  const RunOptions& options;
  std::vector<std::string> states;  ///< names of arrays of lifetime state and output
  std::string sums_name, output_name;
  std::size_t components = 0;
  std::optional<RunState> kept;  ///< by an earlier run, to go on from
  int begun_at = 0;              ///< iterations done then
  CommonStop stop;
  BusTraffic traffic;
  Transport transport;
  DeviceThreads threads;
  LoadBalance balance;
  /// Told, by the thread of each device, how many slices have been taken through how many more iterations of a pass
  /// over streamed slabs.
  std::function<void(std::int64_t slices, int iterations)> progressed;
};

/// All slabs of a run. One thread calls these functions.
class StencilSlabs {
 public:
  virtual ~StencilSlabs() = default;
  /// `count` iterations from number `first`, or as many as StencilJob::stop lets, and the sums after those of `due`
  /// (ascending, counted from `first`). `last`: if all are done, the output alone is needed afterwards.
  virtual void pass(int first, int count, const std::vector<int>& due, bool last) = 0;
  /// Whether what the devices did so far is known.
  virtual bool settled() const { return true; }
  /// Bytes [first, first + count) of a state array of the whole volume.
  virtual void read_state(const std::string& name, std::size_t first, std::size_t count, std::byte* to) = 0;
  virtual Volume current_output() = 0;
  /// The slabs get the borders of another plan, which becomes the job's.
  virtual void move_to(const Plan& better) = 0;
  /// The result goes to the output.
  virtual void hand_over() = 0;
};

}  // namespace halocline

// A device works through its time-skewed regions (scheduling/planning/skew.hpp): while the kernels of one run, the next
// is uploaded and the one before downloaded. One host thread drives all three queues, by events alone: between the
// steps of a region it moves as many pieces of the transfers as are due.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "host/system/uninitialised.hpp"
#include "host/volume/volume.hpp"
#include "host/volume/volume_source.hpp"
#include "scheduling/execution/stop_rule.hpp"
#include "scheduling/planning/skew.hpp"
#include "scheduling/planning/stencil_loop.hpp"
#include "scheduling/slabs/device_slab.hpp"
#include "scheduling/transport/bus_traffic.hpp"
#include "scheduling/transport/transport.hpp"

namespace halocline {

/// Where the stream's data come from and go.
struct HostArrays {
  std::function<const VolumeSource&(const std::string& name)> input;
  std::function<std::byte*(const std::string& name)> state;  // of the whole volume; the device's part of it is used
  /// Where the result of the last pass may go at once instead of into the state; begin() has been called. Or nullptr.
  VolumeSink* output = nullptr;
  /// What the arrays hold before the first iteration instead of what start() writes: RunOptions::initial.
  const std::map<std::string, const Volume*>* initial = nullptr;
  /// Told, by the thread of each device, how many slices have been taken through how many more iterations.
  std::function<void(std::int64_t slices, int iterations)> progressed;
  BusTraffic* traffic = nullptr;  // of all devices
  /// Gives the state of other devices' parts, and takes the sums (sums_array).
  Transport* transport = nullptr;
};

class RegionStream {
 public:
  /// For device number `device_index` of the plan. All references are kept.
  RegionStream(const Device& device, const Plan& plan, int device_index, const StencilLoop& loop,
               const Reduction& reduction, const HostArrays& host, CommonStop& stop);

  struct Pass {
    int first = 0;  // iterations done before
    PassSteps steps;
    bool last = false;  // if all its steps are done, the output alone is needed afterwards
  };

  /// Copies what the device needs of its neighbours' part of the state. Before any device begins the pass.
  void gather(const Pass& pass);
  /// Does the pass, or as many of its steps as `stop` lets. For every reduction (in order) the sums of this device's
  /// slices go to the transport.
  void run(const Pass& pass);
  /// The device's part of the volume.
  Range block() const { return block_; }
  /// Whether the last pass has given it to the output.
  bool handed_over() const { return handed_over_; }

 private:
  struct Task {
    std::string array;  // that it reads or writes
    std::function<void()> work;
  };
  struct Halos {
    UninitialisedVector<std::byte> low, high;
  };
  bool is_double_buffered(const std::string& name) const {
    return slab_.has(name_in_role(ArrayRole::second_buffer, name));
  }
  SlabPlan plan_of(std::size_t region) const;
  void at(std::size_t region, const std::function<void()>& work);

  void send_sums(const Pass& pass);
  void leave(const Pass& pass, Range slices) const;
  void enter(const Pass& pass, std::size_t region);
  void copy_inputs_below(std::size_t region);
  void start(std::size_t region);
  void compute(const Pass& pass, std::size_t region);
  void reduce(std::size_t level, int done, Range slices);
  void seam_copies(std::size_t level, Range slices, bool keep);

  std::vector<std::string> moving(const std::vector<std::string>& names, bool into_second) const;
  std::vector<std::string> stored(const Pass& pass) const;
  bool hands_over(const Pass& pass) const;
  std::deque<Task> loads(const Pass& pass, std::size_t region, bool into_second);
  std::deque<Task> stores(const Pass& pass, std::size_t region, const std::vector<std::string>& names,
                          bool from_second);
  void upload_state(const std::string& name, const std::string& into, Range slices);
  std::vector<Range> pieces(const std::string& name, Range slices) const;
  void overlap_with(const Pass& pass, std::size_t region);
  bool move_one();
  void move_due(std::size_t step, std::size_t steps);
  void count_up(const std::string& name, Range slices);
  void count_down(const std::string& name, Range slices);

  const StencilLoop& loop_;
  const Reduction& reduction_;
  const HostArrays& host_;
  CommonStop& stop_;
  Requirements requirements_;
  int device_;
  std::vector<Range> regions_;
  Range block_;
  std::vector<std::string> inputs_, states_;
  std::string output_name_, sums_name_;
  std::map<std::string, Halos> halos_;
  DeviceSlab slab_;  // after what its transfers read and write

  // Of the pass that runs:
  std::vector<RegionWork> work_;
  std::vector<std::int64_t> seams_;  // where each level's seam begins, slices
  std::vector<std::size_t> logged_;  // number of the reduction at each level
  std::size_t ended_at_ = 0;         // the level that the regions before have reached
  bool handed_over_ = false;
  std::deque<Task> tasks_;
  std::size_t tasks_in_all_ = 0;
};

}  // namespace halocline

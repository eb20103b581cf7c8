// Time-skewed regions of a device (scheduling/planning/skew.hpp): while the
// kernels of one run, the next is uploaded and the one before downloaded. One
// host thread drives all three queues, by events alone: between the steps of a
// region it issues as many transfers as are due.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/system/uninitialised.hpp"
#include "scheduling/execution/stencil_job.hpp"
#include "scheduling/planning/skew.hpp"
#include "scheduling/slabs/device_slab.hpp"

namespace halocline {

class RegionStream {
 public:
  /// Host memory of a state array of the whole volume.
  using StateMemory = std::function<std::byte*(const std::string& name)>;

  /// Keeps a reference to the job.
  RegionStream(StencilJob& job, int device, StateMemory state);

  struct Pass {
    int first = 0;  // iterations done before it
    PassSteps steps;
    bool last = false;             // if all its steps are done, the output alone is needed
                                   // afterwards
    VolumeSink* output = nullptr;  // takes the result of the last pass instead
                                   // of the state; begin() has been called
  };

  /// Copies the neighbours' part of the state that the device needs. Called
  /// before any device begins the pass.
  void gather(const Pass& pass);
  /// Does the pass, or as many of its steps as StencilJob::stop allows, and
  /// sends the sums of this device's slices for every reduction.
  void run(const Pass& pass);
  /// Slices of the device.
  Range block() const { return block_; }
  /// True if the last pass has written them to the output.
  bool output_written() const { return output_written_; }

 private:
  struct Task {
    std::string array;  // read or written
    std::function<void()> work;
  };
  struct Halos {
    UninitialisedVector<std::byte> low, high;
  };
  SlabPlan plan_of(std::size_t region) const;

  void send_sums(const Pass& pass);
  void give_back_memory(const Pass& pass, Range slices) const;
  void begin_region(const Pass& pass, std::size_t region);
  void copy_inputs_below(std::size_t region);
  void start(std::size_t region);
  void compute(const Pass& pass, std::size_t region);
  void reduce(std::size_t level, int done, Range slices);
  void seam_copies(std::size_t level, Range slices, bool keep);

  std::vector<std::string> moving(const std::vector<std::string>& names, bool into_second) const;
  std::vector<std::string> stored(const Pass& pass) const;
  bool writes_output(const Pass& pass) const;
  std::deque<Task> loads(const Pass& pass, std::size_t region, bool into_second);
  std::deque<Task> stores(const Pass& pass, std::size_t region, const std::vector<std::string>& names,
                          bool from_second);
  void upload_state(const std::string& name, const std::string& into, Range slices);
  void add_transfers(std::deque<Task>& tasks, std::size_t region, const std::string& array, Range slices,
                     const std::function<void(Range piece)>& transfer);
  void overlap_with(const Pass& pass, std::size_t region);
  bool move_one();
  void move_due(std::size_t step, std::size_t steps);

  StencilJob& job_;
  const StateMemory state_;
  const Requirements requirements_;
  int device_;
  std::vector<Range> regions_;
  Range block_;
  std::vector<std::string> inputs_;
  std::map<std::string, Halos> halos_;
  DeviceSlab slab_;  // after the memory that its transfers use

  // Current pass:
  std::vector<RegionWork> work_;
  std::vector<std::int64_t> seams_;  // first slice of each level's seam
  std::vector<std::size_t> logged_;  // number of the reduction at each level
  std::size_t ended_at_ = 0;         // the level that the regions before have reached
  bool output_written_ = false;
  std::deque<Task> tasks_;
  std::size_t tasks_in_all_ = 0;
};

}  // namespace halocline

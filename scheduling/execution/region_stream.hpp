// A device works through its time-skewed regions (scheduling/planning/skew.hpp): while the kernels of one run, the next
// is uploaded and the one before downloaded. One host thread drives all three queues, by events alone: between the
// steps of a region it moves as many pieces of the transfers as are due.
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
    int first = 0;  // iterations done before
    PassSteps steps;
    bool last = false;             // if all its steps are done, the output alone is needed afterwards
    VolumeSink* output = nullptr;  // takes the result of the last pass instead of the state; begin() has been called
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

  StencilJob& job_;
  const StateMemory state_;
  const Requirements requirements_;
  int device_;
  std::vector<Range> regions_;
  Range block_;
  std::vector<std::string> inputs_;
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

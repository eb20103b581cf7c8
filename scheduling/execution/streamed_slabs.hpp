// Streamed slabs of a stencil loop: time-skewed regions of each device (region_stream.hpp).
#pragma once

#include <map>
#include <memory>

#include "scheduling/execution/region_stream.hpp"
#include "scheduling/execution/stencil_job.hpp"

namespace halocline {

class StreamedSlabs : public StencilSlabs {
 public:
  explicit StreamedSlabs(StencilJob& job) : job_(job) {}

  /// Copies the restored state.
  void restore_state();

  void pass(int first, int count, const std::vector<int>& due, bool last) override;
  void read_state(const std::string& name, std::size_t first, std::size_t count, std::byte* to) override;
  Volume current_output() override;
  void move_to(const Plan& better) override;
  void write_output() override;

 private:
  std::byte* state(const std::string& name);
  void fetch_from_ranks(const PassSteps& steps);

  StencilJob& job_;
  std::map<std::string, std::shared_ptr<UninitialisedVector<std::byte>>> states_;
  std::mutex mutex_;
  std::map<int, std::unique_ptr<RegionStream>> streams_;  // by device
  bool started_ = false;
};

}  // namespace halocline

// Resident slabs of a stencil loop: one on each device, with halos exchanged between passes.
#pragma once

#include <map>
#include <memory>

#include "scheduling/execution/stencil_job.hpp"
#include "scheduling/slabs/device_slab.hpp"
#include "scheduling/transport/halo_exchange.hpp"

namespace halocline {

class ResidentSlabs : public StencilSlabs {
 public:
  explicit ResidentSlabs(StencilJob& job) : job_(job) {}

  /// Allocates the slabs and loads their inputs before the first pass. No effect if that is done.
  void prepare();
  /// The slab of a plan with one slab.
  DeviceSlab& only() { return *slabs_.begin()->second; }

  void pass(int first, int count, const std::vector<int>& due, bool last) override;
  bool settled() const override { return settled_; }
  void read_state(const std::string& name, std::size_t first, std::size_t count, std::byte* to) override;
  Volume current_output() override;
  void move_to(const Plan& better) override;
  void write_output() override;

 private:
  void load_inputs(DeviceSlab& slab);
  void restore_state(DeviceSlab& slab);
  void start(DeviceSlab& slab);
  void begin_exchange(int done);
  void work(int device, int first, int count, bool reduce);
  Event iterate(DeviceSlab& slab, int device, int first, int count);
  bool receive(int device, DeviceSlab& slab, const Event& made);
  void send_sums(DeviceSlab& slab);
  void record_busy(int device, int first, double seconds);

  StencilJob& job_;
  std::unique_ptr<HaloExchange> exchange_;            // outlives the slabs, whose commands use its memory
  std::map<int, std::unique_ptr<DeviceSlab>> slabs_;  // by device
  bool halos_valid_ = false;
  bool settled_ = true;
  int passes_unsettled_ = 0;
};

}  // namespace halocline

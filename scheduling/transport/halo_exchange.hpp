// Halos between resident slabs.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "host/opencl/device.hpp"
#include "scheduling/planning/plan.hpp"

namespace halocline {

class DeviceSlab;

/// Every device has one slab of the plan, and a thread. An exchange is begun by one thread; then that of every device
/// says when its slices are there, and fetches those of the others.
class HaloExchange {
 public:
  /// Of a plan with one slab a device; copied.
  explicit HaloExchange(const Plan& plan);
  virtual ~HaloExchange() = default;

  /// The next exchange: each slab gets `low` slices below its interior and `high` above, as far as it holds them.
  void begin(std::int64_t low, std::int64_t high);
  /// The parts that a device's interior is best made in: first those that others wait for, in order, then the rest.
  std::vector<Range> parts(int device) const;

  /// What others wait for will be in `slab` when `made` has ended. It must stay there until all threads have fetched.
  virtual void offer(int device, const DeviceSlab& slab, Event made) = 0;
  /// There will be none: has no effect after offer().
  virtual void withdraw(int device) = 0;
  /// Gets this slab's halos: true when they have arrived. They are not read or written by other commands that end after
  /// `free`. False if a device withdrew. Touches nothing of the slab that its other functions do.
  virtual bool fetch(int device, DeviceSlab& slab, const Event& free) = 0;

 protected:
  /// An exchange begins: nothing has been offered.
  virtual void forget_offers() = 0;
  /// Slices of an exchange that lie in the slab of device `from` and in the halos of that of `to`.
  std::vector<Range> shared(int from, int to) const;
  const std::map<int, SlabPlan>& slabs() const { return slabs_; }

 private:
  std::vector<Range> halos(int device) const;

  std::map<int, SlabPlan> slabs_;  // by device
  std::int64_t border_slices_;
  std::int64_t low_ = 0, high_ = 0;
};

}  // namespace halocline

// Exchange between ranks of the arrays of a run that lie in host memory (transport.hpp). Each rank has room for whole
// arrays; the slices of volumes are right on the rank with their slabs, and projections on all of them.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "scheduling/planning/plan.hpp"
#include "scheduling/transport/ranks.hpp"
#include "scheduling/transport/transport.hpp"

namespace halocline {

/// Brings an array of so many bytes a slice, of which each rank has the slices of its slabs, to all ranks. `at`: bytes
/// before the first slice.
void share_slices(Transport& transport, const Plan& plan, const std::string& array, std::size_t slice,
                  std::size_t at = 0);

/// Brings the slices of a volume that lie up to `low` below and `high` above a rank's own from the ranks that have
/// them.
void exchange_slices(Transport& transport, const Plan& plan, const std::string& array, std::size_t slice,
                     std::int64_t low, std::int64_t high);

/// Ray sums of a step on their way from slab to slab, and from the last one to all ranks.
class RayRoute {
 public:
  struct Stack {
    std::string array;
    std::size_t view;  // bytes
  };
  /// The arrays that the step over `views` writes. Keeps references.
  RayRoute(Transport& transport, const Plan& plan, std::vector<Stack> stacks, Range views);

  /// Sends a batch, from its first view, to the rank with the next slab; from the last slab to all others. Thread-safe.
  void pass_on(std::size_t slab, std::int64_t batch);
  /// True where another rank has this slab.
  bool is_elsewhere(std::size_t slab) const { return !plan_.is_here(plan_.slabs[slab].device); }
  /// Receives a batch from the rank with this slab.
  void fetch(std::size_t slab, std::int64_t batch);
  /// Ends all waiting (Ranks::give_up()).
  void give_up() { ranks_.give_up(); }
  /// Waits until all ray sums are on all ranks. One thread calls it, after the last batch.
  void end();

 private:
  // Calls work(memory, bytes) for each view of a batch and each array.
  template <class Work>
  void each_view(std::int64_t batch, const Work& work);
  int last_rank() const { return plan_.rank_of(plan_.slabs.back().device); }

  Transport& transport_;
  const Plan& plan_;
  Ranks& ranks_;
  std::vector<Stack> stacks_;
  Range views_;
  std::mutex mutex_;
  std::vector<Message> sent_;
};

}  // namespace halocline

// Exchange between ranks of the arrays of a run that lie in host memory (transport.hpp). Each rank has room for whole
// arrays; the slices of volumes are right on the rank with their slabs, and rows of projections on those that have them
// (Plan::rank_rows).
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "scheduling/planning/plan.hpp"
#include "scheduling/planning/ray_chain.hpp"
#include "scheduling/planning/step_tasks.hpp"
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

/// Brings sums over parts of these views (rows_of_sum), of so many bytes a part, to all ranks.
void share_view_sums(Transport& transport, const Plan& plan, Range views, std::size_t part);

/// Brings all rows of a stack of projections to the first rank.
void collect_rows(Transport& transport, const Plan& plan, const RayStack& stack);

/// Ray sums of a step on their way from slab to slab, and from the last one of each row to the ranks that have it.
class RayRoute {
 public:
  /// The arrays that the step over `views` writes. Keeps references.
  RayRoute(Transport& transport, const Plan& plan, const RayChain& chain, std::vector<RayStack> stacks, Range views);

  /// Sends a piece of a slab, of the batch from this view on: rows that a later slab adds to, to its rank; others to
  /// those that have them. Thread-safe.
  void pass_on(std::size_t slab, std::int64_t batch, Range piece);
  /// True where another rank has this slab.
  bool is_elsewhere(std::size_t slab) const { return !plan_.is_here(plan_.slabs[slab].device); }
  /// Receives the rows of a link of the chain from another rank. Thread-safe.
  void fetch(const RayLink& link, std::int64_t batch);
  /// Ends all waiting (Ranks::give_up()).
  void give_up() { ranks_.give_up(); }
  /// Waits until all ray sums are on the ranks that have their rows. One thread calls it, after the last batch.
  void end();

 private:
  // Rows of a piece that go to one slab, or, those that are complete, to a rank. Its messages have a tag of their own
  // among those of the two ranks, and are sent and awaited batch by batch.
  struct Part {
    RayLink link;
    Range piece;
    int to;  // rank
    bool complete;
    int tag = 0;
    bool comes = false;  // it is received from the beginning on, as no slab here touches its rows
  };
  // Calls work(array, rows of the views of a batch).
  void each_stack(std::int64_t batch, Range rows,
                  const std::function<void(const std::string&, const MemoryBlocks&)>& work);
  void add(const Part& part, std::map<std::pair<int, int>, int>& tags);
  void send(std::vector<Message>& sent, std::int64_t batch, const Part& part);
  void send_held();
  void receive(std::vector<Message>& messages, std::int64_t batch, const Part& part);
  void receive_all(std::vector<Message>& messages, const Part& part);
  bool is_touched_here(const RayChain& chain, Range rows) const;
  int rank_of(std::size_t slab) const { return plan_.rank_of(plan_.slabs[slab].device); }

  Transport& transport_;
  const Plan& plan_;
  Ranks& ranks_;
  std::vector<RayStack> stacks_;
  Range views_;
  std::vector<Part> parts_;
  std::mutex mutex_;
  std::vector<Message> sent_on_, sent_complete_, coming_;
  // Complete rows of batches. One part goes at a time while links are left to go, for which other ranks wait: messages
  // overtake no others.
  std::deque<std::pair<const Part*, std::int64_t>> held_;
  std::size_t links_left_ = 0;
};

}  // namespace halocline

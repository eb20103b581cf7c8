#include "scheduling/transport/rank_exchange.hpp"

#include <algorithm>
#include <utility>

#include "scheduling/transport/rank_devices.hpp"

namespace halocline {
namespace {

enum Tag { slices_tag, chain_tag, sums_tag };

// The slices of a rank, whose slabs follow each other.
Range slices_of(const Plan& plan, int rank) {
  Range result{0, 0};
  for (const auto& slab : plan.slabs) {
    if (plan.rank_of(slab.device) != rank) continue;
    if (result.empty()) result.begin = slab.interior.begin;
    result.end = slab.interior.end;
  }
  return result;
}

}  // namespace

void share_slices(Transport& transport, const Plan& plan, const std::string& array, std::size_t slice, std::size_t at) {
  Ranks& ranks = ranks_of(plan);
  if (!ranks.several()) return;
  const Range own = slices_of(plan, ranks.rank());
  std::string bytes(slice * own.size(), '\0');
  transport.get(array, at + slice * unsigned_count(own.begin), bytes.size(),
                reinterpret_cast<std::byte*>(bytes.data()));
  const auto parts = ranks.gather("slices of " + array, bytes);
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const std::string& part = parts[static_cast<std::size_t>(rank)];
    transport.put(array, at + slice * unsigned_count(slices_of(plan, rank).begin), part.size(),
                  reinterpret_cast<const std::byte*>(part.data()));
  }
}

void exchange_slices(Transport& transport, const Plan& plan, const std::string& array, std::size_t slice,
                     std::int64_t low, std::int64_t high) {
  Ranks& ranks = ranks_of(plan);
  if (!ranks.several()) return;
  std::vector<Message> messages;
  const int here = ranks.rank();
  const auto missing = [&](int to, int from) {  // slices that `to` reads of `from`
    return common(slices_of(plan, to).grown(low, high, plan.requirements.slices().count()), slices_of(plan, from));
  };
  for (int other = 0; other < ranks.size(); ++other) {
    if (other == here) continue;
    const auto part = [&](Range slices) { return transport.memory(array) + slice * unsigned_count(slices.begin); };
    if (const Range slices = missing(other, here); !slices.empty())
      messages.push_back(ranks.send(other, slices_tag, part(slices), slice * slices.size()));
    if (const Range slices = missing(here, other); !slices.empty())
      messages.push_back(ranks.receive(other, slices_tag, part(slices), slice * slices.size()));
  }
  for (auto& message : messages) message.wait();
}

RayRoute::RayRoute(Transport& transport, const Plan& plan, std::vector<Stack> stacks, Range views)
    : transport_(transport), plan_(plan), ranks_(ranks_of(plan)), stacks_(std::move(stacks)), views_(views) {}

template <class Work>
void RayRoute::each_view(std::int64_t batch, const Work& work) {
  const std::int64_t end = std::min(views_.end, batch + plan_.batch);
  for (const auto& [array, view] : stacks_)
    for (std::int64_t n = batch; n < end; ++n) work(transport_.memory(array) + view * unsigned_count(n), view);
}

void RayRoute::pass_on(std::size_t slab, std::int64_t batch) {
  const std::lock_guard lock(mutex_);
  if (slab + 1 == plan_.slabs.size()) {
    for (int rank = 0; rank < ranks_.size(); ++rank)
      if (rank != ranks_.rank())
        each_view(batch, [&](const std::byte* from, std::size_t bytes) {
          sent_.push_back(ranks_.send(rank, sums_tag, from, bytes));
        });
  } else if (is_elsewhere(slab + 1)) {
    const int next = plan_.rank_of(plan_.slabs[slab + 1].device);
    each_view(batch, [&](const std::byte* from, std::size_t bytes) {
      sent_.push_back(ranks_.send(next, chain_tag, from, bytes));
    });
  }
}

void RayRoute::fetch(std::size_t slab, std::int64_t batch) {
  const int rank = plan_.rank_of(plan_.slabs[slab].device);
  std::vector<Message> messages;
  each_view(batch,
            [&](std::byte* to, std::size_t bytes) { messages.push_back(ranks_.receive(rank, chain_tag, to, bytes)); });
  for (auto& message : messages) message.wait();
}

// Batches that were sent on are overwritten by the sums of all slabs afterwards.
void RayRoute::end() {
  std::vector<Message> messages;
  if (ranks_.rank() != last_rank()) {
    for (auto& message : sent_) message.wait();
    for (std::int64_t batch = views_.begin; batch < views_.end; batch += plan_.batch)
      each_view(batch, [&](std::byte* to, std::size_t bytes) {
        messages.push_back(ranks_.receive(last_rank(), sums_tag, to, bytes));
      });
  }
  for (auto& message : messages) message.wait();
  for (auto& message : sent_) message.wait();
  sent_.clear();
}

}  // namespace halocline

#include "scheduling/transport/rank_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "host/system/error.hpp"
#include "scheduling/planning/rank_traffic.hpp"
#include "scheduling/transport/rank_devices.hpp"
#include "scheduling/transport/tags.hpp"

namespace halocline {
namespace {

enum Tag { slices_tag, first_ray_tag };

}  // namespace

void share_slices(Transport& transport, const Plan& plan, const std::string& array, std::size_t slice, std::size_t at) {
  Ranks& ranks = ranks_of(plan);
  if (!ranks.several()) return;
  const Range own = slices_of_rank(plan, ranks.rank());
  std::string bytes(slice * own.size(), '\0');
  transport.get(array, at + slice * unsigned_count(own.begin), bytes.size(),
                reinterpret_cast<std::byte*>(bytes.data()));
  const auto parts = ranks.gather("slices of " + array, bytes);
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const std::string& part = parts[static_cast<std::size_t>(rank)];
    transport.put(array, at + slice * unsigned_count(slices_of_rank(plan, rank).begin), part.size(),
                  reinterpret_cast<const std::byte*>(part.data()));
  }
}

void exchange_slices(Transport& transport, const Plan& plan, const std::string& array, std::size_t slice,
                     std::int64_t low, std::int64_t high) {
  Ranks& ranks = ranks_of(plan);
  if (!ranks.several()) return;
  std::vector<Message> messages;
  const int here = ranks.rank();
  for (int other = 0; other < ranks.size(); ++other) {
    if (other == here) continue;
    const auto part = [&](Range slices) {
      return MemoryBlocks{transport.memory(array) + slice * unsigned_count(slices.begin), slice * slices.size()};
    };
    if (const Range slices = slices_beside(plan, other, here, low, high); !slices.empty())
      messages.push_back(ranks.send(other, slices_tag, part(slices), transport.owner(array)));
    if (const Range slices = slices_beside(plan, here, other, low, high); !slices.empty())
      messages.push_back(ranks.receive(other, slices_tag, part(slices)));
  }
  for (auto& message : messages) message.wait();
}

RayRoute::RayRoute(Transport& transport, const Plan& plan, const RayChain& chain, std::vector<RayStack> stacks,
                   Range views)
    : transport_(transport), plan_(plan), ranks_(ranks_of(plan)), stacks_(std::move(stacks)), views_(views) {
  std::map<int, int> parts_of_rank;
  for (std::size_t slab = 0; slab < plan.slabs.size(); ++slab)
    for (const RayPiece& piece : chain.pieces(slab)) {
      const auto add = [&](std::size_t to, Range rows, bool complete) {
        if (const Range both = common(rows, piece.rows); !both.empty())
          parts_.push_back({{slab, to, both}, piece.rows, complete, first_ray_tag + parts_of_rank[rank_of(slab)]++});
      };
      for (const RayLink& link : chain.links())
        if (link.from == slab && rank_of(link.to) != rank_of(slab)) add(link.to, link.rows, false);
      for (const Range rows : chain.ends(slab)) add(slab, rows, true);
    }
  for (const Part& part : parts_)
    if (part.tag >= work_tags)
      throw Error(
          fmt::format("{}: the rows of rank {} are in more parts than there are tags of messages; start more "
                      "ranks, or give more `device_memory`, for fewer slabs",
                      plan.requirements.algorithm, rank_of(part.link.from)));
  const auto batches = static_cast<std::size_t>((views_.count() + plan_.batch - 1) / plan_.batch);
  for (Part& part : parts_) {
    if (!part.complete && !is_elsewhere(part.link.from)) links_left_ += batches;
    part.comes = part.complete && is_elsewhere(part.link.from) && !is_touched_here(chain, part.link.rows);
    if (part.comes) receive_all(coming_, part);
  }
}

bool RayRoute::is_touched_here(const RayChain& chain, Range rows) const {
  for (std::size_t slab = 0; slab < plan_.slabs.size(); ++slab) {
    if (is_elsewhere(slab)) continue;
    for (const RayPiece& piece : chain.pieces(slab))
      if (!common(piece.rows, rows).empty()) return true;
  }
  return false;
}

void RayRoute::each_stack(std::int64_t batch, Range rows,
                          const std::function<void(const std::string&, const MemoryBlocks&)>& work) {
  const auto views = unsigned_count(std::min(views_.end, batch + plan_.batch) - batch);
  const auto all = plan_.requirements.rows().count();
  for (const auto& [array, row] : stacks_)
    work(array, {transport_.memory(array) + row * unsigned_count(batch * all + rows.begin), row * rows.size(), views,
                 row * unsigned_count(all)});
}

void RayRoute::send(std::vector<Message>& sent, int rank, std::int64_t batch, const Part& part) {
  each_stack(batch, part.link.rows, [&](const std::string& array, const MemoryBlocks& rows) {
    sent.push_back(ranks_.send(rank, part.tag, rows, transport_.owner(array)));
  });
}

void RayRoute::receive(std::vector<Message>& messages, std::int64_t batch, const Part& part) {
  each_stack(batch, part.link.rows, [&](const std::string&, const MemoryBlocks& rows) {
    messages.push_back(ranks_.receive(rank_of(part.link.from), part.tag, rows));
  });
}

void RayRoute::pass_on(std::size_t slab, std::int64_t batch, Range piece) {
  const std::lock_guard lock(mutex_);
  for (const Part& part : parts_) {
    if (part.link.from != slab || part.piece != piece) continue;
    if (part.complete) {
      held_.push_back({&part, batch});
    } else {
      send(sent_on_, rank_of(part.link.to), batch, part);
      --links_left_;
    }
  }
  send_held();
}

void RayRoute::send_held() {
  const auto ended = [](Message& message) { return message.ended(); };
  while (!held_.empty()) {
    if (links_left_ > 0 && !std::all_of(sent_to_all_.begin(), sent_to_all_.end(), ended)) return;
    const auto [part, batch] = held_.front();
    held_.pop_front();
    if (links_left_ > 0) {
      for (Message& message : sent_to_all_) message.wait();
      sent_to_all_.clear();
    }
    for (int rank = 0; rank < ranks_.size(); ++rank)
      if (rank != ranks_.rank()) send(sent_to_all_, rank, batch, *part);
  }
}

void RayRoute::fetch(const RayLink& link, std::int64_t batch) {
  std::vector<Message> messages;
  for (const Part& part : parts_)
    if (!part.complete && part.link.from == link.from && part.link.to == link.to &&
        !common(part.link.rows, link.rows).empty())
      receive(messages, batch, part);
  for (auto& message : messages) message.wait();
}

void RayRoute::receive_all(std::vector<Message>& messages, const Part& part) {
  for (std::int64_t batch = views_.begin; batch < views_.end; batch += plan_.batch) receive(messages, batch, part);
}

// Rows that were sent on are overwritten by the sums of all slabs afterwards.
void RayRoute::end() {
  for (auto& message : sent_on_) message.wait();
  for (const Part& part : parts_)
    if (part.complete && is_elsewhere(part.link.from) && !part.comes) receive_all(coming_, part);
  for (auto& message : coming_) message.wait();
  for (auto& message : sent_to_all_) message.wait();
}

}  // namespace halocline

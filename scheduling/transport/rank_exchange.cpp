#include "scheduling/transport/rank_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "host/system/error.hpp"
#include "scheduling/planning/rank_rows.hpp"
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
      return transport.blocks(array, slice * unsigned_count(slices.begin), slice * slices.size());
    };
    if (const Range slices = slices_beside(plan, other, here, low, high); !slices.empty())
      messages.push_back(ranks.send(other, slices_tag, part(slices), transport.owner(array)));
    if (const Range slices = slices_beside(plan, here, other, low, high); !slices.empty())
      messages.push_back(ranks.receive(other, slices_tag, part(slices)));
  }
  for (auto& message : messages) message.wait();
}

void share_view_sums(Transport& transport, const Plan& plan, Range views, std::size_t part) {
  Ranks& ranks = ranks_of(plan);
  if (!ranks.several() || plan.rank_rows.empty()) return;
  const std::size_t view = part * unsigned_count(sums_of_view(plan.requirements.rows()));
  // Calls work(place in the array, place among the bytes of a rank, count).
  const auto each_run = [&](int rank, const auto& work) {
    std::size_t done = 0;
    const auto given = rows_to_give(plan, rank);
    for (std::int64_t n = views.begin; n < views.end; ++n)
      for (const Range rows : given) {
        const std::size_t count = part * unsigned_count(sums_of_view(rows));
        work(view * unsigned_count(n) + part * unsigned_count(rows.begin / rows_of_sum), done, count);
        done += count;
      }
    return done;
  };
  std::string own(each_run(ranks.rank(), [](auto...) {}), '\0');
  each_run(ranks.rank(), [&](std::size_t place, std::size_t done, std::size_t count) {
    transport.get(sums_array, place, count, reinterpret_cast<std::byte*>(own.data() + done));
  });
  const auto parts = ranks.gather("sums of views", own);
  for (int rank = 0; rank < ranks.size(); ++rank)
    each_run(rank, [&](std::size_t place, std::size_t done, std::size_t count) {
      transport.put(sums_array, place, count,
                    reinterpret_cast<const std::byte*>(parts[static_cast<std::size_t>(rank)].data() + done));
    });
}

void collect_rows(Transport& transport, const Plan& plan, const RayStack& stack) {
  Ranks& ranks = ranks_of(plan);
  if (!ranks.several() || plan.rank_rows.empty()) return;
  const auto& needs = plan.requirements;
  const std::size_t view = stack.row * needs.rows().size();
  std::vector<Message> messages;
  for (int rank = 1; rank < ranks.size(); ++rank) {
    if (!ranks.first() && rank != ranks.rank()) continue;
    for (const Range rows : rows_to_give(plan, rank))
      for (std::int64_t first = 0; first < needs.views().end; first += plan.batch) {
        const auto views = unsigned_count(std::min<std::int64_t>(plan.batch, needs.views().end - first));
        const MemoryBlocks blocks =
            transport.blocks(stack.array, view * unsigned_count(first) + stack.row * unsigned_count(rows.begin),
                             stack.row * rows.size(), views, view);
        messages.push_back(ranks.first() ? ranks.receive(rank, slices_tag, blocks)
                                         : ranks.send(0, slices_tag, blocks, transport.owner(stack.array)));
      }
  }
  for (Message& message : messages) message.wait();
}

RayRoute::RayRoute(Transport& transport, const Plan& plan, const RayChain& chain, std::vector<RayStack> stacks,
                   Range views)
    : transport_(transport), plan_(plan), ranks_(ranks_of(plan)), stacks_(std::move(stacks)), views_(views) {
  std::map<std::pair<int, int>, int> tags;
  for (std::size_t slab = 0; slab < plan.slabs.size(); ++slab)
    for (const RayPiece& piece : chain.pieces(slab)) {
      for (const RayLink& link : chain.links())
        if (link.from == slab)
          add({{slab, link.to, common(link.rows, piece.rows)}, piece.rows, rank_of(link.to), false}, tags);
      for (const Range rows : chain.ends(slab))
        for (int rank = 0; rank < ranks_.size(); ++rank)
          add({{slab, slab, common(common(rows, piece.rows), plan.rows_of_rank(rank))}, piece.rows, rank, true}, tags);
    }
  const auto batches = static_cast<std::size_t>((views_.count() + plan_.batch - 1) / plan_.batch);
  for (Part& part : parts_) {
    if (!part.complete && !is_elsewhere(part.link.from)) links_left_ += batches;
    part.comes = part.complete && part.to == ranks_.rank() && !is_touched_here(chain, part.link.rows);
    if (part.comes) receive_all(coming_, part);
  }
}

// Adds a part that goes from a rank to another one, if it has rows.
void RayRoute::add(const Part& part, std::map<std::pair<int, int>, int>& tags) {
  const int from = rank_of(part.link.from);
  if (part.link.rows.empty() || part.to == from) return;
  parts_.push_back(part);
  parts_.back().tag = first_ray_tag + tags[{from, part.to}]++;
  if (parts_.back().tag >= work_tags)
    throw Error(
        fmt::format("{}: the rows of rank {} are in more parts than there are tags of messages; start more "
                    "ranks, or give more `device_memory`, for fewer slabs",
                    plan_.requirements.algorithm, from));
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
    work(array, transport_.blocks(array, row * unsigned_count(batch * all + rows.begin), row * rows.size(), views,
                                  row * unsigned_count(all)));
}

void RayRoute::send(std::vector<Message>& sent, std::int64_t batch, const Part& part) {
  each_stack(batch, part.link.rows, [&](const std::string& array, const MemoryBlocks& rows) {
    sent.push_back(ranks_.send(part.to, part.tag, rows, transport_.owner(array)));
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
      send(sent_on_, batch, part);
      --links_left_;
    }
  }
  send_held();
}

void RayRoute::send_held() {
  const auto ended = [](Message& message) { return message.ended(); };
  while (!held_.empty()) {
    if (links_left_ > 0 && !std::all_of(sent_complete_.begin(), sent_complete_.end(), ended)) return;
    if (links_left_ > 0) {
      for (Message& message : sent_complete_) message.wait();
      sent_complete_.clear();
    }
    const auto [first, batch] = held_.front();
    const auto goes_with = [&, first = first, batch = batch](const std::pair<const Part*, std::int64_t>& other) {
      return other.second == batch && other.first->link.from == first->link.from && other.first->piece == first->piece;
    };
    while (!held_.empty() && goes_with(held_.front())) {  // to all ranks at once
      send(sent_complete_, batch, *held_.front().first);
      held_.pop_front();
    }
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
    if (part.complete && part.to == ranks_.rank() && !part.comes) receive_all(coming_, part);
  for (auto& message : coming_) message.wait();
  for (auto& message : sent_complete_) message.wait();
}

}  // namespace halocline

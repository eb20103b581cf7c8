#include "scheduling/halo_exchange.hpp"

#include <algorithm>
#include <utility>

#include "host/staging.hpp"

namespace halocline {
namespace {

constexpr std::size_t chunks_in_turn = 3;  // one is read, one is written, one is waited for

Range common(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

}  // namespace

HaloExchange::HaloExchange(const Plan& plan, const std::vector<Device>& devices, std::vector<std::string> names,
                           BusTraffic& traffic)
    : devices_(devices), names_(std::move(names)), traffic_(traffic) {
  for (const auto& slab : plan.slabs) slabs_.emplace(slab.device, slab);
  for (const auto& [device, unused] : slabs_) offers_[device];
  for (const auto& [from, unused] : slabs_)
    for (const auto& [to, also_unused] : slabs_) chunks_[{from, to}];  // threads must not change the map
}

void HaloExchange::begin(std::int64_t low, std::int64_t high) {
  low_ = low;
  high_ = high;
  for (const auto& [device, slab] : slabs_) offers_[device] = {};
}

std::vector<Range> HaloExchange::halos(int device) const {
  const auto& slab = slabs_.at(device);
  return {{std::max(slab.extended.begin, slab.interior.begin - low_), slab.interior.begin},
          {slab.interior.end, std::min(slab.extended.end, slab.interior.end + high_)}};
}

std::vector<Range> HaloExchange::parts(int device) const {
  const Range interior = slabs_.at(device).interior;
  Range bottom{interior.begin, interior.begin}, top{interior.end, interior.end};
  for (const auto& [other, unused] : slabs_) {
    if (other == device) continue;
    for (const Range& halo : halos(other)) {
      const Range wanted = common(halo, interior);
      if (wanted.empty()) continue;
      if (wanted.begin == interior.begin)
        bottom.end = std::max(bottom.end, wanted.end);
      else
        top.begin = std::min(top.begin, wanted.begin);
    }
  }
  if (bottom.end >= top.begin) return {interior};
  std::vector<Range> result;
  for (const Range& part : {bottom, top, Range{bottom.end, top.begin}})
    if (!part.empty()) result.push_back(part);
  return result;
}

void HaloExchange::offer(int device, const Slab& slab, Event made) {
  {
    const std::lock_guard lock(mutex_);
    offers_.at(device) = {&slab, std::move(made), false};
  }
  offered_.notify_all();
}

void HaloExchange::withdraw(int device) {
  {
    const std::lock_guard lock(mutex_);
    Offer& offer = offers_.at(device);
    if (offer.slab == nullptr) offer.withdrawn = true;
  }
  offered_.notify_all();
}

const HaloExchange::Offer* HaloExchange::wait_for(int device) {
  std::unique_lock lock(mutex_);
  const Offer& offer = offers_.at(device);
  offered_.wait(lock, [&] { return offer.slab != nullptr || offer.withdrawn; });
  return offer.withdrawn ? nullptr : &offer;
}

std::vector<HaloExchange::Piece> HaloExchange::pieces(const Slab& slab, int from, int to) const {
  std::vector<Piece> result;
  for (const Range& halo : halos(to)) {
    const Range wanted = common(halo, slabs_.at(from).interior);
    if (wanted.empty()) continue;
    for (const auto& name : names_) {
      const std::size_t slice = slab.slice_bytes(name), end = slice * static_cast<std::size_t>(wanted.end);
      for (auto begin = slice * static_cast<std::size_t>(wanted.begin); begin < end; begin += Staging::chunk_bytes)
        result.push_back({&name, begin, std::min(Staging::chunk_bytes, end - begin)});
    }
  }
  return result;
}

bool HaloExchange::fetch(int device, Slab& slab, const Event& free) {
  // Each from those above it first: then two that need each other's do not all begin with the same one.
  for (auto other = slabs_.upper_bound(device); other != slabs_.end(); ++other)
    if (!fetch_from(other->first, device, slab, free)) return false;
  for (auto other = slabs_.begin(); other->first != device; ++other)
    if (!fetch_from(other->first, device, slab, free)) return false;
  return true;
}

bool HaloExchange::fetch_from(int from, int device, Slab& slab, const Event& free) {
  const auto work = pieces(slab, from, device);
  if (work.empty()) return true;
  const Offer* offer = wait_for(from);
  if (offer == nullptr) return false;
  Device& owner = devices_[static_cast<std::size_t>(from)];
  auto& chunks = chunks_.at({from, device});
  chunks.resize(std::max(chunks.size(), std::min(work.size(), chunks_in_turn)));
  // Devices that have page-locked memory keep it for whoever wants as much next; others need not have more than this.
  const bool plain = owner.info().cpu() || owner.info().unified_memory;
  const auto largest = std::max_element(work.begin(), work.end(), [](const Piece& a, const Piece& b) {
                         return a.bytes < b.bytes;
                       })->bytes;
  const auto read = [&](std::size_t n) {
    Chunk& chunk = chunks[n % chunks.size()];
    const std::size_t bytes = plain ? largest : Staging::chunk_bytes;
    chunk.written.wait();
    if (chunk.memory.bytes() < bytes) chunk.memory = owner.pinned(bytes);
    chunk.read = offer->slab->read_part(*work[n].name, work[n].begin, work[n].bytes, chunk.memory.data(), offer->made);
  };
  const std::size_t ahead = std::max<std::size_t>(1, chunks.size() - 1);
  for (std::size_t n = 0; n < std::min(ahead, work.size()); ++n) read(n);
  for (std::size_t n = 0; n < work.size(); ++n) {
    Chunk& chunk = chunks[n % chunks.size()];
    chunk.read.wait();
    chunk.written = slab.write_part(*work[n].name, work[n].begin, work[n].bytes, chunk.memory.data(), free);
    traffic_.down += work[n].bytes;
    traffic_.up += work[n].bytes;
    if (n + ahead < work.size()) read(n + ahead);
  }
  for (auto& chunk : chunks) chunk.written.wait();
  return true;
}

}  // namespace halocline

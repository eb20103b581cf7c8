#include "scheduling/transport/halo_exchange.hpp"

#include <algorithm>
#include <utility>

#include "host/staging.hpp"

namespace halocline {
namespace {

constexpr std::size_t chunks_in_turn = 3;  // one is read, one is written, one is waited for
// Less than a chunk holds: writing begins the sooner (of 2, 4 and 16 MiB the fastest on four H200).
constexpr std::size_t piece_bytes = std::size_t{4} << 20;

Range common(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

}  // namespace

HaloExchange::HaloExchange(const Plan& plan, const std::vector<Device>& devices, std::vector<std::string> names,
                           BusTraffic& traffic)
    : border_slices_(plan.requirements.border_slices), devices_(devices), names_(std::move(names)), traffic_(traffic) {
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
  const std::int64_t least = std::min(border_slices_, interior.count() / 4);
  if (!bottom.empty()) bottom.end = std::max(bottom.end, interior.begin + least);
  if (!top.empty()) top.begin = std::min(top.begin, interior.end - least);
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
      for (auto begin = slice * static_cast<std::size_t>(wanted.begin); begin < end; begin += piece_bytes)
        result.push_back({&name, begin, std::min(piece_bytes, end - begin)});
    }
  }
  return result;
}

// From one neighbour: what comes next, and where it lies meanwhile.
struct HaloExchange::Stream {
  int from;
  const Slab* owner;
  Event made;
  std::vector<Piece> pieces;
  std::vector<Chunk>* chunks;
  std::size_t done = 0;
};

bool HaloExchange::fetch(int device, Slab& slab, const Event& free) {
  std::vector<Stream> streams;
  for (const auto& [from, unused] : slabs_) {
    auto work = from == device ? std::vector<Piece>{} : pieces(slab, from, device);
    if (work.empty()) continue;
    const Offer* offer = wait_for(from);
    if (offer == nullptr) return false;
    auto& chunks = chunks_.at({from, device});
    chunks.resize(std::max(chunks.size(), std::min(work.size(), chunks_in_turn)));
    streams.push_back({from, offer->slab, offer->made, std::move(work), &chunks});
  }
  // All neighbours read for this device at once, a piece of each in turn is written to it.
  for (auto& stream : streams)
    for (std::size_t n = 0; n < std::min(ahead(stream), stream.pieces.size()); ++n) read(stream, n);
  for (bool left = true; left;) {
    left = false;
    for (auto& stream : streams) {
      if (stream.done == stream.pieces.size()) continue;
      left = true;
      const Piece& piece = stream.pieces[stream.done];
      Chunk& chunk = (*stream.chunks)[stream.done % stream.chunks->size()];
      chunk.read.wait();
      chunk.written = slab.write_part(*piece.name, piece.begin, piece.bytes, chunk.memory.data(), free);
      traffic_.down += piece.bytes;
      traffic_.up += piece.bytes;
      const std::size_t next = stream.done++ + ahead(stream);
      if (next < stream.pieces.size()) read(stream, next);
    }
  }
  for (auto& stream : streams)
    for (auto& chunk : *stream.chunks) chunk.written.wait();
  return true;
}

std::size_t HaloExchange::ahead(const Stream& stream) {
  return std::max<std::size_t>(1, stream.chunks->size() - 1);
}

void HaloExchange::read(Stream& stream, std::size_t number) {
  const Piece& piece = stream.pieces[number];
  Chunk& chunk = (*stream.chunks)[number % stream.chunks->size()];
  Device& owner = devices_[static_cast<std::size_t>(stream.from)];
  // Devices that have page-locked memory keep it for whoever wants as much next; others need not have more than this.
  const bool plain = owner.info().cpu() || owner.info().unified_memory;
  const std::size_t bytes = plain ? largest(stream.pieces) : Staging::chunk_bytes;
  chunk.written.wait();
  if (chunk.memory.bytes() < bytes) chunk.memory = owner.pinned(bytes);
  chunk.read = stream.owner->read_part(*piece.name, piece.begin, piece.bytes, chunk.memory.data(), stream.made);
}

std::size_t HaloExchange::largest(const std::vector<Piece>& pieces) {
  std::size_t bytes = 0;
  for (const auto& piece : pieces) bytes = std::max(bytes, piece.bytes);
  return bytes;
}

}  // namespace halocline

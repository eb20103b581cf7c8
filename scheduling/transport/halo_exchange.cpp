#include "scheduling/transport/halo_exchange.hpp"

#include <algorithm>
#include <utility>

#include "host/opencl/staging.hpp"

namespace halocline {
namespace {

constexpr std::size_t chunks_in_turn = 3;  // one is read, one is written, one is waited for
// Less than a chunk, so that writing begins earlier (of 2, 4 and 16 MiB the fastest on four H200).
constexpr std::size_t halo_piece_bytes = std::size_t{4} << 20;

}  // namespace

HaloExchange::HaloExchange(const Plan& plan, const std::vector<Device>& devices, std::vector<std::string> names,
                           BusTraffic& traffic)
    : border_slices_(plan.requirements.border_slices), devices_(devices), names_(std::move(names)), traffic_(traffic) {
  for (const auto& slab : plan.slabs) slabs_.emplace(slab.device, slab);
  for (const auto& [from, unused] : slabs_) {
    offers_[from];
    for (const auto& [to, also_unused] : slabs_) chunks_[{from, to}];  // threads must not change the map
  }
}

void HaloExchange::begin(std::int64_t low, std::int64_t high) {
  low_ = low;
  high_ = high;
  for (auto& [device, offer] : offers_) offer = {};
}

std::vector<Range> HaloExchange::halos(int device) const {
  const auto& slab = slabs_.at(device);
  return {{std::max(slab.extended.begin, slab.interior.begin - low_), slab.interior.begin},
          {slab.interior.end, std::min(slab.extended.end, slab.interior.end + high_)}};
}

std::vector<Range> HaloExchange::shared(int from, int to) const {
  std::vector<Range> result;
  for (const Range& halo : halos(to))
    if (const Range slices = common(halo, slabs_.at(from).interior); !slices.empty()) result.push_back(slices);
  return result;
}

std::vector<Range> HaloExchange::parts(int device) const {
  const Range interior = slabs_.at(device).interior;
  Range bottom{interior.begin, interior.begin}, top{interior.end, interior.end};
  for (const auto& [other, unused] : slabs_) {
    if (other == device) continue;
    for (const Range& wanted : shared(device, other)) {
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

void HaloExchange::offer(int device, const DeviceSlab& slab, Event made) {
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

std::vector<HaloExchange::Piece> HaloExchange::pieces(const DeviceSlab& slab, int from, int to) const {
  std::vector<Piece> result;
  for (const Range& wanted : shared(from, to)) {
    for (const auto& name : names_) {
      const std::size_t slice = slab.slice_bytes(name), end = slice * static_cast<std::size_t>(wanted.end);
      for (auto begin = slice * static_cast<std::size_t>(wanted.begin); begin < end; begin += halo_piece_bytes)
        result.push_back({&name, begin, std::min(halo_piece_bytes, end - begin)});
    }
  }
  return result;
}

// Pieces that come from one neighbour, and the memory that they take in turn.
struct HaloExchange::Stream {
  Device& device;
  Offer offer;
  std::vector<Piece> pieces;
  std::vector<Chunk>& chunks;
  std::size_t done = 0;

  std::size_t ahead() const { return std::max<std::size_t>(1, chunks.size() - 1); }
  Chunk& chunk(std::size_t number) { return chunks[number % chunks.size()]; }
  void read(std::size_t number) {
    if (number >= pieces.size()) return;
    // Devices keep page-locked memory for its next use; other memory is no larger than needed.
    const bool plain = device.info().cpu() || device.info().unified_memory;
    std::size_t bytes = plain ? 0 : Staging::chunk_bytes;
    if (plain)
      for (const Piece& piece : pieces) bytes = std::max(bytes, piece.bytes);
    Chunk& to = chunk(number);
    to.written.wait();
    if (to.memory.bytes() < bytes) to.memory = device.pinned(bytes);
    const Piece& piece = pieces[number];
    to.read = offer.slab->read_part(*piece.name, piece.begin, piece.bytes, to.memory.data(), offer.made);
  }
};

bool HaloExchange::fetch(int device, DeviceSlab& slab, const Event& free) {
  std::vector<Stream> streams;
  for (const auto& [from, unused] : slabs_) {
    auto work = from == device ? std::vector<Piece>{} : pieces(slab, from, device);
    if (work.empty()) continue;
    const Offer* offer = wait_for(from);
    if (offer == nullptr) return false;
    auto& chunks = chunks_.at({from, device});
    chunks.resize(std::max(chunks.size(), std::min(work.size(), chunks_in_turn)));
    streams.push_back({devices_[static_cast<std::size_t>(from)], *offer, std::move(work), chunks});
  }
  // All neighbours read at once, and their pieces are written in turn.
  for (auto& stream : streams)
    for (std::size_t n = 0; n < stream.ahead(); ++n) stream.read(n);
  for (bool left = true; left;) {
    left = false;
    for (auto& stream : streams) {
      if (stream.done == stream.pieces.size()) continue;
      left = true;
      const Piece& piece = stream.pieces[stream.done];
      Chunk& chunk = stream.chunk(stream.done);
      chunk.read.wait();
      chunk.written = slab.write_part(*piece.name, piece.begin, piece.bytes, chunk.memory.data(), free);
      traffic_.down += piece.bytes;
      traffic_.up += piece.bytes;
      stream.read(stream.done++ + stream.ahead());
    }
  }
  for (auto& stream : streams)
    for (auto& chunk : stream.chunks) chunk.written.wait();
  return true;
}

}  // namespace halocline

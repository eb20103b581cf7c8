#include "scheduling/transport/in_process_halos.hpp"

#include <algorithm>
#include <utility>

#include "host/opencl/staging.hpp"

namespace halocline {
namespace {

constexpr std::size_t chunks_in_turn = 3;  // one is read, one is written, one is waited for
// Less than a chunk holds: writing begins the sooner (of 2, 4 and 16 MiB the fastest on four H200).
constexpr std::size_t halo_piece_bytes = std::size_t{4} << 20;

}  // namespace

InProcessHalos::InProcessHalos(const Plan& plan, const std::vector<Device>& devices, std::vector<std::string> names,
                               BusTraffic& traffic)
    : HaloExchange(plan), devices_(devices), names_(std::move(names)), traffic_(traffic) {
  for (const auto& [device, unused] : slabs()) offers_[device];
  for (const auto& [from, unused] : slabs())
    for (const auto& [to, also_unused] : slabs()) chunks_[{from, to}];  // threads must not change the map
}

void InProcessHalos::forget_offers() {
  for (auto& [device, offer] : offers_) offer = {};
}

void InProcessHalos::offer(int device, const DeviceSlab& slab, Event made) {
  {
    const std::lock_guard lock(mutex_);
    offers_.at(device) = {&slab, std::move(made), false};
  }
  offered_.notify_all();
}

void InProcessHalos::withdraw(int device) {
  {
    const std::lock_guard lock(mutex_);
    Offer& offer = offers_.at(device);
    if (offer.slab == nullptr) offer.withdrawn = true;
  }
  offered_.notify_all();
}

const InProcessHalos::Offer* InProcessHalos::wait_for(int device) {
  std::unique_lock lock(mutex_);
  const Offer& offer = offers_.at(device);
  offered_.wait(lock, [&] { return offer.slab != nullptr || offer.withdrawn; });
  return offer.withdrawn ? nullptr : &offer;
}

std::vector<InProcessHalos::Piece> InProcessHalos::pieces(const DeviceSlab& slab, int from, int to) const {
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

// From one neighbour: what comes next, and where it lies meanwhile.
struct InProcessHalos::Stream {
  int from;
  const DeviceSlab* owner;
  Event made;
  std::vector<Piece> pieces;
  std::vector<Chunk>* chunks;
  std::size_t done = 0;
};

bool InProcessHalos::fetch(int device, DeviceSlab& slab, const Event& free) {
  std::vector<Stream> streams;
  for (const auto& [from, unused] : slabs()) {
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

std::size_t InProcessHalos::ahead(const Stream& stream) {
  return std::max<std::size_t>(1, stream.chunks->size() - 1);
}

void InProcessHalos::read(Stream& stream, std::size_t number) {
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

std::size_t InProcessHalos::largest(const std::vector<Piece>& pieces) {
  std::size_t bytes = 0;
  for (const auto& piece : pieces) bytes = std::max(bytes, piece.bytes);
  return bytes;
}

}  // namespace halocline

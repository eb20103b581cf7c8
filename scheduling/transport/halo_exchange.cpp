#include "scheduling/transport/halo_exchange.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "host/opencl/staging.hpp"
#include "host/system/error.hpp"
#include "scheduling/transport/rank_devices.hpp"
#include "scheduling/transport/tags.hpp"

namespace halocline {
namespace {

// Small, so that writing begins early (of 2, 4 and 16 MiB the fastest on four H200).
constexpr std::size_t halo_piece_bytes = std::size_t{4} << 20;
constexpr std::size_t chunks_here = 3;  // one is read, one is written, one is waited for
// Ranks that share processors need 32 MiB or more under way, or they wait for each other at each message.
constexpr std::size_t chunks_between_ranks = 12;
constexpr std::size_t chunks_in_memory = Staging::chunk_bytes / halo_piece_bytes;

// The most devices of a rank. Throws InputError where pairs of them, of two ranks, have no tags of their own.
int most_devices_of(const Plan& plan) {
  constexpr int most = 181;
  static_assert(most * most <= work_tags);
  int result = 0;
  for (int device = 0; device < static_cast<int>(plan.devices.size()); ++device) {
    result = std::max(result, static_cast<int>(plan.number_on_rank(device)) + 1);
    if (result > most && plan.several_ranks())
      throw InputError(
          fmt::format("{}: rank {} has more than {} devices, and messages between ranks tell no more apart; choose "
                      "fewer for a rank with `device` or `sub_devices`, and start more ranks",
                      plan.requirements.algorithm, plan.rank_of(device), most));
  }
  return result;
}

}  // namespace

HaloExchange::HaloExchange(const Plan& plan, const std::vector<Device>& devices, std::vector<std::string> names,
                           BusTraffic& traffic)
    : all_(ranks_of(plan)),
      most_devices_(most_devices_of(plan)),
      border_slices_(plan.requirements.border_slices),
      names_(std::move(names)),
      traffic_(traffic) {
  for (const auto& slab : plan.slabs) {
    slabs_.emplace(slab.device, slab);
    rank_of_.emplace(slab.device, plan.rank_of(slab.device));
    number_of_.emplace(slab.device, static_cast<int>(plan.number_on_rank(slab.device)));
    if (is_here(slab.device)) devices_.emplace(slab.device, devices[plan.number_on_rank(slab.device)]);
  }
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

// Pieces that go from one device to another, and the memory that they take in turn.
struct HaloExchange::Stream {
  std::vector<Piece> pieces;
  std::vector<Chunk>& chunks;
  Device memory_of;  // its page-locked memory
  BusTraffic& traffic;
  std::size_t done = 0;

  std::size_t ahead() const { return std::max<std::size_t>(1, chunks.size() - 1); }
  bool ended() const { return done == pieces.size(); }
  // The chunk of a piece, when its last use has ended, with room for the piece.
  Chunk& free_chunk(std::size_t number) {
    Chunk& chunk = chunks[number % chunks.size()];
    chunk.written.wait();
    chunk.message.wait();
    // Devices keep page-locked memory for its next use; other memory is no larger than needed.
    if (memory_of.info().cpu() || memory_of.info().unified_memory)
      make_room(chunk, most_bytes());
    else
      share_memory(number % chunks.size());
    return chunk;
  }
  std::size_t most_bytes() const {
    std::size_t bytes = 0;
    for (const Piece& piece : pieces) bytes = std::max(bytes, piece.bytes);
    return bytes;
  }
  void make_room(Chunk& chunk, std::size_t bytes) {
    if (!chunk.memory || chunk.memory->bytes() < bytes)
      chunk.memory = std::make_shared<PinnedMemory>(memory_of.pinned(bytes));
  }
  // Gives a chunk its part of the memory that it shares with its neighbours.
  void share_memory(std::size_t chunk) {
    const std::size_t part = chunk % chunks_in_memory;
    Chunk& first = chunks[chunk - part];
    make_room(first, Staging::chunk_bytes);
    chunks[chunk].memory = first.memory;
    chunks[chunk].at = part * halo_piece_bytes;
  }
  void read(std::size_t number, const Offer& from) {
    if (number >= pieces.size()) return;
    Chunk& to = free_chunk(number);
    const Piece& piece = pieces[number];
    to.read = from.slab->read_part(*piece.name, piece.begin, piece.bytes, to.data(), from.made);
    traffic.down += piece.bytes;
  }
};

// Pieces that come from a device of this process, or of another rank.
struct HaloExchange::Arrivals {
  Stream stream;
  Offer offer;  // of a device of this process
  Ranks& all;
  int rank, tag;

  bool from_here() const { return offer.slab != nullptr; }
  void begin(std::size_t number) {
    if (from_here()) return stream.read(number, offer);
    if (number >= stream.pieces.size()) return;
    Chunk& to = stream.free_chunk(number);
    to.message = all.receive(rank, tag, {to.data(), stream.pieces[number].bytes});
  }
  void write_next(DeviceSlab& slab, const Event& free) {
    if (stream.ended()) return;
    const Piece& piece = stream.pieces[stream.done];
    Chunk& chunk = stream.chunks[stream.done % stream.chunks.size()];
    if (from_here())
      chunk.read.wait();
    else
      chunk.message.wait();
    chunk.written = slab.write_part(*piece.name, piece.begin, piece.bytes, chunk.data(), free);
    stream.traffic.up += piece.bytes;
    begin(stream.done++ + stream.ahead());
  }
};

// Pieces that go to another rank.
struct HaloExchange::Departures {
  Stream stream;
  Offer offer;
  Ranks& all;
  int rank, tag;

  void begin(std::size_t number) { stream.read(number, offer); }
  void send_next() {
    if (stream.ended()) return;
    Chunk& chunk = stream.chunks[stream.done % stream.chunks.size()];
    chunk.read.wait();
    chunk.message = all.send(rank, tag, {chunk.data(), stream.pieces[stream.done].bytes}, chunk.memory);
    begin(stream.done++ + stream.ahead());
  }
};

HaloExchange::Stream HaloExchange::stream(int from, int to, const DeviceSlab& slab) {
  auto work = from == to ? std::vector<Piece>{} : pieces(slab, from, to);
  auto& chunks = chunks_.at({from, to});
  const auto in_turn = is_here(from) && is_here(to) ? chunks_here : chunks_between_ranks;
  chunks.resize(std::max(chunks.size(), std::min(work.size(), in_turn)));
  return {std::move(work), chunks, devices_.at(is_here(from) ? from : to), traffic_};
}

bool HaloExchange::fetch(int device, DeviceSlab& slab, const Event& free) {
  std::vector<Arrivals> arrivals;
  std::vector<Departures> departures;
  for (const auto& [other, unused] : slabs_) {
    if (Stream coming = stream(other, device, slab); !coming.pieces.empty()) {
      const Offer* offer = is_here(other) ? wait_for(other) : nullptr;
      if (is_here(other) && offer == nullptr) return false;
      arrivals.push_back(
          {std::move(coming), offer != nullptr ? *offer : Offer{}, all_, rank_of_.at(other), tag(other, device)});
    }
    if (is_here(other)) continue;
    if (Stream going = stream(device, other, slab); !going.pieces.empty())
      departures.push_back({std::move(going), offers_.at(device), all_, rank_of_.at(other), tag(device, other)});
  }
  // All neighbours read at once, and their pieces are written in turn. What others wait for goes first.
  const auto each = [&](const auto& departing, const auto& arriving) {
    for (auto& one : departures) departing(one);
    for (auto& one : arrivals) arriving(one);
  };
  const auto first_pieces = [](auto& one) {
    for (std::size_t n = 0; n < one.stream.ahead(); ++n) one.begin(n);
  };
  each(first_pieces, first_pieces);
  const auto left = [](const auto& one) { return !one.stream.ended(); };
  while (std::any_of(departures.begin(), departures.end(), left) || std::any_of(arrivals.begin(), arrivals.end(), left))
    each([](auto& one) { one.send_next(); }, [&](auto& one) { one.write_next(slab, free); });
  const auto settle = [&](auto& one) {
    for (auto& chunk : one.stream.chunks) chunk.written.wait(), chunk.message.wait();
  };
  each(settle, settle);
  return true;
}

}  // namespace halocline

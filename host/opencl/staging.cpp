#include "host/opencl/staging.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <mutex>
#include <vector>

#include "host/opencl/opencl.hpp"
#include "host/system/stream_copy.hpp"
#include "host/system/thread_pool.hpp"

namespace halocline {
namespace {

// Bytes of a transfer that a thread takes at a time: fewer for short ones, so that all threads end together. Pieces of
// 1 MiB of 16 MiB keep 12 threads busy for as long as 24 MiB.
std::size_t piece_of(std::size_t bytes) {
  return bytes > 2 * Staging::chunk_bytes ? std::size_t{1} << 20 : std::size_t{256} << 10;
}

constexpr std::size_t smallest_staged = std::size_t{1} << 20;

// One thread copies at 11 GB/s, less than a PCIe 5 bus takes; four reach 36.
void in_pieces(std::byte* at, std::size_t begin, std::size_t bytes, const Staging::Piece& work) {
  parallel_ranges(bytes, piece_of(bytes),
                  [&](std::size_t first, std::size_t count) { work(at + first, begin + first, count); });
}

// A transfer of many chunks, `in_turn` of which are in use at a time. Many threads take its pieces in ascending order;
// they wait for what was there before in their chunk, but not for each other at the end of one.
class Turns {
 public:
  Turns(std::size_t bytes, std::size_t in_turn)
      : bytes_(bytes), in_turn_(in_turn), turns_((bytes + Staging::chunk_bytes - 1) / Staging::chunk_bytes) {
    const std::size_t piece = piece_of(bytes);
    for (std::size_t n = 0; n < count(); ++n) turns_[n].left = (this->bytes(n) + piece - 1) / piece;
  }
  std::size_t count() const { return turns_.size(); }
  std::size_t bytes(std::size_t turn) const {
    return std::min(Staging::chunk_bytes, bytes_ - turn * Staging::chunk_bytes);
  }

  /// A piece of a chunk. `begin` is called before the first one, when the chunk of in_turn before has ended; `end`
  /// after the last one, one at a time. Nothing more is begun after an error.
  void piece(std::size_t number, const std::function<void()>& begin, const std::function<void()>& work,
             const std::function<void()>& end) {
    Turn& turn = turns_[number];
    try {
      std::call_once(turn.begun, [&] {
        if (wait_for_place(number)) begin();
      });
      if (failed_) return;
      work();
      const std::lock_guard lock(mutex_);
      if (--turn.left > 0) return;
      end();
      turn.ended = true;
    } catch (...) {
      {
        const std::lock_guard lock(mutex_);
        failed_ = true;
      }
      ended_.notify_all();
      throw;
    }
    ended_.notify_all();
  }

 private:
  struct Turn {
    std::once_flag begun;
    std::size_t left = 0;
    bool ended = false;
  };
  bool wait_for_place(std::size_t number) {
    if (number < in_turn_) return true;
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [&] { return turns_[number - in_turn_].ended || failed_; });
    return !failed_;
  }

  std::size_t bytes_, in_turn_;
  std::vector<Turn> turns_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::atomic<bool> failed_{false};
};

}  // namespace

bool Staging::shares_memory() const {
  return !device_.state()->stages_transfers;
}

bool Staging::direct(std::size_t bytes) const {
  return shares_memory() || bytes < smallest_staged;
}

// Pageable memory costs another turn of the driver where the host waits for a few numbers.
Event Staging::read_small(const Buffer& from, std::size_t offset, void* to, std::size_t bytes,
                          std::span<const Event> waits) {
  Chunk& chunk = small_chunk(bytes);
  chunk.busy = device_.read(from, offset, chunk.memory.data(), bytes, waits);
  chunk.busy.wait();
  std::memcpy(to, chunk.memory.data(), bytes);
  return chunk.busy;
}

// An idle chunk that is large enough: making one takes milliseconds.
Staging::Chunk& Staging::small_chunk(std::size_t bytes) {
  for (Chunk& chunk : chunks_) {
    const bool pending =
        std::any_of(pending_.begin(), pending_.end(), [&](const Pending& each) { return each.chunk == &chunk; });
    if (chunk.memory.bytes() < bytes || pending) continue;
    chunk.busy.wait();
    return chunk;
  }
  return next_chunk(bytes);
}

Staging::Chunk& Staging::next_chunk(std::size_t bytes) {
  Chunk& chunk = chunk_of(0);
  ++next_;
  while (!pending_.empty() && pending_.front().chunk == &chunk) drain_first();
  chunk.busy.wait();
  allocate(chunk, bytes);
  return chunk;
}

// A device that shares the host's memory has no use for more than the transfer takes; in powers of two, so that the
// next transfer finds it again.
void Staging::allocate(Chunk& chunk, std::size_t bytes) {
  const std::size_t wanted = shares_memory() ? std::bit_ceil(std::min(bytes, chunk_bytes)) : chunk_bytes;
  if (chunk.memory.bytes() < wanted) chunk.memory = device_.pinned(wanted);
}

Event Staging::write(const Buffer& to, std::size_t offset, const void* from, std::size_t bytes,
                     std::span<const Event> waits) {
  if (direct(bytes)) return device_.write(to, offset, from, bytes, waits);
  const auto* source = static_cast<const std::byte*>(from);
  return write(
      to, offset, bytes,
      [source](std::byte* at, std::size_t begin, std::size_t count) { std::memcpy(at, source + begin, count); }, waits);
}

Event Staging::read(const Buffer& from, std::size_t offset, void* to, std::size_t bytes, std::span<const Event> waits) {
  if (shares_memory()) return device_.read(from, offset, to, bytes, waits);
  if (direct(bytes)) return read_small(from, offset, to, bytes, waits);
  auto* target = static_cast<std::byte*>(to);
  return read(
      from, offset, bytes,
      [target](std::byte* at, std::size_t begin, std::size_t count) { stream_copy(target + begin, at, count); }, waits);
}

Event Staging::write(const Buffer& to, std::size_t offset, std::size_t bytes, const Piece& fill,
                     std::span<const Event> waits) {
  settle();
  Turns turns(bytes, chunks_.size());
  Event last;
  parallel_ranges(bytes, piece_of(bytes), [&](std::size_t first, std::size_t count) {
    const std::size_t turn = first / chunk_bytes;
    Chunk& chunk = chunk_of(turn);
    turns.piece(
        turn,
        [&] {
          chunk.busy.wait();
          allocate(chunk, turns.bytes(turn));
        },
        [&] { fill(chunk.memory.data() + first % chunk_bytes, first, count); },
        [&] {
          last = chunk.busy =
              device_.write(to, offset + turn * chunk_bytes, chunk.memory.data(), turns.bytes(turn), waits);
        });
  });
  next_ += turns.count();
  return last;
}

Event Staging::read(const Buffer& from, std::size_t offset, std::size_t bytes, const Piece& drain,
                    std::span<const Event> waits) {
  settle();
  Turns turns(bytes, chunks_.size());
  const auto enqueue = [&](std::size_t turn) {
    if (turn >= turns.count()) return;
    Chunk& chunk = chunk_of(turn);
    chunk.busy = device_.read(from, offset + turn * chunk_bytes, chunk.memory.data(), turns.bytes(turn), waits);
  };
  for (std::size_t turn = 0; turn < std::min(chunks_.size(), turns.count()); ++turn) {
    chunk_of(turn).busy.wait();
    allocate(chunk_of(turn), turns.bytes(turn));
    enqueue(turn);
  }
  if (turns.count() > 0) chunk_of(0).busy.wait();  // kernels before it may take long: others have work for the threads
  parallel_ranges(bytes, piece_of(bytes), [&](std::size_t first, std::size_t count) {
    const std::size_t turn = first / chunk_bytes;
    Chunk& chunk = chunk_of(turn);
    turns.piece(
        turn, [&] { chunk.busy.wait(); }, [&] { drain(chunk.memory.data() + first % chunk_bytes, first, count); },
        [&] { enqueue(turn + chunks_.size()); });
  });
  next_ += turns.count();
  return turns.count() > 0 ? chunks_[(next_ - 1) % chunks_.size()].busy : Event();
}

Event Staging::read_later(const Buffer& from, std::size_t offset, std::size_t bytes, const Piece& drain,
                          std::span<const Event> waits) {
  Event last;
  for (std::size_t done = 0; done < bytes; done += chunk_bytes) {
    if (pending_.size() == chunks_.size() - 1) drain_first();  // the bus fills the other chunks meanwhile
    const std::size_t part = std::min(chunk_bytes, bytes - done);
    Chunk& chunk = next_chunk(part);
    last = chunk.busy = device_.read(from, offset + done, chunk.memory.data(), part, waits);
    pending_.push_back({&chunk, done, part, drain});
  }
  return last;
}

void Staging::settle() {
  while (!pending_.empty()) drain_first();
}

void Staging::release() {
  settle();
  for (auto& chunk : chunks_) {
    chunk.busy.wait();
    chunk = {};
  }
}

void Staging::drain_first() {
  const Pending first = std::move(pending_.front());
  pending_.pop_front();
  first.chunk->busy.wait();
  in_pieces(first.chunk->memory.data(), first.begin, first.bytes, first.drain);
}

}  // namespace halocline

#include "host/volume/device_array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "host/system/error.hpp"
#include "host/system/log.hpp"
#include "host/system/thread_pool.hpp"

namespace halocline {
namespace {

bool same(const Device& a, const Device& b) {
  return a.state() == b.state();
}

std::size_t bytes_of(std::size_t voxels) {
  return voxels * sizeof(float);
}

}  // namespace

DistributedArray::DistributedArray(std::string name, const Grid& grid, std::vector<Share> shares)
    : name_(std::move(name)), grid_(grid), shares_(std::move(shares)) {
  std::int64_t slices = 0;
  for (const auto& share : shares_) {
    if (share.begin != slices || share.end <= share.begin)
      throw std::logic_error(fmt::format("{}: shares of devices are to follow each other", name_));
    slices = share.end;
  }
  if (!shares_.empty() && slices != static_cast<std::int64_t>(grid_.size[2]))
    throw std::logic_error(fmt::format("{}: shares of devices have {} of {} slices", name_, slices, grid_.size[2]));
  if (shares_.empty())
    host_.resize(grid_.count());
  else
    allocate();
}

DistributedArray::DistributedArray(const Grid& grid, Device device, Buffer buffer, std::size_t offset)
    : name_(buffer.name()), grid_(grid), shares_{{device, 0, static_cast<std::int64_t>(grid.size[2])}}, adopted_(true) {
  if (offset % sizeof(float) != 0 || offset > buffer.bytes() || bytes_of(grid.count()) > buffer.bytes() - offset)
    throw std::logic_error(
        fmt::format("{}: {} voxels at byte {} do not fit {} bytes", name_, grid.count(), offset, buffer.bytes()));
  pieces_.push_back({std::move(device), {0, grid.count()}, std::move(buffer), offset});
}

DistributedArray::~DistributedArray() {
  release();
}

// Splits into pieces that a device can have as one buffer.
void DistributedArray::allocate() {
  try {
    for (const auto& share : shares_) {
      Device device = share.device;
      const std::size_t most = std::max<std::size_t>(1, device.max_allocation() / sizeof(float)),
                        end = grid_.slice() * static_cast<std::size_t>(share.end);
      for (std::size_t at = grid_.slice() * static_cast<std::size_t>(share.begin); at < end;) {
        const std::size_t count = std::min(most, end - at);
        Piece piece{device, {at, at + count}, device.buffer(name_, bytes_of(count))};
        device.ledger().hold(bytes_of(count));
        pieces_.push_back(std::move(piece));
        at += count;
      }
    }
  } catch (...) {
    release();
    throw;
  }
}

void DistributedArray::release() {
  for (auto& piece : pieces_) {
    try {
      last_of(piece).wait();
    } catch (const std::exception&) {  // what failed is on its way already
    }
    if (!adopted_) piece.device.ledger().let_go(bytes_of(piece.voxels.count()));
  }
  pieces_.clear();
}

void DistributedArray::spill() {
  if (spilled() || adopted_) return;
  UninitialisedVector<float> host(grid_.count());
  read(0, host.size(), host.data());
  host_ = std::move(host);
  release();
}

// work(piece, first voxel, number of voxels) of all pieces that have some of these.
template <class Work>
void DistributedArray::for_each_piece(std::size_t first, std::size_t count, Work&& work) const {
  for (auto& piece : pieces_) {
    const VoxelRange common{std::max(first, piece.voxels.begin), std::min(first + count, piece.voxels.end)};
    if (!common.empty()) work(piece, common.begin, common.count());
  }
}

Event DistributedArray::last_of(const Piece& piece) const {
  const std::lock_guard lock(mutex_);
  return piece.last;
}

void DistributedArray::used_by(Piece& piece, const Event& event) const {
  const std::lock_guard lock(mutex_);
  piece.last = event;
}

void DistributedArray::read(std::size_t first, std::size_t count, float* to) const {
  if (spilled()) {
    if (count > 0 && host_.data() + first != to) std::memcpy(to, host_.data() + first, bytes_of(count));
    return;
  }
  for_each_piece(first, count, [&](Piece& piece, std::size_t begin, std::size_t voxels) {
    const Event last = last_of(piece);
    piece.device
        .read(piece.buffer, piece.place(begin).offset, to + (begin - first), bytes_of(voxels),
              std::span(&last, last ? 1 : 0))
        .wait();
    bus_bytes_ += bytes_of(voxels);
  });
}

void DistributedArray::write(std::size_t first, std::size_t count, float* from) {
  if (spilled()) {
    if (count > 0 && host_.data() + first != from) std::memcpy(host_.data() + first, from, bytes_of(count));
    return;
  }
  for_each_piece(first, count, [&](Piece& piece, std::size_t begin, std::size_t voxels) {
    const Event last = last_of(piece);
    piece.device
        .write(piece.buffer, piece.place(begin).offset, from + (begin - first), bytes_of(voxels),
               std::span(&last, last ? 1 : 0))
        .wait();
    bus_bytes_ += bytes_of(voxels);
  });
}

VoxelRange DistributedArray::voxels_on(const Device& device) const {
  VoxelRange result;
  for (const auto& piece : pieces_)
    if (same(piece.device, device)) result = {result.empty() ? piece.voxels.begin : result.begin, piece.voxels.end};
  return result;
}

Event DistributedArray::copy_to(const DevicePlace& to, std::size_t first, std::size_t count,
                                std::span<const Event> waits) const {
  Event done;
  for_each_piece(first, count, [&](Piece& piece, std::size_t begin, std::size_t voxels) {
    done = to.device.copy(piece.buffer, piece.place(begin).offset, to.buffer, to.offset + bytes_of(begin - first),
                          bytes_of(voxels), waits);
    used_by(piece, done);
  });
  return done;
}

void DistributedArray::take_from(const DevicePlace& from, std::size_t first, std::size_t count,
                                 std::span<const Event> waits, const VoxelWork& then) {
  Event done;
  for_each_piece(first, count, [&](Piece& piece, std::size_t begin, std::size_t voxels) {
    const DevicePlace place = piece.place(begin);
    done = from.device.copy(from.buffer, from.offset + bytes_of(begin - first), piece.buffer, place.offset,
                            bytes_of(voxels), waits);
    if (then) done = then(place, voxels, done);
    used_by(piece, done);
  });
  done.wait();  // on the queue of all these copies
}

// A run of several pieces continues in the next one.
std::optional<std::vector<RunSums>> DistributedArray::sums_of_runs(std::span<const VoxelRange> runs) const {
  if (spilled()) return std::nullopt;
  auto sums = empty_sums(runs.size());
  for (auto& piece : pieces_) {
    std::vector<std::size_t> numbers;
    std::vector<VoxelRange> here;
    std::vector<RunSums> states;
    for (std::size_t n = 0; n < runs.size(); ++n) {
      const VoxelRange common{std::max(runs[n].begin, piece.voxels.begin), std::min(runs[n].end, piece.voxels.end)};
      if (common.empty()) continue;
      here.push_back({common.begin - piece.voxels.begin, common.end - piece.voxels.begin});
      numbers.push_back(n);
      states.push_back(sums[n]);
    }
    if (!add_runs(piece.place(piece.voxels.begin), here, states, last_of(piece))) return std::nullopt;
    for (std::size_t n = 0; n < numbers.size(); ++n) sums[numbers[n]] = states[n];
  }
  return sums;
}

std::optional<VoxelFacts> DistributedArray::facts() const {
  std::optional<VoxelFacts> all;
  for (auto& piece : pieces_) {
    const auto here = facts_at(piece.place(piece.voxels.begin), piece.voxels.count(), last_of(piece));
    if (!here) return std::nullopt;
    all = all ? VoxelFacts{all->range.with(here->range), all->not_finite + here->not_finite} : *here;
  }
  return all;
}

void with_room(std::span<DistributedArray* const> arrays, const std::function<void()>& work) {
  const auto spill_all = [&](const Error& error) {
    bool spilled = false;
    for (auto* array : arrays) {
      if (array == nullptr || array->spilled()) continue;
      array->spill();
      spilled = true;
    }
    if (spilled) library_log()->info("{}; volumes that stayed on devices go to host memory", error.what());
    return spilled;
  };
  try {
    return work();
  } catch (const PlanError& error) {
    if (!spill_all(error)) throw;
  } catch (const ClError& error) {
    if (!is_out_of_memory(error) || !spill_all(error)) throw;
  }
  work();
}

}  // namespace halocline

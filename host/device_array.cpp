#include "host/device_array.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "host/error.hpp"
#include "host/log.hpp"
#include "host/thread_pool.hpp"

namespace halocline {
namespace {

constexpr std::size_t doubles_of_run = sizeof(RunSums) / sizeof(double), group = 64, chunk = 1024;
constexpr std::size_t range_run = std::size_t{1} << 16;  // voxels

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

DistributedArray::~DistributedArray() {
  release();
}

// In pieces that a device can have as one buffer.
void DistributedArray::allocate() {
  try {
    for (const auto& share : shares_) {
      Device device = share.device;
      const std::size_t most = std::max<std::size_t>(1, device.max_allocation() / sizeof(float)),
                        end = grid_.slice() * static_cast<std::size_t>(share.end);
      for (std::size_t at = grid_.slice() * static_cast<std::size_t>(share.begin); at < end;) {
        const std::size_t count = std::min(most, end - at);
        Piece piece{device, {at, at + count}, device.buffer(name_, bytes_of(count)), {}};
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
    piece.device.ledger().let_go(bytes_of(piece.voxels.count()));
  }
  pieces_.clear();
}

void DistributedArray::spill() {
  if (spilled()) return;
  UninitialisedVector<float> host(grid_.count());
  read(0, host.size(), host.data());
  host_ = std::move(host);
  release();
}

void DistributedArray::bring_back() {
  if (!spilled() || shares_.empty()) return;
  allocate();
  write(0, host_.size(), host_.data());
  host_ = {};
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
        .read(piece.buffer, bytes_of(begin - piece.voxels.begin), to + (begin - first), bytes_of(voxels),
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
        .write(piece.buffer, bytes_of(begin - piece.voxels.begin), from + (begin - first), bytes_of(voxels),
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
    done = to.device.copy(piece.buffer, bytes_of(begin - piece.voxels.begin), to.buffer,
                          to.offset + bytes_of(begin - first), bytes_of(voxels), waits);
    used_by(piece, done);
  });
  return done;
}

void DistributedArray::take_from(const DevicePlace& from, std::size_t first, std::size_t count,
                                 std::span<const Event> waits) {
  Event done;
  for_each_piece(first, count, [&](Piece& piece, std::size_t begin, std::size_t voxels) {
    done = from.device.copy(from.buffer, from.offset + bytes_of(begin - first), piece.buffer,
                            bytes_of(begin - piece.voxels.begin), bytes_of(voxels), waits);
    used_by(piece, done);
  });
  done.wait();  // on the queue of all these copies
}

// A run that lies in several pieces goes on in the next one where it was.
std::optional<std::vector<RunSums>> DistributedArray::sums_of_runs(std::span<const VoxelRange> runs) const {
  if (spilled() || std::any_of(pieces_.begin(), pieces_.end(), [](const Piece& piece) {
        return !piece.device.info().fp64 || piece.device.info().max_work_group < group;
      }))
    return std::nullopt;
  std::vector<RunSums> sums(runs.size());
  for (auto& each : sums) each.least_positive = std::numeric_limits<double>::infinity();
  try {
    for (auto& piece : pieces_) {
      std::vector<std::uint64_t> places;
      std::vector<std::size_t> numbers;
      std::vector<RunSums> states;
      for (std::size_t n = 0; n < runs.size(); ++n) {
        const VoxelRange common{std::max(runs[n].begin, piece.voxels.begin), std::min(runs[n].end, piece.voxels.end)};
        if (common.empty()) continue;
        places.insert(places.end(), {common.begin - piece.voxels.begin, common.count()});
        numbers.push_back(n);
        states.push_back(sums[n]);
      }
      if (numbers.empty()) continue;
      Device& device = piece.device;
      const Buffer of_runs = device.buffer("runs", places.size() * sizeof(std::uint64_t)),
                   of_states = device.buffer("sums of runs", states.size() * sizeof(RunSums));
      const Event before[] = {device.write(of_runs, 0, places.data(), of_runs.bytes()),
                              device.write(of_states, 0, states.data(), of_states.bytes()), last_of(piece)};
      const KernelArgument arguments[] = {&piece.buffer, &of_runs, &of_states};
      const Event made =
          device.launch({"voxels.cl", "voxels_runs",
                         fmt::format("-D USE_FP64 -D GROUP={} -D CHUNK={} -D STATE={}", group, chunk, doubles_of_run)},
                        {group, numbers.size(), 1}, arguments, std::span(before, before[2] ? 3 : 2),
                        std::array<std::size_t, 3>{group, 1, 1});
      device.read(of_states, 0, states.data(), of_states.bytes(), std::span(&made, 1)).wait();
      for (std::size_t n = 0; n < numbers.size(); ++n) sums[numbers[n]] = states[n];
    }
  } catch (const BudgetError&) {
    return std::nullopt;
  }
  return sums;
}

std::optional<ValueRange> DistributedArray::value_range() const {
  std::vector<VoxelRange> runs;
  for (std::size_t at = 0; at < grid_.count(); at += range_run)
    runs.push_back({at, std::min(at + range_run, grid_.count())});
  const auto sums = sums_of_runs(runs);
  if (!sums) return std::nullopt;
  ValueRange range{static_cast<float>(sums->front().least), static_cast<float>(sums->front().greatest)};
  for (const auto& each : *sums)
    range = {std::min(range.least, static_cast<float>(each.least)),
             std::max(range.greatest, static_cast<float>(each.greatest))};
  return range;
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

namespace {

template <class Number>
Event launch_on_voxels(const KernelSpec& spec, const DevicePlace& at, std::size_t count, Number number,
                       const Event& after) {
  if (count == 0) return after;
  const KernelArgument arguments[] = {&at.buffer, std::uint64_t{at.offset / sizeof(float)}, std::uint64_t{count},
                                      number};
  return at.device.launch(spec, {count, 1, 1}, arguments, std::span(&after, after ? 1 : 0));
}

}  // namespace

Event subtract_on_device(const DevicePlace& at, std::size_t count, float shift, const Event& after) {
  return launch_on_voxels({"voxels.cl", "voxels_subtract", ""}, at, count, shift, after);
}

Event divide_on_device(const DevicePlace& at, std::size_t count, double divisor, const Event& after) {
  return launch_on_voxels({"voxels.cl", "voxels_divide", "-D USE_FP64"}, at, count, divisor, after);
}

}  // namespace halocline

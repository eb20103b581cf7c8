#include "host/volume/volume_source.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <utility>

#include "host/system/stream_copy.hpp"
#include "host/system/thread_pool.hpp"
#include "host/volume/voxel_work.hpp"

namespace halocline {

Event VolumeSource::copy_to(const DevicePlace&, std::size_t, std::size_t, std::span<const Event>) const {
  throw std::logic_error("none of these voxels lies on a device");
}

VoxelWork in_turn(VoxelWork first, VoxelWork second) {
  if (!first) return second;
  if (!second) return first;
  return [first = std::move(first), second = std::move(second)](const DevicePlace& at, std::size_t count,
                                                                const Event& after) {
    return second(at, count, first(at, count, after));
  };
}

void VolumeSink::take_from(const DevicePlace&, std::size_t, std::size_t, std::span<const Event>, const VoxelWork&) {
  throw std::logic_error("none of these voxels has a place on a device");
}

namespace {

template <class Voxels>
bool on_one_of(const Voxels& voxels, std::span<const Device> devices) {
  return voxels.on_devices() && std::any_of(devices.begin(), devices.end(),
                                            [&](const Device& device) { return !voxels.voxels_on(device).empty(); });
}

}  // namespace

bool lies_on(const VolumeSource& source, std::span<const Device> devices) {
  return on_one_of(source, devices);
}
bool lies_on(const VolumeSink& sink, std::span<const Device> devices) {
  return on_one_of(sink, devices);
}

void MemorySource::read(std::size_t first, std::size_t count, float* to) const {
  if (count > 0 && voxels_ + first != to) std::memcpy(to, voxels_ + first, count * sizeof(float));
}

void MemorySink::write(std::size_t first, std::size_t count, float* from) {
  if (count > 0 && voxels_ + first != from) stream_copy(voxels_ + first, from, count * sizeof(float));
}

void ShiftedSource::read(std::size_t first, std::size_t count, float* to) const {
  const float* from = source_.data();
  if (from != nullptr) {
    from += first;
  } else {
    source_.read(first, count, to);
    from = to;
  }
  for (std::size_t n = 0; n < count; ++n) to[n] = from[n] - shift_;
}

Event ShiftedSource::copy_to(const DevicePlace& to, std::size_t first, std::size_t count,
                             std::span<const Event> waits) const {
  return subtract_on_device(to, count, shift_, source_.copy_to(to, first, count, waits));
}

void ShiftedSink::write(std::size_t first, std::size_t count, float* from) {
  // Works in parts that remain in the cache, where that is free.
  constexpr std::size_t part = std::size_t{1} << 15;
  const std::size_t step = sink_.data() != nullptr ? part : count;
  for (std::size_t begin = 0; begin < count; begin += step) {
    const std::size_t now = std::min(step, count - begin);
    for (std::size_t n = begin; n < begin + now; ++n) from[n] += shift_;
    sink_.write(first + begin, now, from + begin);
  }
}

void ShiftedSink::take_from(const DevicePlace& from, std::size_t first, std::size_t count, std::span<const Event> waits,
                            const VoxelWork& then) {
  sink_.take_from(from, first, count, waits,
                  in_turn(then, [shift = -shift_](const DevicePlace& at, std::size_t voxels, const Event& after) {
                    return subtract_on_device(at, voxels, shift, after);  // x - (-y) is x + y to the bit
                  }));
}

void DividedSource::read(std::size_t first, std::size_t count, float* to) const {
  source_.read(first, count, to);
  for (std::size_t n = 0; n < count; ++n) to[n] = static_cast<float>(to[n] / divisor_);
}

VoxelRange DividedSource::voxels_on(const Device& device) const {
  return device.info().fp64 ? source_.voxels_on(device) : VoxelRange{};
}

Event DividedSource::copy_to(const DevicePlace& to, std::size_t first, std::size_t count,
                             std::span<const Event> waits) const {
  return divide_on_device(to, count, divisor_, source_.copy_to(to, first, count, waits));
}

void copy_voxels(const VolumeSource& source, VolumeSink& sink) {
  parallel_ranges(source.grid().count(), voxels_in_a_piece, [&](std::size_t first, std::size_t count) {
    UninitialisedVector<float> piece(sink.data() == nullptr ? count : 0);
    float* at = sink.data() == nullptr ? piece.data() : sink.data() + first;
    source.read(first, count, at);
    sink.write(first, count, at);
  });
}

Volume read_volume(const VolumeSource& source) {
  Volume volume = Volume::uninitialised(source.grid());
  MemorySink sink(volume);
  copy_voxels(source, sink);
  return volume;
}

ValueRange value_range(const VolumeSource& source) {
  if (const auto facts = source.facts()) return facts->range;
  ValueRange range;
  bool any = false;
  std::mutex mutex;
  parallel_ranges(source.grid().count(), voxels_in_a_piece, [&](std::size_t first, std::size_t count) {
    UninitialisedVector<float> values(count);
    source.read(first, count, values.data());
    const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
    const std::lock_guard lock(mutex);
    range.least = any ? std::min(range.least, *least) : *least;
    range.greatest = any ? std::max(range.greatest, *greatest) : *greatest;
    any = true;
  });
  return range;
}

void RangeWatch::see(const float* values, std::size_t count) {
  if (count == 0) return;
  // Lanes of their own: a single least value would be compared one after the other.
  constexpr std::size_t lanes = 64;
  std::array<float, lanes> low, high;
  low.fill(values[0]);
  high.fill(values[0]);
  std::size_t n = 0;
  for (; n + lanes <= count; n += lanes)
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      const float value = values[n + lane];
      low[lane] = value < low[lane] ? value : low[lane];
      high[lane] = value > high[lane] ? value : high[lane];
    }
  for (; n < count; ++n) {
    low[0] = std::min(low[0], values[n]);
    high[0] = std::max(high[0], values[n]);
  }
  see({*std::min_element(low.begin(), low.end()), *std::max_element(high.begin(), high.end())});
}

void RangeWatch::see(const ValueRange& range) {
  const std::lock_guard lock(mutex_);
  range_ = any_ ? range_.with(range) : range;
  any_ = true;
}

void RangeWatch::forget() {
  const std::lock_guard lock(mutex_);
  any_ = false;
  range_ = {};
}

ValueRange RangeWatch::range() const {
  const std::lock_guard lock(mutex_);
  return range_;
}

void WatchedSource::read(std::size_t first, std::size_t count, float* to) const {
  source_.read(first, count, to);
  watch_.see(to, count);
}

// Reads the voxels where the device cannot check them.
void WatchedSink::take_from(const DevicePlace& from, std::size_t first, std::size_t count, std::span<const Event> waits,
                            const VoxelWork& then) {
  const auto look = [this](const DevicePlace& at, std::size_t voxels, const Event& after) {
    if (const auto facts = facts_at(at, voxels, after)) {
      watch_.see(facts->range);
      return after;
    }
    UninitialisedVector<float> values(voxels);
    at.device.read(at.buffer, at.offset, values.data(), voxels * sizeof(float), std::span(&after, after ? 1 : 0))
        .wait();
    bus_bytes_ += voxels * sizeof(float);
    watch_.see(values.data(), voxels);
    return after;
  };
  sink_.take_from(from, first, count, waits, in_turn(then, look));
}

void WatchedSink::write(std::size_t first, std::size_t count, float* from) {
  watch_.see(from, count);
  sink_.write(first, count, from);
}

}  // namespace halocline

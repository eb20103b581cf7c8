#include "scheduling/transport/transport.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "host/system/error.hpp"
#include "host/system/thread_pool.hpp"
#include "scheduling/transport/rank_exchange.hpp"

namespace halocline {

void Transport::hold(const std::string& array, std::size_t bytes) {
  auto& memory = arrays_[array];
  if (!memory) memory = std::make_shared<UninitialisedVector<std::byte>>();
  memory->resize(bytes);
}

void Transport::hold(const std::string& array, const VolumeSource& source) {
  sources_[array] = &source;
}

void Transport::hold(const std::string& array, std::byte* memory) {
  elsewhere_[array] = memory;
}

void Transport::give_back(const std::string& array) {
  elsewhere_.erase(array);
  sources_.erase(array);
}

const std::byte* Transport::memory_of(const std::string& array) const {
  const auto found = elsewhere_.find(array);
  return found != elsewhere_.end() ? found->second : arrays_.at(array)->data();
}

void Transport::put(const std::string& array, std::size_t first, std::size_t count, const std::byte* from) {
  std::memcpy(const_cast<std::byte*>(memory_of(array)) + first, from, count);
}

void Transport::get(const std::string& array, std::size_t first, std::size_t count, std::byte* to) const {
  if (const auto source = sources_.find(array); source != sources_.end())
    source->second->read(first / sizeof(float), count / sizeof(float), reinterpret_cast<float*>(to));
  else
    std::memcpy(to, memory_of(array) + first, count);
}

void Transport::put(const std::string& array, const VolumeSource& from, std::size_t first, std::size_t count) {
  auto* const to = reinterpret_cast<float*>(const_cast<std::byte*>(memory_of(array)));
  parallel_ranges(count, voxels_in_a_piece,
                  [&](std::size_t done, std::size_t now) { from.read(first + done, now, to + first + done); });
}

void Transport::get(const std::string& array, std::size_t first, std::size_t count, VolumeSink& to) const {
  std::vector<float> piece(std::min(count, voxels_in_a_piece));  // a sink may change what it gets
  for (std::size_t done = 0; done < count; done += piece.size()) {
    const std::size_t now = std::min(piece.size(), count - done);
    get(array, (first + done) * sizeof(float), now * sizeof(float), reinterpret_cast<std::byte*>(piece.data()));
    to.write(first + done, now, piece.data());
  }
}

void Transport::pass_on(std::size_t slab, std::int64_t batch, Range rows) {
  if (route_ != nullptr) route_->pass_on(slab, batch, rows);
  const std::lock_guard lock(mutex_);
  passed_on_[{slab, batch}].add(rows);
  changed_.notify_all();
}

bool Transport::passed_on(const RayLink& link, std::int64_t batch) {
  const std::lock_guard lock(mutex_);
  const auto found = passed_on_.find({link.from, batch});
  return found != passed_on_.end() && found->second.contains(link.rows);
}

void Transport::await(const RayLink& link, std::int64_t batch) {
  if (route_ != nullptr && route_->is_elsewhere(link.from)) return route_->fetch(link, batch);
  std::unique_lock lock(mutex_);
  const RangeSet& there = passed_on_[{link.from, batch}];
  changed_.wait(lock, [&] { return failed_ || there.contains(link.rows); });
  if (!there.contains(link.rows)) throw ClError("the device with the slabs below has failed", failed_before, {});
}

void Transport::begin_step(RayRoute* route) {
  const std::lock_guard lock(mutex_);
  route_ = route;
  passed_on_.clear();
  failed_ = false;
}

void Transport::fail() {
  const std::lock_guard lock(mutex_);
  failed_ = true;
  if (route_ != nullptr) route_->give_up();
  changed_.notify_all();
}

}  // namespace halocline

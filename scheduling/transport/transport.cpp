#include "scheduling/transport/transport.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "host/system/error.hpp"
#include "host/system/thread_pool.hpp"
#include "scheduling/transport/rank_exchange.hpp"

namespace halocline {

namespace {

// Calls work(place in the memory, place among the bytes, count) for those of bytes [first, first + count) that are
// there.
void each_run(const ViewPart& part, std::size_t first, std::size_t count, const auto& work) {
  if (part.view == 0) return work(first, std::size_t{0}, count);
  for (std::size_t done = 0; done < count;) {
    const std::size_t view = (first + done) / part.view, at = (first + done) % part.view,
                      now = std::min(count - done, part.view - at), begin = std::max(at, part.begin),
                      end = std::min(at + now, part.begin + part.count);
    if (begin < end) work(part.count * view + begin - part.begin, done + begin - at, end - begin);
    done += now;
  }
}

}  // namespace

void Transport::hold(const std::string& array, std::size_t bytes, const ViewPart& part) {
  auto& [memory, held] = arrays_[array];
  if (!memory) memory = std::make_shared<UninitialisedVector<std::byte>>();
  held = part;
  memory->resize(part.view == 0 ? bytes : bytes / part.view * part.count);
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

std::pair<std::byte*, ViewPart> Transport::place_of(const std::string& array) const {
  if (const auto found = elsewhere_.find(array); found != elsewhere_.end()) return {found->second, {}};
  const Array& held = arrays_.at(array);
  return {held.memory->data(), held.part};
}

MemoryBlocks Transport::blocks(const std::string& array, std::size_t first, std::size_t bytes, std::size_t count,
                               std::size_t stride) {
  const auto [memory, part] = place_of(array);
  if (part.view == 0) return {memory + first, bytes, count, stride};
  const std::size_t view = first / part.view, at = first % part.view;
  if (stride != part.view || at < part.begin || at + bytes > part.begin + part.count)
    throw std::logic_error("there is no memory for all of these rows of " + array);
  return {memory + part.count * view + at - part.begin, bytes, count, part.count};
}

void Transport::put(const std::string& array, std::size_t first, std::size_t count, const std::byte* from) {
  const auto [memory, part] = place_of(array);
  each_run(part, first, count, [&, to = memory](std::size_t place, std::size_t done, std::size_t now) {
    std::memcpy(to + place, from + done, now);
  });
}

void Transport::get(const std::string& array, std::size_t first, std::size_t count, std::byte* to) const {
  if (const auto source = sources_.find(array); source != sources_.end())
    return source->second->read(first / sizeof(float), count / sizeof(float), reinterpret_cast<float*>(to));
  const auto [memory, part] = place_of(array);
  each_run(part, first, count, [&, from = memory](std::size_t place, std::size_t done, std::size_t now) {
    std::memcpy(to + done, from + place, now);
  });
}

void Transport::put(const std::string& array, const VolumeSource& from, std::size_t first, std::size_t count) {
  const auto [memory, part] = place_of(array);
  each_run(part, sizeof(float) * first, sizeof(float) * count,
           [&, to = memory](std::size_t place, std::size_t done, std::size_t bytes) {
             auto* const values = reinterpret_cast<float*>(to + place);
             const std::size_t begin = first + done / sizeof(float);
             parallel_ranges(bytes / sizeof(float), voxels_in_a_piece,
                             [&](std::size_t n, std::size_t now) { from.read(begin + n, now, values + n); });
           });
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

#include "scheduling/execution/resident_slabs.hpp"

#include <algorithm>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/process_memory.hpp"
#include "host/system/scratch_folder.hpp"
#include "host/system/uninitialised.hpp"

namespace halocline {
namespace {

// Passes between two times at which the host waits for idle devices and reads their busy times, which costs a tenth of
// a millisecond. Shorter where slabs may get other borders.
constexpr int passes_to_settle = 8;

}  // namespace

void ResidentSlabs::prepare() {
  if (!slabs_.empty()) return;
  for (const auto& slab : job_.plan.slabs)
    if (job_.plan.is_here(slab.device)) slabs_[slab.device] = nullptr;
  job_.threads.each(job_.plan, [&](int device) {
    auto slab = std::make_unique<DeviceSlab>(job_.devices[job_.plan.number_on_rank(device)], job_.plan, device);
    load_inputs(*slab);
    start(*slab);
    slab->wait();
    slab->release_staging();
    slabs_.at(device) = std::move(slab);
  });
  if (job_.plan.slabs.size() > 1)
    exchange_ = std::make_unique<HaloExchange>(job_.plan, job_.devices, job_.states, job_.traffic);
  halos_valid_ = true;  // loaded with the slabs
}

void ResidentSlabs::load_inputs(DeviceSlab& slab) {
  for (const auto& need : job_.requirements.arrays) {
    if (need.lifetime != Lifetime::input || need.kind != ArrayKind::volume) continue;
    job_.traffic.up += slab.upload(need.name, slab.extended(), job_.input(need.name));
  }
}

void ResidentSlabs::start(DeviceSlab& slab) {
  job_.loop.start(slab);
  if (job_.kept) return restore_state(slab);
  for (const auto& [name, volume] : job_.options.initial) {
    job_.traffic.up += slab.upload(name, slab.extended(), volume->voxels.data(), 0);
  }
}

// Loads a slab's part of a restored state.
void ResidentSlabs::restore_state(DeviceSlab& slab) {
  for (const auto& array : job_.kept->arrays) {
    const std::size_t slice = slab.slice_bytes(array.name), begin = slice * unsigned_count(slab.extended().begin),
                      bytes = slice * slab.extended().size();
    slab.upload_bytes(array.name, bytes, [&](std::byte* at, std::size_t first, std::size_t count) {
      job_.kept->read(array.name, begin + first, count, at);
    });
    job_.traffic.up += bytes;
  }
}

// Halos of the next pass, or of a reduction, move while the last step of this one is computed.
void ResidentSlabs::pass(int first, int count, const std::vector<int>& due, bool) {
  const bool reduce = !due.empty();
  if (reduce) job_.hold_sums(1);
  job_.stop.begin(count);
  if (slabs_.empty()) {
    prepare();
  } else if (!halos_valid_) {
    begin_exchange(first);
    job_.threads.each(job_.plan, [&](int device) { receive(device, *slabs_.at(device), slabs_.at(device)->last()); });
    halos_valid_ = true;
  }
  if (count > 0) begin_exchange(first + count);
  settled_ = !exchange_ || first <= job_.begun_at || job_.balance.looks_after_next_pass() ||
             ++passes_unsettled_ == passes_to_settle;
  if (settled_) passes_unsettled_ = 0;
  job_.threads.each(job_.plan, [&](int device) { work(device, first, count, reduce); });
  if (exchange_ && count > 0) halos_valid_ = job_.stop.count() == count;
}

// Begins the exchange of halos of the state after `done` iterations.
void ResidentSlabs::begin_exchange(int done) {
  if (!exchange_) return;
  const auto& need = job_.requirements;
  const std::int64_t extra = need.reduction_halo,
                     next = std::min(job_.plan.iterations_per_exchange, need.iterations - done);
  exchange_->begin(std::max(next * need.halo_low, extra), std::max(next * need.halo_high, extra));
}

// A device's part of a pass.
void ResidentSlabs::work(int device, int first, int count, bool reduce) {
  DeviceSlab& slab = *slabs_.at(device);
  try {
    const Event made = iterate(slab, device, first, count);
    if (job_.stop.count() < count || (exchange_ && count > 0 && !receive(device, slab, made))) {
      if (exchange_) exchange_->withdraw(device);
      return slab.wait();
    }
  } catch (...) {
    if (exchange_) exchange_->withdraw(device);  // otherwise others would wait for it
    job_.ranks.give_up();
    throw;
  }
  if (!job_.options.keep_partial) check_interrupt();
  if (reduce) {
    job_.reduction.reduce(slab, first + count, slab.interior());
    send_sums(slab);
  }
  if (!settled_ || !(reduce || exchange_)) return;
  slab.wait();
  record_busy(device, first, slab.take_busy_seconds());
}

void ResidentSlabs::send_sums(DeviceSlab& slab) {
  const Range slices = slab.interior();
  const std::size_t slice = slab.slice_bytes(job_.sums_name);
  std::vector<std::byte> sums(slice * slices.size());
  slab.download(job_.sums_name, slices, sums.data(), slices.begin);
  slab.last().wait();
  slab.check();  // sums arrive even if the commands before failed
  job_.transport.put(sums_array, slice * unsigned_count(slices.begin), sums.size(), sums.data());
}

// Records the device's busy time, except in the first pass, which compiles kernels.
void ResidentSlabs::record_busy(int device, int first, double seconds) {
  if (first > 0 && job_.plan.slabs.size() > 1) job_.balance.add(device, seconds);
}

// Computes a pass, and returns the event after which other devices can read this one's halos.
Event ResidentSlabs::iterate(DeviceSlab& slab, int device, int first, int count) {
  const auto& need = job_.requirements;
  const auto limit = need.slices().count();
  Event made;
  int now = 0;
  for (int n = 0; n < count; n += now) {
    now = std::min(job_.loop.together(), count - n);
    if (!job_.stop.may_begin(n, now)) break;
    const std::int64_t later = count - now - n;  // iterations of this pass that need halos
    if (later > 0 || !exchange_ || !job_.loop.takes_parts(slab)) {
      job_.loop.iterate_together(slab, first + n, now,
                                 slab.interior().grown(later * need.halo_low, later * need.halo_high, limit));
      made = slab.last();
    } else {
      const auto parts = exchange_->parts(device);
      job_.loop.iterate_parts(slab, first + n, now, parts, [&](std::size_t part) {
        if (part + 1 < parts.size() || parts.size() == 1) made = slab.last();
      });
    }
    slab.mark_step();
  }
  return made;
}

// Offers the slab's slices to others after `made`, and fetches its halos.
bool ResidentSlabs::receive(int device, DeviceSlab& slab, const Event& made) {
  exchange_->offer(device, slab, made);
  return exchange_->fetch(device, slab, made);
}

void ResidentSlabs::read_state(const std::string& name, std::size_t first, std::size_t count, std::byte* to) {
  for (auto& [device, slab] : slabs_) {
    const std::size_t slice = slab->slice_bytes(name);
    const std::size_t begin = std::max(first, slice * unsigned_count(slab->interior().begin)),
                      end = std::min(first + count, slice * unsigned_count(slab->interior().end));
    if (begin >= end) continue;
    slab->download_bytes(name, begin - slice * unsigned_count(slab->extended().begin), to + (begin - first),
                         end - begin);
    slab->wait();
    job_.traffic.down += end - begin;
  }
}

Volume ResidentSlabs::current_output() {
  Volume output = Volume::uninitialised(job_.output.grid());
  job_.threads.each(job_.plan, [&](int device) {
    DeviceSlab& slab = *slabs_.at(device);
    job_.traffic.down += slab.download(job_.output_name, slab.interior(), output.voxels.data(), 0);
    slab.wait();
  });
  return output;
}

// Moves the state through host memory, if there is room.
void ResidentSlabs::move_to(const Plan& better) {
  std::map<std::string, UninitialisedVector<std::byte>> states;
  const auto whole = [&](const std::string& name) { return job_.slice_bytes(name) * job_.requirements.size[2]; };
  std::size_t bytes = process_bytes();
  for (const auto& name : job_.states) bytes += whole(name);
  if (bytes > (job_.options.host_memory > 0 ? job_.options.host_memory : host_memory_bytes())) return;
  try {
    for (const auto& name : job_.states) states[name].resize(whole(name));
  } catch (const InputError&) {  // no room in the scratch folder
    return;
  }
  job_.threads.each(job_.plan, [&](int device) {
    DeviceSlab& slab = *slabs_.at(device);
    for (const auto& name : job_.states)
      job_.traffic.down += slab.download(name, slab.interior(), states.at(name).data(), 0);
    slab.wait();
  });
  slabs_.clear();
  exchange_.reset();
  job_.plan = better;
  prepare();
  job_.threads.each(job_.plan, [&](int device) {
    DeviceSlab& slab = *slabs_.at(device);
    for (const auto& name : job_.states)
      job_.traffic.up += slab.upload(name, slab.extended(), states.at(name).data(), 0);
    slab.wait();
  });
}

void ResidentSlabs::write_output() {
  job_.output.begin();
  exchange_.reset();  // frees page-locked memory for the result
  job_.threads.each(job_.plan, [&](int device) {
    DeviceSlab& slab = *slabs_.at(device);
    job_.traffic.down += slab.download(job_.output_name, slab.interior(), job_.output);
    slab.wait();
  });
}

}  // namespace halocline

#include "scheduling/execution/streamed_slabs.hpp"

#include <chrono>
#include <cstring>

#include "host/system/interrupt.hpp"
#include "host/system/scratch_folder.hpp"
#include "host/system/thread_pool.hpp"

namespace halocline {
namespace {

constexpr std::size_t state_piece = std::size_t{4} << 20;  // bytes

}  // namespace

// Host memory of a state array. Called by any thread.
std::byte* StreamedSlabs::state(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (name == job_.output_name && job_.output.data() != nullptr)
    return reinterpret_cast<std::byte*>(job_.output.data());
  auto& state = states_[name];
  if (!state)
    state = std::make_shared<UninitialisedVector<std::byte>>(job_.slice_bytes(name) * job_.requirements.size[2]);
  return state->data();
}

void StreamedSlabs::restore_state() {
  for (const auto& array : job_.kept->arrays)
    parallel_ranges(array.bytes, state_piece, [&, to = state(array.name)](std::size_t first, std::size_t count) {
      job_.kept->read(array.name, first, count, to + first);
      give_back(to + first, count);
    });
  started_ = true;
}

void StreamedSlabs::pass(int first, int count, const std::vector<int>& due, bool last) {
  // The output of the last stage is read once more where stages are reported.
  VolumeSink* const output = last && !job_.options.stage_output ? &job_.output : nullptr;
  const RegionStream::Pass work{first, PassSteps::of(count, job_.loop.together(), due, !started_), last, output};
  job_.hold_sums(due.size());
  if (output != nullptr) output->begin();
  job_.stop.begin(count);
  if (streams_.empty()) {
    for (const auto& slab : job_.plan.slabs)
      if (job_.plan.is_here(slab.device)) streams_[slab.device] = nullptr;
    job_.threads.each(job_.plan, [&](int device) {
      streams_.at(device) =
          std::make_unique<RegionStream>(job_, device, [this](const std::string& name) { return state(name); });
    });
  }
  if (!work.steps.starts)
    for (const auto& name : job_.states) job_.transport.hold(name, state(name));
  if (!work.steps.starts) fetch_from_ranks(work.steps);
  for (auto& [device, stream] : streams_) stream->gather(work);
  job_.threads.each(job_.plan, [&](int device) {
    const auto start = std::chrono::steady_clock::now();
    streams_.at(device)->run(work);
    // the first pass compiles kernels
    if (first > 0 && job_.plan.slabs.size() > 1)
      job_.balance.add(device, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  });
  started_ = true;
  if (!job_.options.keep_partial) check_interrupt();
}

// Brings the slices that the devices of this rank read beyond their own to its state, and sends those of others.
void StreamedSlabs::fetch_from_ranks(const PassSteps& steps) {
  if (!job_.ranks.several()) return;
  std::map<int, std::vector<Range>> regions;  // by device
  for (const auto& slab : job_.plan.slabs) regions[slab.device].push_back(slab.interior);
  const auto block = [&](int device) { return Range{regions.at(device).front().begin, regions.at(device).back().end}; };
  std::vector<Message> messages;
  for (const auto& [to, parts] : regions) {
    const auto work = skewed_work(job_.requirements, steps, parts);
    const Range read{work.front().levels.front().made.begin, work.back().levels.front().made.end};
    for (const auto& [from, unused] : regions) {
      const Range slices = common(read, block(from));
      if (from == to || slices.empty() || job_.plan.rank_of(from) == job_.plan.rank_of(to)) continue;
      for (const auto& name : job_.states) {
        const std::size_t slice = job_.slice_bytes(name);
        const MemoryBlocks part{state(name) + slice * unsigned_count(slices.begin), slice * slices.size()};
        if (job_.plan.is_here(from))
          messages.push_back(job_.ranks.send(job_.plan.rank_of(to), 0, part, states_.at(name)));
        else if (job_.plan.is_here(to))
          messages.push_back(job_.ranks.receive(job_.plan.rank_of(from), 0, part));
      }
    }
  }
  for (auto& message : messages) message.wait();
}

void StreamedSlabs::read_state(const std::string& name, std::size_t first, std::size_t count, std::byte* to) {
  std::memcpy(to, state(name) + first, count);
  give_back(state(name) + first, count);
}

Volume StreamedSlabs::current_output() {
  Volume output = Volume::uninitialised(job_.output.grid());
  std::memcpy(output.voxels.data(), state(job_.output_name), output.voxels.size() * sizeof(float));
  return output;
}

void StreamedSlabs::move_to(const Plan& better) {
  streams_.clear();
  job_.plan = better;
}

// Writes slices that devices have not written in the last pass.
void StreamedSlabs::write_output() {
  const auto& size = job_.requirements.size;
  std::vector<Range> left;
  for (const auto& [device, stream] : streams_)
    if (!stream->output_written()) left.push_back(stream->block());
  if (streams_.empty())
    for (const auto& slab : job_.plan.slabs)
      if (job_.plan.is_here(slab.device)) left.push_back(slab.interior);
  if (left.size() >= streams_.size()) job_.output.begin();
  const std::size_t slice = size[0] * size[1];
  for (const Range slices : left) {
    const std::size_t begin = slice * static_cast<std::size_t>(slices.begin);
    auto* from = reinterpret_cast<float*>(state(job_.output_name)) + begin;
    parallel_ranges(slice * slices.size(), voxels_in_a_piece, [&](std::size_t first, std::size_t count) {
      job_.output.write(begin + first, count, from + first);
      give_back(from + first, count * sizeof(float));
    });
  }
}

}  // namespace halocline

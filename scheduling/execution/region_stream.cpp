#include "scheduling/execution/region_stream.hpp"

#include <algorithm>

#include "host/system/scratch_folder.hpp"
#include "host/system/thread_pool.hpp"

namespace halocline {
namespace {

constexpr std::size_t piece_bytes = std::size_t{16} << 20;

std::string second_of(const std::string& name) {
  return name_in_role(ArrayRole::second_buffer, name);
}

}  // namespace

RegionStream::RegionStream(StencilJob& job, int device, StateMemory state)
    : job_(job),
      state_(std::move(state)),
      requirements_(job.requirements),
      device_(device),
      slab_(job.devices[job.plan.number_on_rank(device)], job.plan, device) {
  for (const auto& slab : job.plan.slabs)
    if (slab.device == device) regions_.push_back(slab.interior);
  block_ = {regions_.front().begin, regions_.back().end};
  for (const auto& need : requirements_.arrays)
    if (need.lifetime == Lifetime::input && need.kind == ArrayKind::volume) inputs_.push_back(need.name);
}

void RegionStream::gather(const Pass& pass) {
  if (pass.steps.starts) return;
  const auto work = skewed_work(requirements_, pass.steps, regions_);
  const Range low{work.front().levels.front().made.begin, block_.begin},
      high{block_.end, work.back().levels.front().made.end};
  for (const auto& name : job_.states) {
    const std::size_t slice = slab_.slice_bytes(name);
    const auto copy = [&](Range slices, UninitialisedVector<std::byte>& to) {
      to.resize(slice * unsigned_count(std::max<std::int64_t>(0, slices.count())));
      if (to.empty()) return;
      const std::size_t begin = slice * unsigned_count(slices.begin);
      parallel_ranges(to.size(), piece_bytes, [&](std::size_t first, std::size_t count) {
        job_.transport.get(name, begin + first, count, to.data() + first);
      });
    };
    copy(low, halos_[name].low);
    copy(high, halos_[name].high);
  }
}

void RegionStream::run(const Pass& pass) {
  work_ = skewed_work(requirements_, pass.steps, regions_);
  seams_.assign(1, 0);
  logged_.assign(1, 0);
  for (std::size_t level = 0; level < pass.steps.levels(); ++level) {
    std::int64_t widest = 0;
    for (const auto& region : work_) widest = std::max(widest, region.levels[level].seam.count());
    seams_.push_back(seams_.back() + widest);
    logged_.push_back(logged_.back() + (pass.steps.reduce[level] ? 1 : 0));
  }
  for (auto& load : loads(pass, 0, true)) load.work();
  for (std::size_t region = 0; region < regions_.size(); ++region) {
    begin_region(pass, region);
    overlap_with(pass, region);
    compute(pass, region);
    if (region > 0) give_back_memory(pass, {block_.begin, work_[region - 1].window.end});
  }
  for (auto& store : stores(pass, regions_.size() - 1, stored(pass), false)) store.work();
  send_sums(pass);
  give_back_memory(pass, block_);
  output_written_ = writes_output(pass);
}

// Sends the sums of the pass, after waiting for all commands.
void RegionStream::send_sums(const Pass& pass) {
  const std::size_t slice = slab_.slice_bytes(job_.sums_name), bytes = slice * block_.size();
  std::deque<std::pair<std::size_t, std::vector<std::byte>>> all;  // destinations and sums
  for (std::size_t level = 0; level <= ended_at_; ++level) {
    if (!pass.steps.reduce[level]) continue;
    const std::size_t begin = slice * (logged_[level] * requirements_.size[2] + unsigned_count(block_.begin));
    all.emplace_back(begin, bytes);
    slab_.download_bytes(sums_of_pass, begin, all.back().second.data(), bytes);
    job_.traffic.down += bytes;
  }
  slab_.wait();
  for (const auto& [begin, sums] : all) job_.transport.put(sums_array, begin, sums.size(), sums.data());
}

// Gives back host memory of all slices so far, which are not used again in this
// pass. Each call includes those of earlier ones, because CPUs write late.
void RegionStream::give_back_memory(const Pass& pass, Range slices) const {
  slices = common(slices, block_);
  const auto done_with = [&](const std::string& name, const void* volume) {
    if (volume == nullptr || slices.empty()) return;
    const std::size_t slice = slab_.slice_bytes(name);
    give_back(static_cast<const std::byte*>(volume) + slice * unsigned_count(slices.begin), slice * slices.size());
  };
  for (const auto& name : inputs_) done_with(name, job_.input(name).data());
  if (writes_output(pass)) done_with(job_.output_name, pass.output->data());
  const auto kept = writes_output(pass) ? std::vector<std::string>{} : stored(pass);
  for (const auto& name : pass.steps.starts ? kept : job_.states) done_with(name, state_(name));
}

SlabPlan RegionStream::plan_of(std::size_t region) const {
  return {device_, regions_[region], work_[region].window, {}, 0};
}

// Makes the region's arrays current.
void RegionStream::begin_region(const Pass& pass, std::size_t region) {
  if (region > 0)
    for (auto& store : stores(pass, region - 1, moving(stored(pass), false), false)) store.work();
  for (auto& load : loads(pass, region, false)) load.work();
  for (const auto* names : {&inputs_, &job_.states})
    for (const auto& name : moving(*names, true)) slab_.swap(name, second_of(name));
  slab_.move_to(plan_of(region));
  if (region > 0) copy_inputs_below(region);
  if (pass.steps.starts) start(region);
}

void RegionStream::copy_inputs_below(std::size_t region) {
  const Range below{work_[region].window.begin, work_[region].levels.front().made.begin};
  std::vector<DeviceSlab::Copy> copies;
  for (const auto& name : moving(inputs_, true)) {
    const std::size_t slice = slab_.slice_bytes(name);
    copies.push_back({second_of(name), slice * unsigned_count(below.begin - work_[region - 1].window.begin), name, 0,
                      slice * below.size()});
  }
  slab_.copy(copies);
}

void RegionStream::start(std::size_t region) {
  job_.loop.start(slab_);
  for (const auto& [name, volume] : job_.options.initial) {
    job_.traffic.up += slab_.upload(name, work_[region].window, volume->voxels.data(), 0);
  }
}

void RegionStream::compute(const Pass& pass, std::size_t region) {
  const auto& levels = work_[region].levels;
  const auto& steps = pass.steps;
  int done = 0;
  std::size_t level = 0;
  for (;; ++level) {
    seam_copies(level, levels[level].seam, false);
    seam_copies(level, levels[level].keep, true);
    if (steps.reduce[level]) reduce(level, pass.first + done, levels[level].reduced);
    if (level + 1 == levels.size()) break;
    const int now = steps.iterations[level];
    if (!job_.stop.may_begin(done, now)) break;
    if (!levels[level + 1].made.empty())
      job_.loop.iterate_together(slab_, pass.first + done, now, levels[level + 1].made);
    done += now;
    // About half an iteration of all regions ahead, because steps of thin ones
    // are short. Most transfers are issued while the device has that much to
    // do.
    slab_.mark_step(std::clamp<std::size_t>(regions_.size() / 2, 2, 8), [&] { return move_one(); });
    job_.progressed(std::max<std::int64_t>(0, common(levels[level + 1].made, block_).count()), now);
    move_due(level + 1, steps.iterations.size());
  }
  ended_at_ = level;
  while (move_one()) {
  }
}

// Copies a level's slices between the window and its place in the seam arrays.
void RegionStream::seam_copies(std::size_t level, Range slices, bool keep) {
  if (slices.empty()) return;
  std::vector<DeviceSlab::Copy> copies;
  for (const auto& name : job_.states) {
    const std::size_t slice = slab_.slice_bytes(name), in_seam = slice * unsigned_count(seams_[level]),
                      in_window = slice * unsigned_count(slices.begin - slab_.extended().begin),
                      bytes = slice * slices.size();
    if (keep)
      copies.push_back({name, in_window, name_in_role(ArrayRole::seam, name), in_seam, bytes});
    else
      copies.push_back({name_in_role(ArrayRole::seam, name), in_seam, name, in_window, bytes});
  }
  slab_.copy(copies);
}

void RegionStream::reduce(std::size_t level, int done, Range slices) {
  if (slices.empty()) return;
  job_.reduction.reduce(slab_, done, slices);
  const std::size_t slice = slab_.slice_bytes(job_.sums_name);
  slab_.copy(
      {{job_.sums_name, slice * unsigned_count(slices.begin - slab_.extended().begin), sums_of_pass,
        slice * (logged_[level] * requirements_.size[2] + unsigned_count(slices.begin)), slice * slices.size()}});
}

std::vector<std::string> RegionStream::moving(const std::vector<std::string>& names, bool into_second) const {
  std::vector<std::string> result;
  std::copy_if(names.begin(), names.end(), std::back_inserter(result),
               [&](const std::string& name) { return slab_.has(second_of(name)) == into_second; });
  return result;
}

// Arrays that are stored in a pass. Known after its first region.
std::vector<std::string> RegionStream::stored(const Pass& pass) const {
  if (pass.last && ended_at_ + 1 == pass.steps.levels()) return {job_.output_name};
  return job_.states;
}

// True where the result is written to the output during the last pass: not
// through memory that the device shares, whose pieces arrive unnoticed.
bool RegionStream::writes_output(const Pass& pass) const {
  return pass.output != nullptr && pass.last && ended_at_ + 1 == pass.steps.levels() &&
         (pass.output->on_devices() || !slab_.direct(piece_bytes));
}

// Adds a transfer for each piece of a region's slices in `array`. During the
// transfer the arrays are those of the region.
void RegionStream::add_transfers(std::deque<Task>& tasks, std::size_t region, const std::string& array, Range slices,
                                 const std::function<void(Range piece)>& transfer) {
  const auto step = static_cast<std::int64_t>(std::max<std::size_t>(1, piece_bytes / slab_.slice_bytes(array)));
  for (auto begin = slices.begin; begin < slices.end; begin += step)
    tasks.push_back({array, [this, region, transfer, piece = Range{begin, std::min(slices.end, begin + step)}] {
                       const SlabPlan now = slab_.current();
                       slab_.move_to(plan_of(region));
                       transfer(piece);
                       slab_.move_to(now);
                     }});
}

// Loads of a region's inputs, and of its state after the first pass, in the
// order in which stores() frees the arrays.
std::deque<RegionStream::Task> RegionStream::loads(const Pass& pass, std::size_t region, bool into_second) {
  std::deque<Task> tasks;
  const Range fresh = work_[region].levels.front().made,
              inputs = into_second && region > 0 ? fresh : work_[region].window;
  for (const auto& name : moving(inputs_, into_second)) {
    const std::string into = into_second ? second_of(name) : name;
    add_transfers(tasks, region, into, inputs,
                  [this, name, into](Range piece) { job_.traffic.up += slab_.upload(into, piece, job_.input(name)); });
  }
  if (pass.steps.starts) return tasks;
  for (const auto& name : moving(job_.states, into_second)) {
    const std::string into = into_second ? second_of(name) : name;
    add_transfers(tasks, region, into, fresh, [this, name, into](Range piece) { upload_state(name, into, piece); });
  }
  return tasks;
}

// Uploads the device's own part from the whole volume, and its neighbours' from
// the copy made before the pass.
void RegionStream::upload_state(const std::string& name, const std::string& into, Range slices) {
  const auto& [low, high] = halos_.at(name);
  const auto from = [&](Range part, const std::byte* host, std::int64_t host_begin) {
    part = common(part, slices);
    if (part.empty()) return;
    job_.traffic.up += slab_.upload(into, part, host, host_begin);
  };
  const auto low_begin = block_.begin - static_cast<std::int64_t>(low.size() / slab_.slice_bytes(name));
  from({low_begin, block_.begin}, low.data(), low_begin);
  from(block_, state_(name), 0);
  from({block_.end, slices.end}, high.data(), block_.end);
}

std::deque<RegionStream::Task> RegionStream::stores(const Pass& pass, std::size_t region,
                                                    const std::vector<std::string>& names, bool from_second) {
  std::deque<Task> tasks;
  VolumeSink* const output = writes_output(pass) ? pass.output : nullptr;
  const Range result = common(work_[region].levels[ended_at_].made, block_);
  for (const auto& name : names) {
    const std::string from = from_second ? second_of(name) : name;
    add_transfers(tasks, region, from, result, [this, name, from, output](Range piece) {
      job_.traffic.down += output != nullptr ? slab_.download_later(from, piece, *output)
                                             : slab_.download_later(from, piece, state_(name), 0);
    });
  }
  return tasks;
}

// Interleaves transfers with the kernels of `region`: stores of the region
// before and loads of the next one. An array is loaded when all of it has been
// stored.
void RegionStream::overlap_with(const Pass& pass, std::size_t region) {
  std::deque<Task> down, up;
  if (region > 0) down = stores(pass, region - 1, moving(stored(pass), true), true);
  if (region + 1 < regions_.size()) up = loads(pass, region + 1, true);
  tasks_.clear();
  const auto take = [&](std::deque<Task>& from) {
    tasks_.push_back(std::move(from.front()));
    from.pop_front();
  };
  while (!down.empty() || !up.empty()) {
    if (!down.empty()) take(down);
    const auto reads_it = [&](const Task& task) { return task.array == up.front().array; };
    if (!up.empty() && std::none_of(down.begin(), down.end(), reads_it)) take(up);
  }
  tasks_in_all_ = tasks_.size();
}

// Spreads three quarters of the transfers over the steps.
void RegionStream::move_due(std::size_t step, std::size_t steps) {
  const std::size_t due = (3 * tasks_in_all_ * step + 4 * steps - 1) / (4 * steps);
  while (tasks_in_all_ - tasks_.size() < due && move_one()) {
  }
}

bool RegionStream::move_one() {
  if (tasks_.empty()) return false;
  tasks_.front().work();
  tasks_.pop_front();
  return true;
}

}  // namespace halocline

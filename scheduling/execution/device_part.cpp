#include "scheduling/execution/device_part.hpp"

#include <algorithm>

#include "scheduling/planning/second_buffers.hpp"

namespace halocline {
namespace {

// Bytes of the sums of a slice, or of these rows of a view.
std::size_t sum_bytes(const Step& step, Range rows) {
  const std::size_t parts = step.over == Domain::slices ? 1 : unsigned_count(sums_of_view(rows));
  return 2 * sizeof(double) * static_cast<std::size_t>(step.sums) * parts;
}

const char* sums_of(const Step& step) {
  return step.over == Domain::slices ? "sums" : "view_sums";
}

}  // namespace

DevicePart::DevicePart(const Program& program, const Plan& plan, int device, const Device& on, Transport& transport,
                       BusTraffic& traffic)
    : program_(program),
      plan_(plan),
      device_(device),
      transport_(transport),
      traffic_(traffic),
      slab_(on, plan, device),
      transfers_(plan, slab_, transport, traffic) {}

void DevicePart::start(const std::vector<std::string>& to_load) {
  for (const auto& fill : program_.start) fill(slab_);
  for (const auto& name : to_load)
    if (holds(name)) transfers_.load_whole(name);
  slab_.wait();
}

void DevicePart::perform(const Step& step, const Scalars& scalars, const RayChain& chain,
                         const std::function<void()>& checked) {
  const auto tasks = tasks_of(program_, step, views_of(step, program_.needs, scalars), plan_, device_, chain);
  const auto moves = moves_of(program_, step, plan_, tasks);
  transfers_.begin_step(second_buffers(step, plan_), volumes_to_replace(program_, step, plan_));
  const Task* ended = nullptr;  // its sums are passed on when they have been stored
  const auto store_results = [&] {
    transfers_.store_results();
    if (ended == nullptr) return;
    slab_.check();
    transport_.pass_on(ended->slab, ended->views.begin, ended->rows);
    ended = nullptr;
  };
  bool loaded = false;
  for (std::size_t n = 0; n < tasks.size(); ++n) {
    const Task& task = tasks[n];
    checked();
    if (!loaded) {
      for (const RayLink& link : task.follows) transport_.await(link, task.views.begin);
      load_inputs(task, moves[n]);
    }
    transfers_.swap_buffers();
    work(step, task, scalars);
    if (step.reduced && tasks.size() > 1) keep_sums(step, task);
    slab_.mark_step();
    store_results();  // of the task before, while these kernels run
    transfers_.add_results(moves[n].after);
    if (task.passes_on && plan_.slabs.size() > 1) ended = &task;
    loaded = n + 1 < tasks.size() && may_begin(tasks[n + 1]);
    if (loaded)
      load_inputs(tasks[n + 1], moves[n + 1]);
    else
      store_results();  // other tasks wait for them
  }
  if (step.reduced && !tasks.empty()) send_sums(step, tasks);
  slab_.wait();
}

void DevicePart::enqueue(const Step& step, const Scalars& scalars) {
  const auto tasks = tasks_of(program_, step, program_.needs.views(), plan_, device_, {step, plan_});  // one
  const auto moves = moves_of(program_, step, plan_, tasks);  // which clear what sums begin in
  load_inputs(tasks.front(), moves.front());
  work(step, tasks.front(), scalars);
  const bool sums = step.over == Domain::ray_sums || step.over == Domain::voxel_sums;
  slab_.mark_step(sums ? 2 : 8);
}

void DevicePart::enqueue(const Step& step, const Scalars& scalars, KeptSteps& kept) {
  const DeviceSlab::Keeping keeping(slab_, kept, step.name);
  enqueue(step, scalars);
}

void DevicePart::replay(const KeptSteps& kept) {
  constexpr std::size_t in_flight = 4;
  slab_.replay(kept);
  slab_.mark_step(in_flight);
}

void DevicePart::work(const Step& step, const Task& task, const Scalars& scalars) {
  const Slab::Names names(slab_, step.names);
  if (task.prepares && step.prepare) step.prepare(slab_);
  if (step.filter) step.filter(slab_, task.views, scalars);
  if (step.work) step.work(slab_, {slab_.interior(), task.views}, scalars);
}

void DevicePart::load_inputs(const Task& task, const TaskMoves& moves) {
  SlabPlan slab = plan_.slabs[task.slab];
  slab.rows = task.rows;
  slab_.move_to(slab);
  transfers_.load_inputs(moves.before);
}

// True where the sums that the task goes on with have been passed on.
bool DevicePart::may_begin(const Task& task) {
  return std::all_of(task.follows.begin(), task.follows.end(),
                     [&](const RayLink& link) { return transport_.passed_on(link, task.views.begin); });
}

// Slices or views that a task adds up.
Range DevicePart::summed(const Step& step, const Task& task) const {
  return step.over == Domain::slices ? plan_.slabs[task.slab].interior : task.views;
}

void DevicePart::keep_sums(const Step& step, const Task& task) {
  const Range range = summed(step, task);
  const std::int64_t before = step.over == Domain::slices ? range.begin - slab_.extended().begin : 0;
  const std::size_t bytes = sum_bytes(step, task.rows);
  slab_.copy({{sums_of(step), bytes * unsigned_count(before), step_sums, bytes * unsigned_count(range.begin),
               bytes * range.size()}});
}

// Sends the sums of all tasks at once, so that the host waits once.
void DevicePart::send_sums(const Step& step, const std::vector<Task>& tasks) {
  const bool kept = tasks.size() > 1;
  const Range rows = tasks.front().rows;
  const std::size_t bytes = sum_bytes(step, rows), whole = sum_bytes(step, program_.needs.rows()),
                    before = sum_bytes(step, {0, rows.begin});
  const Range all{summed(step, tasks.front()).begin, summed(step, tasks.back()).end};
  const std::int64_t first = kept ? all.begin : step.over == Domain::slices ? all.begin - slab_.extended().begin : 0;
  std::vector<std::byte> sums(bytes * all.size());
  slab_.download_bytes(kept ? step_sums : sums_of(step), bytes * unsigned_count(first), sums.data(), sums.size());
  slab_.wait();
  for (const Task& task : tasks) {
    const Range range = summed(step, task);
    for (std::int64_t n = range.begin; n < range.end; ++n)
      transport_.put(sums_array, whole * unsigned_count(n) + (step.over == Domain::slices ? 0 : before), bytes,
                     sums.data() + bytes * unsigned_count(n - all.begin));
  }
}

// Number of the device's only slab, where it is resident.
std::size_t DevicePart::number() const {
  const auto& slabs = plan_.slabs;
  return unsigned_count(
      std::find_if(slabs.begin(), slabs.end(), [&](const SlabPlan& slab) { return slab.device == device_; }) -
      slabs.begin());
}

void DevicePart::offer_halo(const Step& step, const std::string& name) {
  for (const Range slices : shared_halo(halo_of(program_, step), plan_, number()).offered)
    transfers_.store_slices(name, slices);
}

void DevicePart::fetch_halo(const Step& step, const std::string& name) {
  for (const Range slices : shared_halo(halo_of(program_, step), plan_, number()).fetched)
    transfers_.load_slices(name, slices);
}

void DevicePart::save(const std::string& name) {
  if (holds(name)) transfers_.save_whole(name);
}

void DevicePart::load(const std::string& name) {
  if (holds(name)) transfers_.load_whole(name);
}

void DevicePart::write_output(const std::string& name, VolumeSink& sink) {
  traffic_.down += slab_.download(name, slab_.interior(), sink);
  slab_.wait();
}

}  // namespace halocline

#include "scheduling/execution/partition.hpp"

#include <algorithm>

#include "scheduling/planning/second_buffers.hpp"

namespace halocline {
namespace {

// Of a slice or view.
std::size_t sum_bytes(const Step& step) {
  return 2 * sizeof(double) * static_cast<std::size_t>(step.sums);
}

const char* sums_of(const Step& step) {
  return step.over == Domain::slices ? "sums" : "view_sums";
}

}  // namespace

Partition::Partition(const Program& program, const Plan& plan, int device, const Device& on, Transport& transport,
                     BusTraffic& traffic)
    : program_(program),
      plan_(plan),
      device_(device),
      transport_(transport),
      traffic_(traffic),
      slab_(on, plan, device),
      mover_(plan, slab_, transport, traffic) {}

void Partition::start(const std::vector<std::string>& to_load) {
  for (const auto& fill : program_.start) fill(slab_);
  for (const auto& name : to_load)
    if (holds(name)) mover_.load_whole(name);
  slab_.wait();
}

void Partition::perform(const Step& step, const Scalars& scalars, const std::function<void()>& checked) {
  const auto visits = visits_of(program_, step, views_of(step, program_.needs, scalars), plan_, device_);
  const auto moves = moves_of(program_, step, plan_, visits);
  mover_.begin(second_buffers(step, plan_), volumes_to_replace(program_, step, plan_));
  const Visit* ended = nullptr;  // its batch is to be passed on when it has come home
  const auto bring_home = [&] {
    mover_.flush();
    if (ended == nullptr) return;
    slab_.check();
    transport_.pass_on(ended->slab, ended->views.begin);
    ended = nullptr;
  };
  bool brought = false;
  for (std::size_t n = 0; n < visits.size(); ++n) {
    const Visit& visit = visits[n];
    checked();
    if (!brought) {
      if (follows_another(step, visit)) transport_.await(visit.slab - 1, visit.views.begin);
      bring(visit, moves[n]);
    }
    mover_.turn();
    work(step, visit, scalars);
    if (step.reduced && visits.size() > 1) keep_sums(step, visit);
    slab_.mark_step();
    bring_home();  // of the visit before, while these kernels run
    mover_.leave(moves[n].after);
    if (passes_on(visit)) ended = &visit;
    brought = n + 1 < visits.size() && (!follows_another(step, visits[n + 1]) ||
                                        transport_.passed_on(visits[n + 1].slab - 1, visits[n + 1].views.begin));
    if (brought)
      bring(visits[n + 1], moves[n + 1]);
    else
      bring_home();  // others wait for it
  }
  if (step.reduced && !visits.empty()) send_sums(step, visits);
  slab_.wait();
}

void Partition::enqueue(const Step& step, const Scalars& scalars) {
  constexpr std::size_t in_flight = 8;
  const auto& stack = plan_.requirements.stack;
  const Visit visit{number(), {0, static_cast<std::int64_t>(stack[2])}, {0, static_cast<std::int64_t>(stack[1])}};
  bring(visit, {});
  work(step, visit, scalars);
  slab_.mark_step(in_flight);
}

void Partition::work(const Step& step, const Visit& visit, const Scalars& scalars) {
  const Slab::Names names(slab_, step.names);
  if (visit.prepares && step.prepare) step.prepare(slab_);
  if (step.filter) step.filter(slab_, visit.views);
  if (step.work) step.work(slab_, {slab_.interior(), visit.views}, scalars);
}

void Partition::bring(const Visit& visit, const VisitMoves& moves) {
  SlabPlan slab = plan_.slabs[visit.slab];
  slab.rows = visit.rows;
  slab_.move_to(slab);
  mover_.bring(moves.before);
}

// Whether the device below passes the visit's batch on to this one.
bool Partition::follows_another(const Step& step, const Visit& visit) const {
  return step.over == Domain::ray_sums && visit.slab > 0 && plan_.slabs[visit.slab - 1].device != device_;
}

// What a visit of a step that reduces adds up: slices, views.
Range Partition::summed(const Step& step, const Visit& visit) const {
  return step.over == Domain::slices ? plan_.slabs[visit.slab].interior : visit.views;
}

void Partition::keep_sums(const Step& step, const Visit& visit) {
  const Range range = summed(step, visit);
  const std::int64_t before = step.over == Domain::slices ? range.begin - slab_.extended().begin : 0;
  const std::size_t bytes = sum_bytes(step);
  slab_.copy({{sums_of(step), bytes * unsigned_count(before), step_sums, bytes * unsigned_count(range.begin),
               bytes * unsigned_count(range.count())}});
}

// All visits' at once, so that the host waits once.
void Partition::send_sums(const Step& step, const std::vector<Visit>& visits) {
  const bool kept = visits.size() > 1;
  const std::size_t bytes = sum_bytes(step);
  const Range all{summed(step, visits.front()).begin, summed(step, visits.back()).end};
  const std::int64_t first = kept ? all.begin : step.over == Domain::slices ? all.begin - slab_.extended().begin : 0;
  std::vector<std::byte> sums(bytes * unsigned_count(all.count()));
  slab_.download_bytes(kept ? step_sums : sums_of(step), bytes * unsigned_count(first), sums.data(), sums.size());
  slab_.wait();
  for (const Visit& visit : visits) {
    const Range range = summed(step, visit);
    transport_.put(sums_home, bytes * unsigned_count(range.begin), bytes * unsigned_count(range.count()),
                   sums.data() + bytes * unsigned_count(range.begin - all.begin));
  }
}

// Of the only slab, where it stays.
std::size_t Partition::number() const {
  const auto& slabs = plan_.slabs;
  return unsigned_count(
      std::find_if(slabs.begin(), slabs.end(), [&](const SlabPlan& slab) { return slab.device == device_; }) -
      slabs.begin());
}

void Partition::offer_halo(const Step& step, const std::string& name) {
  for (const Range slices : shared_halo(halo_of(program_, step), plan_, number()).offered)
    mover_.store_slices(name, slices);
}

void Partition::fetch_halo(const Step& step, const std::string& name) {
  for (const Range slices : shared_halo(halo_of(program_, step), plan_, number()).fetched)
    mover_.load_slices(name, slices);
}

void Partition::save(const std::string& name) {
  if (holds(name)) mover_.save_whole(name);
}

void Partition::load(const std::string& name) {
  if (!holds(name)) return;
  mover_.load_whole(name);
  slab_.wait();
}

void Partition::add(const ArrayNeed& need) {
  slab_.add(need, plan_, device_);
  mover_.refresh();
}

void Partition::deliver(const std::string& name, VolumeSink& sink) {
  traffic_.down += slab_.download(name, slab_.interior(), sink);
  slab_.wait();
}

}  // namespace halocline

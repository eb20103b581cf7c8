#include "scheduling/execution/partition.hpp"

#include <algorithm>

namespace halocline {
namespace {

std::size_t size(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

}  // namespace

Partition::Partition(const Program& program, const Plan& plan, int device, const Device& on, Transport& transport,
                     BusTraffic& traffic)
    : program_(program),
      plan_(plan),
      device_(device),
      transport_(transport),
      traffic_(traffic),
      places_(places_of(plan)),
      residence_(places_),
      slab_(on, plan, device) {}

void Partition::start(const std::vector<std::string>& to_load) {
  for (const auto& fill : program_.start) fill(slab_);
  for (const auto& name : to_load)
    if (holds(name)) load_whole(name);
  slab_.wait();
}

// Of a kept array that stays: the slab's slices with their halos, or all views.
void Partition::load_whole(const std::string& name) {
  const ArrayNeed& need = array_of(plan_.requirements, name);
  const bool volume = need.kind == ArrayKind::volume;
  const std::size_t begin = volume ? bytes_at(need, extended().begin) : 0,
                    bytes = volume ? bytes_at(need, extended().count()) : whole_bytes(need, plan_.requirements);
  const std::string& to = places_.at(name) == Place::device ? stored_name(name) : name;
  slab_.upload_bytes(to, bytes, [&](std::byte* at, std::size_t first, std::size_t count) {
    transport_.get(name, begin + first, count, at);
  });
  traffic_.up += bytes;
}

void Partition::perform(const Step& step, const Scalars& scalars, const std::function<void()>& checked) {
  const Slab::Names names(slab_, step.names);
  for (const Visit& visit : visits_of(program_, step, plan_, device_)) {
    checked();
    slab_.move_to(at(visit));
    if (step.over == Domain::ray_sums && visit.slab > 0 && plan_.slabs[visit.slab - 1].device != device_)
      transport_.await(visit.slab - 1, visit.views.begin);
    for (const auto& [name, access] : step.arrays)
      for (const auto& move : residence_.enter(name, part_of_visit(array_of(plan_.requirements, name), plan_, visit),
                                               access_in(visit, step, access), visit.begins && access == Access::out))
        carry_out(move);
    if (visit.prepares && step.prepare) step.prepare(slab_);
    if (step.filter) step.filter(slab_, visit.views);
    if (step.work) step.work(slab_, {slab_.interior(), visit.views}, scalars);
    if (step.reduced) send_sums(step, visit);
    slab_.mark_step();
    if (!visit.passes_on || plan_.slabs.size() == 1) continue;
    for (const auto& move : residence_.leave()) carry_out(move);
    slab_.wait();
    transport_.pass_on(visit.slab, visit.views.begin);
  }
  for (const auto& move : residence_.leave()) carry_out(move);
  slab_.wait();
}

SlabPlan Partition::at(const Visit& visit) const {
  SlabPlan slab = plan_.slabs[visit.slab];
  slab.rows = visit.rows;
  return slab;
}

std::size_t Partition::bytes_at(const ArrayNeed& need, std::int64_t begin) const {
  return need.kind == ArrayKind::volume
             ? array_bytes(need, plan_.requirements, begin, 0, 0)
             : array_bytes(need, plan_.requirements, 0, static_cast<std::int64_t>(plan_.requirements.stack[1]), begin);
}

void Partition::carry_out(const Residence::Move& move) {
  const ArrayNeed& need = array_of(plan_.requirements, move.name);
  const bool volume = need.kind == ArrayKind::volume;
  const auto here = slab_.interior();
  switch (move.kind) {
    case Residence::Move::Kind::zero:
      return volume ? slab_.fill(move.name, 0, here) : slab_.fill(move.name, 0);
    case Residence::Move::Kind::load:
      return places_.at(move.name) == Place::device ? from_store(need, move.part, false) : load(need, move.part);
    case Residence::Move::Kind::store:
      return places_.at(move.name) == Place::device ? from_store(need, move.part, true) : store(need, move.part);
  }
}

void Partition::load(const ArrayNeed& need, const Residence::Part& part) {
  if (need.kind == ArrayKind::volume) {
    const std::size_t begin = bytes_at(need, extended().begin), bytes = bytes_at(need, extended().count());
    slab_.upload_bytes(need.name, bytes, [&](std::byte* at, std::size_t first, std::size_t count) {
      transport_.get(need.name, begin + first, count, at);
    });
    traffic_.up += bytes;
    return;
  }
  // a band of the rows of each view, one after the other
  const std::size_t view = bytes_at(need, 1), row = view / plan_.requirements.stack[1],
                    band = row * size(part.rows.count()), bytes = band * size(part.range.count());
  slab_.upload_bytes(need.name, bytes, [&](std::byte* at, std::size_t first, std::size_t count) {
    while (count > 0) {
      const std::size_t within = first % band, now = std::min(count, band - within);
      transport_.get(need.name, view * (size(part.range.begin) + first / band) + row * size(part.rows.begin) + within,
                     now, at);
      at += now;
      first += now;
      count -= now;
    }
  });
  traffic_.up += bytes;
}

void Partition::store(const ArrayNeed& need, const Residence::Part& part) {
  // slabs hold nothing below their interior, so a part of either kind lies first
  const std::size_t begin = bytes_at(need, part.range.begin), bytes = bytes_at(need, part.range.count());
  slab_.download_bytes(need.name, 0, bytes, [&](std::byte* at, std::size_t first, std::size_t count) {
    transport_.put(need.name, begin + first, count, at);
  });
  traffic_.down += bytes;
}

void Partition::from_store(const ArrayNeed& need, const Residence::Part& part, bool back) {
  const std::size_t begin = bytes_at(need, part.range.begin), bytes = bytes_at(need, part.range.count());
  const std::string stored = stored_name(need.name);
  if (back)
    slab_.copy({{need.name, 0, stored, begin, bytes}});
  else
    slab_.copy({{stored, begin, need.name, 0, bytes}});
}

void Partition::send_sums(const Step& step, const Visit& visit) {
  const bool slices = step.over == Domain::slices;
  const Range range = slices ? slab_.interior() : visit.views;
  const std::size_t value = 2 * sizeof(double);
  const std::size_t offset = slices ? value * size(range.begin - extended().begin) : 0;
  std::vector<double> sums(2 * size(range.count()));
  slab_.download_bytes(slices ? "sums" : "view_sums", offset, sums.data(), value * size(range.count()));
  slab_.wait();
  transport_.put(sums_home, value * size(range.begin), value * size(range.count()),
                 reinterpret_cast<const std::byte*>(sums.data()));
}

void Partition::offer_halo(const std::string& name) {
  const ArrayNeed& need = array_of(plan_.requirements, name);
  const Range interior = slab_.interior();
  const Range border{interior.begin, std::min(interior.end, interior.begin + plan_.requirements.halo_high)};
  if (interior.begin > 0) store(need, {border, {}});
}

void Partition::fetch_halo(const std::string& name) {
  const ArrayNeed& need = array_of(plan_.requirements, name);
  const Range halo{slab_.interior().end, extended().end};
  if (halo.empty()) return;
  const std::size_t begin = bytes_at(need, halo.begin), bytes = bytes_at(need, halo.count());
  std::vector<std::byte> slices(bytes);
  transport_.get(name, begin, bytes, slices.data());
  slab_.upload_bytes(name, begin - bytes_at(need, extended().begin), slices.data(), bytes);
  slab_.wait();
  traffic_.up += bytes;
}

void Partition::save(const std::string& name) {
  if (!holds(name)) return;
  const ArrayNeed& need = array_of(plan_.requirements, name);
  if (need.kind == ArrayKind::volume) return store(need, {slab_.interior(), {}});
  const std::size_t bytes = whole_bytes(need, plan_.requirements);
  slab_.download_bytes(
      places_.at(name) == Place::device ? stored_name(name) : name, 0, bytes,
      [&](std::byte* at, std::size_t first, std::size_t count) { transport_.put(name, first, count, at); });
  traffic_.down += bytes;
}

void Partition::deliver(const std::string& name, VolumeSink& sink) {
  traffic_.down += slab_.download(name, slab_.interior(), sink);
  slab_.wait();
}

}  // namespace halocline

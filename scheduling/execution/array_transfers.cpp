#include "scheduling/execution/array_transfers.hpp"

#include <algorithm>

#include "scheduling/planning/program_plan.hpp"

namespace halocline {

using Move = Residence::Move;

ArrayTransfers::ArrayTransfers(const Plan& plan, DeviceSlab& slab, Transport& transport, BusTraffic& traffic)
    : plan_(plan), slab_(slab), transport_(transport), traffic_(traffic) {}

void ArrayTransfers::begin_step(std::map<std::string, std::string> second_buffers,
                                const std::vector<std::string>& replaced) {
  second_buffers_ = std::move(second_buffers);
  replaced_.clear();
  replaced_.insert(replaced.begin(), replaced.end());
  results_.clear();
  to_swap_.clear();
}

void ArrayTransfers::load_inputs(const std::vector<Move>& moves) {
  for (const Move& move : moves) {
    const auto second = second_buffers_.find(move.name);
    if (second == second_buffers_.end()) continue;
    to_swap_.insert(move.name);
    if (move.kind == Move::Kind::store)
      results_[move.name] = {move.part};
    else
      carry_out(move, second->second);
  }
  // transfers without a second buffer wait for the kernels
  for (const Move& move : moves)
    if (!second_buffers_.contains(move.name)) carry_out(move, move.name);
}

void ArrayTransfers::swap_buffers() {
  for (const auto& name : to_swap_) {
    slab_.swap(name, second_buffers_.at(name));
    if (const auto result = results_.find(name); result != results_.end()) result->second.swapped = true;
  }
  to_swap_.clear();
}

void ArrayTransfers::add_results(const std::vector<Move>& stores) {
  for (const Move& move : stores)
    if (second_buffers_.contains(move.name))
      results_[move.name] = {move.part};
    else
      carry_out(move, move.name);
}

void ArrayTransfers::store_results() {
  for (const auto& [name, result] : results_)
    store(name, result.part, result.swapped ? second_buffers_.at(name) : name);
  results_.clear();
}

void ArrayTransfers::carry_out(const Move& move, const std::string& array) {
  switch (move.kind) {
    case Move::Kind::zero:
      return need_of(move.name).kind == ArrayKind::volume ? slab_.fill(array, 0, move.part.range)
                                                          : slab_.fill(array, 0);
    case Move::Kind::load:
      return load(move.name, move.part, array);
    case Move::Kind::store:
      return store(move.name, move.part, array);
  }
}

void ArrayTransfers::load(const std::string& name, const Residence::Part& part, const std::string& array) {
  const ArrayNeed& need = need_of(name);
  if (place_of(plan_, name) == Place::device)
    copy_stored(need, part, false);
  else if (need.kind == ArrayKind::volume)
    load_volume(need, part.held, array);
  else
    load_rows(need, part, array);
}

void ArrayTransfers::store(const std::string& name, const Residence::Part& part, const std::string& array) {
  const ArrayNeed& need = need_of(name);
  if (place_of(plan_, name) == Place::device) return copy_stored(need, part, true);
  const bool volume = need.kind == ArrayKind::volume;
  store_bytes(need, volume ? bytes_of(need, part.range.begin - held_with(part.range).begin) : 0, part.range, array);
}

// Slices that a slab with this interior holds.
Range ArrayTransfers::held_with(Range interior) const {
  const Requirements& all = plan_.requirements;
  return interior.grown(all.halo_low, all.halo_high, all.slices().count());
}

// Bytes of slices of a volume, or of views.
std::size_t ArrayTransfers::bytes_of(const ArrayNeed& need, std::int64_t count) const {
  return need.kind == ArrayKind::volume
             ? array_bytes(need, plan_.requirements, count, 0, 0)
             : array_bytes(need, plan_.requirements, 0, plan_.requirements.rows().count(), count);
}

void ArrayTransfers::load_volume(const ArrayNeed& need, Range slices, const std::string& array) {
  const std::size_t begin = bytes_of(need, slices.begin), bytes = bytes_of(need, slices.count());
  slab_.upload_bytes(array, bytes_of(need, slices.begin - slab_.extended().begin), bytes,
                     [&](std::byte* at, std::size_t first, std::size_t count) {
                       transport_.get(need.name, begin + first, count, at);
                     });
  traffic_.up += bytes;
}

// Loads a band of the rows of each view.
void ArrayTransfers::load_rows(const ArrayNeed& need, const Residence::Part& part, const std::string& array) {
  const auto size = [](std::int64_t count) { return static_cast<std::size_t>(count); };
  const std::size_t view = bytes_of(need, 1), row = view / plan_.requirements.stack[1],
                    band = row * size(part.rows.count()), bytes = band * size(part.range.count());
  slab_.upload_bytes(array, bytes, [&](std::byte* at, std::size_t first, std::size_t count) {
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

void ArrayTransfers::store_bytes(const ArrayNeed& need, std::size_t offset, Range range, const std::string& array) {
  const std::size_t begin = bytes_of(need, range.begin), bytes = bytes_of(need, range.count());
  const std::string target = replaced_.contains(need.name) ? name_in_role(ArrayRole::next, need.name) : need.name;
  slab_.download_bytes(array, offset, bytes, [&](std::byte* at, std::size_t first, std::size_t count) {
    transport_.put(target, begin + first, count, at);
  });
  traffic_.down += bytes;
}

void ArrayTransfers::copy_stored(const ArrayNeed& need, const Residence::Part& part, bool back) {
  const std::size_t begin = bytes_of(need, part.range.begin), bytes = bytes_of(need, part.range.count());
  const std::string stored = name_in_role(ArrayRole::all_views, need.name);
  if (back)
    slab_.copy({{need.name, 0, stored, begin, bytes}});
  else
    slab_.copy({{stored, begin, need.name, 0, bytes}});
}

void ArrayTransfers::load_slices(const std::string& name, Range slices) {
  load_volume(need_of(name), slices, name);
}

void ArrayTransfers::store_slices(const std::string& name, Range slices) {
  const ArrayNeed& need = need_of(name);
  store_bytes(need, bytes_of(need, slices.begin - slab_.extended().begin), slices, name);
}

void ArrayTransfers::load_whole(const std::string& name) {
  const ArrayNeed& need = need_of(name);
  if (need.kind == ArrayKind::volume) return load_slices(name, slab_.extended());
  const std::size_t bytes = whole_bytes(need, plan_.requirements);
  slab_.upload_bytes(
      place_of(plan_, name) == Place::device ? name_in_role(ArrayRole::all_views, name) : name, bytes,
      [&](std::byte* at, std::size_t first, std::size_t count) { transport_.get(name, first, count, at); });
  traffic_.up += bytes;
}

void ArrayTransfers::save_whole(const std::string& name) {
  const ArrayNeed& need = need_of(name);
  if (need.kind == ArrayKind::volume) return store_slices(name, slab_.interior());
  const auto views = plan_.requirements.views().count();
  store_bytes(need, 0, {0, views},
              place_of(plan_, name) == Place::device ? name_in_role(ArrayRole::all_views, name) : name);
}

}  // namespace halocline

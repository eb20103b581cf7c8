#include "scheduling/execution/array_transfers.hpp"

#include <algorithm>

#include "scheduling/planning/program_plan.hpp"

namespace halocline {

using Move = Residence::Move;

namespace {

// Rows of some views, which follow each other on the device, in an array of whole views in host memory.
struct Band {
  std::size_t view, row;  // bytes of one
  Residence::Part part;

  std::size_t held() const { return row * part.rows.size(); }  // bytes of a view
  std::size_t bytes() const { return held() * part.range.size(); }
  // Calls work(place in the array, place among the bytes, count) for each view of bytes [first, first + count).
  void each_view(std::size_t first, std::size_t count, const auto& work) const {
    for (std::size_t done = 0; done < count;) {
      const std::size_t n = (first + done) / held(), within = (first + done) % held(),
                        now = std::min(count - done, held() - within);
      work(view * (unsigned_count(part.range.begin) + n) + row * unsigned_count(part.rows.begin) + within, done, now);
      done += now;
    }
  }
};

}  // namespace

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
  if (need.kind != ArrayKind::volume) return store_rows(need, part, array);
  store_bytes(need, bytes_of(need, part.range.begin - held_with(part.range).begin), part.range, array);
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
  const std::size_t view = bytes_of(need, 1);
  const Band band{view, view / plan_.requirements.stack[1], part};
  slab_.upload_bytes(array, band.bytes(), [&](std::byte* to, std::size_t first, std::size_t count) {
    band.each_view(first, count, [&](std::size_t place, std::size_t done, std::size_t now) {
      transport_.get(need.name, place, now, to + done);
    });
  });
  traffic_.up += band.bytes();
}

void ArrayTransfers::store_rows(const ArrayNeed& need, const Residence::Part& part, const std::string& array) {
  const std::size_t view = bytes_of(need, 1);
  const Band band{view, view / plan_.requirements.stack[1], part};
  slab_.download_bytes(array, 0, band.bytes(), [&](std::byte* from, std::size_t first, std::size_t count) {
    band.each_view(first, count, [&](std::size_t place, std::size_t done, std::size_t now) {
      transport_.put(need.name, place, now, from + done);
    });
  });
  traffic_.down += band.bytes();
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

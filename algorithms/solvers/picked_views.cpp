#include "algorithms/solvers/picked_views.hpp"

#include <algorithm>
#include <utility>

#include "algorithms/support/kernel_numbers.hpp"
#include "scheduling/slabs/slab.hpp"

namespace halocline {
namespace {

void set_list(Slab& slab, const std::string& list, const ViewNumbers& views) {
  slab.set(list, views->data(), views->size() * sizeof(std::int32_t));
}

// The part of the list that is in a range of views.
Range places_of(const std::vector<std::int32_t>& views, Range range) {
  const auto at = [&](std::int64_t view) { return std::lower_bound(views.begin(), views.end(), view) - views.begin(); };
  return {at(range.begin), at(range.end)};
}

// A copy of `numbers` of each of these places of the list, of arrays that hold views from `first` on.
struct ViewsCopy {
  std::string list;
  std::size_t numbers;
  Range places;
  std::int64_t first;

  void enqueue(Slab& slab, const char* options, const std::string& from, ArrayAccess to) const {
    slab.launch({"views.cl", "views_copy", options}, {numbers, places.size(), 1},
                {in(from), in(list), std::move(to), static_cast<std::uint64_t>(numbers), number(places.begin),
                 number(places.size()), number(first)});
  }
};

}  // namespace

void PickedViews::declare(Program& program) const {
  program.needs.arrays.push_back({.name = list(), .kind = ArrayKind::fixed, .elements = projections_.size[2]});
  program.needs.arrays.push_back({.name = packed(), .kind = ArrayKind::projections});
  program.needs.kernels.emplace_back("views_copy");
}

void PickedViews::declare(Program& program, const Step& step, const ViewTables& tables) const {
  for (const ViewTable& table : tables)
    program.needs.arrays.push_back({.name = packed(step.names.at(table.name)),
                                    .kind = ArrayKind::fixed,
                                    .elements = table.numbers * projections_.size[2]});
}

Step PickedViews::on_views(Step step, const ViewTables& tables, const std::string& stack,
                           const ViewNumbers& views) const {
  const auto whole = std::exchange(step.names, {});
  auto names = whole;
  names[stack] = packed();
  for (const ViewTable& table : tables) names[table.name] = packed(whole.at(table.name));
  const bool written = step.over == Domain::ray_sums;
  const auto copy_of = [list = list(), views, columns = projections_.size[0]](const Slab& slab, Range range) {
    return ViewsCopy{list, columns * slab.rows().size(), places_of(*views, range), range.begin};
  };
  step.prepare = [=, list = list(), prepare = step.prepare](Slab& slab) {
    set_list(slab, list, views);
    const Range all{0, static_cast<std::int64_t>(views->size())};
    for (const ViewTable& table : tables)
      ViewsCopy{list, table.numbers, all, 0}.enqueue(slab, "-D PICK", whole.at(table.name), out(names.at(table.name)));
    const Slab::Names scope(slab, names);
    if (prepare) prepare(slab);
  };
  // Before the kernels of a batch that read the stack, or add to it.
  const auto pick = [=, from = whole.at(stack), to = packed()](Slab& slab, Range range) {
    const ViewsCopy copy = copy_of(slab, range);
    if (!copy.places.empty()) copy.enqueue(slab, "-D PICK", from, out(to));
    return copy.places;
  };
  if (step.filter)
    step.filter = [=, filter = step.filter](Slab& slab, Range range, const Scalars& scalars) {
      const Range places = pick(slab, range);
      const Slab::Names scope(slab, names);
      if (!places.empty()) filter(slab, places, scalars);
    };
  step.work = [=, from = packed(), to = whole.at(stack), work = step.work](Slab& slab, const WorkRange& part,
                                                                           const Scalars& scalars) {
    const ViewsCopy copy = copy_of(slab, part.views);
    if (copy.places.empty()) return;
    if (written) pick(slab, part.views);
    {
      const Slab::Names scope(slab, names);
      work(slab, {part.slices, copy.places}, scalars);
    }
    if (written) copy.enqueue(slab, "-D PUT", from, inout(to));
  };
  return step;
}

Step PickedViews::keep(const std::string& from, const std::string& to, const ViewNumbers& views) const {
  Step step{.name = "picked views", .over = Domain::views, .arrays = {in(from), out(to)}, .by_rows = true};
  step.work = [=, list = list(), columns = projections_.size[0]](Slab& slab, const WorkRange& part, const Scalars&) {
    slab.fill(to, 0);
    const Range places = places_of(*views, part.views);
    if (places.empty()) return;
    set_list(slab, list, views);
    ViewsCopy{list, columns * slab.rows().size(), places, part.views.begin}.enqueue(slab, "", from, inout(to));
  };
  return step;
}

}  // namespace halocline

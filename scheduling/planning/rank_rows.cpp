#include "scheduling/planning/rank_rows.hpp"

#include <algorithm>

#include "scheduling/planning/range_set.hpp"
#include "scheduling/planning/ray_chain.hpp"

namespace halocline {
namespace {

bool has_own_rows(const ArrayNeed& need) {
  return need.kind == ArrayKind::projections && is_kept(need) && (need.rows != 0 || need.row_length != 0);
}

// True where every step works on some rows of projections as on all.
bool can_share_rows(const Program& program) {
  const auto steps = steps_of(program);
  return std::none_of(program.needs.arrays.begin(), program.needs.arrays.end(), has_own_rows) &&
         std::all_of(steps.begin(), steps.end(), [&](const Step* step) {
           return step->over == Domain::views        ? step->by_rows
                  : step->over == Domain::voxel_sums ? bool(program.needs.detector_rows)
                                                     : true;
         });
}

void include(Range& rows, Range more) {
  if (more.empty()) return;
  rows = rows.empty() ? more : Range{std::min(rows.begin, more.begin), std::max(rows.end, more.end)};
}

// Calls work(slab, rows) for rows that the tasks of a slab use in a step.
void each_slab(const Program& program, const Step& step, const Plan& plan, const auto& work) {
  if (step.over != Domain::ray_sums && step.over != Domain::voxel_sums) return;
  const RayChain chain(step, plan);
  for (std::size_t slab = 0; slab < plan.slabs.size(); ++slab)
    if (step.over == Domain::voxel_sums)
      work(slab, program.needs.detector_rows(plan.slabs[slab].extended));
    else
      for (const RayPiece& piece : chain.pieces(slab)) work(slab, piece.rows);
}

// The smallest range of whole parts around these rows.
Range whole_parts(Range rows, Range all) {
  const Range within = common(rows, all);
  if (within.empty()) return {};
  return {within.begin / rows_of_sum * rows_of_sum,
          std::min(all.end, (within.end + rows_of_sum - 1) / rows_of_sum * rows_of_sum)};
}

}  // namespace

std::vector<Range> rows_of_ranks(const Program& program, const Plan& plan) {
  const Range all = program.needs.rows();
  if (!plan.several_ranks() || all.empty() || !can_share_rows(program)) return {};
  std::vector<Range> result(static_cast<std::size_t>(plan.devices.back().rank) + 1);
  for (const Step* step : steps_of(program))
    each_slab(program, *step, plan, [&](std::size_t slab, Range rows) {
      include(result[static_cast<std::size_t>(plan.rank_of(plan.slabs[slab].device))], whole_parts(rows, all));
    });
  for (const SlabPlan& slab : plan.slabs)  // kernels over views have rows on each rank with a slab
    if (Range& rows = result[static_cast<std::size_t>(plan.rank_of(slab.device))]; rows.empty())
      rows = whole_parts({0, 1}, all);
  RangeSet together;
  for (const Range rows : result) together.add(rows);
  const bool whole = std::all_of(result.begin(), result.end(), [&](Range rows) { return rows.empty() || rows == all; });
  return whole || !together.contains(all) ? std::vector<Range>{} : result;
}

Range rows_seen_here(const Plan& plan) {
  Range rows;
  for (const SlabPlan& slab : plan.slabs)
    if (plan.is_here(slab.device)) include(rows, slab.rows);
  return rows;
}

double share_of_rows(const Plan& plan, int rank) {
  return static_cast<double>(plan.rows_of_rank(rank).count()) /
         static_cast<double>(std::max<std::int64_t>(1, plan.requirements.rows().count()));
}

std::vector<Range> rows_to_give(const Plan& plan, int rank) {
  RangeSet before;
  for (int other = 0; other < rank; ++other) before.add(plan.rows_of_rank(other));
  const Range own = plan.rows_of_rank(rank);
  return own.empty() ? std::vector<Range>{} : before.missing(own);
}

}  // namespace halocline

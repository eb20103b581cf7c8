#include "algorithms/solvers/ray_totals.hpp"

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "host/system/thread_pool.hpp"
#include "scheduling/planning/program.hpp"
#include "scheduling/planning/rank_rows.hpp"
#include "scheduling/transport/rank_devices.hpp"

namespace halocline {
namespace {

void add(RayTotals& to, const RayTotals& more) {
  to.norm2 += more.norm2;
  to.rays += more.rays;
  to.good = to.good && more.good;
}

RayTotals totals_of(const VolumeSource& projections, const VolumeSource* weights, std::size_t first,
                    std::size_t count) {
  std::vector<float> values(count), w(count, 1.0f);
  projections.read(first, count, values.data());
  if (weights != nullptr) weights->read(first, count, w.data());
  RayTotals totals;
  for (std::size_t n = 0; n < count; ++n) {
    totals.norm2 += static_cast<double>(w[n]) * values[n] * values[n];
    totals.rays += w[n] > 0 ? 1 : 0;
    totals.good = totals.good && w[n] >= 0 && std::isfinite(w[n]);
  }
  return totals;
}

// Totals of parts of some rows: part n of a view is place n of it.
class Parts {
 public:
  explicit Parts(const Grid& stack)
      : stack_(stack),
        of_view_(unsigned_count(sums_of_view({0, static_cast<std::int64_t>(stack.size[1])}))),
        totals_(of_view_ * stack.size[2]) {}

  void fill(Range rows, const VolumeSource& projections, const VolumeSource* weights) {
    const std::size_t begin = unsigned_count(rows.begin / rows_of_sum), parts = unsigned_count(sums_of_view(rows));
    parallel_parts(parts * stack_.size[2], [&](std::size_t n) {
      const std::size_t view = n / parts, part = begin + n % parts, height = unsigned_count(rows_of_sum),
                        first = part * height, count = std::min(height, stack_.size[1] - first);
      totals_[view * of_view_ + part] =
          totals_of(projections, weights, view * stack_.slice() + first * stack_.size[0], count * stack_.size[0]);
    });
  }
  // Calls work(its totals) for the parts of these rows, view by view.
  void each(Range rows, const auto& work) {
    const std::size_t begin = unsigned_count(rows.begin / rows_of_sum), parts = unsigned_count(sums_of_view(rows));
    for (std::size_t view = 0; view < stack_.size[2]; ++view)
      for (std::size_t n = 0; n < parts; ++n) work(totals_[view * of_view_ + begin + n]);
  }
  RayTotals sum() const {
    RayTotals all;
    for (const RayTotals& part : totals_) add(all, part);
    return all;
  }

 private:
  const Grid& stack_;
  std::size_t of_view_;
  std::vector<RayTotals> totals_;
};

}  // namespace

RayTotals ray_totals(const VolumeSource& projections, const VolumeSource* weights, const Plan* plan) {
  const Grid& stack = projections.grid();
  Parts parts(stack);
  if (plan == nullptr || !plan->several_ranks() || plan->rank_rows.empty()) {
    parts.fill({0, static_cast<std::int64_t>(stack.size[1])}, projections, weights);
    return parts.sum();
  }
  Ranks& ranks = ranks_of(*plan);
  std::string own;
  for (const Range rows : rows_to_give(*plan, ranks.rank())) {
    parts.fill(rows, projections, weights);
    parts.each(rows, [&](const RayTotals& part) { own.append(reinterpret_cast<const char*>(&part), sizeof part); });
  }
  const auto given = ranks.gather("totals of the projections", own);
  for (int rank = 0; rank < ranks.size(); ++rank) {
    const char* from = given[static_cast<std::size_t>(rank)].data();
    for (const Range rows : rows_to_give(*plan, rank))
      parts.each(rows, [&](RayTotals& part) {
        std::memcpy(&part, from, sizeof part);
        from += sizeof part;
      });
  }
  return parts.sum();
}

}  // namespace halocline

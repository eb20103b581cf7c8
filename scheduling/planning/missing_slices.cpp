#include "scheduling/planning/missing_slices.hpp"

#include <utility>
#include <vector>

#include "scheduling/planning/layout.hpp"

namespace halocline {
namespace {

// The missing slices at `place`, which counts them without gaps.
std::vector<Range> slices_at(Range place, std::span<const Range> missing) {
  std::vector<Range> result;
  std::int64_t before = 0;
  for (const auto& range : missing) {
    const Range part{range.begin + std::max<std::int64_t>(0, place.begin - before),
                     range.begin + std::min(range.count(), place.end - before)};
    if (!part.empty()) result.push_back(part);
    before += range.count();
  }
  return result;
}

// One slab for each side of a gap, as large as the slab that spans it.
std::vector<SlabPlan> slabs_at(const SlabPlan& slab, const Requirements& requirements, int views,
                               std::span<const Range> missing) {
  std::vector<SlabPlan> result;
  for (const auto& part : slices_at(slab.interior, missing)) {
    result.push_back(make_slab(requirements, slab.device, part, 1, views));
    result.back().bytes = slab.bytes;
  }
  return result;
}

}  // namespace

Plan plan_missing(const Requirements& requirements, std::span<const DeviceModel> devices, const PlanOptions& options,
                  std::span<const Range> missing) {
  const Range all = requirements.slices();
  if (missing.size() == 1 && missing.front() == all) return make_plan(requirements, devices, options);
  Requirements left = requirements;  // a volume of the missing slices alone
  left.size[2] = 0;
  for (const auto& range : missing) left.size[2] += range.size();
  if (requirements.detector_rows)
    left.detector_rows = [&](Range place) {
      const auto slices = slices_at(place, missing);
      if (slices.empty()) return Range{};
      return requirements.detector_rows({slices.front().begin, slices.back().end});
    };
  PlanOptions how = options;
  how.idle_ranks = true;
  Plan plan = make_plan(left, devices, how);
  for (const auto& slab : std::exchange(plan.slabs, {}))
    for (auto& part : slabs_at(slab, requirements, plan.batch, missing)) plan.slabs.push_back(std::move(part));
  plan.resident = one_slab_a_device(plan.slabs);
  plan.requirements = requirements;
  return plan;
}

}  // namespace halocline

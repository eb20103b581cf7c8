#include "scheduling/planning/second_buffers.hpp"

#include <algorithm>
#include <set>

#include "scheduling/planning/step_tasks.hpp"

namespace halocline {
namespace {

bool alike(const ArrayNeed& a, const ArrayNeed& b) {
  return a.kind == b.kind && a.element_bytes == b.element_bytes && a.components == b.components &&
         a.row_length == b.row_length && a.rows == b.rows;
}

bool names(const Step& step, const std::string& array) {
  return std::any_of(step.arrays.begin(), step.arrays.end(),
                     [&](const ArrayAccess& each) { return each.name == array; });
}

std::size_t count_alike(const Step& step, const Requirements& requirements, const ArrayNeed& need) {
  return static_cast<std::size_t>(std::count_if(step.arrays.begin(), step.arrays.end(), [&](const ArrayAccess& each) {
    return alike(array_of(requirements, each.name), need);
  }));
}

}  // namespace

std::map<std::string, std::string> second_buffers(const Step& step, const Plan& plan) {
  const auto& arrays = plan.requirements.arrays;
  const auto moves = [&](const ArrayNeed& need) { return is_kept(need) && place_of(plan, need) == Place::host; };
  std::map<std::string, std::string> result;
  std::set<std::string> taken;
  for (const auto& [name, access] : step.arrays) {
    const ArrayNeed& need = array_of(plan.requirements, name);
    if (!moves(need)) continue;
    const auto second = std::find_if(arrays.begin(), arrays.end(), [&](const ArrayNeed& other) {
      const bool free = other.role == ArrayRole::spare || (moves(other) && !names(step, other.name));
      return free && alike(need, other) && !taken.contains(other.name);
    });
    if (second == arrays.end()) continue;
    taken.insert(second->name);
    result[name] = second->name;
  }
  return result;
}

bool overlaps(const Step& step, const Plan& plan) {
  const auto seconds = second_buffers(step, plan);
  return std::all_of(step.arrays.begin(), step.arrays.end(), [&](const ArrayAccess& each) {
    return place_of(plan, each.name) != Place::host || seconds.contains(each.name);
  });
}

Requirements with_spares(const Program& program, Requirements requirements, bool all) {
  std::vector<ArrayNeed> spares, seen;
  for (const ArrayNeed& need : requirements.arrays) {
    if (need.kind != ArrayKind::projections || !is_kept(need)) continue;
    if (std::any_of(seen.begin(), seen.end(), [&](const ArrayNeed& other) { return alike(need, other); })) continue;
    seen.push_back(need);
    const auto there = static_cast<std::size_t>(
        std::count_if(requirements.arrays.begin(), requirements.arrays.end(),
                      [&](const ArrayNeed& other) { return is_kept(other) && alike(need, other); }));
    std::size_t wanted = there;
    for (const Step* step : steps_of(program))
      if (all || step->over == Domain::ray_sums || step->over == Domain::voxel_sums)
        wanted = std::max(wanted, 2 * count_alike(*step, requirements, need));
    for (std::size_t n = there; n < wanted; ++n) {
      spares.push_back(in_role(ArrayRole::spare, need));
      spares.back().name = name_in_role(ArrayRole::spare, "projections " + std::to_string(spares.size()));
    }
  }
  requirements.arrays.insert(requirements.arrays.end(), spares.begin(), spares.end());
  return requirements;
}

std::size_t count_step_sums(const Program& program) {
  const Requirements& needs = program.needs;
  std::size_t most = 0;
  for (const Step* step : steps_of(program)) {
    if (!step->reduced) continue;
    const std::size_t places =
        step->over == Domain::slices ? needs.size[2] : unsigned_count(sums_of_view(needs.rows())) * needs.stack[2];
    most = std::max(most, static_cast<std::size_t>(step->sums) * places);
  }
  return 2 * most;
}

Requirements with_step_sums(const Program& program, Requirements requirements) {
  const auto steps = steps_of(program);
  if (std::none_of(steps.begin(), steps.end(), [](const Step* step) { return bool(step->reduced); }))
    return requirements;
  requirements.arrays.push_back({.name = step_sums,
                                 .kind = ArrayKind::fixed,
                                 .element_bytes = sizeof(double),
                                 .elements = count_step_sums(program)});
  return requirements;
}

}  // namespace halocline

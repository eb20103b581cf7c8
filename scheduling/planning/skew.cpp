#include "scheduling/planning/skew.hpp"

#include <algorithm>

namespace halocline {
bool is_one_pass(const Requirements& requirements, int iterations) {
  return iterations >= requirements.iterations &&
         (requirements.reductions.empty() || requirements.reductions.front() > 0);
}

PassSteps PassSteps::of(int count, int together, std::span<const int> due, bool starts) {
  PassSteps steps;
  steps.starts = starts;
  std::size_t next = 0;
  const auto at_level = [&](int done) {
    const bool reduces = next < due.size() && due[next] == done;
    steps.reduce.push_back(reduces);
    if (reduces) ++next;
  };
  at_level(0);
  for (int done = 0; done < count;) {
    const int until = next < due.size() ? std::min(due[next], count) : count;
    steps.iterations.push_back(std::min(together, until - done));
    at_level(done += steps.iterations.back());
  }
  return steps;
}

std::vector<RegionWork> skewed_work(const Requirements& requirements, const PassSteps& steps,
                                    std::span<const Range> regions) {
  const auto nz = requirements.slices().count();
  const std::int64_t rh = requirements.reduction_halo;
  const Range block{regions.front().begin, regions.back().end};
  const std::size_t levels = steps.levels();
  const auto low = [&](std::size_t step) { return std::int64_t{requirements.halo_low} * steps.iterations[step]; };
  const auto high = [&](std::size_t step) { return std::int64_t{requirements.halo_high} * steps.iterations[step]; };

  // Slices of every level that the device makes, and how far the regions' borders have moved there.
  std::vector<Range> all(levels, block);
  std::vector<std::int64_t> moved(levels, 0);
  for (std::size_t level = levels; level-- > 0;) {
    if (steps.reduce[level]) all[level] = block.grown(rh, rh, nz);
    if (level + 1 == levels) continue;
    const Range needed = all[level + 1].grown(low(level), high(level), nz);
    all[level] = {std::min(all[level].begin, needed.begin), std::max(all[level].end, needed.end)};
  }
  for (std::size_t level = 1; level < levels; ++level) moved[level] = moved[level - 1] + high(level - 1);

  const auto part = [&](std::size_t region, std::int64_t shift, Range whole) {
    const auto border = [&](std::int64_t at) { return std::clamp(at - shift, whole.begin, whole.end); };
    return Range{region == 0 ? whole.begin : border(regions[region].begin),
                 region + 1 == regions.size() ? whole.end : border(regions[region].end)};
  };
  std::vector<RegionWork> result(regions.size());
  for (std::size_t r = 0; r < regions.size(); ++r) {
    auto& work = result[r];
    work.levels.resize(levels);
    for (std::size_t level = 0; level < levels; ++level) {
      auto& at = work.levels[level];
      at.made = part(r, moved[level], all[level]);
      // The lowest slice that is read here, also for the regions above where this one makes nothing.
      std::int64_t lowest = at.made.begin;
      if (level + 1 < levels) lowest = std::min(lowest, part(r, moved[level + 1], all[level + 1]).begin - low(level));
      if (steps.reduce[level]) {
        at.reduced = part(r, moved[level] + rh, block);
        lowest = std::min(lowest, at.reduced.begin - rh);
      }
      at.seam = {std::max(lowest, all[level].begin), at.made.begin};
    }
    work.window = work.levels.front().made;
    for (const auto& at : work.levels) work.window.begin = std::min(work.window.begin, at.seam.begin);
    if (steps.starts) work.levels.front().seam.begin = work.levels.front().seam.end;
  }
  for (std::size_t r = 0; r + 1 < result.size(); ++r)
    for (std::size_t level = 0; level < levels; ++level)
      result[r].levels[level].keep = result[r + 1].levels[level].seam;
  return result;
}

std::int64_t seam_slices(const Requirements& requirements, int iterations) {
  const std::int64_t levels = is_one_pass(requirements, iterations) ? iterations - 1 : iterations;
  const std::int64_t each = requirements.halo_low + requirements.halo_high,
                     reduced = 2 * std::int64_t{requirements.reduction_halo};
  return levels * each + reduced +
         reductions_of_pass(requirements, iterations) * std::max<std::int64_t>(0, reduced - each);
}

std::int64_t skewed_lag(const Requirements& requirements, int iterations) {
  const std::int64_t k = iterations;
  const std::int64_t last = std::min<std::int64_t>(k, requirements.together) * requirements.halo_low;
  return k * requirements.halo_high + std::max(last, 2 * std::int64_t{requirements.reduction_halo});
}

Range skewed_window(const Requirements& requirements, int iterations, Range block, Range interior) {
  const std::int64_t k = iterations, rh = requirements.reduction_halo;
  const Range whole =
      block.grown(k * requirements.halo_low + rh, k * requirements.halo_high + rh, requirements.slices().count());
  return {interior.begin == block.begin ? whole.begin
                                        : std::max(whole.begin, interior.begin - skewed_lag(requirements, iterations)),
          interior.end == block.end ? whole.end : interior.end};
}

int reductions_of_pass(const Requirements& requirements, int iterations) {
  if (requirements.reductions_steer) return 1;
  return std::min(iterations, static_cast<int>(requirements.reductions.size())) + 1;
}

Requirements skewed_requirements(const Requirements& requirements, int iterations, bool overlapped) {
  Requirements result = requirements;
  const bool one_pass = is_one_pass(requirements, iterations);
  for (const auto& need : requirements.arrays) {
    if (is_state(need)) {
      ArrayNeed seam;
      seam.name = name_in_role(ArrayRole::seam, need.name);
      seam.role = ArrayRole::seam;
      seam.kind = ArrayKind::fixed;
      seam.element_bytes = array_bytes(need, requirements, 1, 0, 0);
      seam.elements = static_cast<std::size_t>(seam_slices(requirements, iterations));
      if (seam.elements > 0) result.arrays.push_back(seam);
    }
    if (need.lifetime == Lifetime::sums) {
      ArrayNeed log;
      log.name = sums_of_pass;
      log.kind = ArrayKind::fixed;
      log.element_bytes = array_bytes(need, requirements, 1, 0, 0);
      log.elements = requirements.size[2] * static_cast<std::size_t>(reductions_of_pass(requirements, iterations));
      result.arrays.push_back(log);
    }
    const bool moves = (need.lifetime == Lifetime::input && need.kind == ArrayKind::volume) ||
                       need.lifetime == Lifetime::output || (need.lifetime == Lifetime::state && !one_pass);
    if (!overlapped || !moves) continue;
    result.arrays.push_back(in_role(ArrayRole::second_buffer, need));
  }
  return result;
}

bool is_overlapped(const Requirements& requirements) {
  return std::any_of(requirements.arrays.begin(), requirements.arrays.end(),
                     [](const ArrayNeed& need) { return need.role == ArrayRole::second_buffer; });
}

}  // namespace halocline

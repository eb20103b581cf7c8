#include "scheduling/planning/layout.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "scheduling/planning/skew.hpp"

namespace halocline {
namespace {

double weight(const DeviceModel& device) {
  return std::isfinite(device.speed) && device.speed > 0 ? device.speed : 1e-6;
}

Range detector_rows(const Requirements& requirements, Range extended) {
  const auto rows = requirements.rows().count();
  const bool all = requirements.form == ProgramForm::steps;  // steps over other than voxel sums need them
  if (rows == 0 || all || !requirements.detector_rows) return {0, rows};
  const Range wanted = requirements.detector_rows(extended);
  const auto begin =
      std::clamp<std::int64_t>(wanted.begin, 0, rows - 1);  // a slab beside the detector still has arrays
  return {begin, std::clamp(wanted.end, begin + 1, rows)};
}

// The largest number of [0, most] for which `good` holds, where it holds up to some number.
template <class Predicate>
std::int64_t last_good(std::int64_t most, Predicate&& good) {
  std::int64_t low = 0, high = most;
  while (low < high) {
    const auto middle = low + (high - low + 1) / 2;
    if (good(middle))
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

// Shares `slices` by weight, none above its cap; nothing if the caps are too low together.
std::optional<std::vector<std::int64_t>> share(std::int64_t slices, const std::vector<double>& weights,
                                               const std::vector<std::int64_t>& caps) {
  const std::size_t n = weights.size();
  std::vector<std::int64_t> shares(n, 0);
  std::vector<bool> capped(n, false);
  auto left = slices;
  double total = 0;
  for (bool changed = true; changed;) {
    changed = false;
    total = 0;
    for (std::size_t d = 0; d < n; ++d) total += capped[d] ? 0 : weights[d];
    for (std::size_t d = 0; d < n && !changed; ++d) {
      if (capped[d] || static_cast<double>(left) * weights[d] <= static_cast<double>(caps[d]) * total) continue;
      shares[d] = caps[d];
      left -= caps[d];
      capped[d] = changed = true;
    }
  }
  std::vector<std::pair<double, std::size_t>> fractions;
  const auto to_share = left;
  for (std::size_t d = 0; d < n; ++d) {
    if (capped[d]) continue;
    const double exact = static_cast<double>(to_share) * weights[d] / total;
    shares[d] = std::min(caps[d], static_cast<std::int64_t>(exact));
    left -= shares[d];
    fractions.emplace_back(static_cast<double>(shares[d]) - exact, d);
  }
  std::stable_sort(fractions.begin(), fractions.end());  // the largest remainder first
  while (left > 0) {
    const auto before = left;
    for (const auto& [fraction, d] : fractions)
      if (left > 0 && shares[d] < caps[d]) {
        ++shares[d];
        --left;
      }
    if (left == before) return std::nullopt;
  }
  return shares;
}

std::size_t total_bytes(const Requirements& requirements, SlabExtent extent, int views) {
  std::size_t sum = 0;
  for (const auto& need : requirements.arrays)
    sum += array_bytes(need, requirements, extent.slices, extent.rows, views);
  return sum;
}

// All arrays together fit the device's budget, and each fits its largest allocation.
bool fits(const Requirements& requirements, const DeviceModel& device, SlabExtent extent, int views) {
  return total_bytes(requirements, extent, views) <= device.memory &&
         std::all_of(requirements.arrays.begin(), requirements.arrays.end(), [&](const ArrayNeed& need) {
           return array_bytes(need, requirements, extent.slices, extent.rows, views) <= device.max_allocation;
         });
}

SlabPlan slab_of(const Requirements& requirements, int device, Range interior, Range extended, int views) {
  const Range rows = detector_rows(requirements, extended);
  return {device, interior, extended, rows, total_bytes(requirements, {extended.count(), rows.count()}, views)};
}

class Layouter {
 public:
  Layouter(const Requirements& requirements, std::span<const DeviceModel> devices, int iterations, int views)
      : requirements_(requirements),
        devices_(devices),
        iterations_(iterations),
        views_(views),
        nz_(requirements.slices().count()) {}

  // One slab a device.
  std::optional<std::vector<SlabPlan>> resident() const {
    std::vector<double> weights;
    for (const auto& device : devices_) weights.push_back(weight(device));
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    std::vector<std::int64_t> caps;
    double before = 0;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      // Detector rows depend on the place of a slab, so it grows around the centre that it has without caps.
      const double centre = static_cast<double>(nz_) * (before + weights[d] / 2) / total;
      before += weights[d];
      caps.push_back(last_good(nz_, [&](std::int64_t thickness) {
        auto begin = static_cast<std::int64_t>(centre - static_cast<double>(thickness) / 2);
        if (d == 0) begin = 0;
        if (d + 1 == devices_.size()) begin = nz_ - thickness;
        begin = std::clamp<std::int64_t>(begin, 0, nz_ - thickness);
        return slab_fits(d, {begin, begin + thickness});
      }));
    }
    const auto shares = share(nz_, weights, caps);
    if (!shares) return std::nullopt;
    std::vector<SlabPlan> slabs;
    std::int64_t at = 0;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      const Range interior{at, at + (*shares)[d]};
      at = interior.end;
      if (interior.empty()) continue;
      if (!slab_fits(d, interior)) return std::nullopt;
      slabs.push_back(slab(d, interior));
    }
    return slabs;
  }

  // Streamed slabs of each device.
  std::optional<std::vector<SlabPlan>> regions(int minimum_slabs) const {
    std::vector<double> weights;
    std::vector<std::int64_t> caps;
    for (const auto& device : devices_) {
      weights.push_back(weight(device));
      caps.push_back(nz_);
    }
    while (true) {
      const auto shares = share(nz_, weights, caps);
      if (!shares) return std::nullopt;
      std::vector<SlabPlan> slabs;
      std::int64_t at = 0;
      bool all = true;
      for (std::size_t d = 0; d < devices_.size() && all; ++d) {
        const Range region{at, at + (*shares)[d]};
        at = region.end;
        if (region.empty()) continue;
        const auto least = (minimum_slabs * region.count() + nz_ - 1) / nz_;
        const auto count = slabs_of_region(d, region, std::max<std::int64_t>(1, least));
        if (count == 0) {
          caps[d] = 0;  // too small a device: the others take its region
          all = false;
        }
        const auto own = slabs.size();
        SlabExtent extent;
        for (std::int64_t n = 0; n < count; ++n) {
          slabs.push_back(visited(d, region, part(region, n, count)));
          extent.include(slabs.back());
        }
        for (auto n = own; n < slabs.size(); ++n) slabs[n].bytes = total_bytes(requirements_, extent, views_);
      }
      if (all) return slabs;
    }
  }

 private:
  // Slab n of a region. Nothing is computed while the first slab is loaded and the last one is stored, so where there
  // are many the first is half as thick and the last a quarter.
  Range part(Range region, std::int64_t n, std::int64_t count) const {
    const bool thin_ends = iterative() && count >= fewest_with_thin_ends && region.count() >= thick_enough * count;
    const auto border = [&](std::int64_t number) {
      if (!thin_ends || number == 0 || number == count) return region.begin + region.count() * number / count;
      return region.begin + region.count() * (4 * number - 2) / (4 * count - 5);
    };
    return {border(n), border(n + 1)};
  }

  SlabPlan slab(std::size_t device, Range interior) const {
    return make_slab(requirements_, static_cast<int>(device), interior, iterations_, views_);
  }

  SlabPlan visited(std::size_t device, Range block, Range interior) const {
    if (iterative()) return make_region(requirements_, static_cast<int>(device), block, interior, iterations_);
    return slab(device, interior);
  }

  bool iterative() const { return is_iterative(requirements_); }

  bool slab_fits(std::size_t device, Range interior) const {
    SlabExtent extent;
    extent.include(slab(device, interior));
    return interior.empty() || fits(requirements_, devices_[device], extent, views_);
  }

  // The smallest number of slabs, from `least` on, that all fit the device; 0 if there is none.
  std::int64_t slabs_of_region(std::size_t device, Range region, std::int64_t least) const {
    // Upper limit of the thickness, with one detector row.
    const auto thickest = last_good(region.count(), [&](std::int64_t thickness) {
      auto slices = thickness;
      if (iterative())
        for (const Range end : {Range{region.begin, region.begin + thickness}, {region.end - thickness, region.end}})
          slices = std::max(slices, skewed_window(requirements_, iterations_, region, end).count());
      return fits(requirements_, devices_[device], {slices, requirements_.stack[1] > 0 ? 1 : 0}, views_);
    });
    if (thickest == 0) return 0;
    for (auto count = std::max(least, (region.count() + thickest - 1) / thickest); count <= region.count(); ++count) {
      SlabExtent extent;
      bool all = true;
      // Slabs in the middle and at the ends are the most likely not to fit, and rows are slow to find.
      for (const std::int64_t n : {count / 2, std::int64_t{0}, count - 1}) {
        extent.include(visited(device, region, part(region, n, count)));
        all = all && fits(requirements_, devices_[device], extent, views_);
        if (!all) break;
      }
      for (std::int64_t n = 0; n < count && all; ++n) {
        extent.include(visited(device, region, part(region, n, count)));
        all = fits(requirements_, devices_[device], extent, views_);
      }
      if (all) return count;
    }
    return 0;
  }

  const Requirements& requirements_;
  std::span<const DeviceModel> devices_;
  int iterations_, views_;
  std::int64_t nz_;
  static constexpr std::int64_t fewest_with_thin_ends = 6, thick_enough = 8;  // slabs, slices
};

}  // namespace

SlabPlan make_slab(const Requirements& requirements, int device, Range interior, int iterations, int views) {
  const auto low = std::int64_t{iterations} * requirements.halo_low + requirements.reduction_halo;
  const auto high = std::int64_t{iterations} * requirements.halo_high + requirements.reduction_halo;
  return slab_of(requirements, device, interior, interior.grown(low, high, requirements.slices().count()), views);
}

SlabPlan make_region(const Requirements& requirements, int device, Range block, Range interior, int iterations) {
  return slab_of(requirements, device, interior, skewed_window(requirements, iterations, block, interior), 0);
}

std::optional<std::vector<SlabPlan>> lay_out_resident(const Requirements& requirements,
                                                      std::span<const DeviceModel> devices, int iterations, int views,
                                                      int minimum_slabs) {
  auto slabs = Layouter(requirements, devices, iterations, views).resident();
  const auto wanted = std::clamp<std::int64_t>(minimum_slabs, 1, requirements.slices().count());
  if (slabs && static_cast<std::int64_t>(slabs->size()) < wanted) slabs.reset();
  return slabs;
}

std::optional<std::vector<SlabPlan>> lay_out_streamed(const Requirements& requirements,
                                                      std::span<const DeviceModel> devices, int iterations, int views,
                                                      int minimum_slabs) {
  const auto wanted = std::clamp<std::int64_t>(minimum_slabs, 1, requirements.slices().count());
  return Layouter(requirements, devices, iterations, views).regions(static_cast<int>(wanted));
}

std::vector<int> batch_candidates(const Requirements& requirements, int views, const PlanOptions& options) {
  if (views == 0 || is_iterative(requirements)) return {0};
  const int step = requirements.batch_step;
  const auto in_steps = [&](int batch) { return std::min(views, std::max(batch / step, 1) * step); };
  if (options.batch > 0) return {in_steps(options.batch)};
  std::vector<int> result;
  for (int batch = std::clamp(requirements.preferred_batch, 1, views); batch > 0; batch /= 2)
    if (result.empty() || in_steps(batch) < result.back()) result.push_back(in_steps(batch));
  return result;
}

namespace {

auto shape_of(const ArrayNeed& need) {
  return std::tie(need.name, need.kind, need.lifetime, need.element_bytes, need.components, need.elements,
                  need.row_length, need.rows, need.slice_step, need.more_slices, need.layer_views, need.axis,
                  need.halo_inout);
}

auto shape_of(const Requirements& r) {
  return std::tie(r.size, r.form, r.stack, r.iterations, r.halo_low, r.halo_high, r.reduction_halo,
                  r.reduction_every_iteration, r.reductions, r.reductions_steer, r.together, r.batch_step,
                  r.largest_part);
}

}  // namespace

bool is_plan_of(const Plan& plan, const Requirements& requirements) {
  const auto &planned = plan.requirements.arrays, &wanted = requirements.arrays;
  return shape_of(plan.requirements) == shape_of(requirements) && wanted.size() <= planned.size() &&
         std::equal(wanted.begin(), wanted.end(), planned.begin(),
                    [](const ArrayNeed& a, const ArrayNeed& b) {
                      return shape_of(a) == shape_of(b) && a.on_device == b.on_device;
                    }) &&
         std::all_of(plan.slabs.begin(), plan.slabs.end(),
                     [&](const SlabPlan& slab) { return detector_rows(requirements, slab.extended) == slab.rows; });
}

bool one_slab_a_device(std::span<const SlabPlan> slabs) {
  for (std::size_t n = 1; n < slabs.size(); ++n)
    if (slabs[n].device == slabs[n - 1].device) return false;
  return true;
}

}  // namespace halocline

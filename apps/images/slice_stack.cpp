#include "apps/images/slice_stack.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "host/system/error.hpp"

namespace halocline {
namespace {

using Vector = std::array<double, 3>;

double dot(const Vector& a, const Vector& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
Vector between(const Vector& a, const Vector& b) {
  return {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
}
Vector row_axis(const SlicePlace& slice) {
  return {slice.orientation[0], slice.orientation[1], slice.orientation[2]};
}
Vector column_axis(const SlicePlace& slice) {
  return {slice.orientation[3], slice.orientation[4], slice.orientation[5]};
}

class Stack {
 public:
  Stack(const std::vector<SlicePlace>& slices, const std::string& what) : slices_(slices), what_(what) {
    const Vector u = row_axis(slices.front()), v = column_axis(slices.front());
    normal_ = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]};
  }

  SliceStack make() {
    require_axes();
    for (const SlicePlace& slice : slices_) require_like_first(slice);
    order_.resize(slices_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    for (const SlicePlace& slice : slices_)
      heights_.push_back(dot(between(slices_[0].position, slice.position), normal_));
    std::stable_sort(order_.begin(), order_.end(),
                     [&](std::size_t a, std::size_t b) { return heights_[a] < heights_[b]; });
    if (slices_.size() > 1) {
      spacing_ = (heights_[order_.back()] - heights_[order_.front()]) / static_cast<double>(slices_.size() - 1);
      require_distinct_places();
      require_equal_steps();
      require_straight();
    }
    return {order_, grid()};
  }

 private:
  template <typename... Values>
  [[noreturn]] void refuse(fmt::format_string<Values...> text, Values&&... values) const {
    throw InputError(what_ + " " + fmt::format(text, std::forward<Values>(values)...));
  }

  void require_axes() const {
    const Vector u = row_axis(slices_.front()), v = column_axis(slices_.front());
    if (!(std::abs(dot(u, u) - 1) < 1e-3 && std::abs(dot(v, v) - 1) < 1e-3 && std::abs(dot(u, v)) < 1e-3))
      refuse("has rows and columns along {:.6g} and {:.6g}, where two unit vectors at right angles are expected",
             fmt::join(u, ","), fmt::join(v, ","));
    if (!std::all_of(slices_.begin(), slices_.end(), [](const SlicePlace& slice) {
          return std::all_of(slice.position.begin(), slice.position.end(), [](double x) { return std::isfinite(x); });
        }))
      refuse("has a position that is no number");
  }

  void require_like_first(const SlicePlace& slice) const {
    const SlicePlace& first = slices_.front();
    if (slice.size != first.size)
      refuse(
          "has slices of different sizes: {} has {} pixels, but {} has {}; put those of one size into a series of "
          "their own",
          slice.name, fmt::join(slice.size, " x "), first.name, fmt::join(first.size, " x "));
    for (int n = 0; n < 6; ++n)
      if (!(std::abs(slice.orientation[n] - first.orientation[n]) <= 1e-4))
        refuse(
            "has slices of different orientations: {} is oriented unlike {} (rows and columns along {:.4g}, not "
            "{:.4g}){}; put those of one orientation into a series of their own",
            slice.name, first.name, fmt::join(slice.orientation, ","), fmt::join(first.orientation, ","), groups());
    for (int n = 0; n < 2; ++n)
      if (!(std::abs(slice.spacing[n] / first.spacing[n] - 1) <= 1e-4))
        refuse(
            "has slices of different pixels: those of {} are {:.6g} mm, those of {} {:.6g} mm; put those of one "
            "size into a series of their own",
            slice.name, fmt::join(slice.spacing, " x "), first.name, fmt::join(first.spacing, " x "));
  }

  // The groups that there are, if there are several.
  std::string groups() const {
    std::set<std::string> found;
    for (const SlicePlace& slice : slices_)
      if (!slice.group.empty()) found.insert(slice.group);
    if (found.size() < 2) return {};
    constexpr std::size_t most = 8;
    std::vector<std::string> shown(found.begin(), found.end());
    if (shown.size() > most) {
      shown.resize(most);
      shown.push_back("...");
    }
    return fmt::format(" (there are {}: {})", found.size(), fmt::join(shown, ", "));
  }

  void require_distinct_places() const {
    for (std::size_t n = 1; n < order_.size(); ++n) {
      const SlicePlace &a = slices_[order_[n - 1]], &b = slices_[order_[n]];
      const Vector step = between(a.position, b.position);
      if (std::abs(heights_[order_[n]] - heights_[order_[n - 1]]) > 1e-3 * spacing_ && spacing_ > 0) continue;
      if (const double beside = std::sqrt(dot(step, step)); beside > 0.5 * std::max(a.spacing[0], a.spacing[1]))
        refuse(
            "has slices beside each other: {} and {} lie in one plane, {:.6g} mm apart, which is no stack along "
            "their normal (sheared, or several images); resample it first",
            a.name, b.name, beside);
      refuse(
          "has two slices at one place: {} and {} lie at {:.6g} mm{}; one volume is expected: take out one of the "
          "two, or put each time, phase or stack into a series of its own",
          a.name, b.name, fmt::join(a.position, ", "), groups());
    }
  }

  void require_equal_steps() const {
    std::vector<double> steps;
    for (std::size_t n = 1; n < order_.size(); ++n) steps.push_back(heights_[order_[n]] - heights_[order_[n - 1]]);
    std::vector<double> sorted = steps;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
    const double usual = sorted[sorted.size() / 2];
    // the one that is the farthest from what is usual
    const auto off = [&](std::size_t n) { return std::abs(steps[n] - usual); };
    std::size_t worst = 0;
    bool even = true;
    for (std::size_t n = 0; n < steps.size(); ++n) {
      even = even && std::abs(steps[n] - spacing_) <= 0.02 * spacing_;
      if (off(n) > off(worst)) worst = n;
    }
    if (even) return;
    const double times = steps[worst] / usual;
    const bool whole = times > 1.5 && std::abs(times - std::round(times)) < 0.1;
    refuse("is not evenly spaced: {} lies {:.6g} mm after {}, where {:.6g} mm are usual{}; {}",
           slices_[order_[worst + 1]].name, steps[worst], slices_[order_[worst]].name, usual, groups(),
           whole ? fmt::format("{} missing between them", std::round(times) > 2
                                                              ? fmt::format("{:.0f} slices are", std::round(times) - 1)
                                                              : "a slice is")
                 : "a slice is missing or there twice, or the distances differ: resample it to even ones first");
  }

  void require_straight() const {
    const SlicePlace &first = slices_[order_.front()], &last = slices_[order_.back()];
    const Vector whole = between(first.position, last.position);
    for (const std::size_t n : order_) {
      const Vector step = between(first.position, slices_[n].position);
      const double share = dot(step, normal_) / dot(whole, normal_);
      const Vector beside{step[0] - share * whole[0], step[1] - share * whole[1], step[2] - share * whole[2]};
      if (const double off = std::sqrt(dot(beside, beside)); off > 0.5 * std::max(first.spacing[0], first.spacing[1]))
        refuse("is not stacked along a line: {} lies {:.6g} mm beside that from {} to {}; resample it first",
               slices_[n].name, off, first.name, last.name);
    }
    require_along_normal();
  }

  // Half a pixel at most beside the normal through the first slice, and less than 0.8 degrees.
  void require_along_normal() const {
    const SlicePlace& first = slices_[order_.front()];
    const Vector u = row_axis(slices_.front()), v = column_axis(slices_.front());
    std::size_t worst = order_.front();
    double most = 0, beside = 0;  // pixels, mm
    for (const std::size_t n : order_) {
      const Vector step = between(first.position, slices_[n].position);
      const double along_u = dot(step, u), along_v = dot(step, v);
      const double pixels = std::hypot(along_u / first.spacing[0], along_v / first.spacing[1]);
      if (pixels > most) most = pixels, beside = std::hypot(along_u, along_v), worst = n;
    }
    const Vector whole = between(first.position, slices_[order_.back()].position);
    const double height = heights_[order_.back()] - heights_[order_.front()];
    if (most > 0.5 || !(height > 0.9999 * std::sqrt(dot(whole, whole))))
      refuse(
          "is sheared (tilted gantry): {} lies {:.4g} mm ({:.3g} pixels) beside the normal through {}, where at most "
          "half a pixel, and 0.8 degrees, are expected; resample it first",
          slices_[worst].name, beside, most, first.name);
  }

  Grid grid() const {
    const SlicePlace& first = slices_[order_.front()];
    const Vector u = row_axis(slices_.front()), v = column_axis(slices_.front());
    Grid out;
    out.size = {first.size[0], first.size[1], slices_.size()};
    out.spacing = {slices_.front().spacing[0], slices_.front().spacing[1], spacing_};
    out.origin = first.position;
    for (int w = 0; w < 3; ++w) {
      out.direction[3 * w] = u[w];
      out.direction[3 * w + 1] = v[w];
      out.direction[3 * w + 2] = normal_[w];
    }
    return out;
  }

  const std::vector<SlicePlace>& slices_;
  std::string what_;
  Vector normal_{};
  double spacing_ = 1;
  std::vector<std::size_t> order_;
  std::vector<double> heights_;  // along the normal, mm
};

}  // namespace

SliceStack stack_slices(const std::vector<SlicePlace>& slices, const std::string& what) {
  return Stack(slices, what).make();
}

}  // namespace halocline

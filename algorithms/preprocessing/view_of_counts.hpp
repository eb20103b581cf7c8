// Counts of one view: pixels that are too dark or too bright, and the groups that they form.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "algorithms/preprocessing/counts.hpp"

namespace halocline {

enum class CountKind : char {
  measured,
  bad,
  low,     ///< less than the darkest signal
  bright,  ///< saturated, or above double the beam
  lost     ///< not finite, or far below the dark field: fails for sure
};

/// Pixels of one kind that touch each other, and the columns and rows that they reach.
struct CountGroup {
  CountKind kind;
  std::vector<std::uint32_t> pixels;
  std::ptrdiff_t left, right, top, bottom;
  bool stands_out = false;  ///< from its surroundings
};

class ViewOfCounts {
 public:
  /// darkest: darkest_signal() of the calibration.
  ViewOfCounts(const VolumeSource& counts, const CountsCalibration& calibration, const std::vector<char>& bad,
               float saturation, double darkest, std::size_t view);

  std::ptrdiff_t columns() const { return columns_; }
  std::ptrdiff_t rows() const { return rows_; }
  CountKind kind(std::uint32_t pixel) const { return kinds_[pixel]; }
  /// Returns the signal in units of the open beam, at least the darkest signal.
  float of_beam(std::uint32_t pixel) const { return of_beam_[pixel]; }
  /// Returns photons of the open beam, where the floor is half a photon; else there are more.
  double photons(std::uint32_t pixel) const {
    return calibration_.pixels[pixel].open * beam_ / (2 * calibration_.floor);
  }

  /// Calls visit(pixel) of all up to `reach` columns and a row from this one, and of itself.
  template <class Visit>
  void around(std::uint32_t pixel, std::ptrdiff_t reach, const Visit& visit) const {
    const auto column = static_cast<std::ptrdiff_t>(pixel) % columns_,
               row = static_cast<std::ptrdiff_t>(pixel) / columns_;
    for (std::ptrdiff_t v = std::max<std::ptrdiff_t>(0, row - 1); v <= std::min(rows_ - 1, row + 1); ++v)
      for (std::ptrdiff_t u = std::max<std::ptrdiff_t>(0, column - reach); u <= std::min(columns_ - 1, column + reach);
           ++u)
        visit(static_cast<std::uint32_t>(v * columns_ + u));
  }

  /// Returns pixels that fail for sure, ascending.
  std::vector<std::uint32_t> lost() const;
  /// Returns whether more than `most` of these touch each other, and are no dropped rows or columns.
  bool lost_a_part(std::size_t most) const;
  /// Returns low and bright groups. Low ones stand out if their surroundings see light clearly (in the median 20 floors
  /// or more), bright ones if they are twice as bright as all around them.
  std::vector<CountGroup> groups() const;
  /// Returns whether the group is a row or column that was dropped, up to four of them, with what fails beside it.
  bool crosses(const CountGroup& group) const;
  /// Returns whether nine in ten of these pixels (ascending) see light clearly, in the median half of what those
  /// around them see.
  bool see_light(const std::vector<std::uint32_t>& pixels) const;

 private:
  CountKind kind_of(std::size_t n, bool bad, bool saturated) const;
  CountGroup group_from(std::uint32_t first, std::vector<char>& seen) const;
  bool stands_out(const CountGroup& group) const;

  const CountsCalibration& calibration_;
  std::ptrdiff_t columns_, rows_;
  std::vector<float> signal_, of_beam_;
  std::vector<CountKind> kinds_;
  double beam_, darkest_, clear_;
};

/// Returns what a count is raised to before it is compared with others: the floor, or four standard deviations of the
/// dark field's noise (of at most 1 % of the beam's median, which a fixed pattern may pass for), if that is more.
double darkest_signal(const CountsCalibration& calibration);

}  // namespace halocline

// The report of `geometry find-axis`.
#pragma once

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "algorithms/alignment/axis_choice.hpp"
#include "algorithms/alignment/find_tilt.hpp"
#include "algorithms/geometry/detector_alignment.hpp"
#include "apps/job/job.hpp"

namespace halocline {

/// Columns and pixels are those of the file, whatever part of it is looked at.
class AxisReport {
 public:
  /// pixel: mm, of the projections that are looked at.
  AxisReport(Job& job, const Grid& file, double pixel, const Geometry& geometry)
      : job_(job),
        file_(file),
        pixel_(pixel),
        from_(alignment(geometry).axis_u.mean),
        in_plane_(alignment(geometry).in_plane.mean) {}
  double column(double shift) const { return (from_ + shift - file_.origin[0]) / file_.spacing[0]; }
  void add(const std::string& method, const AxisEstimate& axis) {
    auto& result = job_.results()[key(method)];
    result = {{"column", column(axis.shift)}, {"u_mm", from_ + axis.shift}, {"shift_mm", axis.shift}};
    if (axis.contrast > 0) result["contrast"] = axis.contrast;
    if (axis.uncertainty) result["uncertainty_mm"] = *axis.uncertainty;
    job_.print(fmt::format("{:<13}axis at column {:.2f} (u = {:.6g} mm, {:+.6g} mm from the geometry's)", method,
                           column(axis.shift), from_ + axis.shift, axis.shift));
    if (axis.at_end)
      spdlog::warn("by {}, the best axis is at the end of the range that was tried; give a larger --range", method);
    else if (!axis.certain(pixel_))
      spdlog::warn("by {}, no axis is much better than another ({}); the result is uncertain", method, doubt(axis));
  }
  /// Reports the chosen axis, and warns of methods that differ.
  void add(const AxisChoice& choice) {
    job_.results()["method"] = key(choice.method);
    job_.results()["agreed"] = choice.agreed();
    for (const AxisDifference& each : choice.differing)
      spdlog::warn(
          "by {}, the axis differs by {:.3g} pixels; the axis is that by {}, so look at a reconstruction with it",
          each.method, each.apart / file_.spacing[0], choice.method);
  }
  /// Reports the position of the detector.
  void add_offset(double shift) {
    const double pixels = 0.5 * (static_cast<double>(file_.size[0]) - 1) - column(shift);
    job_.results()["detector_offset_mm"] = pixels * file_.spacing[0];
    job_.results()["detector_offset_pixels"] = pixels;
    job_.print(fmt::format("detector offset: its centre stands {:+.6g} mm ({:+.2f} pixels) along u from the axis",
                           pixels * file_.spacing[0], pixels));
  }
  void add(const TiltEstimate& tilt) {
    if (!tilt.unknown.empty()) {
      job_.results()["tilt"] = {{"unknown", tilt.unknown}};
      return job_.print("detector tilt about the beam: cannot be told, as " + tilt.unknown);
    }
    const double total = in_plane_ + tilt.change;
    job_.results()["tilt"] = {{"in_plane_degrees", total},
                              {"change_degrees", tilt.change},
                              {"uncertainty_degrees", tilt.uncertainty},
                              {"significant", tilt.significant()},
                              {"isocentre_column", column(tilt.shift)}};
    std::string verdict;
    if (std::abs(tilt.change) <= tilt.uncertainty)
      verdict = fmt::format(", within its uncertainty of the geometry's {:.6g}", in_plane_);
    else if (!tilt.significant())
      verdict = fmt::format(", not certain to differ from the geometry's {:.6g}", in_plane_);
    job_.print(fmt::format("detector tilt about the beam: {:.2f} +- {:.2f} degrees (in-plane angle){}",
                           std::round(100 * total) / 100 + 0.0, tilt.uncertainty, verdict));
  }

 private:
  static std::string key(std::string method) {
    std::replace(method.begin(), method.end(), ' ', '_');
    return method;
  }
  std::string doubt(const AxisEstimate& axis) const {
    if (!axis.uncertainty) return fmt::format("the worst scores {:.3g} times the best", axis.contrast);
    return fmt::format("one standard deviation is {:.3g} pixels", *axis.uncertainty / file_.spacing[0]);
  }

  Job& job_;
  Grid file_;
  double pixel_, from_, in_plane_;
};

}  // namespace halocline

#include "algorithms/checks/suspicious_projections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <vector>

#include "algorithms/geometry/opposite_views.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

constexpr std::size_t most_checked_views = 12;
constexpr double clearly = 0.05;  // above what is left in air: of the greatest line integral
constexpr double near_air = 0.1;  // intensities in air, of their mean

class Views {
 public:
  Views(const VolumeSource& projections, const CountsCalibration* calibration)
      : projections_(projections), calibration_(calibration) {}
  Volume read(std::size_t view) const {
    Grid grid = projections_.grid();
    const std::size_t pixels = grid.slice();
    grid.size[2] = 1;
    Volume out = Volume::uninitialised(grid);
    projections_.read(view * pixels, pixels, out.voxels.data());
    if (calibration_ != nullptr) view_to_line_integrals(*calibration_, view, out.voxels.data());
    return out;
  }
  std::size_t count() const { return projections_.grid().size[2]; }

 private:
  const VolumeSource& projections_;
  const CountsCalibration* calibration_;
};

bool all_are(float value, const Volume& view) {
  return std::all_of(view.voxels.begin(), view.voxels.end(), [value](float each) { return each == value; });
}

struct Edges {
  std::size_t columns;                              // columns of each
  std::array<double, 2> sums{0, 0}, squares{0, 0};  // over the first and the last columns
  double values = 0;                                // number of values in each

  void add(const Volume& view) {
    const std::size_t width = view.grid.size[0];
    for (std::size_t row = 0; row < view.grid.size[1]; ++row)
      for (std::size_t n = 0; n < columns; ++n) {
        const double ends[] = {view.at(n, row, 0), view.at(width - 1 - n, row, 0)};
        for (const int side : {0, 1}) {
          sums[side] += ends[side];
          squares[side] += ends[side] * ends[side];
        }
        ++values;
      }
  }
  double mean(int side) const { return sums[side] / values; }
  double deviation(int side) const {
    return std::sqrt(std::max(0.0, squares[side] / values - mean(side) * mean(side)));
  }
};

/// Distances of the values on both sides of 0, and the value of air if these are intensities: the mean of the edges of
/// the first view.
struct Spread {
  std::vector<int> sides;  // sides that see beyond the object
  double least = 0, greatest = 0;
  double below_0 = 0, above_0 = 0;  // sums of the distances
  double air = 0, tolerance = 0;
  double below_air = 0, above_air = 0;  // ... from the tolerance on

  void take_air(const Edges& first_view) {
    double deviation = 0;
    for (const int side : sides) {
      air += first_view.mean(side) / static_cast<double>(sides.size());
      deviation = std::max(deviation, first_view.deviation(side));
    }
    tolerance = std::clamp(3 * deviation, 1e-3 * std::abs(air), near_air * std::abs(air));
  }
  void add(const Volume& view) {
    for (const double value : view.voxels) {
      least = std::min(least, value);
      greatest = std::max(greatest, value);
      (value < 0 ? below_0 : above_0) += std::abs(value);
      const double beyond = std::abs(value - air) - tolerance;
      if (beyond > 0) (value < air ? below_air : above_air) += beyond;
    }
  }
  // Noise, and flats a little too dark, make air negative, but not the object.
  bool negated() const { return -least > 2 * greatest && below_0 > 3 * above_0; }
  // The edges are air in all views, the object makes them less, and none is negative but for noise.
  bool intensities(const Edges& edges) const {
    return air > 0 && least > -near_air * air && below_air > 4 * above_air &&
           std::all_of(sides.begin(), sides.end(),
                       [&](int side) { return std::abs(edges.mean(side) - air) < near_air * air; });
  }
};

std::string constant_text(const std::string& name, float value, bool counts) {
  if (value != 0)
    return fmt::format("{}: all line integrals are {:.6g}, so nothing was measured; check the file", name, value);
  return fmt::format(
      "{}: all line integrals are 0, so nothing was measured and the volume will be empty; check the file{}", name,
      counts ? ", and that `flats` names images without the object" : "");
}

std::string truncated_text(const std::string& name, const std::array<double, 2>& shares, bool counts) {
  std::string where;
  for (const int side : {0, 1})
    if (shares[side] > clearly)
      where += fmt::format("{}{:.0f} % in the {} columns", where.empty() ? "" : " and ", 100 * shares[side],
                           side == 0 ? "first" : "last");
  return fmt::format(
      "{}: the object seems to reach over the detector's edge: of the greatest line integral the mean over rows and "
      "views is {}. Rows that are cut off make a bright rim, which `pad = 1` takes away for the most part; if there is "
      "air at the edge, {}",
      name, where, counts ? "give it as `air`" : "its line integrals should be 0");
}

std::string negated_text(const std::string& name, const Spread& spread, bool counts) {
  return fmt::format("{}: most line integrals are negative, from {:.4g} to {:.4g}, so the volume will be, too; {}",
                     name, spread.least, spread.greatest,
                     counts ? "the projections are brighter than the beam, so check that `projections` and `flats` are "
                              "not exchanged, and `darks`"
                            : "they seem to be ln(I/I0), so change their sign, for -ln(I/I0) is wanted");
}

std::string intensities_text(const std::string& name, const Spread& spread) {
  const bool transmissions = std::abs(spread.air - 1) < near_air;
  return fmt::format(
      "{}: the values seem to be {} (from {:.4g} to {:.4g}, and {:.4g} at the edges), but line integrals -ln(I/I0) are "
      "wanted; \"`counts` `air = U0,V0,U1,V1` `floor = {:.1g}`\" with a box of pixels that see the beam alone takes "
      "them for counts{}",
      name, transmissions ? "transmissions I/I0" : "intensities", spread.least, spread.greatest, spread.air,
      1e-4 * spread.air,
      transmissions ? "" : "; if they are line integrals, the object reaches over the detector's edge: `pad = 1`");
}

}  // namespace

SuspiciousProjections suspicious_projections(const VolumeSource& projections, const CountsCalibration* calibration,
                                             const Redundancy& redundancy, const std::string& name) {
  const Views views(projections, calibration);
  const bool counts = calibration != nullptr;
  if (counts) require_calibrated(*calibration, projections.grid(), name);
  Edges edges{std::max<std::size_t>(1, projections.grid().size[0] / 100)};
  Spread values;
  if (redundancy.columns_before == 0) values.sides.push_back(0);
  if (redundancy.columns_after == 0) values.sides.push_back(1);
  std::optional<float> first;
  bool constant = true;
  for (const std::size_t n : spread(views.count(), most_checked_views)) {
    check_interrupt();
    const Volume view = views.read(n);
    edges.add(view);
    if (!first) {
      first = view.voxels.front();
      values.take_air(edges);
    }
    constant = constant && all_are(*first, view);
    values.add(view);
  }
  SuspiciousProjections found;
  if (constant) {  // a small object may be in other views only
    for (std::size_t n = 0; n < views.count() && constant; ++n) {
      check_interrupt();
      constant = all_are(*first, views.read(n));
    }
    if (constant) found.constant = constant_text(name, *first, counts);
    return found;
  }
  if (values.negated()) {
    found.unlike_integrals = negated_text(name, values, counts);
    return found;
  }
  if (!(values.greatest > 0)) return found;
  std::array<double, 2> shares{};
  for (const int side : values.sides) shares[side] = edges.mean(side) / values.greatest;
  if (!(std::max(shares[0], shares[1]) > clearly)) return found;
  if (!counts && values.intensities(edges))
    found.unlike_integrals = intensities_text(name, values);
  else
    found.truncated = truncated_text(name, shares, counts);
  return found;
}

}  // namespace halocline

#include "algorithms/suspicious_projections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "algorithms/opposite_views.hpp"
#include "host/interrupt.hpp"

namespace halocline {
namespace {

constexpr std::size_t most_views = 12;
constexpr double clearly = 0.05;  // above what is left in air: of the greatest line integral

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
  std::size_t columns;               // of each
  std::array<double, 2> sums{0, 0};  // over the first and the last columns
  double values = 0;                 // that went into each

  void add(const Volume& view) {
    const std::size_t width = view.grid.size[0];
    for (std::size_t row = 0; row < view.grid.size[1]; ++row)
      for (std::size_t n = 0; n < columns; ++n) {
        sums[0] += view.at(n, row, 0);
        sums[1] += view.at(width - 1 - n, row, 0);
        ++values;
      }
  }
};

std::string constant_text(const std::string& name, float value, bool counts) {
  if (value != 0)
    return fmt::format("{}: all line integrals are {:.6g}, so nothing was measured; check the file", name, value);
  return fmt::format(
      "{}: all line integrals are 0, so nothing was measured and the volume will be empty; check the file{}", name,
      counts ? ", and that --flat names images without the object" : "");
}

std::string truncated_text(const std::string& name, const std::array<double, 2>& shares, bool counts) {
  std::string where;
  for (const int side : {0, 1})
    if (shares[side] > clearly)
      where += fmt::format("{}{:.0f} % in the {} columns", where.empty() ? "" : " and ", 100 * shares[side],
                           side == 0 ? "first" : "last");
  return fmt::format(
      "{}: the object seems to reach over the detector's edge: of the greatest line integral the mean over rows and "
      "views is {}. Rows that are cut off make a bright rim, which --pad 1 takes away for the most part; if there is "
      "air at the edge, {}",
      name, where, counts ? "give it as --air" : "its line integrals should be 0");
}

}  // namespace

SuspiciousProjections suspicious_projections(const VolumeSource& projections, const CountsCalibration* calibration,
                                             const Redundancy& redundancy, const std::string& name) {
  const Views views(projections, calibration);
  const bool counts = calibration != nullptr;
  if (counts) require_calibrated(*calibration, projections.grid(), name);
  Edges edges{std::max<std::size_t>(1, projections.grid().size[0] / 100)};
  std::optional<float> first;
  float greatest = 0;
  bool constant = true;
  for (const std::size_t n : spread(views.count(), most_views)) {
    check_interrupt();
    const Volume view = views.read(n);
    if (!first) first = view.voxels.front();
    constant = constant && all_are(*first, view);
    greatest = std::max(greatest, *std::max_element(view.voxels.begin(), view.voxels.end()));
    edges.add(view);
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
  if (!(greatest > 0)) return found;
  std::array<double, 2> shares{};
  for (const int side : {0, 1}) {
    const bool beyond_is_known = (side == 0 ? redundancy.columns_before : redundancy.columns_after) > 0;
    if (!beyond_is_known) shares[side] = edges.sums[side] / edges.values / greatest;
  }
  if (std::max(shares[0], shares[1]) > clearly) found.truncated = truncated_text(name, shares, counts);
  return found;
}

}  // namespace halocline

#include "algorithms/alignment/axis_choice.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace halocline {
namespace {

/// Half a turn: its double wedge is certain, or better than a single pair of opposite views.
bool takes_double_wedge(const AxisMeasures& measures, double pixel) {
  const auto& [correlation, double_wedge, sharpness, opposite_error, truncated, displaced] = measures;
  if (!double_wedge || double_wedge->at_end) return false;
  if (!double_wedge->certain(pixel)) return truncated && !(correlation && correlation->at_end);
  if (truncated) return true;
  // all views give a little more than those beside the seam
  const bool sharper = sharpness && !displaced && !sharpness->at_end && sharpness->certain(pixel) &&
                       std::abs(sharpness->shift - double_wedge->shift) <= pixel;
  return !sharper;
}

bool takes_sharpness(const AxisMeasures& measures, double pixel) {
  if (!measures.sharpness) return false;
  const auto& wedge = measures.double_wedge;
  if (wedge && wedge->certain(pixel) && !wedge->at_end && !measures.truncated) return true;
  if (!measures.correlation) return true;
  const AxisEstimate &correlated = *measures.correlation, &sharpest = *measures.sharpness;
  const double apart = std::abs(sharpest.shift - correlated.shift);
  // weights for what is seen twice change with the axis, and sharpness with them: by up to 0.4 pixels
  if ((measures.displaced || measures.truncated) && correlated.certain(pixel)) return false;
  return !sharpest.at_end && (apart <= pixel || !correlated.certain(pixel));
}

}  // namespace

bool AxisChoice::agreed() const {
  return std::none_of(differing.begin(), differing.end(), [](const auto& each) { return each.trusted; });
}

AxisChoice choose_axis(const AxisMeasures& measures, double pixel) {
  const auto& [correlation, double_wedge, sharpness, opposite_error, truncated, displaced] = measures;
  AxisChoice choice;
  const auto take = [&](const char* method, const AxisEstimate& axis) {
    choice.method = method;
    choice.axis = axis;
  };
  if (takes_double_wedge(measures, pixel))
    take("double wedge", *double_wedge);
  else if (takes_sharpness(measures, pixel))
    take("sharpness", *sharpness);
  else if (correlation)
    take("correlation", *correlation);
  else if (double_wedge)
    take("double wedge", *double_wedge);
  else
    throw std::logic_error("choose_axis: there is none");
  const bool uncertain = !choice.axis.certain(pixel);
  const auto compare = [&](const char* method, const std::optional<AxisEstimate>& other, double near, bool astray) {
    if (!other || method == choice.method) return;
    const double apart = std::abs(other->shift - choice.axis.shift);
    if (apart > near) choice.differing.push_back({method, apart, !astray && (uncertain || other->certain(pixel))});
  };
  compare("correlation", correlation, pixel + opposite_error, false);
  compare("double wedge", double_wedge, pixel, false);
  compare("sharpness", sharpness, pixel, truncated || displaced);
  return choice;
}

}  // namespace halocline

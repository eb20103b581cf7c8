// Choice between several measures of the rotation axis, with those that contradict it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/alignment/find_axis.hpp"

namespace halocline {

/// Results of the measures; none: not examined, or not available.
struct AxisMeasures {
  std::optional<AxisEstimate> correlation, double_wedge, sharpness;
  double opposite_error = 0;  ///< mm by which views that are not quite opposite may mislead correlation
  bool truncated = false;     ///< the object reaches over the detector's edge: then sharpness goes astray
  bool displaced = false;     ///< most rays are measured once: sharpness goes astray, too
};

struct AxisDifference {
  std::string method;
  double apart = 0;     ///< mm from the axis that was chosen
  bool trusted = true;  ///< not where sharpness goes astray, nor if it is itself uncertain and the choice is not
};

struct AxisChoice {
  AxisEstimate axis;
  std::string method;
  std::vector<AxisDifference> differing;  ///< by more than a pixel, opposite views by more than their error, too
  bool agreed() const;                    ///< none of them is trusted
};

/// Chooses the axis. Half a turn with a double wedge that is certain: sharpness within `pixel` (mm) of it, if that is
/// certain, too, and does not go astray, or else the double wedge; also if it is uncertain, but the object truncated,
/// as opposite views are a single pair there. Otherwise sharpness where it is within `pixel` of opposite views or these
/// are uncertain, unless it goes astray; or else opposite views. Needs one measure at the least.
AxisChoice choose_axis(const AxisMeasures& measures, double pixel);

}  // namespace halocline

// Projections from which FDK makes an empty volume, a negative one, or one with a bright rim: detected from a few
// views.
#pragma once

#include <string>

#include "algorithms/fdk/redundancy.hpp"
#include "algorithms/preprocessing/counts.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

/// Finding and remedy; empty: nothing was found.
struct SuspiciousProjections {
  std::string constant;          ///< all line integrals are the same
  std::string unlike_integrals;  ///< they have the wrong sign, or are intensities
  std::string truncated;         ///< the object reaches over the detector's edge
};

/// Looks at up to 12 whole views, spread evenly; at all of them, until two values differ, only if these are constant.
/// Wrong sign: the negative values outweigh the others by far, and reach further from 0. Intensities: both edges are
/// alike, hardly anything is more and much is less, and nothing is below 0; about 1 at the edges they are called
/// transmissions. Truncated, if neither: the outermost hundredth of the columns has more than 5 % of the greatest line
/// integral, in the mean over rows and views. The short side of a displaced detector that is weighted (`redundancy`) is
/// left out, as it is within the object by design. calibration: calibration of counts (u, v, view); nullptr: these are
/// line integrals. `name` is for the texts.
SuspiciousProjections suspicious_projections(const VolumeSource& projections, const CountsCalibration* calibration,
                                             const Redundancy& redundancy, const std::string& name);

}  // namespace halocline

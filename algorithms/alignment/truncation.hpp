// Check whether the object reaches over the detector's edge in some views.
#pragma once

#include "algorithms/fdk/redundancy.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

/// Fraction of views in which the object does, among up to 90 that are spread evenly over line integrals (u, v, view):
/// there the outermost hundredth of the columns on a side has, in the mean and less three standard deviations of its
/// noise, more than a tenth of the view's greatest column and a fiftieth of the greatest of all; columns are means over
/// rows. The short side of a displaced detector that is weighted (`redundancy`) is left out, as it is within the object
/// by design.
double truncated_views(const Volume& projections, const Redundancy& redundancy);

}  // namespace halocline

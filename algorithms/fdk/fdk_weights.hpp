// Weights of views and pixels before the ramp filter.
#pragma once

#include <vector>

#include "algorithms/fdk/filtered_rows.hpp"

namespace halocline {

/// Weights as fdk.cl, or fdk_general.cl (general), reads them, for all views in the geometry's order.
/// measured, raw: views and stack of the detector; rows: the detector that is filtered on.
std::vector<float> fdk_weights(const Geometry& measured, const Grid& raw, const FilteredRows& rows,
                               const Redundancy& redundancy, bool general);

}  // namespace halocline

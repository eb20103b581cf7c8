// The forms of FDK's row filter, checked against sums in float64.
#pragma once

#include "algorithms/support/variant_check.hpp"

namespace halocline {

Variant local_rows_variant();
/// All of them: in local memory, and by each library of transforms.
std::vector<Variant> row_filter_variants();

}  // namespace halocline

// The forms of FDK's row filter, checked against sums in float64.
#pragma once

#include "algorithms/support/variant_check.hpp"

namespace halocline {

Variant local_rows_variant();
Variant clfft_variant();
Variant vkfft_variant();

}  // namespace halocline

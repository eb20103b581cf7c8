// The self-check of the stored system matrix on matrix units.
#pragma once

#include "algorithms/support/variant_check.hpp"

namespace halocline {

/// Matrix units beside float32: both directions of a small scan, equal to what half precision rounds.
const Variant& matrix_units_variant();

}  // namespace halocline

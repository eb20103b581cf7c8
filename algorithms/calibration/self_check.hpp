// All kernel variants that are checked against their twins (variant_check.hpp).
#pragma once

#include <string>
#include <vector>

#include "algorithms/support/variant_check.hpp"

namespace halocline {

const std::vector<Variant>& all_variants();

}  // namespace halocline

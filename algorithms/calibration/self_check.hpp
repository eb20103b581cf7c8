// All kernel variants that are checked against their twins (variant_check.hpp).
#pragma once

#include <string>
#include <vector>

#include "algorithms/support/variant_check.hpp"

namespace halocline {

const std::vector<Variant>& all_variants();

/// check_variant(), for lists of findings: a device that fails has a finding, too. Throws BuildError, Interrupted.
Finding finding_on(const Device& device, const Variant& variant, bool again);

}  // namespace halocline

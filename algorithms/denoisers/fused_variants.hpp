// PDU and S-PDU with several iterations a pass, checked against those with one kernel each.
#pragma once

#include "algorithms/support/variant_check.hpp"

namespace halocline {

/// PDU, or if weighted S-PDU, with so many iterations a pass.
Variant fused_variant(bool weighted, int stages);
/// All of them.
std::vector<Variant> fused_variants();

}  // namespace halocline

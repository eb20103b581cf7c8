// The forms of FDK's row filter, checked against sums in float64.
#pragma once

#include <cstddef>
#include <optional>

#include "algorithms/support/variant_check.hpp"

namespace halocline {

/// In local memory. length: of the rows' transforms; none: several that together have all stages and sizes of groups.
Variant local_rows_variant(std::optional<std::size_t> length = std::nullopt);
/// All of them: in local memory, and by each library of transforms.
std::vector<Variant> row_filter_variants();

}  // namespace halocline

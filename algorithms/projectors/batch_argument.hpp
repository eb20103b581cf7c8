// The views that a launch goes over, as kernels of projectors and of back-projection take them.
#pragma once

#include <cstdint>

#include "host/volume/volume.hpp"
#include "scheduling/planning/range.hpp"
#include "scheduling/slabs/structs.hpp"

namespace halocline {

/// cl/extent.clh's Batch: `views` of the scan, of whose detector these rows are held.
inline StructArgument batch_of(const Grid& projections, Range rows, Range views) {
  const auto number = [](auto value) { return static_cast<std::int32_t>(value); };
  return argument_struct(structs::Batch{number(projections.size[0]), number(projections.size[1]), number(rows.begin),
                                        number(rows.count()), number(views.begin), number(views.count())});
}

}  // namespace halocline

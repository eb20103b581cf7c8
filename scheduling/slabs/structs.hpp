// Structs that kernels of several algorithms take by value: cl/extent.clh.
#pragma once

#include <array>

#include "host/opencl/device.hpp"

namespace halocline {

namespace structs {
#include "cl/extent.clh"
static_assert(sizeof(Extent) == 6 * 4 && sizeof(PerAxis) == 3 * 4 && sizeof(Batch) == 6 * 4);
}  // namespace structs

/// PerAxis with these numbers as float32.
template <class Number>
StructArgument per_axis(const std::array<Number, 3>& values) {
  return argument_struct(
      structs::PerAxis{static_cast<float>(values[0]), static_cast<float>(values[1]), static_cast<float>(values[2])});
}

}  // namespace halocline

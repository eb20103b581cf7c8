// Types of stored voxels and their conversion to float32.
#pragma once

#include <cstddef>
#include <string>

namespace halocline {

enum class Component { int8, uint8, int16, uint16, int32, uint32, int64, uint64, float32, float64 };

/// Bytes of one value.
std::size_t component_bytes(Component component);
/// "int8", "uint16", "float32", ...
std::string component_name(Component component);
/// Converts `count` values, which need not be aligned, to float32; `swap_bytes` if they are stored in the other byte
/// order.
void convert_to_float(Component component, const void* from, bool swap_bytes, float* to, std::size_t count);

}  // namespace halocline

// Types of stored voxels and their conversion from and to float32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace halocline {

enum class Component { int8, uint8, int16, uint16, int32, uint32, int64, uint64, float32, float64, float16 };

/// Meaning of a stored number: value = slope * stored + offset.
struct Scaling {
  double slope = 1, offset = 0;
  bool identity() const { return slope == 1 && offset == 0; }
  bool operator==(const Scaling&) const = default;
};

/// Bytes of one value.
std::size_t component_bytes(Component component);
/// "int8", "uint16", "float32", "float16", ...
std::string component_name(Component component);
/// All names, for lists of what can be given.
std::vector<std::string> component_names();
/// Throws InputError with the list for a name that is none.
Component component_named(const std::string& name);
/// The type of whole numbers of 1, 2, 4 or 8 bytes.
Component integer_component(bool has_sign, std::size_t bytes);
/// True for types of whole numbers.
bool is_integer(Component component);
/// The least and the greatest finite number that can be stored.
double component_lowest(Component component);
double component_highest(Component component);

/// Converts `count` values, which need not be aligned, to float32; `swap_bytes` if they are stored in the other byte
/// order.
void convert_to_float(Component component, const void* from, bool swap_bytes, float* to, std::size_t count,
                      const Scaling& scaling = {});

/// Changes the byte order of values in place.
void swap_bytes(Component component, void* values, std::size_t count);

/// Converts `count` values to the component, in the host's byte order; `to` need not be aligned. Rounds to the nearest
/// representable number, halfway to the even one; clamps values beyond the least or greatest finite one, and stores NaN
/// as 0 where only whole numbers are representable. Returns the number of values that were changed by clamping.
std::size_t convert_from_float(Component component, const float* from, void* to, std::size_t count,
                               const Scaling& scaling = {});

/// IEEE 754 binary16 (one sign, five exponent and ten fraction bits) and back; to half rounds to nearest, ties to even.
std::uint16_t half_from_float(float value);
float float_from_half(std::uint16_t half);

}  // namespace halocline

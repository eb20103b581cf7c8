#include "apps/io/component.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace halocline {
namespace {

template <typename T>
void convert(const void* from, bool swap_bytes, float* to, std::size_t count) {
  const auto* bytes = static_cast<const unsigned char*>(from);
  unsigned char one[sizeof(T)];
  T value;
  for (std::size_t n = 0; n < count; ++n, bytes += sizeof(T)) {
    if (swap_bytes) {
      std::reverse_copy(bytes, bytes + sizeof(T), one);
      std::memcpy(&value, one, sizeof(T));
    } else {
      std::memcpy(&value, bytes, sizeof(T));
    }
    to[n] = static_cast<float>(value);
  }
}

// Calls `action` with a value of the component's type.
template <typename Action>
auto with_type(Component component, Action action) {
  switch (component) {
    case Component::int8:
      return action(std::int8_t{});
    case Component::uint8:
      return action(std::uint8_t{});
    case Component::int16:
      return action(std::int16_t{});
    case Component::uint16:
      return action(std::uint16_t{});
    case Component::int32:
      return action(std::int32_t{});
    case Component::uint32:
      return action(std::uint32_t{});
    case Component::int64:
      return action(std::int64_t{});
    case Component::uint64:
      return action(std::uint64_t{});
    case Component::float32:
      return action(float{});
    case Component::float64:
      return action(double{});
  }
  throw std::logic_error("unknown component type");
}

}  // namespace

std::size_t component_bytes(Component component) {
  return with_type(component, [](auto zero) { return sizeof(zero); });
}

std::string component_name(Component component) {
  static const char* const names[] = {"int8",   "uint8", "int16",  "uint16",  "int32",
                                      "uint32", "int64", "uint64", "float32", "float64"};
  return names[static_cast<int>(component)];
}

void convert_to_float(Component component, const void* from, bool swap_bytes, float* to, std::size_t count) {
  with_type(component, [&](auto zero) { convert<decltype(zero)>(from, swap_bytes, to, count); });
}

}  // namespace halocline

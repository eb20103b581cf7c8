#include "apps/images/float_range.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>
#include <vector>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/volume/component.hpp"

namespace halocline {
namespace {

constexpr double beyond_float = 0x1.ffffffp127;  // the least value that rounds to infinity

// The values [first, first + to.size()), scaled.
void take_values(const TypedVolume& volume, std::size_t first, std::vector<double>& to) {
  const std::byte* from = volume.bytes() + first * component_bytes(volume.component);
  if (volume.component == Component::float64) {
    std::memcpy(to.data(), from, to.size() * sizeof(double));
  } else {
    std::vector<float> values(to.size());
    convert_to_float(volume.component, from, false, values.data(), values.size(), {});
    std::copy(values.begin(), values.end(), to.begin());
  }
  if (volume.scaling.identity()) return;
  for (double& value : to) value = volume.scaling.slope * value + volume.scaling.offset;
}

}  // namespace

bool fits_float(Component component, const Scaling& scaling) {
  if (component == Component::float64) return false;
  const double greatest = std::max(-component_lowest(component), component_highest(component));
  return greatest * std::abs(scaling.slope) + std::abs(scaling.offset) < beyond_float;
}

void require_float_range(const TypedVolume& volume, const std::string& path) {
  if (fits_float(volume.component, volume.scaling)) return;
  const std::size_t count = volume.grid.count(), piece = 1 << 16;
  std::size_t found = 0, first = 0;
  double value = 0;
  std::vector<double> values;
  for (std::size_t done = 0; done < count; done += values.size()) {
    check_interrupt();
    values.resize(std::min(piece, count - done));
    take_values(volume, done, values);
    for (std::size_t n = 0; n < values.size(); ++n) {
      if (!std::isfinite(values[n]) || std::abs(values[n]) < beyond_float) continue;
      if (found++ == 0) first = done + n, value = values[n];
    }
  }
  if (found == 0) return;
  const auto& size = volume.grid.size;
  throw InputError(fmt::format(
      "'{}': {} beyond the range of float32 (up to {:.3g}), in which all is calculated, {:.6g} at index ({},{},{}) the "
      "first; scale the values of the file, or write NaN where there are none, for which `allow_nonfinite` is",
      path, found == 1 ? "1 value lies" : fmt::format("{} values lie", found),
      static_cast<double>(std::numeric_limits<float>::max()), value, first % size[0], first / size[0] % size[1],
      first / volume.grid.slice()));
}

}  // namespace halocline

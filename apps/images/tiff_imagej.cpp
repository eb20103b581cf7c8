#include "apps/images/tiff_imagej.hpp"

#include <cmath>
#include <cstdlib>

#include "apps/images/length_unit.hpp"
#include "host/system/lower_case.hpp"

namespace halocline {
namespace {

// The value of a line `key=value`; empty if there is none.
std::string value_of(const std::string& text, const std::string& key) {
  const std::size_t at = text.find("\n" + key + "=");
  if (at == std::string::npos) return {};
  const std::size_t begin = at + key.size() + 2;
  std::string value = text.substr(begin, text.find_first_of("\r\n", begin) - begin);
  while (!value.empty() && value.back() == ' ') value.pop_back();
  return value;
}

// Length of a unit in mm; 0 if it is not known. The micro sign may be escaped as Java does.
double unit_in_mm(const std::string& unit) {
  const bool escaped = lower_case(unit) == "\\u00b5m" || lower_case(unit) == "\\u03bcm";
  return length_unit_in_mm(escaped ? "um" : unit).value_or(0);
}

}  // namespace

std::optional<ImageJSpacing> imagej_spacing(const std::string& description, const std::array<double, 2>& resolution) {
  if (!description.starts_with("ImageJ=") || !(resolution[0] > 0 && resolution[1] > 0)) return {};
  const std::string unit = value_of(description, "unit");
  const auto unit_of = [&](const char* key) {
    const std::string own = value_of(description, key);
    return unit_in_mm(own.empty() ? unit : own);
  };
  const double x = unit_in_mm(unit), y = unit_of("yunit"), z = unit_of("zunit");
  if (x == 0 || y == 0 || z == 0) return {};
  ImageJSpacing spacing{{x / resolution[0], y / resolution[1], z}};
  const double slices = std::abs(std::strtod(value_of(description, "spacing").c_str(), nullptr));
  spacing.has_slices = slices > 0 && std::isfinite(slices);
  if (spacing.has_slices) spacing.mm[2] *= slices;
  return spacing;
}

}  // namespace halocline

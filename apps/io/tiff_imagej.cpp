#include "apps/io/tiff_imagej.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <initializer_list>

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

// Length of a unit in mm; 0 if it is not known. The micro sign is in Latin-1, in UTF-8 or escaped as Java does.
double unit_in_mm(const std::string& unit) {
  const auto is = [&](std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), unit) != names.end();
  };
  if (is({"mm", "millimeter", "millimeters", "millimetre"})) return 1;
  if (is({"um", "micron", "microns", "micrometer", "micrometers", "micrometre", "\xb5m", "\xc2\xb5m", "\xce\xbcm",
          "\\u00B5m", "\\u00b5m", "\\u03BCm", "\\u03bcm"}))
    return 1e-3;
  if (is({"nm", "nanometer", "nanometers", "nanometre"})) return 1e-6;
  if (is({"cm", "centimeter", "centimeters", "centimetre"})) return 10;
  if (is({"m", "meter", "meters", "metre"})) return 1000;
  if (is({"inch", "inches", "in"})) return 25.4;
  return 0;
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

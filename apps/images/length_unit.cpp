#include "apps/images/length_unit.hpp"

#include <algorithm>
#include <iterator>

namespace halocline {
namespace {

struct LengthUnit {
  double mm;
  const char *symbol, *name, *other_name;  // names of one; several may have an s
};

constexpr LengthUnit length_units[] = {
    {1, "mm", "millimeter", "millimetre"},   {1e-3, "um", "micrometer", "micrometre"},
    {1e-3, "\xb5m", "micron", "micron"},     {1e-3, "\xc2\xb5m", "micron", "micron"},
    {1e-3, "\xce\xbcm", "micron", "micron"}, {1e-6, "nm", "nanometer", "nanometre"},
    {10, "cm", "centimeter", "centimetre"},  {1000, "m", "meter", "metre"},
    {25.4, "in", "inch", "inches"}};

}  // namespace

std::optional<double> length_unit_in_mm(const std::string& unit) {
  const auto is = [&](const LengthUnit& each) {
    const auto named = [&](const std::string& name) { return unit == name || unit == name + "s"; };
    return unit == each.symbol || named(each.name) || named(each.other_name);
  };
  const auto found = std::find_if(std::begin(length_units), std::end(length_units), is);
  return found == std::end(length_units) ? std::nullopt : std::optional(found->mm);
}

}  // namespace halocline

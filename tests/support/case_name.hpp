// Names of parameterized tests: "17x37x23_zhu_chan", "93x7x13_standard_16_bits".
#pragma once

#include <algorithm>
#include <cctype>
#include <string>

#include "algorithms/denoisers/schedule.hpp"

namespace halocline {

/// Name of a case with `size` (numbers of voxels) and `schedule`; `rest` follows. Only letters, digits and underscores.
template <typename Case>
std::string case_name(const Case& each, const std::string& rest = "") {
  std::string name;
  for (const auto n : each.size) name.append(name.empty() ? "" : "x").append(std::to_string(n));
  name.append("_").append(schedule_name(each.schedule)).append(rest);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

}  // namespace halocline

#include "scheduling/planning/program.hpp"

#include <algorithm>
#include <stdexcept>

namespace halocline {

const ArrayNeed& array_of(const Requirements& requirements, const std::string& name) {
  const auto found = std::find_if(requirements.arrays.begin(), requirements.arrays.end(),
                                  [&](const ArrayNeed& need) { return need.name == name; });
  if (found == requirements.arrays.end())
    throw std::logic_error(requirements.algorithm + " did not declare an array " + name);
  return *found;
}

std::size_t whole_bytes(const ArrayNeed& need, const Requirements& requirements) {
  return array_bytes(need, requirements, static_cast<std::int64_t>(requirements.size[2]),
                     static_cast<std::int64_t>(requirements.stack[1]),
                     static_cast<std::int64_t>(requirements.stack[2]));
}

}  // namespace halocline

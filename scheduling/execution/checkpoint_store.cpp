#include "scheduling/execution/checkpoint_store.hpp"

namespace halocline {

std::vector<RunState::Array> state_arrays(const Requirements& requirements) {
  std::vector<RunState::Array> result;
  for (const auto& need : requirements.arrays)
    if (is_state(need)) result.push_back({need.name, whole_bytes(need, requirements)});
  return result;
}

std::size_t state_bytes(const Requirements& requirements) {
  std::size_t bytes = 0;
  for (const auto& array : state_arrays(requirements)) bytes += array.bytes;
  return bytes;
}

}  // namespace halocline

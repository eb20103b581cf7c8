#include "scheduling/execution/checkpoint_store.hpp"

namespace halocline {

std::vector<RunState::Array> state_arrays(const Requirements& requirements) {
  std::vector<RunState::Array> result;
  for (const auto& need : requirements.arrays)
    if (need.lifetime == Lifetime::state || need.lifetime == Lifetime::output)
      result.push_back({need.name, array_bytes(need, requirements, 1, 1, 1) * requirements.size[2]});
  return result;
}

std::size_t state_bytes(const Requirements& requirements) {
  std::size_t bytes = 0;
  for (const auto& array : state_arrays(requirements)) bytes += array.bytes;
  return bytes;
}

}  // namespace halocline

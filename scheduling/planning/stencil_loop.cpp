#include "scheduling/planning/stencil_loop.hpp"

#include <algorithm>

namespace halocline {

std::vector<int> Reduction::expected_reductions(int iterations) const {
  std::vector<int> numbers;
  for (int done = next_reduction(-1); done < iterations; done = std::max(done + 1, next_reduction(done)))
    numbers.push_back(std::max(0, done));
  return numbers;
}

}  // namespace halocline

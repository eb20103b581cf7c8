#include "scheduling/execution/run.hpp"

namespace halocline {

bool can_end_early(const RunOptions& options) {
  return options.checkpoint_store != nullptr || options.time_limit > 0 || options.keep_partial;
}

}  // namespace halocline

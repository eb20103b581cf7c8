// Host memory that a job is going to take, and whether the host has it.
#pragma once

#include <cstddef>
#include <string>

#include "scheduling/plan.hpp"

namespace halocline {

struct HostNeed {
  double process = 0;  ///< held before the volumes are there: the program, drivers, their compilers
  double volumes = 0;  ///< inputs and results that lie in memory
  double runner = 0;   ///< Plan::host_bytes
  double peak() const { return process + volumes + runner; }
};

/// Two lines for people.
std::string host_text(const HostNeed& need, std::size_t memory);

/// Throws PlanError if the need is more than `memory` bytes; 0: not known, anything fits.
void require_host_memory(const HostNeed& need, std::size_t memory, const std::string& option);
/// The same with a plan: says how many slices would fit if the need is more than `memory` bytes; 0: not known, anything
/// fits. `option`: what raises the limit.
void require_host_memory(const Plan& plan, const HostNeed& need, std::size_t memory, const std::string& option);

}  // namespace halocline

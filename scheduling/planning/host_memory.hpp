// Host memory that a job is going to take, and whether the host has it.
#pragma once

#include <cstddef>
#include <string>

#include "scheduling/planning/plan.hpp"

namespace halocline {

struct HostMemoryEstimate {
  double process = 0;    ///< held before the volumes are there: the program, drivers, their compilers
  double volumes = 0;    ///< inputs and results on the host
  double runner = 0;     ///< Plan::host_bytes
  double whole = 0;      ///< of volumes: whole ones, which can lie in a scratch folder
  double state = 0;      ///< of runner: what can lie there (host_state_bytes())
  bool scratch = false;  ///< whether they do
  double arrays() const { return whole + state; }
  double on_scratch() const { return scratch ? arrays() : 0; }
  /// Of memory.
  double peak() const { return process + volumes + runner - on_scratch(); }
};

/// A line for people, and another one of what lies in a scratch folder.
std::string host_text(const HostMemoryEstimate& need, std::size_t memory);

/// Throws PlanError, which names `scratch` if that would help, if the need is more than `memory` bytes; 0: not known,
/// anything fits.
void require_host_memory(const HostMemoryEstimate& need, std::size_t memory, const std::string& option);
/// The same with a plan: says how many slices would fit if the need is more than `memory` bytes; 0: not known, anything
/// fits. `option`: what raises the limit.
void require_host_memory(const Plan& plan, const HostMemoryEstimate& need, std::size_t memory,
                         const std::string& option);

}  // namespace halocline

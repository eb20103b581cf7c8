// Estimate of a job's host memory.
#pragma once

#include <cstddef>
#include <string>

#include "scheduling/planning/plan.hpp"

namespace halocline {

struct HostMemoryEstimate {
  double process = 0;    ///< before volumes are allocated: the program, drivers, their compilers
  double volumes = 0;    ///< inputs and results on the host
  double runner = 0;     ///< Plan::host_bytes
  double whole = 0;      ///< part of volumes that can reside in a scratch folder
  double state = 0;      ///< part of runner that can reside there (host_state_bytes())
  bool scratch = false;  ///< a scratch folder is used
  double arrays() const { return whole + state; }
  double on_scratch() const { return scratch ? arrays() : 0; }
  double peak() const { return process + volumes + runner - on_scratch(); }
};

/// A line for people, and another one about the scratch folder.
std::string host_text(const HostMemoryEstimate& need, std::size_t memory);

/// Throws PlanError, which names `scratch` where that helps, if more than `memory` bytes are needed; 0: not known.
void require_host_memory(const HostMemoryEstimate& need, std::size_t memory, const std::string& option);
/// Throws the same, with the number of slices that fit. `option`: advice that raises the limit.
void require_host_memory(const Plan& plan, const HostMemoryEstimate& need, std::size_t memory,
                         const std::string& option);

}  // namespace halocline

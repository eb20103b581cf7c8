// The host memory and the scratch folder of a job: what it will need, seen to be there before volumes are read.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "host/system/process_memory.hpp"
#include "host/system/scratch_folder.hpp"
#include "scheduling/planning/host_memory.hpp"

namespace halocline {

/// HostForecast::require()'s remedy for benches.
constexpr const char* smaller_size = "A smaller --size takes less.";

class HostForecast {
 public:
  /// memory: bytes that a job may take; 0: what the computer has. scratch: a folder for volumes; empty: none.
  HostForecast(std::size_t memory, std::string scratch);

  /// Bytes that a job may take; 0: not known.
  std::size_t limit() const { return limit_; }
  /// The need of a plan. volumes: bytes of the inputs and results that will lie whole on the host; pieces: of what
  /// others pass through.
  HostMemoryEstimate need_of(const Plan& plan, double volumes, double pieces) const;
  /// Throws PlanError if the host has less memory than all of it needs, InputError if the scratch folder has no room
  /// for what is to lie there.
  void require(const Plan& plan, const HostMemoryEstimate& need);
  /// Throws as for a plan. remedy: a sentence on what takes less, if there is one; work: bytes of other arrays,
  /// which are never in the scratch folder.
  void require(double volumes, const std::string& remedy = {}, double work = 0);

  /// Predicted and actual peaks, as the report has them.
  void add_to(nlohmann::json& report) const;

 private:
  void prepare(const HostMemoryEstimate& need);
  std::size_t peak_bytes() const;

  std::size_t limit_;
  std::string folder_;
  double estimate_ = 0, scratch_estimate_ = 0;  // bytes, the largest forecast
  std::optional<ScratchFolder> scratch_;
  std::optional<MemoryWatch> watch_;  // with it
};

}  // namespace halocline

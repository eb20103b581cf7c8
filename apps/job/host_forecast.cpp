#include "apps/job/host_forecast.hpp"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "scheduling/planning/cost.hpp"

namespace halocline {
namespace {

constexpr const char* host_memory_option = "--host-memory sets what a job may take.";

}  // namespace

HostForecast::HostForecast(std::size_t memory, std::string scratch)
    : limit_(memory > 0 ? memory : host_memory_bytes()), folder_(std::move(scratch)) {}

HostMemoryEstimate HostForecast::need_of(const Plan& plan, double volumes, double pieces) const {
  return {static_cast<double>(process_bytes()),
          volumes + pieces,
          plan.host_bytes,
          volumes,
          host_state_bytes(plan),
          !folder_.empty()};
}

void HostForecast::require(const Plan& plan, const HostMemoryEstimate& need) {
  require_host_memory(plan, need, limit_, host_memory_option);
  prepare(need);
}

void HostForecast::require(double volumes, const std::string& remedy, double work) {
  const HostMemoryEstimate need{static_cast<double>(process_bytes()), volumes, work, volumes, 0, !folder_.empty()};
  require_host_memory(need, limit_, (remedy.empty() ? remedy : remedy + " ") + host_memory_option);
  prepare(need);
}

void HostForecast::prepare(const HostMemoryEstimate& need) {
  // Devices whose rates were measured, or kernels compiled, may have taken more before.
  estimate_ = std::max({estimate_, need.peak(), static_cast<double>(peak_bytes())});
  scratch_estimate_ = std::max(scratch_estimate_, need.on_scratch());
  if (!need.scratch) return;
  if (!scratch_) {
    scratch_.emplace(folder_);
    watch_.emplace();
    if (scratch_->in_memory())
      spdlog::warn("--scratch '{}' is a folder in memory (tmpfs): nothing is gained; give one on a disk", folder_);
  }
  scratch_->reserve(static_cast<std::size_t>(need.on_scratch()));
}

// The peak without the mapped files of the scratch folder, whose pages the system can take at any time.
std::size_t HostForecast::peak_bytes() const {
  return watch_ ? watch_->peak() : process_peak_bytes();
}

void HostForecast::add_to(nlohmann::json& report) const {
  const std::size_t peak = peak_bytes();
  report["host_peak_bytes"] = peak;
  if (estimate_ > 0) report["host_memory"] = {{"predicted_peak_bytes", estimate_}, {"actual_peak_bytes", peak}};
  if (scratch_)
    report["scratch"] = {{"folder", folder_},
                         {"predicted_peak_bytes", scratch_estimate_},
                         {"actual_peak_bytes", scratch_->peak()},
                         {"resident_peak_bytes", process_peak_bytes()}};
}

}  // namespace halocline

#include "scheduling/planning/host_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/system/error.hpp"
#include "host/system/process_memory.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/planning/plan_text.hpp"

namespace halocline {

namespace {

// Advice to use a scratch folder; empty where one is in use or would not suffice.
std::string scratch_remedy(HostMemoryEstimate need, double memory) {
  if (need.scratch) return {};
  need.scratch = true;
  if (need.on_scratch() <= 0 || need.peak() > memory) return {};
  return fmt::format(
      " With `scratch` FOLDER {} of it lie in files of that folder while the job runs, and {} in memory.",
      bytes_text(need.on_scratch()), bytes_text(need.peak()));
}

// Source of the limit. The process's own memory varies a little, and so does the rest.
const char* who_has(std::size_t memory) {
  const std::size_t left = host_memory_bytes();
  const bool is_left = memory > left / 10 * 9 && memory < left / 10 * 11;
  return is_left && limited_by_ulimit() ? "ulimit -v or -d leaves" : "the host has";
}

}  // namespace

std::string host_text(const HostMemoryEstimate& need, std::size_t memory) {
  const std::string of = memory > 0 ? " of " + bytes_text(static_cast<double>(memory)) : "";
  const double whole = need.scratch ? need.whole : 0, state = need.scratch ? need.state : 0;
  std::string text =
      fmt::format("  host memory: {}{} (inputs and results {}, the run {}, the program and its drivers {})\n",
                  bytes_text(need.peak()), of, bytes_text(need.volumes - whole), bytes_text(need.runner - state),
                  bytes_text(need.process));
  if (need.scratch)
    text += fmt::format("  scratch files: {} (inputs and results {}, the run {})\n", bytes_text(need.on_scratch()),
                        bytes_text(whole), bytes_text(state));
  return text;
}

void require_host_memory(const HostMemoryEstimate& need, std::size_t memory, const std::string& option) {
  if (memory == 0 || need.peak() <= static_cast<double>(memory)) return;
  const auto has = static_cast<double>(memory);
  throw PlanError(fmt::format("the host's memory is too small.\n{}  {:<28} {:>12}\n{}{}", host_text(need, 0),
                              who_has(memory), bytes_text(has), option, scratch_remedy(need, has)));
}

void require_host_memory(const Plan& plan, const HostMemoryEstimate& need, std::size_t memory,
                         const std::string& option) {
  const auto has = static_cast<double>(memory);
  if (memory == 0 || need.peak() <= has) return;
  const auto& size = plan.requirements.size;
  // A job's memory grows with the slices of the volume.
  const auto slices = static_cast<std::int64_t>(
      std::floor(static_cast<double>(size[2]) * (has - need.process) / (need.peak() - need.process)));
  const std::string fits = slices >= 1
                               ? fmt::format("{} slices of {} x {} voxels would fit",
                                             std::min<std::int64_t>(slices, size[2]), size[0], size[1])
                               : fmt::format("not even one slice of {} x {} voxels would fit", size[0], size[1]);
  const bool comes_and_goes = host_state_bytes(plan) > 0;
  throw PlanError(fmt::format(
      "{}: the host's memory is too small for {} x {} x {} voxels.\n{}  {:<28} {:>12}\nTake a smaller part of the "
      "volume: {}.{} {}{}",
      plan.requirements.algorithm, size[0], size[1], size[2], host_text(need, 0), who_has(memory), bytes_text(has),
      fits,
      comes_and_goes ? " Slabs that stay on their devices need no copy of the state on the host: give more devices, or "
                       "more of their memory with `device_memory`."
                     : "",
      option, scratch_remedy(need, has)));
}

}  // namespace halocline

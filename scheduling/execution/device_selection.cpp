#include "scheduling/execution/device_selection.hpp"

#include <fmt/format.h>

#include "scheduling/planning/cost.hpp"

namespace halocline {

std::optional<std::string> note_on_selection(double alone, std::optional<double> together, std::size_t cpus) {
  if (together && *together < (1 - worth_another) * alone) return std::nullopt;
  const std::string who = cpus == 1 ? "the CPU" : "the CPUs", with = cpus == 1 ? "with it" : "with them";
  if (!together) return fmt::format("left out: {}; the job cannot be done there", who);
  if (*together < (1 + worth_another) * alone)
    return fmt::format("left out: {}; {} the job would take no less time", who, with);
  return fmt::format("left out: {}; {}, and kernels for both, it would take {:.3g} s instead of {:.3g} s", who, with,
                     *together, alone);
}

}  // namespace halocline

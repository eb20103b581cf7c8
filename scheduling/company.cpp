#include "scheduling/company.hpp"

#include <fmt/format.h>

#include "scheduling/cost.hpp"

namespace halocline {

std::optional<std::string> note_of_company(std::optional<double> alone, std::optional<double> together,
                                           const std::string& cpus) {
  if (!alone || (together && *together < (1 - worth_another) * *alone)) return std::nullopt;
  if (!together) return fmt::format("left out: {}; the job does not fit there", cpus);
  if (*together < (1 + worth_another) * *alone)
    return fmt::format("left out: {}; with it the job would take no less time", cpus);
  return fmt::format("left out: {}; with kernels for both it would take {:.3g} s instead of {:.3g} s", cpus, *together,
                     *alone);
}

}  // namespace halocline

#include "apps/images/dicom_rescale.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/system/error.hpp"

namespace halocline {

void require_rescales_of_all(const std::vector<StatedRescale>& all, const std::string& what) {
  const auto require = [&](std::optional<double> StatedRescale::*attribute, const char* name, double none) {
    const auto without =
        std::find_if(all.begin(), all.end(), [&](const StatedRescale& each) { return !(each.*attribute); });
    const auto with = std::find_if(all.begin(), all.end(),
                                   [&](const StatedRescale& each) { return (each.*attribute).value_or(none) != none; });
    if (without == all.end() || with == all.end()) return;
    throw InputError(
        fmt::format("{}: {} has no {}, but that of {} is {:.6g}: what its values mean is not known; write {} for all, "
                    "or leave out those without",
                    what, without->name, name, with->name, *((*with).*attribute), name));
  };
  require(&StatedRescale::slope, "RescaleSlope", 1);
  require(&StatedRescale::intercept, "RescaleIntercept", 0);
  require(&StatedRescale::dose, "DoseGridScaling", 1);
}

}  // namespace halocline

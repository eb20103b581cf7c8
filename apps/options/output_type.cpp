#include "apps/options/output_type.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "algorithms/jobs/setting_values.hpp"

namespace halocline {

void add_water_option(Settings& settings, std::optional<double>& water) {
  settings
      .add("hu", water,
           "Write Hounsfield units, 1000 (mu - WATER)/WATER, given water's attenuation in 1/mm (0.0206 at 60 keV)")
      .positive()
      .between(0, 1e3)
      .unit("WATER");
}

void report_clamping(Job& job, const ImageStorage& storage, std::size_t clamped, const std::string& remedy) {
  const std::string type = component_name(storage.component);
  const auto& [slope, offset] = storage.scaling;
  job.results()["output"] = {{"component", type}, {"slope", slope}, {"offset", offset}, {"clamped", clamped}};
  if (clamped > 0)
    spdlog::warn("{} voxels lay beyond what {} can hold ({:g} to {:g}) and became the nearest that it can; give {}",
                 clamped, type, component_lowest(storage.component) * slope + offset,
                 component_highest(storage.component) * slope + offset, remedy);
}

}  // namespace halocline

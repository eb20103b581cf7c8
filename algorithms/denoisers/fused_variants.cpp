#include "algorithms/denoisers/fused_variants.hpp"

#include <fmt/format.h>

#include <map>

#include "algorithms/denoisers/fused_pass.hpp"
#include "algorithms/denoisers/registry.hpp"
#include "scheduling/execution/program_run.hpp"

namespace halocline {
namespace {

const Grid& denoised_grid() {
  static const Grid grid = default_grid({40, 19, 23}, {0.8, 1.1, 1.4});  // columns of 4, 2 and 1 voxels divide 40
  return grid;
}

}  // namespace

Variant fused_variant(bool weighted, int stages) {
  const auto run = [weighted](const Device& device, int stages_of_it) {
    const Volume f = trial_volume(denoised_grid());
    Volume w = f;
    for (float& value : w.voxels) value = 0.25f + 1.5f * value;
    MethodParameters parameters;
    parameters.size = f.grid.size;
    parameters.spacing = f.grid.spacing;
    parameters.iterations = 12;  // a multiple of the stages
    parameters.lambda = 0.2;
    parameters.largest_weight = 1.75f;
    parameters.fused.stages = stages_of_it;
    std::map<std::string, const Volume*> inputs{{"f", &f}};
    if (weighted) inputs["w"] = &w;
    const auto method = make_denoiser(weighted ? "spdu" : "pdu", parameters);
    return run_program(method->program(), inputs, f.grid, {device}).output;
  };
  return {fmt::format("{}, {} iteration{} a pass", weighted ? "S-PDU" : "PDU", stages, stages > 1 ? "s" : ""),
          {"pdu_fused.cl", "pdu.cl", "spdu.cl"},
          [stages](const DeviceInfo& info) -> std::string {
            return takes_stages(info, stages, denoised_grid().size[0]) ? "" : "too small work-groups or local memory";
          },
          [run, stages](const Device& device) { return compared(run(device, stages), run(device, 0), 0); }};
}

std::vector<Variant> fused_variants() {
  std::vector<Variant> all;
  for (const bool weighted : {false, true})
    for (const FusedForm& form : fused_forms)
      if (form.stages > 0 && form.dual_bits == 32) all.push_back(fused_variant(weighted, form.stages));
  return all;
}

}  // namespace halocline

#include "scheduling/execution/stencil_job.hpp"

namespace halocline {

StencilJob::StencilJob(const RunRequest& request, const std::vector<Device>& on, const Plan& by)
    : loop(*request.program.loop),
      reduction(*request.program.reduction),
      inputs(request.inputs),
      output(request.output),
      devices(on),
      plan(by),
      requirements(plan.requirements),
      options(request.options),
      stop(options.keep_partial || options.checkpoint_store != nullptr) {
  for (const auto& need : requirements.arrays) {
    if (is_state(need)) states.push_back(need.name);
    if (need.lifetime == Lifetime::sums) sums_name = need.name, components = need.elements;
    if (need.lifetime == Lifetime::output) output_name = need.name;
  }
}

std::size_t StencilJob::slice_bytes(const std::string& name) const {
  return array_bytes(array_of(requirements, name), requirements, 1, 1, 1);
}

void StencilJob::hold_sums(std::size_t reductions) {
  transport.hold(sums_array, reductions * requirements.size[2] * components * sizeof(double));
}

std::vector<double> StencilJob::added_sums(std::size_t which) const {
  const std::size_t slices = requirements.size[2], count = slices * components;
  std::vector<double> sums(count), total(components, 0.0);
  transport.get(sums_array, which * count * sizeof(double), count * sizeof(double),
                reinterpret_cast<std::byte*>(sums.data()));
  for (std::size_t slice = 0; slice < slices; ++slice)
    for (std::size_t c = 0; c < components; ++c) total[c] += sums[slice * components + c];
  return total;
}

}  // namespace halocline

#include "scheduling/execution/stencil_job.hpp"

#include "scheduling/transport/rank_devices.hpp"
#include "scheduling/transport/rank_exchange.hpp"

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
      ranks(ranks_of(plan)),
      stop(options.keep_partial || options.checkpoint_store != nullptr, ranks) {
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

void StencilJob::share_sums(std::size_t reductions) {
  const std::size_t slice = components * sizeof(double);
  for (std::size_t which = 0; which < reductions; ++which)
    share_slices(transport, plan, sums_array, slice, which * slice * requirements.size[2]);
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

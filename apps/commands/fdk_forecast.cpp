#include "apps/commands/fdk_forecast.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/fdk/fdk.hpp"
#include "apps/images/image_file.hpp"
#include "apps/images/memory_files.hpp"
#include "apps/job/report.hpp"
#include "apps/job/streamed_run.hpp"
#include "scheduling/planning/rank_rows.hpp"
#include "scheduling/profiling/rates.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {

PlanOptions fdk_plan_options(Job& job, const FdkCommand& command) {
  constexpr int slabs_to_keep = 8;  // so that there is something to go on from
  PlanOptions options = job.plan_options();
  if (!command.checkpoint.empty()) options.minimum_slabs = slabs_to_keep;
  return options;
}

FdkPlans::FdkPlans(Job& job, const FdkCommand& command, const FdkWork& work)
    : job_(job), command_(command), work_(work) {
  if (command.denoise.wanted()) plan_denoised();
  const FdkFrame& first = work.frames.front();
  const PlanOptions options = fdk_plan_options(job, command);
  attenuation_ = denoised_ ? denoised_->fdk() : plan(first.geometry, work.stack, work.attenuation, options);
  if (work.variance.variance)
    variance_ = denoised_ ? denoised_->variance() : plan(first.geometry, work.stack, work.variance, options);
  // Projections that are read only once need not be in host memory; nor can those that are too large for it.
  const bool in_pieces = work.chosen.whole && !command.counts && first.halves.empty();
  streamed_ = in_pieces && ((attenuation_.resident && !variance_) || is_on_device(command.input) ||
                            4 * work.stack.count() > job.host().limit() / 2);
  if (ranks().several() && in_pieces && !streamed_ && is_read_in_pieces(command.input)) rows_ = rows_seen();
}

Range FdkPlans::rows_seen() const {
  const Range first = rows_seen_here(attenuation_), second = variance_ ? rows_seen_here(*variance_) : first,
              rows{std::min(first.begin, second.begin), std::max(first.end, second.end)};
  const Range stored{0, static_cast<std::int64_t>(work_.stack.size[1])};
  if (rows.empty() || work_.attenuation.algorithm == FdkAlgorithm::gridding) return common(rows, stored);
  // Rows of a turned detector are resampled from others.
  const Fdk fdk(work_.frames.front().geometry, work_.stack, work_.grid, work_.attenuation);
  return common(fdk.rows_read(rows), stored);
}

std::optional<Plan> FdkPlans::plan_of(const std::string& run) const {
  return run == "fdk" ? attenuation_ : run == "variance" ? variance_ : std::nullopt;
}

Plan FdkPlans::plan(const Geometry& geometry, const Grid& stack, const FdkParameters& parameters,
                    const PlanOptions& options) const {
  return plan_fdk(geometry, stack, work_.grid, parameters, device_models(job_.devices()), options);
}

void FdkPlans::plan_denoised() {
  for (const auto& [option, path] :
       {std::pair{"--reference", command_.denoise.reference}, {"--truth", command_.denoise.truth}})
    if (!path.empty())
      require_same_grid(work_.grid, "the volume", job_.input_volume(option, path).grid,
                        fmt::format("{} '{}'", option, path));
  if (command_.denoise.parameters.method != "tvgd") job_.tune_first_run(command_.denoise.parameters.method);
  const auto of = [&](const FdkParameters& parameters) {
    return [&](const PlanOptions& how) { return plan(work_.frames.front().geometry, work_.stack, parameters, how); };
  };
  denoised_.emplace(job_, command_.denoise, work_.grid, of(work_.attenuation),
                    work_.variance.variance ? DenoisedPlan::FdkPlan(of(work_.variance)) : nullptr);
}

// Projections and results, or the page-locked chunks that they pass through on their way from and to files
// (host/opencl/staging.hpp); half of the projections are copied.
void FdkPlans::forecast() const {
  const FdkFrame& first = work_.frames.front();
  const auto stored = command_.counts ? work_.attenuation.counts->stored : Component::float32;
  const double views = static_cast<double>(component_bytes(stored)) * static_cast<double>(work_.stack.count()),
               volumes = grid_bytes(work_.grid) * static_cast<double>(1 + (variance_ ? 1 : 0) + first.halves.size()),
               part = rows_ ? static_cast<double>(rows_->count()) / static_cast<double>(work_.stack.size[1]) : 1,
               input = streamed_ && is_streamable(command_.input) ? 0 : part * views,
               results = is_streamable(first.output) ? 0 : volumes,
               pieces = (input > 0 ? 0 : staged_bytes(views)) + (results > 0 ? 0 : staged_bytes(volumes)),
               spilled = denoised_ ? denoised_->spilled_bytes() : 0;
  job_.forecast(attenuation_, input + results + spilled, pieces);
  if (variance_) job_.forecast(*variance_, input + results + spilled, pieces);
  if (denoised_) job_.forecast(denoised_->denoise(), results + denoised_->denoise_bytes(command_.denoise), pieces);
  for (const auto& half : first.halves)  // volumes that are never streamed
    job_.forecast(plan(half.geometry, work_.half_stack(half), work_.attenuation, fdk_plan_options(job_, command_)),
                  1.5 * input + results, pieces);
}

}  // namespace halocline

#include "algorithms/calibration/form_trial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/calibration/denoise_loop.hpp"
#include "host/opencl/work_groups.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/log.hpp"

namespace halocline {
namespace {

constexpr std::size_t trial_voxels = std::size_t{1} << 23;
constexpr int timed_runs = 3, iterations_a_run = 12;  // a multiple of every candidate's stages

// The rows keep their length, by which tiles are chosen.
std::array<std::size_t, 3> trial_size(std::array<std::size_t, 3> size) {
  size[1] = std::clamp<std::size_t>(trial_voxels / size[0] / 32, 1, size[1]);
  size[2] = std::clamp<std::size_t>(trial_voxels / size[0] / size[1], 1, size[2]);
  return size;
}

// Infinite if the device does not take the form.
double seconds_with(const Device& device, FusedForm form, bool weighted, const std::array<std::size_t, 3>& size) {
  constexpr double never = std::numeric_limits<double>::infinity();
  if (!takes_stages(device.info(), form.stages, size[0])) return never;
  MethodParameters parameters;
  parameters.size = size;
  parameters.iterations = timed_runs * iterations_a_run;
  parameters.lambda = 1;
  parameters.largest_weight = 1;
  parameters.fused = form;
  Volume ones(default_grid(size, {1, 1, 1}));
  std::fill(ones.voxels.begin(), ones.voxels.end(), 1.0f);
  std::map<std::string, const Volume*> inputs{{"f", &ones}};
  if (weighted) inputs["w"] = &ones;
  try {
    DenoiseLoop loop(device, {weighted ? "spdu" : "pdu", form}, parameters, inputs);
    loop.warm_up();
    double best = never;
    for (int n = 0; n < timed_runs; ++n) {
      check_interrupt();
      best = std::min(best, seconds_of(loop.slab(), [&] { loop.iterate(iterations_a_run); }));
    }
    return best;
  } catch (const PlanError&) {
    return never;
  } catch (const BuildError&) {
    return never;
  } catch (const ClError& error) {
    if (!is_out_of_memory(error) && !exceeds_group_limits(error)) throw;
    return never;
  }
}

}  // namespace

std::vector<FormTrial> form_trials(const std::vector<Device>& devices, bool weighted, std::array<std::size_t, 3> size) {
  size = trial_size(size);
  std::vector<FormTrial> trials;
  for (const FusedForm& form : fused_forms) {
    if (form.dual_bits != 32) continue;
    double slowest = 0;
    for (const auto& device : devices) slowest = std::max(slowest, seconds_with(device, form, weighted, size));
    library_log()->debug("trial of {} iterations a pass (0: in place): {:.3g} ms", form.stages, 1e3 * slowest);
    if (std::isfinite(slowest)) trials.push_back({form, slowest});
  }
  return trials;
}

FusedForm tried_form(const std::vector<Device>& devices, bool weighted, std::array<std::size_t, 3> size) {
  const auto trials = form_trials(devices, weighted, size);
  if (trials.empty()) return {};
  return std::min_element(trials.begin(), trials.end(),
                          [](const auto& a, const auto& b) { return a.seconds < b.seconds; })
      ->form;
}

}  // namespace halocline

#include "apps/commands/fdk_denoise.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>

#include "algorithms/jobs/denoise_report.hpp"
#include "apps/job/report.hpp"
#include "host/system/error.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {
namespace {

const std::vector<std::string> fdk_denoisers{"pdu", "spdu", "tvgd"};
constexpr const char* volume_name = "volume";
constexpr const char* variance_name = "variance";

}  // namespace

void add_fdk_denoise_options(Settings& settings, FdkDenoise& denoise) {
  denoise.settings = &settings;
  const std::size_t before = settings.all().size();
  settings
      .add("denoise", denoise.parameters.method,
           "Denoise the volume before it is written, as 'halocline denoise --method' does, without writing it "
           "in between: it stays on the devices where it fits. spdu weights with the variances that the "
           "noise of the projections makes (--photons, or --counts), as --variance-out writes them")
      .one_of(fdk_denoisers)
      .unit("METHOD");
  settings.add("undenoised", denoise.undenoised, "With --denoise: also write the volume as it was before, float32")
      .writes(FileKind::image);
  add_alpha_setting(settings, denoise);
  add_method_settings(settings, denoise);
  add_penalty_settings(settings, denoise.penalty, denoise.parameters.regulariser);
  add_reference_setting(settings, denoise.reference);
  add_truth_setting(settings, denoise.truth, "");
  for (std::size_t n = before; n < settings.all().size(); ++n) {
    Setting& setting = settings.all()[n].group("Denoising the volume");
    if (setting.name() != "denoise") setting.needs("denoise");
  }
}

void take_fdk_denoise(FdkDenoise& denoise) {
  if (!denoise.wanted()) return;
  denoise.parameters.compared = !denoise.truth.empty();
  if (denoise.alpha == "halves")
    throw InputError(
        "--alpha halves goes by volumes of half of the views: write them with --halves-out, without --denoise, and "
        "give "
        "them to halocline denoise --halves");
  take_denoise_settings(denoise, *denoise.settings,
                        {.weights = denoise.weighted(), .reference = !denoise.reference.empty()});
}

DenoisedPlan::DenoisedPlan(Job& job, const FdkDenoise& denoise, const Grid& grid, const FdkPlan& fdk,
                           const FdkPlan& variance)
    : devices_(job.devices()), grid_(grid) {
  // The options of a plan, for the devices of all ranks.
  const auto for_all = [all = job.plan_options()](const std::function<Plan(const PlanOptions&)>& plan) {
    return [all, plan](PlanOptions options) {
      options.all_devices = all.all_devices;
      options.rank = all.rank;
      options.notes = all.notes;
      return plan(options);
    };
  };
  std::vector<std::function<Plan(const PlanOptions&)>> jobs{for_all(fdk)};
  if (variance) jobs.emplace_back(for_all(variance));
  jobs.emplace_back(
      for_all([&](const PlanOptions& options) { return plan_denoise(grid, denoise.parameters, devices_, options); }));
  const std::size_t last = jobs.size() - 1;
  if (denoise.weighted()) ++volumes_;
  std::vector<PassedVolume> volumes;
  // Reductions over whole volumes need float64, there or on the host. Several ranks have the volumes in host memory.
  if (!ranks().several() &&
      std::all_of(devices_.begin(), devices_.end(), [](const Device& device) { return device.info().fp64; })) {
    volumes.push_back({volume_name, {{0, "volume"}, {last, "f"}}});
    if (denoise.weighted()) volumes.push_back({variance_name, {{1, "volume"}, {last, "w"}}});
  }
  chosen_ = plan_resident_volumes(jobs, volumes);
}

double DenoisedPlan::spilled_bytes() const {
  return grid_bytes(grid_) * static_cast<double>(volumes_ - chosen_.resident.size());
}

double DenoisedPlan::denoise_bytes(const FdkDenoise& denoise) const {
  const double whole = (denoise.reference.empty() ? 0 : 1) + (denoise.truth.empty() ? 0 : 1) +
                       (result_leaves_at_once(this->denoise()) ? 0 : 1);
  return spilled_bytes() + grid_bytes(grid_) * whole;
}

std::unique_ptr<DistributedArray> DenoisedPlan::make(const std::string& name) const {
  std::vector<DistributedArray::Share> shares;
  if (chosen_.resident.contains(name))
    for (const auto& share : chosen_.shares) {
      const auto device = std::find_if(devices_.begin(), devices_.end(),
                                       [&](const Device& each) { return each.info().name == share.device; });
      shares.push_back({*device, share.slices.begin, share.slices.end});
    }
  const std::string booked = "kept " + name;
  try {
    return std::make_unique<DistributedArray>(booked, grid_, shares);
  } catch (const ClError& error) {
    if (!is_out_of_memory(error)) throw;
    spdlog::info("{}; the {} waits in host memory", error.what(), name);
  } catch (const BudgetError& error) {
    spdlog::info("{}; the {} waits in host memory", error.what(), name);
  }
  return std::make_unique<DistributedArray>(booked, grid_, std::vector<DistributedArray::Share>{});
}

DenoiseResult denoise_reconstruction(Job& job, const FdkDenoise& denoise, const Plan& plan, DistributedArray& volume,
                                     DistributedArray* variance, VolumeSink& output, const std::string& name) {
  const std::string& guide = denoise.reference;
  const Volume reference = guide.empty() ? Volume() : job.images().read(guide);
  const Volume truth = denoise.truth.empty() ? Volume() : job.images().read(denoise.truth);
  DenoiseParameters parameters = denoise.parameters;
  if (!denoise.truth.empty()) parameters.truth = &truth;
  RunOptions options = job.run_options({static_cast<double>(volume.grid().count()), 0, "voxel-iterations"});
  options.planned = plan;
  DenoiseResult result;
  DistributedArray* const arrays[] = {&volume, variance};
  job.timed("denoise", [&] {
    with_room(arrays, [&] {
      result = denoise_into(volume, variance, output, parameters, job.devices(), options,
                            guide.empty() ? nullptr : &reference);
    });
  });
  job.record(run_of(result), name);
  job.results()[name] = denoise_results(denoise, result);
  // Traffic beside that of the runs: to estimate the noise, to write the volume.
  job.results()[name]["volume"] = {{"on_devices", volume.on_devices()}, {"bus_bytes", volume.bus_bytes()}};
  if (variance != nullptr)
    job.results()[name]["variance"] = {{"on_devices", variance->on_devices()}, {"bus_bytes", variance->bus_bytes()}};
  return result;
}

std::string report_denoising(Job& job, const FdkDenoise& denoise, const DenoiseResult& result, double voxels) {
  warn_of_result(denoise, result, false, voxels);
  return what_was_done(denoise, denoise.reference, result, voxels) + job.how(run_of(result));
}

}  // namespace halocline

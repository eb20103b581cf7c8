// The verb fdk.
#include "algorithms/fdk/fdk.hpp"

#include <array>

#include "algorithms/fdk/half_scan.hpp"
#include "algorithms/jobs/fdk_settings.hpp"
#include "capi/counts.hpp"
#include "capi/verb.hpp"

namespace halocline::capi {
namespace {

constexpr std::array half_outputs{"half-a", "half-b"};  // the odd and the even views

class FdkVerb : public Verb {
 public:
  FdkVerb() {
    add_filter_settings(settings_, filter_, true);
    counts_.add_to(settings_);
    add_noise_settings(settings_, noise_);
  }
  std::vector<std::string> inputs() const override {
    std::vector<std::string> names{"projections"};
    for (auto& name : CountsInputs::inputs()) names.push_back(std::move(name));
    return names;
  }
  bool takes_unmeasured(const std::string& input) const override { return CountsInputs::takes_unmeasured(input); }
  std::vector<std::string> outputs() const override { return {"volume", "variance", half_outputs[0], half_outputs[1]}; }
  nlohmann::json run(Work& work) override;

 private:
  void reconstruct_halves(Work& work, const VolumeSource& projections, const FdkParameters& parameters) const;

  FilterSettings filter_;
  CountsInputs counts_;
  NoiseSettings noise_;
};

void FdkVerb::reconstruct_halves(Work& work, const VolumeSource& projections, const FdkParameters& parameters) const {
  const bool wanted = work.output(half_outputs[0]) != nullptr || work.output(half_outputs[1]) != nullptr;
  if (!wanted) return;
  const auto halves = half_scans(work.geometry());
  const Volume all = read_volume(projections);
  for (std::size_t half = 0; half < halves.size(); ++half) {
    VolumeSink* const output = work.output(half_outputs[half]);
    if (output == nullptr) continue;
    FdkParameters taken = parameters;
    CountsCalibration calibration;
    if (taken.counts) {
      calibration = taken.counts->calibration->of_views(halves[half].views);
      taken.counts->calibration = &calibration;
    }
    const Volume views = select_views(all, halves[half].views);
    fdk_into(MemorySource(views), views.grid, halves[half].geometry, *output, taken, work.devices, work.options);
  }
}

nlohmann::json FdkVerb::run(Work& work) {
  noise_.check(counts_.counts, work.output("variance") != nullptr, "the output `variance`");
  VolumeSink& volume = work.required_output("volume");
  CountsInputs::Taken taken;
  counts_.take_projections(work, allows_nonfinite(), taken);
  const VolumeSource& projections = *taken.source;
  const auto calibration = counts_.calibration(work, allows_nonfinite());
  FdkParameters parameters = filter_.parameters();
  if (calibration) parameters.counts = {&*calibration, Component::float32};
  nlohmann::json results;
  put_run(results,
          fdk_into(projections, projections.grid(), work.geometry(), volume, parameters, work.devices, work.options));
  if (VolumeSink* const variance = work.output("variance")) {
    FdkParameters of_noise = parameters;
    of_noise.variance = noise_.noise(counts_.counts, 1);
    fdk_into(projections, projections.grid(), work.geometry(), *variance, of_noise, work.devices, work.options);
  }
  reconstruct_halves(work, projections, parameters);
  results["views"] = projections.grid().size[2];
  return results;
}

}  // namespace

std::unique_ptr<Verb> make_fdk() {
  return std::make_unique<FdkVerb>();
}

}  // namespace halocline::capi

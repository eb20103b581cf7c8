// The verb fdk.
#include "algorithms/fdk/fdk.hpp"

#include <array>
#include <cmath>

#include "algorithms/fdk/half_scan.hpp"
#include "capi/counts.hpp"
#include "capi/verb.hpp"
#include "host/system/error.hpp"

namespace halocline::capi {
namespace {

constexpr std::array half_outputs{"half-a", "half-b"};  // the odd and the even views

class FdkVerb : public Verb {
 public:
  FdkVerb();
  std::vector<std::string> inputs() const override {
    std::vector<std::string> names{"projections"};
    for (auto& name : CountsSettings::inputs()) names.push_back(std::move(name));
    return names;
  }
  bool takes_unmeasured(const std::string& input) const override { return CountsSettings::takes_unmeasured(input); }
  std::vector<std::string> outputs() const override { return {"volume", "variance", half_outputs[0], half_outputs[1]}; }
  nlohmann::json run(Work& work) override;

 private:
  void check_noise(const Work& work) const;
  FdkParameters::Noise noise() const;
  void reconstruct_halves(Work& work, const VolumeSource& projections, const FdkParameters& parameters) const;

  FdkParameters parameters_;
  CountsSettings counts_;
  std::optional<double> photons_, photons_per_count_;
  double electronic_ = 0;
};

FdkVerb::FdkVerb() {
  settings_.add("window", [this](const SettingValue& value) {
    parameters_.window = window_from_name(value.one_of(window_names()));
  });
  settings_.add("cutoff", [this](const SettingValue& value) { parameters_.cutoff = value.positive(); });
  settings_.add("interpolation", [this](const SettingValue& value) {
    const std::string& word = value.one_of({"exact", "hardware", "half"});
    parameters_.half_texels = word == "half";
    parameters_.hardware_interpolation = word != "exact";
  });
  settings_.add("displaced",
                [this](const SettingValue& value) { parameters_.redundancy.force_displaced = value.flag(); });
  settings_.add("nodisplaced", [this](const SettingValue& value) { parameters_.redundancy.displaced = !value.flag(); });
  settings_.add("pad", [this](const SettingValue& value) { parameters_.pad = value.number(); });
  settings_.add("allow-incomplete-arc",
                [this](const SettingValue& value) { parameters_.redundancy.allow_incomplete_arc = value.flag(); });
  settings_.add("photons", [this](const SettingValue& value) { photons_ = value.positive(); });
  settings_.add("photons-per-count", [this](const SettingValue& value) { photons_per_count_ = value.positive(); });
  settings_.add("electronic", [this](const SettingValue& value) { electronic_ = value.number(); });
  counts_.add_to(settings_);
}

void FdkVerb::check_noise(const Work& work) const {
  const bool wanted = work.output("variance") != nullptr, counts = counts_.counts();
  if (wanted && !counts && !photons_)
    throw InputError({.what = "`photons`",
                      .found = "missing",
                      .expected = "the photons of the unattenuated beam in a pixel, for the output `variance`"});
  if (counts && photons_)
    throw InputError({.what = "`photons`",
                      .found = "given",
                      .expected = "none with `counts`, which tell the noise themselves",
                      .remedy = "give `photons_per_count` if a count is not a photon"});
  if (!counts && photons_per_count_)
    throw InputError({.what = "`photons_per_count`", .found = "given", .expected = "`counts` = true with it"});
  if (!wanted && (photons_ || photons_per_count_ || electronic_ != 0))
    throw InputError({.what = "`photons`, `photons_per_count` or `electronic`",
                      .found = "given",
                      .expected = "the output `variance`, which they are for"});
}

FdkParameters::Noise FdkVerb::noise() const {
  return {counts_.counts() ? photons_per_count_.value_or(1) : *photons_, electronic_};
}

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
  check_noise(work);
  VolumeSink& volume = work.required_output("volume");
  CountsSettings::Taken taken;
  counts_.take_projections(work, allows_nonfinite(), taken);
  const VolumeSource& projections = *taken.source;
  const auto calibration = counts_.calibration(work, allows_nonfinite());
  FdkParameters parameters = parameters_;
  if (calibration) parameters.counts = {&*calibration, Component::float32};
  nlohmann::json results;
  put_run(results,
          fdk_into(projections, projections.grid(), work.geometry(), volume, parameters, work.devices, work.options));
  if (VolumeSink* const variance = work.output("variance")) {
    FdkParameters of_noise = parameters;
    of_noise.variance = noise();
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

// The verb reconstruct.
#include "algorithms/solvers/reconstruct.hpp"

#include <cmath>

#include "algorithms/preprocessing/counts.hpp"
#include "algorithms/solvers/fdk_start.hpp"
#include "algorithms/solvers/penalty_strength.hpp"
#include "algorithms/solvers/ray_weights.hpp"
#include "capi/counts.hpp"
#include "capi/penalty.hpp"
#include "capi/ray_settings.hpp"
#include "capi/verb.hpp"
#include "host/system/error.hpp"
#include "host/system/log.hpp"

namespace halocline::capi {
namespace {

class ReconstructVerb : public Verb {
 public:
  ReconstructVerb();
  std::vector<std::string> inputs() const override {
    std::vector<std::string> names{"projections", "weights", "init", "reference"};
    for (auto& name : CountsSettings::inputs()) names.push_back(std::move(name));
    return names;
  }
  std::vector<std::string> outputs() const override { return {"volume", "gap-map"}; }
  bool takes_unmeasured(const std::string& input) const override { return CountsSettings::takes_unmeasured(input); }
  nlohmann::json run(Work& work) override;

 private:
  // The volumes that are made on the way, and what the method reads.
  struct Given {
    CountsSettings::Taken taken;
    std::unique_ptr<VolumeSource> line_integrals_source, weights_source, start_source;
    Volume line_integrals, weights, start;
    ReconstructionInputs inputs;
    bool weighted = false;  // by photons or as given
  };

  void add_method();
  void add_strength();
  bool penalised() const { return solver_method(parameters_.method).penalty; }
  std::string start(const Work& work) const;
  void check(const Work& work) const;
  void take_projections(const Work& work, Given& given) const;
  void withhold_rays(const ReplacedValues& replaced, Given& given) const;
  void take_start(Work& work, const ReconstructionParameters& parameters, Given& given) const;
  RunOptions run_options(const Work& work) const;
  nlohmann::json results(const ReconstructionParameters& parameters, const ReconstructionResult& result,
                         const Given& given) const;

  ReconstructionParameters parameters_;
  CountsSettings counts_;
  RaySettings rays_;
  std::optional<double> lambda_, photons_, time_limit_;
  double electronic_ = 0;
  std::string init_;
  bool no_weights_ = false, keep_partial_ = false;
};

ReconstructVerb::ReconstructVerb() {
  add_method();
  add_strength();
  add_penalty(settings_, parameters_.regulariser);
  counts_.add_to(settings_);
}

void ReconstructVerb::add_method() {
  auto& p = parameters_;
  settings_.add("method", [&p](const SettingValue& value) { p.method = value.one_of(reconstruction_methods()); });
  const auto passes = [&p](const SettingValue& value) { p.passes = value.count(); };
  settings_.add("iterations", passes);
  settings_.add("subsets", [&p](const SettingValue& value) { p.subsets = value.count(); });
  settings_.add("seed", [&p](const SettingValue& value) { p.seed = static_cast<std::uint64_t>(value.count()); });
  rays_.add_projector(settings_);
  rays_.add_rays(settings_);
  settings_.add("interpolation", [&p](const SettingValue& value) {
    p.hardware_interpolation = value.one_of({"exact", "hardware"}) == "hardware";
  });
  settings_.add("relaxation", [&p](const SettingValue& value) { p.relaxation = value.number(); });
  settings_.add("precondition", [&p](const SettingValue& value) {
    p.precondition = preconditioner_from_name(value.one_of(preconditioner_names()));
  });
  settings_.add("tolerance", [&p](const SettingValue& value) { p.tolerance = value.number(); });
  settings_.add("init", [this](const SettingValue& value) { init_ = value.one_of({"fdk", "zero"}); });
  settings_.add("time-limit", [this](const SettingValue& value) { time_limit_ = value.positive(); });
  settings_.add("keep-partial", [this](const SettingValue& value) { keep_partial_ = value.flag(); });
}

void ReconstructVerb::add_strength() {
  settings_.add("lambda", [this](const SettingValue& value) { lambda_ = value.positive(); });
  settings_.add("alpha", [this](const SettingValue& value) { lambda_ = 1 / value.positive(); });
  settings_.add("gap", [this](const SettingValue& value) { parameters_.gap = value.number(); });
  settings_.add("photons", [this](const SettingValue& value) { photons_ = value.positive(); });
  settings_.add("electronic", [this](const SettingValue& value) { electronic_ = value.number(); });
  settings_.add("no-weights", [this](const SettingValue& value) { no_weights_ = value.flag(); });
}

// Where the image begins: input, fdk or zero.
std::string ReconstructVerb::start(const Work& work) const {
  if (work.input("init") != nullptr) return "input";
  return !init_.empty() ? init_ : begins_with_fdk(parameters_) ? "fdk" : "zero";
}

void ReconstructVerb::check(const Work& work) const {
  const bool weights = work.input("weights") != nullptr;
  if (work.input("init") != nullptr && !init_.empty())
    throw InputError({.what = "`init`", .found = "a setting and an input", .expected = "one of them"});
  if (weights && (photons_ || electronic_ != 0 || no_weights_))
    throw InputError({.what = "the input `weights`",
                      .found = "given with `photons`, `electronic` or `no_weights`",
                      .expected = "one of them"});
  if (photons_ && !solver_method(parameters_.method).weights)
    throw InputError({.what = "`photons`",
                      .found = "given for " + parameters_.method + ", which takes no weights",
                      .expected = "a method that does, such as spdhg or cgls"});
  if (electronic_ != 0 && !photons_ && !counts_.counts())
    throw InputError({.what = "`electronic`", .found = "given alone", .expected = "`photons` or `counts` with it"});
}

void ReconstructVerb::take_projections(const Work& work, Given& given) const {
  counts_.take_projections(work, allows_nonfinite(), given.taken);
  const VolumeSource* projections = given.taken.source;
  const auto calibration = counts_.calibration(work, allows_nonfinite());
  const bool by_photons = !no_weights_ && (photons_ || (calibration && solver_method(parameters_.method).weights));
  if (calibration || (by_photons && work.input("weights") == nullptr)) {
    given.line_integrals = read_volume(*projections);
    if (calibration) counts_to_line_integrals(given.line_integrals, *calibration, "the input `projections`");
    given.line_integrals_source = std::make_unique<MemorySource>(given.line_integrals);
    projections = given.line_integrals_source.get();
  }
  given.inputs.projections = projections;
  given.inputs.weights = work.input("weights");
  if (given.inputs.weights == nullptr && by_photons) {
    given.weights =
        weights_of_counts(given.line_integrals, photons_ ? *photons_ : open_beam(*calibration), electronic_);
    given.weights_source = std::make_unique<MemorySource>(given.weights);
    given.inputs.weights = given.weights_source.get();
  }
  given.weighted = given.inputs.weights != nullptr;
  if (given.weighted)
    require_size(given.inputs.weights->grid(), "weights", projections->grid(), "the input `projections`");
  withhold_rays(calibration ? calibration->replaced : given.taken.replaced, given);
}

// Rays that were not measured get the weight 0, of methods that take weights.
void ReconstructVerb::withhold_rays(const ReplacedValues& replaced, Given& given) const {
  if (replaced.empty() || !solver_method(parameters_.method).weights) return;
  Volume weights(given.inputs.projections->grid(), 1);
  if (given.inputs.weights != nullptr) weights = read_volume(*given.inputs.weights);
  withhold(replaced, weights);
  given.weights = std::move(weights);
  given.weights_source = std::make_unique<MemorySource>(given.weights);
  given.inputs.weights = given.weights_source.get();
}

void ReconstructVerb::take_start(Work& work, const ReconstructionParameters& parameters, Given& given) const {
  const Grid& grid = work.required_output("volume").grid();
  given.inputs.start = work.input("init");
  given.inputs.near_minimum = given.inputs.start != nullptr;
  if (given.inputs.start != nullptr) require_size(given.inputs.start->grid(), "init", grid, "the output `volume`");
  if (start(work) != "fdk") return;
  FdkStart begin = fdk_start(*given.inputs.projections, work.geometry(), grid, parameters, work.devices, work.options);
  if (!begin.image) {
    library_log()->warn("{}", begin.why_not);
    return;
  }
  given.start = std::move(*begin.image);
  given.start_source = std::make_unique<MemorySource>(given.start);
  given.inputs.start = given.start_source.get();
}

RunOptions ReconstructVerb::run_options(const Work& work) const {
  RunOptions options = work.options;
  options.time_limit = time_limit_.value_or(0);
  options.keep_partial = keep_partial_;
  return options;
}

nlohmann::json ReconstructVerb::results(const ReconstructionParameters& parameters, const ReconstructionResult& result,
                                        const Given& given) const {
  nlohmann::json results{{"method", parameters.method},
                         {"iterations", static_cast<double>(result.run.iterations) / result.subsets},
                         {"subsets", result.subsets},
                         {"diverged", result.diverged}};
  put_run(results, result.run);
  results["relative_residual"] = result.projections > 0 ? result.residual / result.projections : 0;
  if (given.weighted) results["chi2"] = result.residual * result.residual / result.rays;
  if (penalised()) results["lambda"] = parameters.lambda;
  const StoppedBy by = result.run.stopped_by;
  results["stopped_by"] = by == StoppedBy::interrupt ? "interrupt"
                          : by == StoppedBy::time    ? "time"
                          : by == StoppedBy::method  ? (penalised() ? "gap" : "tolerance")
                                                     : "iterations";
  results["history"] = nlohmann::json::array();
  for (const ReconstructionRecord& record : result.history) {
    nlohmann::json entry{{"passes", record.passes}, {"residual", record.residual}};
    put_number(entry, "normal_residual", record.normal_residual);
    if (penalised()) {
      put_number(entry, "primal", record.primal);
      put_number(entry, "dual", record.dual);
      put_number(entry, "gap", record.gap);
      put_number(entry, "relative_gap", record.relative_gap);
    }
    results["history"].push_back(entry);
  }
  if (!results["history"].empty()) results.update(results["history"].back());
  return results;
}

nlohmann::json ReconstructVerb::run(Work& work) {
  check(work);
  ReconstructionParameters parameters = parameters_;
  VolumeSink& volume = work.required_output("volume");
  VolumeSink* const gap_map = work.output("gap-map");
  Given given;
  take_projections(work, given);
  given.inputs.reference = work.input("reference");
  parameters.regulariser.guided = given.inputs.reference != nullptr;
  parameters.gap_map = gap_map != nullptr;
  const bool chooses = penalised() && !lambda_;
  parameters.lambda = lambda_.value_or(chooses ? 1 : 0);  // 1 until it is chosen
  check_parameters(parameters, {given.weighted, start(work) != "zero"});
  check_projections(given.inputs.projections->grid(), "the projections", work.geometry(), "the geometry",
                    DetectorShape::flat_or_cylinder);
  check_grid(volume.grid(), "the volume");
  RaySettings rays = rays_;
  const Geometry geometry =
      rays.choose(parameters.hardware_interpolation, work.geometry(), volume.grid(), given.inputs.projections->grid());
  parameters.projector = rays.projector;
  if (gap_map != nullptr) require_size(gap_map->grid(), "gap-map", volume.grid(), "the output `volume`");
  if (given.inputs.reference != nullptr)
    require_size(given.inputs.reference->grid(), "reference", volume.grid(), "the output `volume`");
  take_start(work, parameters, given);
  if (chooses)
    parameters.lambda =
        choose_strength(given.inputs, geometry, volume.grid(), parameters, work.devices, work.options).lambda;
  const ReconstructionResult result =
      reconstruct(given.inputs, geometry, volume, parameters, work.devices, run_options(work), gap_map);
  return results(parameters, result, given);
}

}  // namespace

std::unique_ptr<Verb> make_reconstruct() {
  return std::make_unique<ReconstructVerb>();
}

}  // namespace halocline::capi

// The verb reconstruct.
#include "algorithms/solvers/reconstruct.hpp"

#include "algorithms/jobs/reconstruct_report.hpp"
#include "algorithms/preprocessing/counts.hpp"
#include "algorithms/solvers/fdk_start.hpp"
#include "algorithms/solvers/penalty_strength.hpp"
#include "capi/counts.hpp"
#include "capi/verb.hpp"
#include "host/system/error.hpp"
#include "host/system/log.hpp"

namespace halocline::capi {
namespace {

class ReconstructVerb : public Verb {
 public:
  ReconstructVerb() {
    add_reconstruct_settings(settings_, reconstruct_, counts_.options);
    settings_.find("init")->one_of({"fdk", "zero"});
  }
  std::vector<std::string> inputs() const override {
    std::vector<std::string> names{"projections", "weights", "init", "reference", "truth"};
    for (auto& name : CountsInputs::inputs()) names.push_back(std::move(name));
    return names;
  }
  std::vector<std::string> outputs() const override { return {"volume", "gap-map"}; }
  bool takes_unmeasured(const std::string& input) const override { return CountsInputs::takes_unmeasured(input); }
  nlohmann::json run(Work& work) override;

 private:
  // The volumes that are made on the way, and what the method reads.
  struct Given {
    CountsInputs::Taken taken;
    std::unique_ptr<VolumeSource> line_integrals_source, weights_source, start_source;
    Volume line_integrals, weights;
    ReconstructionInputs inputs;
    bool weighted = false;  // by photons or as given
  };

  void take_projections(const Work& work, Given& given) const;
  void withhold_rays(const ReplacedValues& replaced, Given& given) const;
  void take_start(Work& work, const ReconstructionParameters& parameters, const std::string& start, Given& given) const;
  RunOptions run_options(const Work& work) const;

  ReconstructSettings reconstruct_;
  CountsInputs counts_;
};

void ReconstructVerb::take_projections(const Work& work, Given& given) const {
  counts_.take_projections(work, allows_nonfinite(), given.taken);
  const VolumeSource* projections = given.taken.source;
  const auto calibration = counts_.calibration(work, allows_nonfinite());
  const bool by_photons = reconstruct_.weighted(false);
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
        read_volume(reconstruct_.weights_of(*given.line_integrals_source, calibration ? &*calibration : nullptr));
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
  if (replaced.empty() || !solver_method(reconstruct_.parameters.method).weights) return;
  Volume weights(given.inputs.projections->grid(), 1);
  if (given.inputs.weights != nullptr) weights = read_volume(*given.inputs.weights);
  withhold(replaced, weights);
  given.weights = std::move(weights);
  given.weights_source = std::make_unique<MemorySource>(given.weights);
  given.inputs.weights = given.weights_source.get();
}

void ReconstructVerb::take_start(Work& work, const ReconstructionParameters& parameters, const std::string& start,
                                 Given& given) const {
  const Grid& grid = work.required_output("volume").grid();
  given.inputs.start = work.input("init");
  given.inputs.near_minimum = given.inputs.start != nullptr;
  if (given.inputs.start != nullptr) require_size(given.inputs.start->grid(), "init", grid, "the output `volume`");
  if (start != "fdk") return;
  FdkStart begin = fdk_start(*given.inputs.projections, work.geometry(), grid, parameters, work.devices, work.options,
                             {0, static_cast<std::int64_t>(grid.size[2])});
  if (!begin.image) {
    library_log()->warn("{}", begin.why_not);
    return;
  }
  given.start_source = std::move(begin.image);
  given.inputs.start = given.start_source.get();
}

RunOptions ReconstructVerb::run_options(const Work& work) const {
  RunOptions options = work.options;
  options.time_limit = reconstruct_.time_limit;
  options.keep_partial = reconstruct_.keep_partial;
  return options;
}

nlohmann::json ReconstructVerb::run(Work& work) {
  VolumeSink* const gap_map = work.output("gap-map");
  counts_.counts = reconstruct_.counts;
  ReconstructSettings settings = reconstruct_;
  if (work.input("init") != nullptr && !settings.init.empty())
    throw InputError({.what = "`init`", .found = "a setting and an input", .expected = "one of them"});
  if (work.input("init") != nullptr) settings.init = "the input `init`";
  take_reconstruct_settings(settings, {.weights = work.input("weights") != nullptr,
                                       .reference = work.input("reference") != nullptr,
                                       .gap_map = gap_map != nullptr});
  ReconstructionParameters& parameters = settings.parameters;
  VolumeSink& volume = work.required_output("volume");
  Given given;
  take_projections(work, given);
  given.inputs.reference = work.input("reference");
  given.inputs.truth = work.input("truth");
  check_projections(given.inputs.projections->grid(), "the projections", work.geometry(), "the geometry",
                    DetectorShape::flat_or_cylinder);
  check_grid(volume.grid(), "the volume");
  const RayChoices rays = choose_rays(settings.rays, parameters.hardware_interpolation, work.geometry(), volume.grid(),
                                      "the volume", given.inputs.projections->grid(), no_tables);
  const Geometry& geometry = rays.geometry;
  parameters.projector = rays.projector;
  if (gap_map != nullptr) require_size(gap_map->grid(), "gap-map", volume.grid(), "the output `volume`");
  if (given.inputs.reference != nullptr)
    require_size(given.inputs.reference->grid(), "reference", volume.grid(), "the output `volume`");
  if (given.inputs.truth != nullptr)
    require_size(given.inputs.truth->grid(), "truth", volume.grid(), "the output `volume`");
  take_start(work, parameters, settings.start(), given);
  if (settings.chooses_lambda())
    parameters.lambda =
        choose_strength(given.inputs, geometry, volume.grid(), parameters, work.devices, work.options).lambda;
  const ReconstructionResult result =
      reconstruct(given.inputs, geometry, volume, parameters, work.devices, run_options(work), gap_map);
  nlohmann::json results = reconstruct_results(settings, result, given.weighted);
  put_run(results, result.run);
  warn_of_result(settings, result, given.weighted, given.inputs.projections->grid().size[2]);
  return results;
}

}  // namespace

std::unique_ptr<Verb> make_reconstruct() {
  return std::make_unique<ReconstructVerb>();
}

}  // namespace halocline::capi

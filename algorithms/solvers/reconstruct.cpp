#include "algorithms/solvers/reconstruct.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "algorithms/fdk/filtered_rows.hpp"
#include "algorithms/fdk/row_filter.hpp"
#include "algorithms/geometry/turned_views.hpp"
#include "algorithms/projectors/backprojection.hpp"
#include "algorithms/projectors/default_projector.hpp"
#include "algorithms/projectors/faster_forms.hpp"
#include "algorithms/projectors/ray_ends.hpp"
#include "algorithms/solvers/matrix_pair.hpp"
#include "algorithms/solvers/measured_adjoint.hpp"
#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/ray_totals.hpp"
#include "algorithms/solvers/solver.hpp"
#include "algorithms/support/check_input.hpp"
#include "algorithms/support/norm.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/device_selection.hpp"
#include "scheduling/planning/program_plan.hpp"
#include "scheduling/transport/rank_devices.hpp"

namespace halocline {
namespace {

constexpr double unknown_scalar = std::numeric_limits<double>::quiet_NaN();

double value_of(const Scalars& scalars, const char* name) {
  const auto found = scalars.find(name);
  return found == scalars.end() || !std::isfinite(found->second) ? unknown_scalar : found->second;
}

double normal_residual_of(const Scalars& known) {
  const double at_zero = value_of(known, "gradient at 0");
  return at_zero > 0 ? value_of(known, "gradient") / at_zero : unknown_scalar;
}

constexpr int most_kept_sums = 64;  // subsets: each is a step of its own

// True where a form that takes more memory has it on the devices, and takes less time.
bool saves_time(const Program& larger, const Program& plain, const std::vector<DeviceModel>& devices,
                const PlanOptions& options) {
  try {
    const Plan plan = plan_program(larger, devices, options);
    return plan.resident && plan.seconds < plan_program(plain, devices, options).seconds;
  } catch (const PlanError&) {  // too little memory for it, or for anything, which the run will report
    return false;
  }
}

// Data that all devices share.
struct Work {
  Work(const Grid& projections, const Geometry& scan, const Grid& grid, ReconstructionParameters given_parameters,
       const GivenInputs& inputs)
      : parameters(std::move(given_parameters)), given(inputs), stack(projections), volume(grid) {
    check_parameters(parameters, given);
    check_projection_grids(scan, volume, stack);
    parameters.passes = pass_count(parameters);
    parameters.projector = projector_of(parameters.projector, parameters.hardware_interpolation, scan, volume, stack);
    subsets = ViewSubsets(static_cast<int>(scan.views.size()), subset_count(parameters, scan.views.size()));
    if (parameters.hardware_interpolation && subsets.count() == 1)
      if (std::vector<int> order = turned_packs(scan, volume, stack, 2); !order.empty()) {
        subsets = ViewSubsets(std::move(order));
        in_pairs = true;
      }
    geometry = subsets.sorted(with_ray_ends(scan, volume, stack));
  }

  static FdkParameters filter_parameters() {
    FdkParameters chosen;
    chosen.redundancy.allow_incomplete_arc = true;  // errors of FDK are corrected
    return chosen;
  }

  // FdkParameters::longest_local_rows of methods that filter.
  std::optional<std::size_t> longest_rows(const std::vector<Device>& devices, const PlanOptions& options) const {
    if (!solver_method(parameters.method).fdk) return std::nullopt;
    return longest_local_rows(devices, row_length(), ranks_of(options));
  }
  std::size_t row_length() const { return filtered_rows(geometry, stack, filter_parameters()).length; }

  // The fastest form for which the devices have the memory. rows: FdkParameters::longest_local_rows; none: as planned.
  Program program(const std::vector<DeviceModel>& devices, const PlanOptions& options,
                  std::optional<std::size_t> rows = std::nullopt) const {
    const SolverMethod& method = solver_method(parameters.method);
    if (method.fdk && !rows) rows = longest_local_rows(devices, row_length());
    RayOperatorForms forms = forms_of(method, rows);
    Program best = program_of(devices, forms, false);
    const auto takes = [&](Program other) {
      const bool faster = saves_time(other, best, devices, options);
      if (faster) best = std::move(other);
      return faster;
    };
    forms.images = *parameters.projector == Projector::siddon && siddon_from_images(devices, volume, stack);
    forms.images = forms.images && takes(program_of(devices, forms, false));
    if (method.subset_sums && subsets.count() > 1 && subsets.count() <= most_kept_sums)
      takes(program_of(devices, forms, true));
    return best;
  }

  RayOperatorForms forms_of(const SolverMethod& method, std::optional<std::size_t> rows) const {
    RayOperatorForms forms;
    forms.voxel_driven = method.voxel_driven;
    forms.hardware_interpolation = parameters.hardware_interpolation;
    forms.in_pairs = in_pairs;
    if (method.fdk) {
      forms.fdk = filter_parameters();
      forms.fdk->longest_local_rows = rows;
    }
    return forms;
  }

  Program program_of(const std::vector<DeviceModel>& devices, const RayOperatorForms& forms, bool keeps_sums) const {
    ProjectorPair pair = named_pair(geometry, volume, stack, *parameters.projector, devices, forms);
    if (const auto choice = choose_operator(parameters, geometry, volume, stack, devices); choice.stored())
      pair = matrix_pair(matrix_for(devices, choice.form), std::move(pair), solver_method(parameters.method).penalty);
    const RayOperator A(volume, stack, std::move(pair));
    // norms of what A^T takes are numbers of the program, which are the same in every form
    Program result = solver_program(A, subsets, parameters, given, keeps_sums && !A.backproject_takes_norm());
    result.note = [](const Scalars& known) {
      const double gap = value_of(known, "relative_gap"), residual = value_of(known, "residual");
      if (std::isfinite(gap)) return fmt::format("objective {:.6g}, gap {:.2g}", known.at("primal"), gap);
      return std::isfinite(residual) ? fmt::format("residual {:.4g}", residual) : std::string();
    };
    return result;
  }

  // Models of open devices, of all ranks, without forms that one of them computes wrongly. Says what `operator = auto`
  // is.
  std::vector<DeviceModel> checked(const std::vector<Device>& devices, const PlanOptions& options) const {
    Ranks& all = ranks_of(options);
    auto models = checked_models(devices, *parameters.projector, Directions::both, geometry, volume, stack, options);
    if (solver_method(parameters.method).voxel_driven) check_exact_form(models, devices, all);
    const auto choose = [&] { return choose_operator(parameters, geometry, volume, stack, models); };
    if (choose().stored()) models = with_units_that_serve(std::move(models), devices, all);
    log_choice(choose());
    return models;
  }

  // The matrix, whose lists are made once.
  std::shared_ptr<const SystemMatrix> matrix_for(const std::vector<DeviceModel>& devices, OperatorForm form) const {
    const MatrixOptions options = matrix_options(devices, true, form, subsets);
    auto& matrix = matrices[{options.units, form, options.chunk_bytes}];
    if (!matrix) matrix = std::make_shared<SystemMatrix>(geometry, volume, stack, *parameters.projector, options);
    return matrix;
  }

  ReconstructionParameters parameters;
  GivenInputs given;
  Grid stack, volume;
  ViewSubsets subsets{1, 1};
  bool in_pairs = false;  // half a turn apart
  Geometry geometry;
  mutable std::map<std::tuple<MatrixUnits, OperatorForm, std::uint64_t>, std::shared_ptr<const SystemMatrix>> matrices;
};

RayTotals checked_totals(const ReconstructionInputs& inputs, const std::optional<Plan>& planned) {
  if (inputs.weights != nullptr && inputs.weights->grid().size != inputs.projections->grid().size) {
    const auto &found = inputs.weights->grid().size, &wanted = inputs.projections->grid().size;
    throw InputError(
        {.what = "the weights of the rays (`weights`)",
         .found = fmt::format("{} x {} x {} values", found[0], found[1], found[2]),
         .expected = fmt::format("those of the projections, {} x {} x {}", wanted[0], wanted[1], wanted[2])});
  }
  const RayTotals totals = ray_totals(*inputs.projections, inputs.weights, planned ? &*planned : nullptr);
  if (!totals.good)
    throw InputError({.what = "the weights of the rays (`weights`)",
                      .found = "values that are negative or not finite",
                      .expected = "the inverse of each line integral's variance",
                      .remedy = "put 0 where a ray does not count"});
  if (totals.rays == 0)
    throw InputError({.what = "the weights of the rays (`weights`)",
                      .found = "0 for all",
                      .expected = "the inverse of each line integral's variance"});
  return totals;
}

// The norm of the truth; not a number without one.
double checked_truth(const VolumeSource* truth, const Grid& volume) {
  if (truth == nullptr) return unknown_scalar;
  const auto &found = truth->grid().size, &wanted = volume.size;
  if (found != wanted)
    throw InputError({.what = "the `truth`",
                      .found = fmt::format("{} x {} x {} voxels", found[0], found[1], found[2]),
                      .expected = fmt::format("those of the volume, {} x {} x {}", wanted[0], wanted[1], wanted[2])});
  const double norm = norm_of(*truth);
  if (!std::isfinite(norm))
    throw InputError({.what = "the `truth`", .found = "values that are not finite", .expected = "numbers"});
  return norm;
}

class Recorder {
 public:
  // truth: its norm.
  Recorder(std::vector<ReconstructionRecord>& history, int subsets, double voxels, double truth)
      : history_(history), subsets_(subsets), voxels_(voxels), truth_(truth) {}

  // Records the state after an iteration, or (last) after the steps that follow the last one.
  void note(int done, const Scalars& known, double seconds, bool last) const {
    const bool certified = known.contains("certified");
    const double looked = certified ? known.at("certified") : 0;
    if (certified ? looked != done - 1 && !(last && looked == done) : done % subsets_ != 0 && !last) return;
    const double error = value_of(known, truth_scalar);
    ReconstructionRecord now{static_cast<double>(done) / subsets_,
                             value_of(known, "residual"),
                             normal_residual_of(known),
                             value_of(known, "primal"),
                             value_of(known, "dual"),
                             value_of(known, "gap"),
                             value_of(known, "relative_gap"),
                             seconds,
                             error / std::sqrt(voxels_),
                             truth_ > 0 ? error / truth_ : unknown_scalar};
    if (certified) now.residual = std::sqrt(2 * known.at("data"));
    while (!history_.empty() && history_.back().passes >= now.passes) history_.pop_back();  // a run that began again
    history_.push_back(now);
  }

 private:
  std::vector<ReconstructionRecord>& history_;
  int subsets_;
  double voxels_, truth_;
};

// Inputs by their names, with views sorted by subset.
class SortedInputs {
 public:
  SortedInputs(const ReconstructionInputs& inputs, const ViewSubsets& subsets) {
    add("b", sorted(inputs.projections, subsets));
    add("w", sorted(inputs.weights, subsets));
    add("x", inputs.start);
    add("reference", inputs.reference);
    add("truth", inputs.truth);
  }
  const ProgramInputs& all() const { return all_; }

 private:
  const VolumeSource* sorted(const VolumeSource* views, const ViewSubsets& subsets) {
    if (views == nullptr || subsets.as_scanned()) return views;
    return &views_.emplace_back(*views, subsets.order());
  }
  void add(const char* name, const VolumeSource* source) {
    if (source != nullptr) all_.emplace(name, source);
  }
  std::list<SortedViews> views_;
  ProgramInputs all_;
};

// Takes the size of gradients that are edges from the reference.
void look_at_reference(Regulariser& regulariser, const VolumeSource* reference) {
  if (!regulariser.guided || reference == nullptr) return;
  Volume whole = Volume::uninitialised(reference->grid());
  reference->read(0, whole.voxels.size(), whole.voxels.data());
  regulariser.reference_eta = reference_eta(whole, whole.grid.spacing, regulariser.reference_eta);
}

}  // namespace

ReconstructionResult reconstruct(const ReconstructionInputs& inputs, const Geometry& geometry, VolumeSink& output,
                                 ReconstructionParameters parameters, const std::vector<Device>& devices,
                                 const RunOptions& options, VolumeSink* gap_map) {
  check_devices(devices);
  parameters.gap_map = gap_map != nullptr;
  look_at_reference(parameters.regulariser, inputs.reference);
  const Work work(inputs.projections->grid(), geometry, output.grid(), parameters, inputs.given());
  log_automatic_ray_ends(geometry, output.grid(), inputs.projections->grid());
  check_users_adjoint(*work.parameters.projector, parameters.method, work.geometry, work.volume, work.stack, devices);
  const RayTotals totals = checked_totals(inputs, options.planned);
  ReconstructionResult result;
  result.projections = std::sqrt(totals.norm2);
  result.rays = totals.rays;
  result.truth_maximum = inputs.truth == nullptr ? unknown_scalar : value_range(*inputs.truth).greatest;
  result.subsets = work.subsets.count();
  const Recorder recorder(result.history, result.subsets, static_cast<double>(output.grid().count()),
                          checked_truth(inputs.truth, output.grid()));
  const auto program_for = [&](const std::vector<Device>& used) {
    const auto checked = work.checked(used, options.plan);  // one after the other, as ranks agree on both
    const auto longest = work.longest_rows(used, options.plan);
    Program program = work.program(checked, options.plan, longest);
    program.ends = [&recorder, ends = program.ends](int done, const Scalars& known) {
      recorder.note(done, known, known.at(seconds_scalar), false);
      return ends && ends(done, known);
    };
    return program;
  };
  RunOptions with_map = options;
  if (gap_map != nullptr) with_map.also = {{"ubar", gap_map}};
  const SortedInputs sorted(inputs, work.subsets);
  result.run = with_matrix_remedy(
      parameters.operator_form, [&] { return run_on_selection(program_for, sorted.all(), output, devices, with_map); });
  recorder.note(result.run.iterations, result.run.scalars, result.run.iterating_seconds, true);
  if (!result.history.empty()) result.residual = result.history.back().residual;
  result.maximum = value_of(result.run.scalars, "maximum");
  result.diverged = value_of(result.run.scalars, "diverged") > 0;
  return result;
}

Plan plan_reconstruct(const Grid& projections, const Geometry& geometry, const Grid& volume,
                      ReconstructionParameters parameters, const GivenInputs& given,
                      const std::vector<DeviceModel>& devices, const PlanOptions& options) {
  const Work work(projections, geometry, volume, std::move(parameters), given);
  const auto program_for = [&](const std::vector<DeviceModel>& used) { return work.program(used, options); };
  return with_matrix_remedy(work.parameters.operator_form,
                            [&] { return plan_on_selection(program_for, devices, options); });
}

}  // namespace halocline

#include "algorithms/solvers/matrix_pair.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/matrix/matrix_projection.hpp"
#include "algorithms/matrix/matrix_variants.hpp"
#include "host/system/log.hpp"

namespace halocline {
namespace {

// On an H200, 512^2 from 720 x 512 rays, 32 slices: 0.127 ms a slice and pass of cgls instead of 0.213, after lists
// that take 1.1 s of two cores. An eighth of them takes 0.15 s; a slice then takes 1.2 ms a pass instead of 3.1. Of 180
// views, tiles are emptier, and the products take 0.039 ms a slice instead of 0.048.
constexpr std::size_t fewest_slices = 16, fewest_slice_passes = 15000, fewest_passes_of_eighth = 100;
constexpr double weights_of_ray = 2.0, full = 0.2;  // pixels a line that it crosses, of columns as wide; tiles

// Bytes of tiles, roughly.
double forecast_bytes(const Grid& volume, const Grid& projections) {
  const double rays = static_cast<double>(projections.size[0]) * static_cast<double>(projections.size[2]);
  return 2 * rays * weights_of_ray * static_cast<double>(std::max(volume.size[0], volume.size[1])) / full;
}

bool is_symmetric(const Geometry& geometry, const Grid& volume, const Grid& projections) {
  try {
    sectors_of(geometry, volume, projections);
    return true;
  } catch (const InputError&) {
    return false;
  }
}

}  // namespace

MatrixUnits matrix_units_of(std::span<const DeviceModel> devices) {
  if (devices.empty()) return MatrixUnits::none;
  const MatrixUnits first = devices.front().matrix_units;
  const bool alike = std::all_of(devices.begin(), devices.end(),
                                 [&](const DeviceModel& device) { return device.matrix_units == first; });
  return alike ? first : MatrixUnits::none;
}

OperatorChoice choose_operator(const ReconstructionParameters& parameters, const Geometry& geometry, const Grid& volume,
                               const Grid& projections, std::span<const DeviceModel> devices) {
  const SolverMethod& method = solver_method(parameters.method);
  const bool exact_adjoint = !method.fdk && !method.voxel_driven;
  if (const OperatorForm form = parameters.operator_form;
      form != OperatorForm::automatic && form != OperatorForm::rays) {
    const std::string& name = operator_form_names()[static_cast<std::size_t>(form)];
    if (!exact_adjoint)
      throw InputError(
          fmt::format("`operator = {}` needs a method that takes the adjoint of A, such as cgls or sirt; `method = {}` "
                      "does not",
                      name, method.name));
    if (parameters.hardware_interpolation)
      throw InputError(fmt::format(
          "`operator = {}` excludes `interpolation = hardware`: its steps have weights of their own", name));
  }
  if (!exact_adjoint || parameters.hardware_interpolation) return {};
  return choose_operator(
      {parameters.operator_form, pass_count(parameters), subset_count(parameters, geometry.views.size())}, geometry,
      volume, projections, *parameters.projector, devices);
}

OperatorChoice choose_operator(const OperatorUse& use, const Geometry& geometry, const Grid& volume,
                               const Grid& projections, const Projector& projector,
                               std::span<const DeviceModel> devices) {
  if (use.form == OperatorForm::symmetric && use.subsets > 1)
    throw InputError(
        "`operator = symmetric` takes all views at once, and this method ordered subsets of them; take `operator = "
        "matrix`, or a method of all views, such as cgls or sirt");
  if (use.form != OperatorForm::automatic) return {use.form, ""};
  if (use.subsets > 1) return {OperatorForm::rays, "views of a subset are too far apart to share tiles"};
  if (matrix_units_of(devices) == MatrixUnits::none) return {OperatorForm::rays, "no matrix units"};
  if (!refusal_to_store(geometry, volume, projections, projector).empty())
    return {OperatorForm::rays, "rays leave their slices"};
  const std::size_t slices = volume.size[2], passes = static_cast<std::size_t>(use.passes);
  const bool symmetric = is_symmetric(geometry, volume, projections);
  const std::string work = fmt::format("{} slices in {} passes", slices, passes);
  const auto does_not_pay = [&](const std::string& what_would) {
    return OperatorChoice{OperatorForm::rays, fmt::format("{} do not pay for storing it; {}", work, what_would)};
  };
  OperatorChoice choice{.form = OperatorForm::matrix};
  double bytes = forecast_bytes(volume, projections);
  if (slices < fewest_slices) {
    if (!symmetric) return does_not_pay(fmt::format("it takes {} slices", fewest_slices));
    if (passes < fewest_passes_of_eighth) return does_not_pay(fmt::format("{} passes would", fewest_passes_of_eighth));
    choice.form = OperatorForm::symmetric;
    bytes /= Sectors::count;
  } else {
    if (2 * projections.size[2] < std::max(volume.size[0], volume.size[1]))
      return {OperatorForm::rays, "views are too far apart to share tiles"};
    if (slices * passes < fewest_slice_passes)
      return does_not_pay(fmt::format("{} passes would", parts_of(fewest_slice_passes, slices)));
  }
  if (std::any_of(devices.begin(), devices.end(),
                  [&](const DeviceModel& device) { return 2 * bytes > static_cast<double>(device.memory); }))
    return {OperatorForm::rays, fmt::format("the matrix would take {:.3g} GB", 1e-9 * bytes)};
  choice.reason = fmt::format("{}, {:.3g} GB", work, 1e-9 * bytes);
  return choice;
}

void log_choice(const OperatorChoice& choice) {
  if (choice.reason.empty()) return;
  library_log()->log(choice.stored() ? spdlog::level::info : spdlog::level::debug, "operator: {} ({})",
                     operator_form_names()[static_cast<std::size_t>(choice.form)], choice.reason);
}

bool matrix_units_serve(std::span<const DeviceModel> models, const std::vector<Device>& devices, Ranks& all) {
  return matrix_units_of(models) != MatrixUnits::none &&
         variant_works(matrix_units_variant(), devices, "float32 serves", all);
}

std::vector<DeviceModel> with_units_that_serve(std::vector<DeviceModel> models, const std::vector<Device>& devices,
                                               Ranks& all) {
  if (!matrix_units_serve(models, devices, all))
    for (DeviceModel& model : models) model.matrix_units = MatrixUnits::none;
  return models;
}

MatrixOptions matrix_options(std::span<const DeviceModel> devices, bool units, OperatorForm form,
                             const ViewSubsets& subsets) {
  MatrixOptions options;
  if (units) options.units = matrix_units_of(devices);
  options.half_vectors = form == OperatorForm::matrix_half, options.symmetric = form == OperatorForm::symmetric;
  for (const DeviceModel& device : devices)
    if (device.max_allocation > 0)
      options.chunk_bytes = std::min<std::uint64_t>(options.chunk_bytes, device.max_allocation);
  for (int s = 0; s < subsets.count(); ++s) options.parts.push_back(static_cast<int>(subsets.range(s).count()));
  return options;
}

ProjectorPair matrix_pair(const std::shared_ptr<const SystemMatrix>& matrix) {
  return {.forward = std::make_shared<MatrixProjection>(matrix),
          .adjoint = std::make_shared<MatrixBackprojection>(matrix, true),
          .shared = matrix->arrays()};
}

ProjectorPair matrix_pair(const std::shared_ptr<const SystemMatrix>& matrix, ProjectorPair rays, bool certified) {
  const ProjectorPair stored = matrix_pair(matrix);
  ProjectorPair pair = std::move(rays);
  pair.shared = stored.shared;
  if (certified) {
    pair.fast = stored.forward;
    pair.fast_adjoint = stored.adjoint;
  } else {
    pair.exact = pair.forward;
    pair.forward = stored.forward;
    pair.adjoint = stored.adjoint;
  }
  return pair;
}

}  // namespace halocline

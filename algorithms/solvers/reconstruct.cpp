#include "algorithms/solvers/reconstruct.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/solvers/cgls.hpp"
#include "algorithms/solvers/sirt.hpp"
#include "algorithms/validation/check_input.hpp"
#include "host/error.hpp"
#include "host/thread_pool.hpp"
#include "scheduling/execution/device_selection.hpp"
#include "scheduling/planning/program_plan.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

struct Method {
  const char* name;
  int iterations;  // by default
  Program (*program)(const RayOperator&, const ReconstructionParameters&, int iterations);
};

constexpr Method methods[] = {{"sirt", 100,
                               [](const RayOperator& A, const ReconstructionParameters& p, int iterations) {
                                 return sirt(A, {iterations, p.relaxation, p.non_negative});
                               }},
                              {"cgls", 12, [](const RayOperator& A, const ReconstructionParameters& p, int iterations) {
                                 return cgls(A, {iterations, p.tolerance});
                               }}};

const Method& method_of(const std::string& name) {
  for (const Method& method : methods)
    if (name == method.name) return method;
  throw InputError(
      fmt::format("`method` is \"{}\"; expected one of: {}", name, fmt::join(reconstruction_methods(), ", ")));
}

void check(const ReconstructionParameters& parameters) {
  const std::string& method = method_of(parameters.method).name;
  const ReconstructionParameters defaults;
  if (parameters.iterations < 0)
    throw InputError(fmt::format("`iterations` is {}; expected at least 1", parameters.iterations));
  if (!(parameters.relaxation > 0 && parameters.relaxation < 2))
    throw InputError(
        fmt::format("`relaxation` is {:g}; sirt converges for numbers between 0 and 2", parameters.relaxation));
  if (!(parameters.tolerance >= 0 && parameters.tolerance < 1))
    throw InputError(fmt::format("`tolerance` is {:g}; expected a number from 0 to below 1", parameters.tolerance));
  if (method != "sirt" && (parameters.relaxation != defaults.relaxation || parameters.non_negative))
    throw InputError(
        fmt::format("`relaxation` and `non_negative` are parameters of sirt; {} has none of them", method));
  if (method != "cgls" && parameters.tolerance != 0)
    throw InputError(fmt::format("`tolerance` is a parameter of cgls; {} has none", method));
}

Program program_of(const Grid& projections, const Geometry& geometry, const Grid& volume,
                   const ReconstructionParameters& parameters, const std::vector<DeviceModel>& devices) {
  const Method& method = method_of(parameters.method);
  const RayOperator A(geometry, volume, projections, parameters.projector, devices);
  Program program =
      method.program(A, parameters, parameters.iterations > 0 ? parameters.iterations : method.iterations);
  program.note = [](const Scalars& known) { return fmt::format("residual {:.4g}", known.at("residual")); };
  return program;
}

double norm(const VolumeSource& source) {
  const std::size_t count = source.grid().count();
  std::vector<double> sums((count + voxels_in_a_piece - 1) / voxels_in_a_piece, 0.0);
  parallel_ranges(count, voxels_in_a_piece, [&](std::size_t first, std::size_t now) {
    std::vector<float> values(now);
    source.read(first, now, values.data());
    double& sum = sums[first / voxels_in_a_piece];
    for (const float value : values) sum += static_cast<double>(value) * value;
  });
  return std::sqrt(std::accumulate(sums.begin(), sums.end(), 0.0));
}

}  // namespace

std::vector<std::string> reconstruction_methods() {
  std::vector<std::string> names;
  for (const Method& method : methods) names.emplace_back(method.name);
  return names;
}

ReconstructionResult reconstruct(const VolumeSource& projections, const Geometry& geometry, VolumeSink& output,
                                 const ReconstructionParameters& parameters, const std::vector<Device>& devices,
                                 const RunOptions& options) {
  check_devices(devices);
  check(parameters);
  const Grid &stack = projections.grid(), &grid = output.grid();
  check_projection_grids(geometry, grid, stack);
  ReconstructionResult result;
  result.projections = norm(projections);
  const auto program_for = [&](const std::vector<Device>& used) {
    return program_of(stack, geometry, grid, parameters, device_models(used));
  };
  result.run = run_on_selection(program_for, {{"b", &projections}}, output, devices, options);
  result.residual = result.run.scalars.at("residual");
  return result;
}

Plan plan_reconstruct(const Grid& projections, const Geometry& geometry, const Grid& volume,
                      const ReconstructionParameters& parameters, const std::vector<DeviceModel>& devices,
                      const PlanOptions& options) {
  check(parameters);
  check_projection_grids(geometry, volume, projections);
  const auto program_for = [&](const std::vector<DeviceModel>& used) {
    return program_of(projections, geometry, volume, parameters, used);
  };
  return plan_on_selection(program_for, devices, options);
}

}  // namespace halocline

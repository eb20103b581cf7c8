#include "apps/bench/scaling_jobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "algorithms/denoise/denoise.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "algorithms/projectors/projector.hpp"
#include "algorithms/solvers/reconstruct.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

bool is_denoiser(const std::string& job) {
  return job == "pdu" || job == "spdu" || job == "tvgd";
}

}  // namespace

bool is_solver(const std::string& job) {
  static const std::vector<std::string> solvers = reconstruction_methods();
  return job != "fdk" && std::find(solvers.begin(), solvers.end(), job) != solvers.end();
}

const std::vector<std::string>& usual_scaling_jobs() {
  static const std::vector<std::string> jobs{"pdu", "tvgd", "fdk", "fdk-texture"};
  return jobs;
}

const std::vector<std::string>& scaling_jobs() {
  static const std::vector<std::string> jobs = [] {
    std::vector<std::string> all{"pdu", "spdu", "tvgd", "fdk", "fdk-texture", "project", "backproject"};
    for (const auto& solver : reconstruction_methods())
      if (is_solver(solver)) all.push_back(solver);
    return all;
  }();
  return jobs;
}

int usual_iterations(const std::string& job) {
  return is_denoiser(job) ? 60 : is_solver(job) ? 10 : 0;
}

void check_scaling_jobs(const std::vector<std::string>& jobs) {
  const auto& known = scaling_jobs();
  for (const auto& job : jobs)
    if (std::find(known.begin(), known.end(), job) == known.end())
      throw InputError(fmt::format("`jobs` has \"{}\"; expected some of: {}", job, fmt::join(known, ", ")));
}

bool needs_images(const std::string& job) {
  return job == "fdk-texture";
}

ScalingData::ScalingData(std::size_t size, std::size_t times) : scan_(bench_scan(size, size)) {
  scan_.volume.size[2] *= times;
  scan_.volume.spacing[2] /= static_cast<double>(times);
  cube_.size = scan_.volume.size;
}

const Volume& ScalingData::volume() {
  if (volume_.voxels.empty()) volume_ = bench_numbers(cube_);
  return volume_;
}

const Volume& ScalingData::weights() {
  if (weights_.voxels.empty()) {
    weights_ = volume();
    for (float& weight : weights_.voxels) weight = 1.5f + std::abs(weight);
  }
  return weights_;
}

const Volume& ScalingData::projections() {
  if (projections_.voxels.empty()) projections_ = bench_numbers(scan_.stack);
  return projections_;
}

// Touched before, so that no run pays for fresh memory.
float* ScalingData::result(const Grid& grid) {
  if (result_.size() != grid.count()) result_.assign(grid.count(), 0.0f);
  return result_.data();
}

ScalingData::Ran ScalingData::denoise_once(const std::string& job, const std::vector<Device>& devices, int iterations,
                                           bool stays) {
  DenoiseParameters parameters;
  parameters.method = job;
  parameters.iterations = iterations;
  if (job == "tvgd")
    parameters.step = 1e-3;
  else
    parameters.alpha = 15, parameters.gap = 0;
  MemorySink sink(cube_, result(cube_));
  RunOptions options;
  options.plan.may_stream = !stays;
  std::optional<MemorySource> weighing;
  if (job == "spdu") weighing.emplace(weights());
  const auto ran =
      denoise_into(MemorySource(volume()), weighing ? &*weighing : nullptr, sink, parameters, devices, options);
  return {ran.plan, ran.seconds};
}

ScalingData::Ran ScalingData::solve_once(const std::string& job, const std::vector<Device>& devices, int passes) {
  ReconstructionParameters parameters;
  parameters.method = job;
  parameters.passes = passes;
  if (solver_method(job).penalty) parameters.lambda = 0.01, parameters.gap = 0;
  const MemorySource source(projections());
  ReconstructionInputs inputs;
  inputs.projections = &source;
  MemorySink sink(scan_.volume, result(scan_.volume));
  const auto ran = reconstruct(inputs, scan_.geometry, sink, parameters, devices);
  return {ran.run.plan, ran.run.seconds};
}

ScalingData::Ran ScalingData::run(const std::string& job, const std::vector<Device>& devices, int iterations,
                                  bool stays) {
  if (is_denoiser(job)) return denoise_once(job, devices, iterations, stays);
  if (is_solver(job)) return solve_once(job, devices, iterations);
  if (job == "project") {
    MemorySink sink(scan_.stack, result(scan_.stack));
    const MemorySource source(scan_.volume, volume().voxels.data());
    const auto ran = project_into(source, scan_.geometry, sink, ProjectionParameters{}, devices);
    return {ran.plan, ran.seconds};
  }
  MemorySink sink(scan_.volume, result(scan_.volume));
  const MemorySource source(projections());
  if (job == "backproject") {
    const auto ran = backproject_into(source, scan_.geometry, sink, Projector::joseph, devices);
    return {ran.plan, ran.seconds};
  }
  FdkParameters parameters;
  parameters.hardware_interpolation = job == "fdk-texture";
  const auto ran = fdk_into(source, scan_.stack, scan_.geometry, sink, parameters, devices);
  return {ran.plan, ran.seconds};
}

double ScalingData::updates(const std::string& job, int iterations) const {
  const double voxels = static_cast<double>(scan_.volume.count());
  if (is_denoiser(job)) return voxels * iterations;
  return voxels * static_cast<double>(scan_.stack.size[2]) * std::max(1, iterations);
}

}  // namespace halocline

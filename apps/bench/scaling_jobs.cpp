#include "apps/bench/scaling_jobs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "algorithms/denoise/denoise.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "algorithms/projectors/projector.hpp"
#include "algorithms/solvers/reconstruct.hpp"
#include "host/system/error.hpp"
#include "scheduling/planning/range_set.hpp"
#include "scheduling/transport/ranks.hpp"
#include "scheduling/transport/share_volume.hpp"

namespace halocline {
namespace {

// Well mixed bits.
std::uint64_t mixed(std::uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
  return bits ^ (bits >> 31);
}

// A sum over voxels and their places: those of parts add up to that of all.
std::uint64_t sum_of(const float* voxels, const RangeSet& made, std::size_t count) {
  const Range all = range_of(0, count);
  RangeSet others;
  for (const Range& range : made.missing(all)) others.add(range);
  std::uint64_t sum = 0;
  for (const Range& range : others.missing(all))
    for (auto n = unsigned_count(range.begin); n < unsigned_count(range.end); ++n)
      sum += mixed((std::uint64_t{n} << 32) ^ (std::uint64_t{n} >> 16) ^ std::bit_cast<std::uint32_t>(voxels[n]));
  return sum;
}

}  // namespace

bool is_denoiser(const std::string& job) {
  return job == "pdu" || job == "spdu" || job == "tvgd";
}

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

RunResult ScalingData::denoise_once(VolumeSink& sink, const std::string& job, const std::vector<Device>& devices,
                                    int iterations, const RunOptions& options) {
  DenoiseParameters parameters;
  parameters.method = job;
  parameters.iterations = iterations;
  if (job == "tvgd")
    parameters.step = 1e-3;
  else
    parameters.alpha = 15, parameters.gap = 0;
  std::optional<MemorySource> weighing;
  if (job == "spdu") weighing.emplace(weights());
  const auto ran =
      denoise_into(MemorySource(volume()), weighing ? &*weighing : nullptr, sink, parameters, devices, options);
  RunResult result;
  result.plan = ran.plan, result.seconds = ran.seconds;
  return result;
}

RunResult ScalingData::solve_once(VolumeSink& sink, const std::string& job, const std::vector<Device>& devices,
                                  int passes, const RunOptions& options) {
  ReconstructionParameters parameters;
  parameters.method = job;
  parameters.passes = passes;
  if (solver_method(job).penalty) parameters.lambda = 0.01, parameters.gap = 0;
  const MemorySource source(projections());
  ReconstructionInputs inputs;
  inputs.projections = &source;
  return reconstruct(inputs, scan_.geometry, sink, parameters, devices, options).run;
}

RunResult ScalingData::run_into(VolumeSink& sink, const std::string& job, const std::vector<Device>& devices,
                                int iterations, const RunOptions& options) {
  if (is_denoiser(job)) return denoise_once(sink, job, devices, iterations, options);
  if (is_solver(job)) return solve_once(sink, job, devices, iterations, options);
  if (job == "project") {
    const MemorySource source(scan_.volume, volume().voxels.data());
    return project_into(source, scan_.geometry, sink, ProjectionParameters{}, devices, options);
  }
  const MemorySource source(projections());
  if (job == "backproject") return backproject_into(source, scan_.geometry, sink, Projector::joseph, devices, options);
  FdkParameters parameters;
  parameters.hardware_interpolation = job == "fdk-texture";
  return fdk_into(source, scan_.stack, scan_.geometry, sink, parameters, devices, options);
}

ScalingData::Ran ScalingData::run(const std::string& job, const std::vector<Device>& devices, int iterations,
                                  const PlanOptions& plan) {
  RunOptions options;
  options.plan = plan;
  const Grid& grid = is_denoiser(job) ? cube_ : job == "project" ? scan_.stack : scan_.volume;
  MemorySink whole(grid, result(grid));
  PartOfRank part(whole);
  const bool several = ranks().several();
  const RunResult ran = run_into(several ? static_cast<VolumeSink&>(part) : whole, job, devices, iterations, options);
  return {ran.plan, ran.seconds, several ? sum_of(whole.data(), part.made(), grid.count()) : 0};
}

double ScalingData::updates(const std::string& job, int iterations) const {
  const double voxels = static_cast<double>(scan_.volume.count());
  if (is_denoiser(job)) return voxels * iterations;
  return voxels * static_cast<double>(scan_.stack.size[2]) * std::max(1, iterations);
}

}  // namespace halocline

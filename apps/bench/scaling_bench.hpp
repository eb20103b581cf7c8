// Whole runs from host memory to host memory: on more and more devices together, and out of core.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "apps/bench/scaling_jobs.hpp"
#include "host/opencl/device.hpp"
#include "scheduling/execution/run.hpp"
#include "scheduling/profiling/run_times.hpp"

namespace halocline {

struct ScalingOptions {
  std::vector<std::string> jobs;          ///< some of scaling_jobs(); empty: the usual ones that the devices can do
  std::size_t size = 512;                 ///< voxels along each edge, views, and pixels along each edge of the detector
  std::map<std::string, int> iterations;  ///< by job that iterates: all of them, without a look at the gap
  bool stay = false;                      ///< slabs that fit remain on the devices, whether that is faster or not
  int runs = 2;                           ///< runs of which the best counts, after one that compiles
};

/// Iterations of a job, usual_iterations() where none are given.
int iterations_of(const ScalingOptions& options, const std::string& job);

/// Devices that run together.
struct ScalingTeam {
  std::string name;
  std::vector<Device> devices;
  std::size_t times = 1;  ///< so many times the slices (weak scaling)
  int ranks = 1;          ///< the first ones work, and others take part in their messages, or wait
  PlanOptions plan = {};  ///< with the devices of the ranks, if several work
};

struct ScalingRate {
  std::string job, team;
  std::size_t devices = 0;  ///< devices of the team that the plan uses
  std::size_t slabs = 0;
  std::uint64_t result = 0;       ///< ScalingData::Ran::result of all ranks
  std::optional<bool> same = {};  ///< several ranks: bits as those of the first team
  bool resident = true;           ///< the slabs remain on the devices
  double updates = 0;             ///< voxel-iterations, or voxels times views
  RunTimes times;                 ///< host to host
  double predicted = 0;           ///< that by the plan
  double iteration_seconds = std::numeric_limits<double>::quiet_NaN();  ///< time of an iteration where slabs
                                                                        ///< remain, from runs of once and three times
                                                                        ///< as many; NaN: they do not fit
  double rate() const { return updates / times.least; }
};

/// Bytes of host memory that inputs and results of the largest team take.
double scaling_bytes(const ScalingOptions& options, std::size_t times);

/// Throws InputError that names `jobs` or `size`, and what the runs throw.
std::vector<ScalingRate> bench_scaling(const std::vector<ScalingTeam>& teams, const ScalingOptions& options,
                                       const Progress& progress = {});

}  // namespace halocline

// Time of a pass of iterative reconstruction, and of it that of the projector and its adjoint.
#pragma once

#include <string>
#include <vector>

#include "algorithms/projectors/scan_forms.hpp"
#include "host/opencl/device.hpp"
#include "scheduling/profiling/run_times.hpp"

namespace halocline {

/// Seconds of the device: A, with what it makes of the volume; A^T, with what it makes of the projections; all other
/// kernels, fills and copies.
struct KernelSeconds {
  double forward = 0, adjoint = 0, other = 0;
  double all() const { return forward + adjoint + other; }
};

/// Times of runs of one length, or of a pass: host to host, and the least of each kind of kernels.
struct SolverTimes {
  RunTimes seconds;
  KernelSeconds kernels;
};

/// Times that each of `passes` further passes adds to a run. Differences that timers do not resolve count as 0, and a
/// pass takes at least as long as its kernels.
SolverTimes times_of_pass(const SolverTimes& shorter, const SolverTimes& longer, int passes);

struct ReconstructRate {
  std::string method;
  int subsets = 1;
  RunTimes pass;          ///< host to host: what each further pass adds to a run
  RunTimes run;           ///< of the longer run, host to host
  int run_passes = 0;     ///< of the longer run
  KernelSeconds kernels;  ///< in a pass
  std::size_t slabs = 1;
  bool resident = true;        ///< arrays remain on the device
  std::size_t peak_bytes = 0;  ///< of device memory
  /// Seconds of a pass that are neither A nor A^T, the host's included.
  double rest() const { return pass.least - kernels.forward - kernels.adjoint; }
};

/// Passes of the shorter run.
inline constexpr int shorter_run = 2;

/// Runs the method with 2 and with 2 + `passes` passes, so many times each, after one that compiles: the time of a pass
/// is the difference over `passes`. Methods with a penalty take a fixed strength, and none ends early. The device then
/// records its commands nowhere else. Throws InputError for a method that took fewer passes, and as reconstruct() does.
ReconstructRate bench_reconstruct(const Device& device, const std::string& method, const Scan& scan, int passes,
                                  int repeats);

}  // namespace halocline

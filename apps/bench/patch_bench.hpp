// Latency of patches on a device: from the call to the result, new projections in the device's memory every time.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "host/opencl/device.hpp"
#include "scheduling/profiling/run_times.hpp"

namespace halocline {

struct PatchProblem {
  std::array<std::size_t, 2> detector{};  ///< columns, rows; one row: a fan beam
  std::size_t views = 0;
  std::array<std::size_t, 3> patch{};  ///< voxels along i, j, k; k is the rotation axis
  std::size_t boxes = 1;               ///< in one launch, side by side
  bool planes = false;                 ///< instead: the three planes across i, j and k through the middle of `patch`
  std::string text() const;            ///< "1000 views of 512 x 1, 64 of 50 x 50 x 1"
};

/// Those of Graas et al. (2024): patches of a network's layer (Fig. 2), quasi-3D reconstruction (Table 1); and batches.
std::vector<PatchProblem> patch_problems();

struct PatchLatency {
  PatchProblem problem;
  double updates = 0;             ///< voxels times views
  RunTimes backproject, adjoint;  ///< until all has ended on the device
  double enqueue = 0;             ///< seconds of the host in backproject(), the least
};

/// runs: of each call. Throws as Patches does.
PatchLatency bench_patches(const Device& device, const PatchProblem& problem, int runs);

}  // namespace halocline

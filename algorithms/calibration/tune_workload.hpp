// Kernels of a kind of work, run on a device for tuning.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "algorithms/projectors/scan_forms.hpp"
#include "host/opencl/device.hpp"
#include "host/opencl/tuning.hpp"

namespace halocline {

/// Sizes of a reconstruction.
struct ScanSizes {
  std::array<std::size_t, 3> volume{};    ///< voxels along i, j, k
  std::array<std::size_t, 2> detector{};  ///< columns, rows
  std::size_t views = 0;

  std::optional<ProblemClass> problem() const { return problem_class(volume, {detector[0], detector[1], views}); }
};

/// Launches the kernels, from an idle device to an idle one. between: called between parts whose kernels may have to
/// be compiled.
using Workload = std::function<void(const std::function<void()>& between)>;

/// Work of a class of tune_classes(): a scan for "fdk", "project" and "patches", else iterations on n^3 voxels. Throws
/// PlanError where it does not fit the device's memory.
Workload workload_of(const Device& device, const std::string& tune_class, const Scan& scan, std::size_t n);

}  // namespace halocline

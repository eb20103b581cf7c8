// Kernels of the denoisers' iterations beside the limits of a device: its copy and its arithmetic (a roofline).
#pragma once

#include <string>
#include <vector>

#include "apps/bench/denoise_bench.hpp"

namespace halocline {

struct KernelRate {
  BenchForm form;
  std::string kernel;
  double voxels = 0;
  IterationCost cost;  ///< of a voxel and an iteration
  RunTimes times;      ///< of an iteration, by the device's clock
  double flops() const { return voxels * cost.flops / times.least; }
  double bandwidth() const { return voxels * cost.bytes / times.least; }
  double intensity() const { return cost.flops / cost.bytes; }
};

struct KernelBench {
  DeviceInfo device;
  DenoiseBenchPlan plan;
  double copy_bandwidth = 0, flop_rate = 0;  ///< a second
  std::vector<KernelRate> rates;

  /// Operations a second that the limits allow a kernel.
  double limit(const KernelRate& rate) const;
};

/// Measures the kernels of the plan's forms as bench_denoise() measures the forms. The device then records its commands
/// nowhere else. Throws as it does.
KernelBench bench_kernels(const Device& device, const DenoiseBenchOptions& options, const Progress& progress = {});

/// An SVG file: operations a second over operations a byte, both logarithmic, with the limits.
std::string roofline_svg(const KernelBench& bench);

}  // namespace halocline

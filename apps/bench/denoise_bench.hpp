// Speed of the denoisers on a device: iterations a second in every form that it takes, and the time to a given gap.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/calibration/bench_form.hpp"
#include "host/opencl/device.hpp"
#include "scheduling/execution/progress.hpp"
#include "scheduling/profiling/run_times.hpp"

namespace halocline {

using VolumeSize = std::array<std::size_t, 3>;

struct DenoiseBenchOptions {
  std::optional<VolumeSize> volume{};  ///< voxels along the axes; none: 512^3 on GPUs, 192^3 on CPUs, less to fit
  std::vector<std::string> methods{};  ///< some of pdu, spdu, tvgd, pdu4d; empty: all
  /// Names by form_name(), at least one of each of `methods`, or "all"; empty: in-place and 1 and 2 stages with 32
  /// and 16 bits, and all of tvgd and pdu4d.
  std::vector<std::string> forms{};
  std::vector<double> gaps{1e-2, 1e-3, 1e-4};  ///< relative duality gaps to reach
  double seconds = 0.3;                        ///< time of measuring a form; no less than one pass
};

struct DenoiseBenchPlan {
  VolumeSize volume{};
  std::vector<BenchForm> forms;
  std::vector<std::string> left_out;  ///< forms that the device does not take, and why
  std::size_t bytes = 0;              ///< device memory of the form that needs most
};

struct FormRate {
  BenchForm form;
  IterationCost cost;
  double voxels = 0;          ///< voxels of the volume; of frames, of their stack
  RunTimes iteration;         ///< seconds of an iteration
  double copy_bandwidth = 0;  ///< bytes/s, measured beside it
  /// A second, in the best of the runs.
  double voxel_iterations() const { return voxels / iteration.least; }
  double bandwidth() const { return voxel_iterations() * cost.bytes; }
  double share_of_copy() const { return bandwidth() / copy_bandwidth; }
};

struct TimeToGap {
  BenchForm form;
  double target = 0, reached = 0;
  int iterations = 0;
  RunTimes on_device;     ///< from the volume on the device to the result there
  RunTimes host_to_host;  ///< from the volume in host memory to the result there
};

struct DenoiseBench {
  DeviceInfo device;
  DenoiseBenchPlan plan;
  double copy_bandwidth = 0;  ///< bytes/s, the best of the run
  std::vector<FormRate> rates;
  std::vector<TimeToGap> times;
};

/// The work of bench_denoise(). Without a volume it is made smaller until all forms lie in the device's memory as one
/// slab; forms too large for a given one are left out. Throws InputError that names `volume`, `methods` or `forms`, and
/// PlanError if nothing fits.
DenoiseBenchPlan plan_denoise_bench(const Device& device, const DenoiseBenchOptions& options);

/// Measures every form on denoise_phantom() with noise 0.1 (spdu: with ramp_weights(); pdu4d: on eight frames of it
/// with half the edge), and the time to each gap with lambda 1/15: for pdu and spdu in the form that was fastest among
/// those whose duals are fine enough for it, and in those of other schedules and regularisers, and for pdu4d. Compiling
/// is not counted, evaluations of the gap are. Throws Interrupted after Ctrl-C.
DenoiseBench bench_denoise(const Device& device, const DenoiseBenchOptions& options, const Progress& progress = {});

}  // namespace halocline

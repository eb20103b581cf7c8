// Speed of projection, back-projection, FDK and slices on a device in every mode that it has, how near that is to
// what the device's texture units or memory allow, and how far the result is from fp64.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/projectors/scan_forms.hpp"
#include "apps/bench/fetch_rate.hpp"
#include "host/opencl/device.hpp"
#include "scheduling/execution/progress.hpp"
#include "scheduling/profiling/run_times.hpp"

namespace halocline {

/// project, backproject: from arrays that lie on the device to arrays that lie there, and from host to host. fdk: from
/// host to host. slices: three orthogonal ones of projections that are filtered and lie on the device.
enum class ScanBench { project, backproject, fdk, slices };
std::string scan_bench_name(ScanBench bench);
/// The names that `modes` may hold; some devices lack some.
std::vector<std::string> scan_bench_modes(ScanBench bench);

struct ScanBenchOptions {
  /// N: of N^3 voxels and views of N^2 pixels. none: 512 on GPUs, 1024 there for slices, 128 on CPUs, less to fit
  std::optional<std::size_t> size{};
  std::optional<std::size_t> views{};  ///< none: the size; 128 for slices
  /// project, backproject, fdk: so many slices of N^2 voxels and a parallel beam, instead of a cone beam and N slices;
  /// and rows of its detector of N columns. none: a row on each slice
  std::optional<std::size_t> slices{}, rows{};
  bool fan_stack = false;  ///< a stack of fans in place of the parallel beam
  /// Pixels of a view (columns, rows); slices: and of each slice. none: `size` squared. Without slices only with
  /// `volume`
  std::optional<std::array<std::size_t, 2>> detector{}, slice{};
  /// project, backproject, fdk: voxels along i, j, k, with `detector`, in place of `size`
  std::optional<std::array<std::size_t, 3>> volume{};
  std::vector<std::string> modes{};  ///< empty: all
  double seconds = 0.3;              ///< time of measuring a mode; no less than one run
};

/// FDK takes no scan with gaps; projection and back-projection do.
constexpr std::size_t least_bench_views(ScanBench bench) {
  return bench == ScanBench::project || bench == ScanBench::backproject ? 1 : 12;
}

struct ScanBenchPlan {
  std::size_t size = 0, views = 0;        ///< voxels along the longest edge of a slice
  std::size_t slices = 0, rows = 0;       ///< sizes of a parallel beam or stack of fans; 0: a cone beam
  bool fan_stack = false;                 ///< it is a stack of fans
  std::array<std::size_t, 3> volume{};    ///< voxels along i, j, k
  std::array<std::size_t, 2> detector{};  ///< pixels of a view
  std::array<std::size_t, 2> slice{};     ///< slices: pixels of each slice
  std::vector<std::string> modes;
  std::vector<std::string> left_out;  ///< modes that the device does not take, and why
  std::size_t bytes = 0;              ///< device memory of the mode that needs most
};

/// Times of a run with recorded commands.
struct HostToHost {
  double device_seconds = 0;  ///< from the first command's start to the last one's end
  double kernel_seconds = 0, upload_seconds = 0, download_seconds = 0;  ///< sums over the commands
  /// The least that any order of the commands can take while kernels and transfers run side by side.
  double least_seconds() const { return std::max(kernel_seconds, upload_seconds + download_seconds); }
};

struct ScanRate {
  std::string mode;
  RunTimes times;                  ///< of all views; fdk: host to host
  double updates = 0;              ///< voxels times views (slices: pixels times views)
  double rays = 0;                 ///< pixels of all views
  Fetch fetch;                     ///< reads of the volume, or of the projections
  double fetches = 0;              ///< number that the formula needs if nothing is kept from one to the next
  double fetch_limit = 0;          ///< fetches a second, measured beside it
  double bytes = 0;                ///< in the device's memory, every value of an array once a kernel
  double copy_limit = 0;           ///< bytes a second, measured beside it
  double relative_rmse = 0;        ///< error of some hundred places, to the largest fp64 value there
  RunTimes host_to_host;           ///< project, backproject
  std::optional<HostToHost> host;  ///< fdk, which has no fetches and bytes

  double seconds() const { return times.least; }
  double share_of_fetches() const { return fetches / seconds() / fetch_limit; }
  double share_of_copy() const { return bytes / seconds() / copy_limit; }
};

struct ScanBenchResult {
  DeviceInfo device;
  ScanBenchPlan plan;
  std::vector<ScanRate> rates;
  /// backproject: of coordinates in float32, pixels; see coordinate_error.hpp
  double coordinate_error = 0, coordinate_bound = 0;
};

/// The scan of a plan: bench_scan() or sliced_bench_scan().
Scan scan_of(const ScanBenchPlan& plan);

/// The work of run_scan_bench(). Without a size it is made smaller until all modes fit; modes too large for a given
/// one are left out. Throws InputError that names `size`, `views`, `slices`, `rows`, `volume`, `detector`, `slice`
/// or `modes`, and PlanError that names `size` if nothing fits.
ScanBenchPlan plan_scan_bench(ScanBench bench, const Device& device, const ScanBenchOptions& options);

/// Measures on scan_of() the plan. Compiling is not counted. fdk: the device then records its
/// commands nowhere else. Throws Interrupted after Ctrl-C.
ScanBenchResult run_scan_bench(ScanBench bench, const Device& device, const ScanBenchOptions& options,
                               const Progress& progress = {});

}  // namespace halocline

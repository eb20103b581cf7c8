// Finds the shapes of work-groups, the tunables and the forms with which a device is fastest, within a time.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/calibration/tune_workload.hpp"
#include "host/opencl/tuned_values.hpp"
#include "scheduling/execution/progress.hpp"
#include "scheduling/profiling/run_times.hpp"

namespace halocline {

/// Kinds of work: "pdu", "spdu" (two kernels an iteration or several iterations a pass; the shapes of those groups are
/// measured with them), "fdk", "project", and with a problem, whose volume is a patch, "patches".
const std::vector<std::string>& tune_classes();

struct TuneOptions {
  std::vector<std::string> classes;  ///< empty: all but patches; with `problem` fdk and project
  double seconds = 30;               ///< in all, compiling included; what was begun is ended
  std::size_t size = 0;              ///< voxels along each edge of the test volumes; 0: 320 on GPUs, 96 on CPUs
  /// Measures at these sizes, in place of `size`, and keeps what was found for their class of problems. Else it is kept
  /// for all problems.
  std::optional<ScanSizes> problem;
};

/// A value that was measured.
struct TuneTrial {
  std::string tunable;  ///< "group", "K_UNROLL", "views", "form"
  std::string value;    ///< "64 x 4 x 1", "8", "quads"
  RunTimes times;
  enum class Mark { none, before, after } mark = Mark::none;  ///< in use before; from now on, if another is
};

/// Measurements of one kernel, or one choice ("form of pdu").
struct TunedItem {
  std::string tune_class, name;
  std::string before, after;  ///< "64 x 4 x 1", "64 x 4 x 1, K_UNROLL 8"; forms "in place", "2 iterations a pass"
  double seconds_before = 0, seconds_after = 0;
  /// The same in pairs, measured in turns: the least and the largest of before / after. 1 if nothing is changed.
  double least_gain = 1, largest_gain = 1;
  std::vector<TuneTrial> trials;  ///< of all values
  bool changed() const { return before != after; }
};

struct TuneResult {
  Tuning tuning;  ///< what the device had, with what was found
  std::vector<TunedItem> items;
  std::vector<std::string> left_out;  ///< classes for which there was no time, or which the device cannot do, and why
  double seconds = 0;
};

/// Classes that tune() measures.
std::vector<std::string> classes_of(const TuneOptions& options);

/// Bytes of host memory that test volumes take, about.
double tune_host_bytes(const DeviceInfo& device, const TuneOptions& options);

/// Measures on `device`, which afterwards uses what it had before. Values replace the default only if they were faster
/// by more than a thirtieth when the two were measured again in turns, so nothing becomes slower. Throws InputError
/// that names `classes`, `size`, `volume`, `detector` or `views`, ClError, Interrupted.
TuneResult tune(Device device, const TuneOptions& options, const Progress& progress = {});

/// The form (iterations a pass; 0: in place) that tuning found for "pdu" or "spdu" on all of `devices`: the least of
/// them; nothing if one of them was not tuned for it.
std::optional<int> tuned_stages(std::span<const DeviceModel> devices, const std::string& method);
std::optional<int> tuned_stages(std::span<const Device> devices, const std::string& method);
/// Stages as tuned; for a model that is not known, `trial` finds them once, and they are kept. Each device counts
/// separately: another device is no evidence.
int tuned_or_tried_stages(std::span<const Device> devices, const std::string& method,
                          const std::function<int(const Device&)>& trial);
/// Keeps it, on disk too.
void keep_stages(const Device& device, const std::string& method, int stages);

/// True if the defaults were chosen by measurements on devices like this one.
bool has_measured_defaults(const DeviceInfo& device);

/// The fastest of `candidates` (seconds of each), if it takes less than 29 thirtieths of `standard`.
std::optional<std::size_t> clearly_fastest(std::span<const double> candidates, double standard);

}  // namespace halocline

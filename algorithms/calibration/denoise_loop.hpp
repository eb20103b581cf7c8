// Speed of the denoisers on a device: iterations a second in every form that it takes, and the time to a given gap.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/denoisers/denoise_method.hpp"
#include "scheduling/execution/progress.hpp"
#include "scheduling/profiling/measure.hpp"

namespace halocline {

/// A method, and how it iterates: a fused form, a particular schedule or regulariser, both in place (pdu, spdu), or a
/// direction (tvgd).
struct BenchForm {
  std::string method;
  FusedForm fused;
  bool adaptive = false, statistical = false;
  Schedule schedule = Schedule::standard;
  Regulariser regulariser{};

  /// The method takes the weights.
  bool weighted() const { return method == "spdu" || statistical; }
  /// The plain problem with the default schedule, which all fused forms solve with the same iterations.
  bool plain() const {
    return (method == "pdu" || method == "spdu") && schedule == Schedule::standard && regulariser.plain();
  }
};

/// "in-place", or stages x bits of a stored dual ("2x16"); other schedules by their names; other regularisers: "huber",
/// "anisotropic", "non-negative" or "reference"; tvgd: "descent", "adaptive" or "statistical"; pdu4d: "frames".
std::string form_name(const BenchForm& form);

/// Least cost of a form, for a voxel and an iteration.
struct IterationCost {
  double bytes = 0;  ///< read and written in the device's memory, every value of an array once a kernel
  double flops =
      0;  ///< of the formulas, every value computed once a kernel; an fma counts as two, a root or min as one
};
/// cpu: the kernels for CPUs run (they make a difference for tvgd alone).
IterationCost iteration_cost(const BenchForm& form, bool cpu);

/// A method on a volume that resides on one device, iterated without the executor.
class DenoiseLoop {
 public:
  /// Loads the inputs and brings the method to its start. inputs: by name, of the method's size. Throws PlanError if
  /// the device's budget is passed.
  DenoiseLoop(const Device& device, const BenchForm& form, MethodParameters parameters,
              const std::map<std::string, const Volume*>& inputs);
  /// Enqueues `count` iterations, a multiple of together(), with the reductions without which the next one cannot
  /// begin.
  void iterate(int count);
  int together() const { return method_->together(); }
  /// Compiles all that run() launches: passes of every number of iterations, and the gap.
  void warm_up();
  /// Enqueues the evaluation of the gap (tvgd: of the norm).
  void reduce();
  /// Runs from the start until the method stops (MethodParameters::gap or iterations); returns the last record. Waits
  /// for the device.
  IterationRecord run();
  DeviceSlab& slab() { return slab_; }

 private:
  std::unique_ptr<DenoiseMethod> method_;
  DeviceSlab slab_;
  int iterations_, done_ = 0;
  bool waits_ = false;  // for a reduction after every iteration
};

constexpr std::size_t most_bench_size = 8192;

struct DenoiseBenchOptions {
  std::optional<std::size_t> size;   ///< voxels along each edge; none: 512 on GPUs, 192 on CPUs, less to fit
  std::vector<std::string> methods;  ///< of pdu, spdu, tvgd, pdu4d; empty: all
  /// Names as form_name() has them, at least one of each of `methods`, or "all"; empty: in-place and 1 and 2 stages
  /// with 32 and 16 bits, and all of tvgd and pdu4d.
  std::vector<std::string> forms;
  std::vector<double> gaps{1e-2, 1e-3, 1e-4};  ///< relative duality gaps to reach
  double seconds = 0.3;                        ///< of measuring a form; no less than one pass
};

struct DenoiseBenchPlan {
  std::size_t size = 0;
  std::vector<BenchForm> forms;
  std::vector<std::string> left_out;  ///< forms that the device does not take, and why
  std::size_t bytes = 0;              ///< device memory of the form that needs most
};

struct FormRate {
  BenchForm form;
  IterationCost cost;
  double voxels = 0;            ///< of the volume: size^3, but of frames an even size's
  double voxel_iterations = 0;  ///< a second, in the best of the runs
  double copy_bandwidth = 0;    ///< bytes/s, measured beside it
  double bandwidth() const { return voxel_iterations * cost.bytes; }
  double share_of_copy() const { return bandwidth() / copy_bandwidth; }
};

struct TimeToGap {
  BenchForm form;
  double target = 0, reached = 0;
  int iterations = 0;
  double seconds_on_device = 0;     ///< from the volume on the device to the result there
  double seconds_host_to_host = 0;  ///< from the volume in host memory to the result there
};

struct DenoiseBench {
  DeviceInfo device;
  DenoiseBenchPlan plan;
  double copy_bandwidth = 0;  ///< bytes/s, the best of the run
  std::vector<FormRate> rates;
  std::vector<TimeToGap> times;
};

/// Plan of bench_denoise(). Without a size it is made smaller until all forms fit into the device's memory as one slab;
/// forms too large for a given size are left out. Throws InputError that names `size`, `methods` or `forms`, and
/// PlanError if nothing fits.
DenoiseBenchPlan plan_denoise_bench(const Device& device, const DenoiseBenchOptions& options);

/// Measures every form on denoise_phantom() with noise 0.1 (spdu: with ramp_weights(); pdu4d: on eight frames of it
/// with half the edge), and the time to each gap with lambda 1/15: for pdu and spdu in the form that was fastest among
/// those whose duals are fine enough for it, and in those of other schedules and regularisers, and for pdu4d. Compiling
/// is not counted, evaluations of the gap are. Throws Interrupted after Ctrl-C.
DenoiseBench bench_denoise(const Device& device, const DenoiseBenchOptions& options, const Progress& progress = {});

}  // namespace halocline

// A denoiser on one device, iterated without the executor.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "algorithms/calibration/bench_form.hpp"
#include "algorithms/denoisers/denoise_method.hpp"
#include "scheduling/profiling/measure.hpp"

namespace halocline {

/// A method on a volume that lies on one device, iterated without the executor.
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
  /// From the start until the method stops (MethodParameters::gap or iterations): the last record. Waits for the
  /// device.
  IterationRecord run();
  DeviceSlab& slab() { return slab_; }

 private:
  std::unique_ptr<DenoiseMethod> method_;
  DeviceSlab slab_;
  int iterations_, done_ = 0;
  bool waits_ = false;  // for a reduction after every iteration
};

/// Largest edge of a volume that is measured.
constexpr std::size_t most_bench_size = 8192;

}  // namespace halocline

// A form of a denoiser that benches measure: its name, and what an iteration costs by the formulas.
#pragma once

#include <string>
#include <vector>

#include "algorithms/denoisers/denoise_method.hpp"

namespace halocline {

/// A method, and how it iterates: a fused form, a schedule or a regulariser of its own, both in place (pdu, spdu), or a
/// direction (tvgd).
struct BenchForm {
  std::string method;
  FusedForm fused;
  bool adaptive = false, statistical = false;
  Schedule schedule = Schedule::standard;
  Regulariser regulariser{};

  bool descends() const { return method == "tvgd"; }
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

/// The least that a form moves and computes, for a voxel and an iteration.
struct IterationCost {
  double bytes = 0;  ///< read and written in the device's memory, every value of an array once a kernel
  double flops =
      0;  ///< of the formulas, every value computed once a kernel; an fma counts as two, a root or min as one
};
/// cpu: the kernels for CPUs run (they make a difference for tvgd alone).
IterationCost iteration_cost(const BenchForm& form, bool cpu);

/// The part of an iteration that one of its kernels has.
struct KernelPart {
  std::string kernel;  ///< end of the kernel's name, as "_dual"
  IterationCost cost;
};
/// The kernels of an iteration; their costs add up to iteration_cost(). Reductions that steer the next one are not
/// among them.
std::vector<KernelPart> kernel_parts(const BenchForm& form, bool cpu);

}  // namespace halocline

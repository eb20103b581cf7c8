// Context in which expressions are computed.
//
// Statements over arrays (`x += alpha * p`) are recorded. They are computed when a number is read (value()), an array
// is copied to the host (read()), or flush() is called: statements over one space that follow each other become one
// pass over memory, with the sums over what it writes.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "algorithms/expressions/array.hpp"
#include "algorithms/expressions/prepared.hpp"
#include "algorithms/support/slice_sums.hpp"
#include "host/opencl/device.hpp"
#include "scheduling/planning/plan.hpp"

namespace halocline::expressions {

class SessionRecorder;

class Context {
 public:
  /// Arrays reside on these devices where they fit, in slabs; else in host memory, and slabs take turns on the devices.
  explicit Context(std::vector<Device> devices, const PlanOptions& options = {});

  /// Arrays over the voxels of a volume, and over the pixels of a stack of projections (u, v, view). A Context has one
  /// grid of each kind. Throws InputError for another one, and as check_grid() does.
  Space volume(const Grid& grid) const;
  Space projections(const Grid& grid) const;

  /// Computes all that has been recorded; kernels may be under way when it returns. Throws PlanError where arrays do
  /// not fit, ClError, BuildError, Interrupted; what had been recorded is then lost.
  void flush() const;
  /// Flushes, and waits until all kernels have ended.
  void wait() const;
  /// Calls the function once, computes its statements, and keeps their kernels: docs/expressions.md. Throws InputError
  /// for a sum, for a value or array that is read in it, where one device does not hold all arrays, and as flush()
  /// does; results of the statements are then lost.
  Prepared record(const std::function<void()>& statements) const;
  /// false: every statement by itself. The values are the same, bit for bit.
  void fuse(bool on) const;
  /// Selects kernels of other devices, for tests.
  void use(KernelVariants variants) const;

  /// Plan of the arrays.
  const Plan& plan() const;
  /// Kernels that have been written so far, and passes over arrays that statements took.
  std::size_t kernels() const;
  std::size_t passes() const;
  /// OpenCL C of the kernel that was written last.
  const std::string& last_kernel() const;
  SessionRecorder& recorder() const { return *recorder_; }

 private:
  std::shared_ptr<SessionRecorder> recorder_;
};

}  // namespace halocline::expressions

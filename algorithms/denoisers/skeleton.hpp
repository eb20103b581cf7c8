// The smallest iterative method: copy it to add one.
//
// A new method "abc" is: cl/abc.cl (kernels abc_<verb>), algorithms/denoisers/abc.hpp and abc.cpp (a class like this
// one), one line in algorithms/denoisers/registry.cpp, tests/algorithms/denoisers/abc_test.cpp. The registry's test
// then runs it on one slab, many slabs and two devices and requires bitwise identical results; the planner, the
// executor and the transfers need no change.
#pragma once

#include "algorithms/denoisers/denoise_method.hpp"

namespace halocline {

/// Explicit heat diffusion: u <- u + tau * Laplacian(u), Neumann faces, spacing considered; tau = half of the largest
/// stable step, so the sum of u is constant and its variation falls. Input "f" (the start), result "u".
class Skeleton : public IterativeMethod {
 public:
  /// Uses size, spacing, iterations, variants. Keep all that iterations need in members that never change during a run.
  explicit Skeleton(const MethodParameters& parameters);

  /// Arrays, the reach of one iteration, and the number of iterations.
  Requirements requirements() const override;
  /// Fills the state from the inputs, over all slices that the slab holds.
  void start(Slab& slab) const override;
  /// One iteration, right on `core`.
  void iterate(Slab& slab, int iteration, Range core) const override;
  /// Number of iterations after which sums are due: here every 10.
  int next_reduction(int done) const override { return done < 0 ? 10 : (done / 10 + 1) * 10; }
  /// The sums of every slice of `interior`.
  void reduce(Slab& slab, int done, Range interior) const override;
  /// Uses the sums over the volume; true would stop the run.
  bool reduced(int done, std::span<const double> sums) override;

  /// The sum of u after the last reduction.
  double total() const { return total_; }

 private:
  MethodParameters parameters_;
  std::array<float, 3> factors_;  // tau / h^2
  SliceSums sums_;
  double total_ = 0;
};

}  // namespace halocline

// Times of products with the system matrix of slices and its transpose on a device: stored as tiles, or with weights
// on the fly, and how far they are from fp64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "apps/bench/matrix_bench.hpp"
#include "host/opencl/device.hpp"
#include "scheduling/execution/progress.hpp"
#include "scheduling/profiling/run_times.hpp"

namespace halocline {

/// matrix: stored, on matrix units, and matrix-half with vectors of one half a number; symmetric: an eighth of it;
/// matrix-plain, symmetric-plain: stored, in float32; slices: Joseph's projector with slices innermost; rays: ray by
/// ray.
std::vector<std::string> matrix_modes();

/// A product of all slices.
struct ProductRate {
  RunTimes times;
  double bytes = 0;          ///< in the device's memory: tiles once a pass, every value of other arrays once a kernel
  double relative_rmse = 0;  ///< error of some hundred places, to the largest fp64 value there
};

struct MatrixRate {
  std::string mode;
  ProductRate forward, adjoint;
  bool stored = false;
  std::uint64_t tile_bytes = 0;               ///< stored: of the tiles
  double multiply_adds = 0;                   ///< stored: those of a product, with zeros of tiles and padded slices
  double list_seconds = 0, fill_seconds = 0;  ///< stored: to list the tiles on the host, and to fill them

  /// Sums of both products, which an iteration of conjugate gradients takes.
  double seconds() const { return forward.times.least + adjoint.times.least; }
  double bytes() const { return forward.bytes + adjoint.bytes; }
  double build_seconds() const { return list_seconds + fill_seconds; }
};

struct MatrixTimes {
  MatrixProblem problem;
  std::size_t slices = 1;
  std::vector<MatrixRate> rates;
  std::vector<std::string> left_out;  ///< modes that the device or the projector does not take, and why
  double copy_bandwidth = 0;          ///< bytes a second of a plain copy, measured beside them

  double share_of_copy(const MatrixRate& rate) const { return rate.bytes() / rate.seconds() / copy_bandwidth; }
  /// The fastest mode that stores no matrix; nullptr: none was measured.
  const MatrixRate* fastest_unstored() const;
  /// Iterations after which building the matrix has paid; none: never. There must be a fastest_unstored().
  std::optional<double> break_even(const MatrixRate& stored) const;
};

/// Reason why a device does not take the mode; "": it does.
std::string lack_of(const std::string& mode, const MatrixProblem& problem, const Device& device);

/// Measures each mode for so many seconds in each direction; compiling is not counted. Modes that do not fit the
/// device are left out. Throws Interrupted after Ctrl-C.
MatrixTimes time_products(const Device& device, const MatrixProblem& problem, std::size_t slices,
                          const std::vector<std::string>& modes, double seconds, const Progress& progress = {});

}  // namespace halocline

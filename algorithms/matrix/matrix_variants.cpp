#include "algorithms/matrix/matrix_variants.hpp"

#include <algorithm>
#include <memory>

#include "algorithms/matrix/matrix_projection.hpp"
#include "scheduling/execution/program_run.hpp"

namespace halocline {
namespace {

// Errors of the largest value: of one half a number, of two, and of sums of eight copies
constexpr double rounding_of_half = 1e-3, rounding_of_two = 1e-6, rounding_of_copies = 4e-6;

// A parallel beam on so many slices, with pixels that a square's symmetry maps to pixels.
std::shared_ptr<const SystemMatrix> trial_matrix(const MatrixOptions& options, std::size_t slices) {
  CircularOptions circle;
  circle.sid = 100;
  circle.sdd = 0;
  circle.projections = 20;
  circle.arc = 180;
  const Grid volume = default_grid({33, 33, slices}, {1, 1, 1});
  const Grid stack{
      .size = {41, slices, 20}, .spacing = {1, 1, 1}, .origin = {-20, -0.5 * static_cast<double>(slices - 1), 0}};
  return std::make_shared<SystemMatrix>(circular_geometry(circle), volume, stack, Projector(), options);
}

Finding compared_by_size(const Volume& found, const Volume& expected, double rounding) {
  const double largest = *std::max_element(expected.voxels.begin(), expected.voxels.end());
  return compared(found, expected, rounding * largest);
}

// Both directions beside float32.
Finding check_vectors(const Device& device, const MatrixOptions& options, std::size_t slices) {
  const auto units = trial_matrix(options, slices), plain = trial_matrix({.symmetric = options.symmetric}, slices);
  const double rounding = options.half_vectors ? rounding_of_half
                          : options.symmetric  ? rounding_of_copies
                                               : rounding_of_two;
  const auto project = [&](const auto& matrix) {
    const Volume volume = trial_volume(matrix->volume());
    return run_program(program_of(MatrixProjection(matrix)), {{"volume", &volume}}, matrix->projections(), {device})
        .output;
  };
  const auto backproject = [&](const auto& matrix) {
    const Volume stack = trial_volume(matrix->projections());
    return run_program(program_of(MatrixBackprojection(matrix, false)), {{"raw", &stack}}, matrix->volume(), {device})
        .output;
  };
  const Finding forward = compared_by_size(project(units), project(plain), rounding);
  return forward.verdict == Verdict::right ? compared_by_size(backproject(units), backproject(plain), rounding)
                                           : forward;
}

Finding check_units(const Device& device) {
  const MatrixUnits units = matrix_units_of(device.info());
  for (const MatrixOptions& options :
       {MatrixOptions{.units = units}, MatrixOptions{.units = units, .half_vectors = true},
        MatrixOptions{.units = units, .symmetric = true}})
    for (const std::size_t slices : {1, 37})  // a block, or two and a part of a third
      if (Finding finding = check_vectors(device, options, slices); finding.verdict != Verdict::right) return finding;
  return {};
}

}  // namespace

const Variant& matrix_units_variant() {
  static const Variant variant{
      .name = "system matrix on matrix units",
      .files = {"matrix.cl", "matrix_fill.cl"},
      .reason_not = unless([](const DeviceInfo& info) { return matrix_units_of(info) != MatrixUnits::none; },
                           "for matrix units of NVIDIA's, AMD's and Intel's GPUs"),
      .check = check_units};
  return variant;
}

}  // namespace halocline

// labels: device
// Kernels for matrix units of GPUs that are not here, with the units emulated: both directions beside float32.
#include "tests/algorithms/matrix/emulated_units.hpp"

#include <gtest/gtest.h>

#include "algorithms/matrix/matrix_projection.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::emulated_units_test {
namespace {

struct Form {
  const char* name;
  MatrixUnits units;
  const char* tile_file;
  std::string emulated;
};
const Form forms[] = {
    {"mfma_without_subnormals", MatrixUnits::amd_64, "tile_amd.clh", emulated_units::mfma_without_subnormals()},
    {"mfma", MatrixUnits::amd_64, "tile_amd.clh", emulated_units::mfma},
    {"wmma_of_rdna3", MatrixUnits::amd_32, "tile_amd.clh", emulated_units::wmma_of_rdna3},
    {"wmma_of_rdna4", MatrixUnits::amd_32, "tile_amd.clh", emulated_units::wmma_of_rdna4},
    {"sub_groups_of_16", MatrixUnits::intel_16, "tile_intel.clh", emulated_units::matrix_mad},
    {"sub_groups_of_8", MatrixUnits::intel_8, "tile_intel.clh", emulated_units::matrix_mad}};

struct Problem {
  std::size_t side, columns, slices, views;
};

class EmulatedUnits : public testing::TestWithParam<Form> {
 protected:
  using Pair = std::pair<Volume, Volume>;  // A x and A^T y

  static Pair products(const Problem& problem, const MatrixOptions& options) {
    const auto& [side, columns, slices, views] = problem;
    CircularOptions circle{.sid = 200, .sdd = 0, .projections = problem.views, .arc = 180};
    const Grid grid = default_grid({side, side, slices}, {1, 1, 1}),
               stack = reference::detector(columns, slices, views, 1, 1);
    const auto matrix =
        std::make_shared<const SystemMatrix>(circular_geometry(circle), grid, stack, Projector(), options);
    const Volume volume = reference::random_volume(grid, 7), raw = reference::random_volume(stack, 3);
    const auto on = options.units == MatrixUnits::none ? reference::device() : open_devices({});  // compiles anew
    return {run_program(program_of(MatrixProjection(matrix)), {{"volume", &volume}}, stack, on).output,
            run_program(program_of(MatrixBackprojection(matrix, false)), {{"raw", &raw}}, grid, on).output};
  }
  static double largest_difference(const Volume& found, const Volume& expected) {
    double most = 0, size = 0;
    for (std::size_t n = 0; n < expected.voxels.size(); ++n) {
      const double apart = std::abs(static_cast<double>(found.voxels[n]) - expected.voxels[n]);
      most = apart <= most ? most : apart;  // NaN, too
      size = std::max<double>(size, std::abs(expected.voxels[n]));
    }
    return most / size;
  }
  // Largest differences to float32 in both directions, over the largest value.
  static std::pair<double, double> differences(const Problem& problem, MatrixOptions options,
                                               const std::string& emulated) {
    const Pair expected = products(problem, {.symmetric = options.symmetric, .parts = options.parts});
    options.units = GetParam().units;
    options.warps = 1;
    const emulated_units::Emulation emulation(GetParam().tile_file, emulated);
    const Pair found = products(problem, options);
    return {largest_difference(found.first, expected.first), largest_difference(found.second, expected.second)};
  }
};

TEST_P(EmulatedUnits, MultiplyAsFloat32Does) {
  for (const Problem& problem :
       {Problem{1, 1, 1, 1}, Problem{7, 9, 7, 5}, Problem{33, 41, 37, 20}, Problem{93, 21, 17, 7}}) {
    SCOPED_TRACE(testing::Message() << problem.side << "^2 x " << problem.slices);
    const auto [forward, back] = differences(problem, {}, GetParam().emulated);
    EXPECT_LT(forward, 1e-6);
    EXPECT_LT(back, 1e-6);
  }
}

TEST_P(EmulatedUnits, MultiplyOneHalfOfANumber) {
  const auto [forward, back] = differences({33, 40, 37, 12}, {.half_vectors = true}, GetParam().emulated);
  EXPECT_LT(forward, 1e-3);
  EXPECT_LT(back, 1e-3);
  EXPECT_GT(forward, 1e-6);
}

TEST_P(EmulatedUnits, MultiplyCopiesOfSectors) {
  const auto [forward, back] = differences({31, 35, 5, 20}, {.symmetric = true}, GetParam().emulated);
  EXPECT_LT(forward, 4e-6);
  EXPECT_LT(back, 4e-6);
}

TEST_P(EmulatedUnits, MultiplyPartsOfViews) {
  const auto [forward, back] =
      differences({33, 40, 19, 12}, {.parts = {5, 7}, .chunk_bytes = 1 << 16}, GetParam().emulated);
  EXPECT_LT(forward, 1e-6);
  EXPECT_LT(back, 1e-6);
}

// The documents' layout of sums, mistaken.
TEST_P(EmulatedUnits, ShowAMistakenLayout) {
  const std::string mistaken = std::regex_replace(GetParam().emulated, std::regex("element_of_product\\(wave, i"),
                                                  "element_of_product(wave, i ^ 1");
  const auto [forward, back] = differences({33, 40, 37, 12}, {}, mistaken);
  EXPECT_GT(forward, 1e-2);
  EXPECT_GT(back, 1e-2);
}

INSTANTIATE_TEST_SUITE_P(Forms, EmulatedUnits, testing::ValuesIn(forms),
                         [](const auto& form) { return form.param.name; });

}  // namespace
}  // namespace halocline::emulated_units_test

// labels: device slab dealt
// Products with a stored system matrix: the projectors' numbers to half precision of the weights, the exact adjoint of
// each other, and a slice's bits whatever shares its launch.
#include "algorithms/matrix/matrix_projection.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "algorithms/matrix/matrix_variants.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::matrix_projection_test {
namespace {

using reference::device;
using reference::Scene;
using Voxels = std::vector<float>;

struct MatrixScene {
  Scene scene;
  Projector::Named projector;
  bool symmetric = false;
};
void PrintTo(const MatrixScene& each, std::ostream* out) {
  *out << each.scene.name << ' ' << projector_name(each.projector);
}

Scene scene_of(const std::string& name, Grid detector, const Grid& grid, double sdd = 0, double offset = 0,
               bool fan_stack = false) {
  CircularOptions options;
  options.fan_stack = fan_stack;
  options.sid = 200;
  options.sdd = sdd;
  options.projection_offset_x = offset;
  options.fan_stack = fan_stack;
  options.angles = {0, 3, 37, 45, 81, 90, 118, 135, 166, 180, 203, 251, 270, 290, 341};
  detector.size[2] = options.angles.size();
  return {name, circular_geometry(options), detector, grid};
}

Scene symmetric_scene(const std::string& name, Grid detector, const Grid& grid, std::size_t views, double sdd = 0,
                      double first = 0) {
  CircularOptions options;
  options.sid = 200;
  options.sdd = sdd;
  options.fan_stack = sdd > 0;
  for (std::size_t n = 0; n < views; ++n)
    options.angles.push_back(first + static_cast<double>(n) * (sdd > 0 ? 360 : 180) / static_cast<double>(views));
  detector.size[2] = views;
  return {name, circular_geometry(options), detector, grid};
}

std::vector<MatrixScene> matrix_scenes() {
  const auto pixels = [](std::size_t columns, std::size_t rows, double du, double dv) {
    return reference::detector(columns, rows, 1, du, dv);
  };
  Grid flipped = pixels(29, 33, 1.25, 1.5), moved = default_grid({13, 9, 36}, {2, 3, 1});
  flipped.direction = {-1, 0, 0, 0, -1, 0, 0, 0, 1};
  flipped.origin = {17.5, 24, 0};
  moved.origin[1] += 5;  // along k
  std::vector<MatrixScene> all;
  for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven})
    for (const auto& scene :
         {scene_of("parallel", pixels(29, 7, 1.25, 1.5), default_grid({13, 9, 7}, {2, 2, 1.5})),
          scene_of("one_voxel", pixels(7, 1, 0.7, 1), default_grid({1, 1, 1}, {3, 3, 1})),
          scene_of("one_line", pixels(17, 5, 1, 1), default_grid({33, 1, 5}, {1, 1, 1})),
          scene_of("in_faces", pixels(17, 2, 1, 1), default_grid({16, 16, 2}, {1, 1, 1})),
          scene_of("three_blocks", pixels(40, 43, 1.1, 2), default_grid({7, 33, 43}, {3, 1, 2}), 0, 9.3),
          scene_of("more_slices", pixels(21, 33, 2, 1), default_grid({13, 9, 53}, {2, 3, 1})),
          scene_of("more_rows", pixels(21, 53, 2, 1), default_grid({13, 9, 17}, {2, 3, 1})),
          scene_of("flipped", flipped, default_grid({13, 9, 31}, {2, 3, 1.5})),
          scene_of("moved", pixels(21, 40, 2, 1), moved),
          scene_of("fan", pixels(33, 1, 1.7, 2), default_grid({15, 11, 1}, {2, 2.5, 1}), 280),
          scene_of("fan_stack", pixels(33, 19, 1.7, 2), default_grid({15, 11, 19}, {2, 2.5, 2}), 280, 3, true),
          scene_of("high_fans", pixels(33, 35, 1.7, 2), default_grid({15, 11, 35}, {2, 2.5, 2}), 280, 0, true),
          scene_of("wide_fan", pixels(61, 1, 8, 0.5), default_grid({33, 31, 3}, {2, 2.5, 1}), 280, 5)})
      all.push_back({scene, projector});
  for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven})
    for (const auto& scene :
         {symmetric_scene("sectors", pixels(28, 7, 1.25, 2), default_grid({13, 13, 7}, {2, 2, 2}), 16),
          symmetric_scene("sectors_odd", pixels(29, 1, 1.25, 2), default_grid({16, 16, 1}, {2, 2, 2}), 18, 0, 90),
          symmetric_scene("sectors_wide", pixels(7, 3, 6, 2), default_grid({33, 33, 3}, {1, 1, 2}), 2),
          symmetric_scene("sectors_of_one", pixels(7, 2, 0.7, 2), default_grid({1, 1, 2}, {3, 3, 2}), 4),
          symmetric_scene("sectors_fan", pixels(33, 19, 1.7, 2), default_grid({15, 15, 19}, {2, 2, 2}), 16, 280),
          symmetric_scene("sectors_fan_odd", pixels(20, 1, 3, 2), default_grid({16, 16, 1}, {2, 2, 2}), 12, 280, 180),
          symmetric_scene("sectors_fan_few", pixels(9, 5, 5, 2), default_grid({8, 8, 5}, {3, 3, 2}), 4, 280)})
      all.push_back({scene, projector, true});
  return all;
}

RunResult projected(const std::shared_ptr<const SystemMatrix>& matrix, const Volume& volume,
                    const std::vector<Device>& devices = device(), const RunOptions& options = {}) {
  return run_program(program_of(MatrixProjection(matrix)), {{"volume", &volume}}, matrix->projections(), devices,
                     options);
}
RunResult backprojected(const std::shared_ptr<const SystemMatrix>& matrix, const Volume& stack,
                        const std::vector<Device>& devices = device(), const RunOptions& options = {}) {
  return run_program(program_of(MatrixBackprojection(matrix, false)), {{"raw", &stack}}, matrix->volume(), devices,
                     options);
}

double relative_error(const Voxels& found, const std::vector<double>& expected) {
  double error = 0, sum = 0;
  for (std::size_t n = 0; n < found.size(); ++n) {
    error += std::pow(found[n] - expected[n], 2);
    sum += std::pow(expected[n], 2);
  }
  return std::sqrt(error / sum);
}

class Matrix : public testing::TestWithParam<MatrixScene> {
 protected:
  const Scene& scene = GetParam().scene;
  Volume volume = reference::random_volume(scene.grid, 7), stack = reference::random_volume(scene.projections, 3);

  std::shared_ptr<const SystemMatrix> matrix(MatrixOptions options = {}) const {
    options.symmetric = GetParam().symmetric;
    return std::make_shared<const SystemMatrix>(scene.geometry, scene.grid, scene.projections,
                                                Projector(GetParam().projector), options);
  }
};

TEST_P(Matrix, MatchesDoublePrecision) {
  const auto rays = reference::project(GetParam().projector, volume, scene.geometry, scene.projections);
  const auto voxels = reference::backproject(GetParam().projector, stack, scene.geometry, scene.grid);
  EXPECT_LT(relative_error(projected(matrix(), volume).output.voxels, rays), 1e-3);
  EXPECT_LT(relative_error(backprojected(matrix(), stack).output.voxels, voxels), 1e-3);
}

TEST_P(Matrix, IsTheAdjoint) {
  const auto ax = projected(matrix(), volume).output.voxels, aty = backprojected(matrix(), stack).output.voxels;
  const double forward = std::inner_product(ax.begin(), ax.end(), stack.voxels.begin(), 0.0);
  const double back = std::inner_product(aty.begin(), aty.end(), volume.voxels.begin(), 0.0);
  ASSERT_GT(forward, 0);
  EXPECT_NEAR(forward, back, 1e-6 * forward);
}

TEST_P(Matrix, SlabsBatchesAndDevicesChangeNoBit) {
  const auto stored = matrix();
  const Voxels rays = projected(stored, volume).output.voxels, voxels = backprojected(stored, stack).output.voxels;
  for (const auto& [slabs, batch] : {std::pair{2, 0}, {3, 4}, {7, 1}}) {
    if (slabs > static_cast<int>(scene.grid.size[2])) continue;
    SCOPED_TRACE(testing::Message() << slabs << " slabs, batches of " << batch);
    EXPECT_TRUE(projected(stored, volume, device(), split(slabs, batch)).output.voxels == rays);
    EXPECT_TRUE(backprojected(stored, stack, device(), split(slabs, batch)).output.voxels == voxels);
  }
  const auto& two = reference::sub_devices(2);
  EXPECT_TRUE(projected(stored, volume, two, shared(two)).output.voxels ==
              projected(stored, volume, reference::undivided()).output.voxels);
  EXPECT_TRUE(backprojected(stored, stack, two, shared(two)).output.voxels ==
              backprojected(stored, stack, reference::undivided()).output.voxels);
}

TEST_P(Matrix, ChunksHoldTheSameMatrix) {
  const auto whole = matrix(), chunks = matrix({.chunk_bytes = 1U << 17});
  EXPECT_EQ(projected(chunks, volume).output.voxels, projected(whole, volume).output.voxels);
  EXPECT_LT(relative_error(backprojected(chunks, stack).output.voxels,
                           reference::backproject(GetParam().projector, stack, scene.geometry, scene.grid)),
            1e-3);
}

TEST_P(Matrix, PartsHoldTheSameMatrix) {
  if (GetParam().symmetric) GTEST_SKIP() << "sectors have one part";
  const auto parts = matrix({.parts = {5, 1, 9}});
  EXPECT_LT(relative_error(projected(parts, volume).output.voxels,
                           reference::project(GetParam().projector, volume, scene.geometry, scene.projections)),
            1e-3);
  const auto voxels = reference::backproject(GetParam().projector, stack, scene.geometry, scene.grid);
  EXPECT_LT(relative_error(backprojected(parts, stack).output.voxels, voxels), 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Scenes, Matrix, testing::ValuesIn(matrix_scenes()), [](const auto& info) {
  std::string name = info.param.scene.name + "_" + projector_name(info.param.projector);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

class StoredWeights : public testing::TestWithParam<Projector::Named> {};

// The whole matrix, read by slices of one voxel each: the projector's weights to half precision, and products in
// float32 beside those in double precision.
TEST_P(StoredWeights, AreMultipliedInFloat32) {
  const Grid grid = default_grid({9, 7, 63}, {1, 1.3, 2});
  const Scene scene = scene_of("", reference::detector(15, 63, 1, 0.9, 2), grid, 0, 0.3);
  const auto matrix =
      std::make_shared<const SystemMatrix>(scene.geometry, grid, scene.projections, GetParam(), MatrixOptions{});
  Volume ones(grid);
  for (std::size_t k = 0; k < grid.slice(); ++k) ones.voxels[k * grid.slice() + k] = 1;
  const Volume weights = projected(matrix, ones).output;
  EXPECT_LT(relative_error(weights.voxels, reference::project(GetParam(), ones, scene.geometry, scene.projections)),
            1e-3);
  const Volume x = reference::random_volume(grid, 7), y = reference::random_volume(scene.projections, 3);
  std::vector<double> ax(y.voxels.size()), aty(x.voxels.size());
  const auto& [columns, rows, views] = scene.projections.size;
  for (std::size_t ray = 0; ray < columns * views; ++ray)
    for (std::size_t voxel = 0; voxel < grid.slice(); ++voxel) {
      const std::size_t column = ray % columns, view = ray / columns;
      const double weight = weights.at(column, voxel, view);
      for (std::size_t k = 0; k < rows; ++k) {
        ax[(view * rows + k) * columns + column] += weight * x.voxels[k * grid.slice() + voxel];
        aty[k * grid.slice() + voxel] += weight * y.at(column, k, view);
      }
    }
  EXPECT_LT(relative_error(projected(matrix, x).output.voxels, ax), 1e-6);
  EXPECT_LT(relative_error(backprojected(matrix, y).output.voxels, aty), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Projectors, StoredWeights,
                         testing::Values(Projector::joseph, Projector::siddon, Projector::distance_driven));

TEST(SystemMatrix, SlicesDoNotDependOnOthers) {
  const Scene scene = scene_of("", reference::detector(40, 43, 1, 1.1, 2), default_grid({7, 33, 43}, {3, 1, 2}));
  const auto matrix =
      std::make_shared<const SystemMatrix>(scene.geometry, scene.grid, scene.projections, Projector(), MatrixOptions{});
  Volume volume = reference::random_volume(scene.grid, 7);
  const Volume before = projected(matrix, volume).output;
  constexpr std::size_t k = 21;
  for (std::size_t n = 0; n < volume.voxels.size(); ++n)
    if (n / scene.grid.slice() != k) volume.voxels[n] *= 12345.6F;
  const Volume after = projected(matrix, volume).output;
  for (std::size_t view = 0; view < scene.projections.size[2]; ++view)
    for (std::size_t column = 0; column < scene.projections.size[0]; ++column) {
      ASSERT_EQ(after.at(column, k, view), before.at(column, k, view)) << column << ' ' << view;
      if (before.at(column, 0, view) > 0) {
        ASSERT_NE(after.at(column, 0, view), before.at(column, 0, view));
      }
    }
}

struct UnitsOf {
  const char* name;
  MatrixOptions options;
};
class OnMatrixUnits : public testing::TestWithParam<UnitsOf> {};

// On GPUs with matrix units: values that halves hold exactly have the adjoint to float32; a slice's bits depend on no
// other.
TEST_P(OnMatrixUnits, HoldSlicesApart) {
  const MatrixUnits units = matrix_units_of(device().front().info());
  if (units == MatrixUnits::none) GTEST_SKIP() << device().front().info().name << " has no matrix units";
  MatrixOptions options = GetParam().options;
  options.units = units;
  const Finding finding = matrix_units_variant().check(device().front());
  EXPECT_EQ(finding.verdict, Verdict::right) << finding.detail;
  for (const std::size_t slices : {1, 3, 32, 43}) {
    SCOPED_TRACE(slices);
    const Grid detector = reference::detector(40, slices, 1, 1.1, 2);
    const Scene scene = GetParam().options.symmetric
                            ? symmetric_scene("", detector, default_grid({31, 31, slices}, {1, 1, 2}), 20)
                            : scene_of("", detector, default_grid({31, 33, slices}, {3, 1, 2}));
    const auto matrix =
        std::make_shared<const SystemMatrix>(scene.geometry, scene.grid, scene.projections, Projector(), options);
    Volume volume(scene.grid), stack(scene.projections);
    for (std::size_t n = 0; n < volume.voxels.size(); ++n) volume.voxels[n] = static_cast<float>(n * 7 % 31);
    for (std::size_t n = 0; n < stack.voxels.size(); ++n) stack.voxels[n] = static_cast<float>(n * 5 % 29);
    const Volume ax = projected(matrix, volume).output, aty = backprojected(matrix, stack).output;
    const double forward = std::inner_product(ax.voxels.begin(), ax.voxels.end(), stack.voxels.begin(), 0.0);
    const double back = std::inner_product(aty.voxels.begin(), aty.voxels.end(), volume.voxels.begin(), 0.0);
    EXPECT_NEAR(forward, back, 1e-6 * forward);
    const auto rays = reference::project(Projector::joseph, volume, scene.geometry, scene.projections);
    EXPECT_LT(relative_error(ax.voxels, rays), 1e-3);
    for (const int slabs : {2, 5})  // which have fewer blocks of slices
      if (slabs <= static_cast<int>(slices)) {
        EXPECT_TRUE(projected(matrix, volume, device(), split(slabs, 0)).output.voxels == ax.voxels) << slabs;
        EXPECT_TRUE(backprojected(matrix, stack, device(), split(slabs, 0)).output.voxels == aty.voxels) << slabs;
      }
    for (std::size_t n = 0; n < volume.voxels.size(); ++n)
      if (n / scene.grid.slice() != slices / 2) volume.voxels[n] *= 12345.6F;
    const Volume after = projected(matrix, volume).output;
    for (std::size_t view = 0; view < scene.projections.size[2]; ++view)
      for (std::size_t column = 0; column < scene.projections.size[0]; ++column)
        ASSERT_EQ(after.at(column, slices / 2, view), ax.at(column, slices / 2, view)) << column << ' ' << view;
  }
}

INSTANTIATE_TEST_SUITE_P(Vectors, OnMatrixUnits,
                         testing::Values(UnitsOf{"two", {}}, UnitsOf{"half", {.half_vectors = true}},
                                         UnitsOf{"symmetric", {.symmetric = true}}),
                         [](const auto& of) { return of.param.name; });

TEST(SystemMatrix, RefusesWhatItDoesNotStore) {
  const auto refusal = [](const Scene& scene, const Projector& projector) {
    return refusal_of([&] { SystemMatrix(scene.geometry, scene.grid, scene.projections, projector, {}); });
  };
  const Scene parallel = scene_of("", reference::detector(29, 7, 1, 1.25, 1.5), default_grid({13, 9, 7}, {2, 2, 1.5}));
  EXPECT_NE(refusal(reference::scene_named("cone"), Projector()).find("rays that leave their slices"),
            std::string::npos);
  Scene between = parallel;
  between.grid.origin[1] += 0.4;
  EXPECT_NE(refusal(between, Projector()).find("rows of the detector between slices"), std::string::npos);
  const Scene high = scene_of("", reference::detector(29, 1, 1, 1.25, 2), default_grid({13, 9, 3}, {2, 2, 1.5}));
  EXPECT_EQ(refusal(high, Projector::joseph), "");
  EXPECT_NE(refusal(high, Projector::distance_driven).find("pixels 1.33 slices high. Use `operator = rays`"),
            std::string::npos);
}

}  // namespace
}  // namespace halocline::matrix_projection_test

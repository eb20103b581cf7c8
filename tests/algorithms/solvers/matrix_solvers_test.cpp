// labels: device slab dealt
// Solvers with the stored system matrix: the images of solvers with rays to the precision of its weights, certificates
// of the projector itself, ordered subsets, the same bits on slabs and devices, and what they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/solvers/matrix_pair.hpp"
#include "tests/support/reconstruct_run.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/rms.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::matrix_solvers_test {
namespace {

using reference::device;
using ::testing::HasSubstr;

// A parallel beam with a row on each slice.
const MeasuredScan& scan() {
  static const MeasuredScan made = [] {
    CircularOptions circle;
    circle.sid = 200;
    circle.sdd = 0;
    circle.projections = 23;
    circle.projection_offset_x = 1.3;
    const Grid grid = default_grid({15, 13, 9}, {2, 2.4, 2});
    const reference::Scene scene{"parallel", circular_geometry(circle), reference::detector(29, 9, 23, 1.3, 2), grid};
    const Volume truth = reference::random_volume(grid, 7);
    return MeasuredScan{scene, project(truth, scene.geometry, scene.projections, device()).output};
  }();
  return made;
}

ReconstructionParameters parameters_of(const std::string& method, OperatorForm form) {
  ReconstructionParameters parameters;
  parameters.method = method;
  parameters.passes = 12;
  parameters.lambda = solver_method(method).penalty ? 0.02 : 0;
  parameters.gap = solver_method(method).penalty ? 0 : parameters.gap;
  parameters.operator_form = form;
  return parameters;
}

void expect_alike(const Reconstructed& matrix, const Reconstructed& rays) {
  EXPECT_FALSE(matrix.x.voxels == rays.x.voxels) << "another arithmetic has been at work";
  EXPECT_LT(rms(matrix.x, rays.x), 2e-3 * rms(rays.x, Volume(rays.x.grid)));
  EXPECT_NEAR(matrix.result.residual, rays.result.residual, 0.05 * rays.result.residual);
}

class MatrixSolvers : public testing::TestWithParam<const char*> {};

TEST_P(MatrixSolvers, FindTheImageOfRays) {
  const Reconstructed matrix = scan().reconstructed(parameters_of(GetParam(), OperatorForm::matrix)),
                      rays = scan().reconstructed(parameters_of(GetParam(), OperatorForm::rays));
  expect_alike(matrix, rays);
}

// Matrix units round vectors to halves, which delays conjugate gradients by two passes at most. All else is float32.
TEST(MatrixSolver, HalfVectorsDelayConjugateGradients) {
  const Reconstructed half = scan().reconstructed(parameters_of("cgls", OperatorForm::matrix_half)),
                      two = scan().reconstructed(parameters_of("cgls", OperatorForm::matrix));
  if (!matrix_units_serve(device_models(device()), device())) {
    EXPECT_TRUE(half.x.voxels == two.x.voxels);
    return;
  }
  EXPECT_FALSE(half.x.voxels == two.x.voxels);
  ReconstructionParameters parameters = parameters_of("cgls", OperatorForm::rays);
  parameters.passes -= 2;
  const Reconstructed earlier = scan().reconstructed(parameters);
  const Volume truth = reference::random_volume(scan().scene.grid, 7);
  EXPECT_LT(rms(half.x, truth), rms(earlier.x, truth));
  EXPECT_LT(half.result.residual, earlier.result.residual);
}

TEST_P(MatrixSolvers, HaveTheSameBitsOnSlabsAndDevices) {
  const auto image = [](const std::vector<Device>& devices, const RunOptions& options) {
    return scan().reconstructed(parameters_of(GetParam(), OperatorForm::matrix), devices, options).x.voxels;
  };
  const auto whole = image(device(), {});
  EXPECT_TRUE(image(device(), split(3)) == whole);
  EXPECT_TRUE(image(device(), split(2, 1)) == whole) << "batches";
  const auto& two = reference::sub_devices(2);
  EXPECT_TRUE(image(two, shared(two)) == image(reference::undivided(), {}));
}

INSTANTIATE_TEST_SUITE_P(Methods, MatrixSolvers,
                         testing::Values("cgls", "lsqr", "sirt", "nesterov", "osem", "os-sart", "spdhg", "fista",
                                         "os-fista"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(MatrixSolver, TakesEveryNamedProjector) {
  for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven}) {
    SCOPED_TRACE(projector_name(projector));
    ReconstructionParameters parameters = parameters_of("cgls", OperatorForm::matrix);
    parameters.projector = projector;
    const Reconstructed matrix = scan().reconstructed(parameters);
    parameters.operator_form = OperatorForm::rays;
    expect_alike(matrix, scan().reconstructed(parameters));
  }
}

// A fan's scan over a full turn, of which an eighth is stored.
TEST(MatrixSolver, TakesAnEighthOfASymmetricScan) {
  CircularOptions circle;
  circle.sid = 200;
  circle.sdd = 280;
  circle.projections = 24;
  circle.fan_stack = true;
  const Grid grid = default_grid({14, 14, 9}, {2, 2, 2});
  const reference::Scene scene{"fans", circular_geometry(circle), reference::detector(29, 9, 24, 1.9, 2), grid};
  const MeasuredScan fans{
      scene, project(reference::random_volume(grid, 7), scene.geometry, scene.projections, device()).output};
  for (const char* method : {"cgls", "sirt", "fista"}) {
    SCOPED_TRACE(method);
    const auto image = [&](OperatorForm form) { return fans.reconstructed(parameters_of(method, form)); };
    expect_alike(image(OperatorForm::symmetric), image(OperatorForm::rays));
  }
  EXPECT_THAT(refusal_of([&] { fans.reconstructed(parameters_of("os-sart", OperatorForm::symmetric)); }),
              HasSubstr("takes all views at once"));
  EXPECT_THAT(refusal_of([&] { fans.reconstructed(parameters_of("fdk", OperatorForm::symmetric)); }),
              HasSubstr("`operator = symmetric` needs a method"));
  EXPECT_THAT(refusal_of([&] { scan().reconstructed(parameters_of("cgls", OperatorForm::symmetric)); }),
              HasSubstr("15 x 13 voxels"));
}

// The residual that is reported last is the projector's: of an image that the matrix fits better than the projector.
TEST(MatrixSolver, ReportsTheResidualOfTheProjector) {
  ReconstructionParameters parameters = parameters_of("cgls", OperatorForm::matrix);
  parameters.passes = 60;
  const Reconstructed found = scan().reconstructed(parameters);
  const Volume ax = project(found.x, scan().scene.geometry, scan().scene.projections, device()).output;
  double sum = 0;
  for (std::size_t n = 0; n < ax.voxels.size(); ++n)
    sum += std::pow(static_cast<double>(scan().b.voxels[n]) - ax.voxels[n], 2);
  EXPECT_NEAR(found.result.residual, std::sqrt(sum), 1e-3 * std::sqrt(sum));
}

TEST(MatrixSolver, RefusesWhatHasNoMatrix) {
  const auto refusal = [](const MeasuredScan& of, const ReconstructionParameters& parameters) {
    return refusal_of([&] { of.reconstructed(parameters); });
  };
  EXPECT_THAT(refusal(scan(), parameters_of("fdk", OperatorForm::matrix)), HasSubstr("method = fdk"));
  auto hardware = parameters_of("spdhg", OperatorForm::matrix);
  hardware.hardware_interpolation = true;
  EXPECT_THAT(refusal(scan(), hardware), HasSubstr("excludes `interpolation = hardware`"));
  const auto cone = reference::scene_named("cone");
  EXPECT_THAT(
      refusal({cone, reference::random_volume(cone.projections, 3)}, parameters_of("sirt", OperatorForm::matrix)),
      HasSubstr("rays that leave their slices"));
  DeviceModel small{.name = "a small device", .memory = 100000, .cpu = true};
  auto stored = parameters_of("cgls", OperatorForm::matrix);
  stored.projector = Projector();
  EXPECT_THAT(refusal_of<PlanError>([&] {
                plan_reconstruct(scan().b.grid, scan().scene.geometry, scan().scene.grid, stored, {}, {small});
              }),
              HasSubstr("`operator = rays` stores no matrix"));
  EXPECT_THAT(refusal_of([] { operator_form_from_name("tiles"); }),
              HasSubstr("auto, matrix, matrix-half, symmetric, rays"));
}

TEST(MatrixSolver, IsChosenWhereItPays) {
  Grid volume = default_grid({512, 512, 64}, {1, 1, 1});
  CircularOptions circle;
  circle.sid = 600;
  circle.sdd = 0;
  circle.projections = 720;
  circle.projection_offset_x = 0.25;  // no symmetry
  const Geometry geometry = circular_geometry(circle);
  Grid stack = reference::detector(512, 64, 720, 1, 1);
  DeviceModel nvidia{.name = "some GPU", .memory = std::size_t{80} << 30, .matrix_units = MatrixUnits::nvidia};
  const auto choice = [&](int passes, const DeviceModel& on, const Geometry& of) {
    ReconstructionParameters parameters = parameters_of("cgls", OperatorForm::automatic);
    parameters.passes = passes;
    parameters.projector = Projector();
    return choose_operator(parameters, of, volume, stack, std::vector{on});
  };
  circle.arc = 180, circle.projection_offset_x = 0;
  const Geometry half_turn = circular_geometry(circle);
  EXPECT_EQ(choice(235, nvidia, geometry).form, OperatorForm::matrix);
  EXPECT_THAT(choice(234, nvidia, geometry).reason, HasSubstr("235 passes would"));
  nvidia.memory = std::size_t{4} << 30;
  EXPECT_THAT(choice(800, nvidia, geometry).reason, HasSubstr("GB"));
  volume.size[2] = stack.size[1] = 8;
  EXPECT_THAT(choice(5000, nvidia, geometry).reason, HasSubstr("it takes 16 slices"));
  EXPECT_THAT(choice(99, nvidia, half_turn).reason, HasSubstr("100 passes would"));
  EXPECT_EQ(choice(100, nvidia, half_turn).form, OperatorForm::symmetric);
  volume = default_grid({1441, 1441, 64}, {1, 1, 1}), stack.size[1] = 64;
  EXPECT_EQ(choice(800, nvidia, geometry).reason, "views are too far apart to share tiles");
  volume = default_grid({512, 512, 64}, {1, 1, 1});
  EXPECT_EQ(choice(200, {.name = "a CPU", .memory = std::size_t{80} << 30, .cpu = true}, geometry).reason,
            "no matrix units");
  DeviceModel amd{.name = "gfx942", .memory = std::size_t{80} << 30, .matrix_units = MatrixUnits::amd_64};
  EXPECT_EQ(choice(800, amd, geometry).form, OperatorForm::matrix);
  EXPECT_EQ(matrix_units_of(std::vector{amd, amd}), MatrixUnits::amd_64);
  EXPECT_EQ(matrix_units_of(std::vector{amd, nvidia}), MatrixUnits::none);
  EXPECT_EQ(matrix_units_of(std::vector<DeviceModel>{}), MatrixUnits::none);
  circle.sdd = 900;
  EXPECT_EQ(choice(200, nvidia, circular_geometry(circle)).reason, "rays leave their slices");
}

}  // namespace
}  // namespace halocline::matrix_solvers_test

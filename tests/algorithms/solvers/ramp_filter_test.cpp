// labels: device slab error
// The ramp filter as a preconditioner: the matrix that it is, CGLS with it against double precision, and how many
// passes it saves.
#include "algorithms/solvers/ramp_filter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/solvers/reconstruct.hpp"
#include "host/system/error.hpp"
#include "tests/reference/iterative_problems.hpp"
#include "tests/reference/solver_scan.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::ramp_filter_test {
namespace {

using reference::dot;
using reference::minus;
using reference::norm;
using reference::plus;
using reference::Scan;
using reference::Vector;

double ramp(std::size_t a, std::size_t b) {
  const double away = a > b ? static_cast<double>(a - b) : static_cast<double>(b - a);
  if (a == b) return 0.25;
  return (a + b) % 2 == 0 ? 0 : -1 / (std::numbers::pi * std::numbers::pi * away * away);
}

// M x, from the definition.
Vector filtered(const Grid& grid, const Vector& x) {
  const auto [nx, ny, nz] = grid.size;
  Vector result(x.size(), 0.0);
  const auto at = [nx = nx, ny = ny](std::size_t i, std::size_t j, std::size_t k) { return i + nx * (j + ny * k); };
  for (std::size_t k = 0; k < nz; ++k)
    for (std::size_t j = 0; j < ny; ++j)
      for (std::size_t i = 0; i < nx; ++i) {
        double& sum = result[at(i, j, k)];
        for (std::size_t n = 0; n < nx; ++n) sum += ramp(n, i) * x[at(n, j, k)] / grid.spacing[0];
        for (std::size_t n = 0; n < ny; ++n) sum += ramp(n, j) * x[at(i, n, k)] / grid.spacing[1];
      }
  return result;
}

// x becomes M x on the device.
Program filter_alone(const Grid& grid) {
  Program program;
  program.needs.algorithm = "ramp";
  program.needs.form = ProgramForm::steps;
  program.needs.size = grid.size;
  expressions::Recording on(program, grid, grid);
  const auto x = on.volume("x", Lifetime::input), y = on.volume("y", Lifetime::state),
             z = on.volume("z", Lifetime::output);
  const RampFilter ramp(on);
  on.first([&] {
    ramp.filter(x, y);
    ramp.filter(y, z);
  });
  return on.finish();
}

TEST(RampFilter, IsSymmetricAndPositive) {
  const Grid grid = default_grid({31, 24, 2}, {0.5, 1.25, 3});
  for (unsigned seed = 0; seed < 20; ++seed) {
    Vector a = reference::vector_of(reference::random_volume(grid, 2 * seed)),
           b = reference::vector_of(reference::random_volume(grid, 2 * seed + 1));
    if (seed % 2 == 1)  // not only constants with noise
      for (double& each : a) each -= 0.5;
    const Vector of_a = filtered(grid, a), of_b = filtered(grid, b);
    EXPECT_NEAR(dot(of_a, b), dot(a, of_b), 1e-12 * norm(of_a) * norm(b));
    EXPECT_GT(dot(of_a, a), 0);
  }
  const Vector ones(grid.count(), 1.0);
  EXPECT_GT(dot(filtered(grid, ones), ones), 0) << "of a finite axis the mean does not vanish";
}

TEST(RampFilter, OnTheDeviceIsTheMatrix) {
  for (const auto& grid : {default_grid({31, 24, 5}, {0.5, 1.25, 3}), default_grid({1, 7, 3}, {1, 2, 1})}) {
    Volume x = reference::random_volume(grid, 1);
    for (float& each : x.voxels) each += 10;  // a mean that is large beside what varies
    const Vector expected = filtered(grid, filtered(grid, reference::vector_of(x)));
    const RunResult found = run_program(filter_alone(grid), {{"x", &x}}, grid, reference::device());
    EXPECT_LT(reference::difference(found.output, expected), 2e-6);
    RunOptions options = split(static_cast<int>(grid.size[2]));
    EXPECT_TRUE(run_program(filter_alone(grid), {{"x", &x}}, grid, reference::device(), options).output.voxels ==
                found.output.voxels);
  }
}

// z = M s in the place of s, from its formulas (Saad 2003, algorithm 9.1 on the normal equations), every s made
// orthogonal to all before.
Vector preconditioned(const reference::LeastSquares& problem, const Grid& grid, int iterations) {
  const auto& [A, b, w, start] = problem;
  Vector x = start, r = minus(b, A.times(x)), s = A.transposed_times(reference::product(r, w)), z = filtered(grid, s),
         p = z;
  double gamma = dot(s, z);
  std::vector<std::pair<Vector, Vector>> before;  // s and M s, <s, M s> = 1
  for (int n = 0; n < iterations; ++n) {
    before.emplace_back(s, z);
    for (Vector* each : {&before.back().first, &before.back().second})
      for (double& value : *each) value /= std::sqrt(gamma);
    const Vector q = A.times(p);
    const double alpha = gamma / dot(q, reference::product(q, w));
    x = plus(x, alpha, p);
    r = plus(r, -alpha, q);
    s = A.transposed_times(reference::product(r, w));
    for (const auto& [unit, of_unit] : before) s = plus(s, -dot(of_unit, s), unit);
    z = filtered(grid, s);
    const double next = dot(s, z);
    p = plus(z, next / gamma, p);
    gamma = next;
  }
  return x;
}

ReconstructionParameters preconditioned_cgls(int passes) {
  return {.method = "cgls", .passes = passes, .precondition = Preconditioner::ramp};
}

TEST(PreconditionedCgls, MatchesDoublePrecisionWithTheMatrix) {
  for (const char* name : {"cone_tilted", "parallel", "fan"})
    for (const bool weights : {false, true}) {
      SCOPED_TRACE(testing::Message() << name << (weights ? ", weights and a start" : ""));
      const Scan scan(reference::scene_named(name), 1);
      const auto problem = scan.problem(weights, weights ? std::nullopt : std::optional<double>(0));
      const auto solver = reference::solver(scan, preconditioned_cgls(4), {.weights = weights, .start = weights});
      const Vector expected = preconditioned(problem, scan.scene.grid, 4);
      const auto found = reference::run(scan, solver);
      EXPECT_LT(reference::difference(found.output, expected), 1e-4);
      EXPECT_NEAR(found.scalars.at("residual"), problem.residual(expected), 2e-4 * problem.residual(expected));
      const double normal = norm(problem.descent(expected)),
                   at_zero = norm(problem.descent(Vector(expected.size(), 0.0)));
      EXPECT_NEAR(found.scalars.at("gradient"), normal, 2e-3 * normal);
      EXPECT_NEAR(found.scalars.at("gradient at 0"), at_zero, 1e-5 * at_zero);
    }
}

TEST(PreconditionedCgls, SlabsBatchesAndDevicesChangeNoBit) {
  const Scan scan(reference::scene_named("cone_tilted"), 1);
  const SplitRun run = [&](const auto& devices, const auto& options) {
    return reference::run(scan, reference::solver(scan, preconditioned_cgls(4), {.weights = true}), devices, options);
  };
  expect_same_bits(run, scan.scene.grid.size[2]);
  expect_same_bits_resumed(run, 3);
  expect_same_bits_streamed(run, 0.2);
}

// The residual relative to b, and the RMS error, after so many iterations of the scan that the figures below are of.
std::pair<double, double> judged(int iterations, Preconditioner precondition, const reference::Scene& scene,
                                 const Volume& b, const Volume* start, const Vector& truth) {
  Volume x = Volume::uninitialised(scene.grid);
  MemorySink sink(x);
  const MemorySource projections(b);
  std::optional<MemorySource> from;
  if (start != nullptr) from.emplace(*start);
  ReconstructionParameters parameters;
  parameters.method = "cgls";
  parameters.passes = iterations;
  parameters.precondition = precondition;
  const auto result = reconstruct({.projections = &projections, .start = from ? &*from : nullptr}, scene.geometry, sink,
                                  parameters, reference::device());
  return {result.residual / result.projections, reference::rms_difference(reference::vector_of(x), truth)};
}

// 128^2 pixels, 180 views without noise. Double precision with the two-dimensional ramp |f| by Fourier transforms has
// 1.3e-3 and 0.0155 after 5 iterations from FBP, 2.6e-4 and 0.0072 after 20; without it 1.6e-3 and 0.0158 after 20.
TEST(PreconditionedCgls, NeedsFewPassesFromFdk) {
  const auto scene = reference::parallel_scene(128, 180, 183);
  const Vector truth = reference::toft_phantom(scene.grid);
  const Volume b = reference::volume_of(scene.projections, reference::line_integrals(scene, truth));
  FdkParameters parameters;
  parameters.log_notes = false;
  const Volume start = fdk(b, scene.geometry, scene.grid, parameters, reference::device()).output;
  const auto five = judged(5, Preconditioner::ramp, scene, b, &start, truth),
             twenty = judged(20, Preconditioner::ramp, scene, b, &start, truth),
             plain = judged(20, Preconditioner::none, scene, b, &start, truth);
  EXPECT_LT(five.first, 1.5e-3);
  EXPECT_LT(five.second, 0.0157);
  EXPECT_LT(twenty.first, 2.7e-4);
  EXPECT_LT(twenty.second, 0.0073);
  EXPECT_LT(five.first, plain.first);
  EXPECT_LT(five.second, plain.second);
  EXPECT_GT(plain.first, 1.5e-3);
}

TEST(PreconditionedCgls, NamesWhatDoesNotFit) {
  const Scan scan(reference::scene_named("cone_axis_along_j"), 1);
  try {
    reference::run(scan, reference::solver(scan, preconditioned_cgls(2)));
    FAIL() << "slices along the rotation axis";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("`precondition` is a volume whose slices do not lie across"));
  }
  ReconstructionParameters parameters;
  parameters.method = "lsqr";
  parameters.precondition = Preconditioner::ramp;
  try {
    check_parameters(parameters, {});
    FAIL() << "lsqr has no preconditioner";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("`precondition` goes with another method than lsqr; leave it out, or "
                                                 "take one of: cgls"));
  }
  EXPECT_THROW(preconditioner_from_name("sqs"), InputError);
}

}  // namespace
}  // namespace halocline::ramp_filter_test

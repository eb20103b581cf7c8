// labels: device slab dealt
// Linear operators: adjoint tests, algebra, norms and sums of rows; users' kernels; solvers that are written as
// formulas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "algorithms/expressions/kernel.hpp"
#include "algorithms/expressions/stacked_operator.hpp"
#include "algorithms/solvers/methods.hpp"
#include "algorithms/solvers/projector_operator.hpp"
#include "algorithms/solvers/view_subsets.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/program_run.hpp"
#include "scheduling/profiling/rates.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/same_bits.hpp"

namespace halocline::expressions::operators_test {
namespace {

using reference::device;
using testing::HasSubstr;

constexpr double float_error = 1e-6;

const reference::Scene& scene() {
  static const auto all = reference::scenes();
  return all.front();
}

PlanOptions split(int slabs, int batch = 0) {
  PlanOptions options;
  options.minimum_slabs = slabs;
  options.batch = batch;
  return options;
}

double norm_of(const Volume& a) {
  double sum = 0;
  for (const float each : a.voxels) sum += static_cast<double>(each) * static_cast<double>(each);
  return std::sqrt(sum);
}

constexpr const char* difference_source = R"(
__kernel void forward(__global const float* x, __global float* y, float h, Extent extent) {
  const int i = (int)get_global_id(0), j = (int)get_global_id(1), k = extent.begin + (int)get_global_id(2);
  if (i >= extent.nx || j >= extent.ny || k >= extent.end) return;
  y[AT(i, j, k)] = k + 1 < extent.nz ? (x[AT(i, j, k + 1)] - x[AT(i, j, k)]) / h : 0.0f;
}
)";

// gradient(x, 2) by a kernel, the adjoint by an expression.
LinearOperator difference_of_user(const Space& space) {
  const Kernel kernel(difference_source, "forward", {in("x"), out("y")}, {.halo = 1});
  const double h = space.grid().spacing[2];
  return {space, space,
          [=](const Array& x) {
            Array from = x, y;
            kernel({{"x", &from}, {"y", &y}}, {h});
            return y;
          },
          [](const Array& y) { return Array(adjoint_gradient(y, 2)); }};
}

constexpr const char* back_source = R"(
__kernel void back(__global const float* y, __global float* x, float h, Extent extent) {
  const int i = (int)get_global_id(0), j = (int)get_global_id(1), k = extent.begin + (int)get_global_id(2);
  if (i >= extent.nx || j >= extent.ny || k >= extent.end) return;
  const float below = k > 0 ? y[AT(i, j, k - 1)] : 0.0f, here = k + 1 < extent.nz ? y[AT(i, j, k)] : 0.0f;
  x[AT(i, j, k)] = (below - here) / h;
}
)";

// Difference as an operator of two kernels.
LinearOperator difference_of_kernels(const Space& space) {
  return kernel_operator(space, Kernel(difference_source, "forward", {in("x"), out("y")}, {.halo = 1}),
                         Kernel(back_source, "back", {in("y"), out("x")}, {.halo = 1}), {space.grid().spacing[2]});
}

TEST(Operators, PassTheAdjointTest) {
  for (const auto& each : reference::scenes())
    for (const Projector named : {Projector::joseph, Projector::siddon, Projector::distance_driven}) {
      SCOPED_TRACE(each.name + ", " + projector_name(named));
      const Context on(device());
      EXPECT_LT(adjoint_error(projector(on, each.geometry, each.grid, each.projections, named)), float_error);
    }
  for (const int slabs : {0, 3}) {
    const Context on(device(), split(slabs));
    const LinearOperator A = projector(on, scene().geometry, scene().grid, scene().projections);
    const Array w = uniform(A.range(), 5), v = uniform(A.domain(), 6);
    for (int axis = 0; axis < 3; ++axis) EXPECT_LT(adjoint_error(gradient(A.domain(), axis)), float_error);
    for (int axis = 0; axis < 2; ++axis) EXPECT_LT(adjoint_error(gradient(A.range(), axis)), float_error);
    EXPECT_LT(adjoint_error(identity(A.domain())), float_error);
    EXPECT_LT(adjoint_error(diagonal(w) * A * diagonal(v)), float_error);
    EXPECT_LT(adjoint_error(A * gradient(A.domain(), 2) - 0.25 * A), float_error);
    EXPECT_LT(adjoint_error(adjoint(A) * A + identity(A.domain())), float_error);
    EXPECT_LT(adjoint_error(2 * adjoint(A)), float_error);
    EXPECT_LT(adjoint_error(difference_of_user(A.domain())), float_error);
    EXPECT_LT(adjoint_error(difference_of_kernels(A.domain())), float_error);
    const StackedOperator K = vstack({A, gradient(A.domain(), 0), difference_of_kernels(A.domain())});
    EXPECT_LT(adjoint_error(K), float_error);
    EXPECT_LT(adjoint_error(K.normal()), float_error);
  }
  const Context on(device());
  const Space space = on.volume(scene().grid);
  const LinearOperator wrong(
      space, space, [](const Array& x) { return Array(gradient(x, 0)); },
      [](const Array& y) { return Array(gradient(y, 0)); });
  EXPECT_GT(adjoint_error(wrong), 1e-3);
}

TEST(Operators, AreThoseOfTheProjectors) {
  const Context on(device());
  const LinearOperator A = projector(on, scene().geometry, scene().grid, scene().projections),
                       B = projector(on, scene().geometry, scene().grid, scene().projections, Projector::siddon);
  const Volume x = reference::random_volume(scene().grid, 1), y = reference::random_volume(scene().projections, 2);
  const Array volume = load(A.domain(), x), rays = load(A.range(), y);
  EXPECT_TRUE(same_bits(read(A * volume), project(x, scene().geometry, scene().projections, device()).output));
  EXPECT_TRUE(
      same_bits(read(B * volume),
                project(x, scene().geometry, scene().projections, {.projector = Projector::siddon}, device()).output));
  EXPECT_TRUE(same_bits(read(adjoint(A) * rays),
                        backproject(y, scene().geometry, scene().grid, Projector::joseph, device()).output));
  EXPECT_TRUE(same_bits(read((A + B) * volume), read(Array(A * volume + B * volume))));
  EXPECT_TRUE(same_bits(read(A.row_sums()), read(A * constant(A.domain(), 1))));
  EXPECT_TRUE(same_bits(read(A.majoriser(rays)), read(adjoint(A) * (rays * (A * constant(A.domain(), 1))))));
  EXPECT_THAT(refusal_of<Error>([&] { A* rays; }), HasSubstr("apply the operator"));
  EXPECT_THAT(refusal_of<Error>([&] { A* B; }), HasSubstr("combine operators"));
  EXPECT_THAT(refusal_of<Error>([&] { A + adjoint(B); }), HasSubstr("combine operators"));
}

TEST(Operators, NormsAreBoundsByFivePercent) {
  const Context on(device());
  const Space space = on.volume({{9, 8, 7}, {1, 0.5, 2}});
  // the greatest eigenvalue of the second difference of n samples: 4 / h^2 cos^2(pi / (2 n))
  const double exact = 2 / 0.5 * std::cos(std::acos(-1.0) / 16);
  const double found = gradient(space, 1).norm();
  EXPECT_GT(found, exact);
  EXPECT_LT(found, 1.06 * exact);
  EXPECT_NEAR((3 * identity(space)).norm(), 3.15, 1e-4);
  EXPECT_EQ((0 * identity(space)).norm(), 0);
}

TEST(Operators, StackedHaveARangeEach) {
  const Context on(device());
  const LinearOperator A = projector(on, scene().geometry, scene().grid, scene().projections);
  const LinearOperator D = 3 * gradient(A.domain(), 1);
  const StackedOperator K = vstack({A, D});
  const Array x = uniform(A.domain(), 1), y = uniform(A.range(), 2), z = uniform(A.domain(), 3);
  const auto both = K * x;
  ASSERT_EQ(both.size(), 2u);
  EXPECT_TRUE(same_bits(read(both[0]), read(A * x)) && same_bits(read(both[1]), read(D * x)));
  EXPECT_TRUE(same_bits(read(K.adjoint({y, z})), read(Array(adjoint(A) * y + adjoint(D) * z))));
  EXPECT_TRUE(same_bits(read(K.normal() * x), read(Array(adjoint(A) * (A * x) + adjoint(D) * (D * x)))));
  // no less than each of them, and no more than both
  const double a = A.norm(), d = D.norm(), all = K.norm();
  EXPECT_GT(all, 0.99 * std::max(a, d));
  EXPECT_LT(all, 1.01 * std::hypot(a, d));
  EXPECT_NEAR(vstack({4 * identity(A.domain()), 3 * identity(A.domain())}).norm(), 1.05 * 5, 1e-4);
  EXPECT_THAT(refusal_of<Error>([&] { vstack({}); }), HasSubstr("the operators to stack is none"));
  EXPECT_THAT(refusal_of<Error>([&] { vstack({A, adjoint(A)}); }), HasSubstr("stack operators of one domain"));
  EXPECT_THAT(refusal_of<Error>([&] { K.adjoint({y}); }), HasSubstr("is 1; expected 2"));
  EXPECT_THAT(refusal_of<Error>([&] { K.adjoint({z, y}); }), HasSubstr("apply the operator"));
}

TEST(Operators, OfSubsetsAddUpToTheWhole) {
  const auto& each = scene();
  const int views = static_cast<int>(each.projections.size[2]);
  const ViewSubsets sorted(views, 2);
  const Geometry geometry = sorted.sorted(each.geometry);
  const Volume x = reference::random_volume(each.grid, 1), y = reference::random_volume(each.projections, 2);
  const Volume whole = project(x, geometry, each.projections, device()).output;
  const Volume back = backproject(y, geometry, each.grid, Projector::joseph, device()).output;
  for (const int slabs : {0, 3}) {
    const Context on(device(), split(slabs));
    const auto A = subset_projectors(on, geometry, each.grid, each.projections, 2);
    const Array volume = load(A[0].domain(), x), rays = load(A[0].range(), y);
    Array sum = zeros(A[0].range()), adjoint_sum = zeros(A[0].domain());
    for (const auto& part : A) {
      sum += part * volume;
      adjoint_sum += adjoint(part) * rays;
      EXPECT_LT(adjoint_error(part), float_error);
    }
    EXPECT_TRUE(read(sum).voxels == whole.voxels) << "each ray is in one subset";
    const Volume found = read(adjoint_sum);
    for (std::size_t n = 0; n < back.voxels.size(); ++n)
      ASSERT_NEAR(found.voxels[n], back.voxels[n], 1e-5 * (1 + std::abs(back.voxels[n])));
  }
}

TEST(Kernels, OfUsersRunOnSlabs) {
  const Volume a = reference::random_volume({{7, 93, 5}, {1, 1, 0.5}}, 1);
  Volume whole;
  for (const int slabs : {0, 2, 5}) {
    const Context on(device(), split(slabs));
    const Space space = on.volume(a.grid);
    const Array x = load(space, a);
    const Volume found = read(difference_of_user(space) * x);
    EXPECT_TRUE(same_bits(found, read(Array(gradient(x, 2)))));
    EXPECT_TRUE(same_bits(read(difference_of_kernels(space) * x), found));
    if (slabs == 0) whole = found;
    EXPECT_TRUE(same_bits(found, whole));
    const Kernel add(R"(__kernel void add(__global const float* x, __global float* y, Extent extent) {
  const int i = (int)get_global_id(0), j = (int)get_global_id(1), k = extent.begin + (int)get_global_id(2);
  if (i < extent.nx && j < extent.ny && k < extent.end) y[AT(i, j, k)] += x[AT(i, j, k)];
})",
                     "add", {in("x"), inout("y")});
    Array from = x, y = x;
    add({{"x", &from}, {"y", &y}});
    EXPECT_TRUE(same_bits(read(y), read(Array(x + x))));
    EXPECT_TRUE(same_bits(read(x), a)) << "copies stay as they are";
  }
}

// Conjugate gradients for min ||A x - b||, as the method cgls of algorithms/solvers.
Array cgls(const LinearOperator& A, const Array& b, int iterations, std::vector<double>& residuals) {
  Array x = zeros(A.domain()), r = copy(b), s = adjoint(A) * r, p = copy(s);
  Scalar gamma = dot(s, s);
  const Array first = s / sqrt(gamma);
  for (int n = 0; n < iterations; ++n) {
    const Array q = A * p;
    const Scalar alpha = gamma / dot(q, q);
    x += alpha * p;
    r -= alpha * q;
    s = adjoint(A) * r;
    s -= dot(first, s) * first;
    const Scalar next = dot(s, s);
    p = s + (next / gamma) * p;
    gamma = next;
    residuals.push_back(value(norm(r)));
  }
  return x;
}

TEST(Solvers, WrittenAsFormulasAreThoseOfPrograms) {
  const auto& each = scene();
  const Volume b = project(reference::random_volume(each.grid, 11), each.geometry, each.projections, device()).output;
  std::vector<double> first;
  Volume whole;
  for (const int slabs : {0, 3}) {
    const Context on(device(), split(slabs, slabs));
    const LinearOperator A = projector(on, each.geometry, each.grid, each.projections);
    std::vector<double> residuals;
    const Volume x = read(cgls(A, load(A.range(), b), 8, residuals));
    if (slabs == 0) first = residuals, whole = x;
    EXPECT_EQ(residuals, first);
    EXPECT_TRUE(same_bits(x, whole));
  }
  for (int iterations = 1; iterations <= 8; ++iterations) {
    const RayOperator A(each.geometry, each.grid, each.projections, Projector::joseph, device_models(device()));
    const ViewSubsets all(static_cast<int>(each.projections.size[2]), 1);
    const Program program = solver_program(A, all, {.method = "cgls", .passes = iterations}, {});
    const RunResult result = run_program(program, {{"b", &b}}, each.grid, device());
    EXPECT_NEAR(first[static_cast<std::size_t>(iterations) - 1], result.scalars.at("residual"), 1e-6 * norm_of(b));
  }
}

// min 1/2 ||A x - b||^2_W, 0 <= x <= upper: accelerated, preconditioned, with restart (Beck & Teboulle 2009; O'Donoghue
// & Candes 2015).
Array fista(const LinearOperator& A, const Array& b, const Array& w, double upper, int iterations) {
  const Array d = max(A.majoriser(w), 1e-6);
  Array x = zeros(A.domain()), y = copy(x);
  double t = 1;
  for (int n = 0; n < iterations; ++n) {
    const Array g = adjoint(A) * (w * (A * y - b));
    const Array next = clamp(y - g / d, 0, upper);
    if (value(dot(d * (y - next), next - x)) > 0) {
      t = 1;
      y = next;
    } else {
      const double grown = (1 + std::sqrt(1 + 4 * t * t)) / 2;
      y = next + ((t - 1) / grown) * (next - x);
      t = grown;
    }
    x = next;
  }
  return x;
}

TEST(Solvers, OfWeightsAndBoundsComeCloser) {
  const auto& each = scene();
  const Context on(device());
  const LinearOperator A = projector(on, each.geometry, each.grid, each.projections);
  const Array truth = uniform(A.domain(), 3), b = A * truth, w = 0.5 + uniform(A.range(), 4);
  const auto misfit = [&](const Array& x) { return value(sqrt(dot(w * (A * x - b), A * x - b))); };
  const double none = misfit(zeros(A.domain())), ten = misfit(fista(A, b, w, 1, 10)),
               forty = misfit(fista(A, b, w, 1, 40));
  EXPECT_LT(ten, 0.1 * none);
  EXPECT_LT(forty, 0.2 * ten);
  const Volume x = read(fista(A, b, w, 0.5, 10));
  EXPECT_LE(*std::max_element(x.voxels.begin(), x.voxels.end()), 0.5f);
  EXPECT_GE(*std::min_element(x.voxels.begin(), x.voxels.end()), 0.0f);
}

// argmin L/2 ||x - v||^2 + lambda TV(x), 0 <= x <= upper: projected gradients of the dual (Chambolle 2004; Beck &
// Teboulle 2009), which begins with q and leaves it there.
Array tv_prox(const Array& v, double L, double lambda, double upper, double gradient_norm, std::array<Array, 3>& q,
              int iterations) {
  const double step = L / (gradient_norm * gradient_norm);
  const auto primal = [&] {
    const Array divergence = adjoint_gradient(q[0], 0) + adjoint_gradient(q[1], 1) + adjoint_gradient(q[2], 2);
    return Array(clamp(v - divergence / L, 0, upper));
  };
  for (int n = 0; n < iterations; ++n) {
    const Array x = primal();
    for (int axis = 0; axis < 3; ++axis) q[static_cast<std::size_t>(axis)] += step * gradient(x, axis);
    const Array scale = max(1, sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]) / lambda);
    for (Array& each : q) each /= scale;
  }
  return primal();
}

double variation_value(const Array& x) {
  const Array a = gradient(x, 0), b = gradient(x, 1), c = gradient(x, 2);
  return value(sum(sqrt(a * a + b * b + c * c)));
}

// min 1/2 ||A x - b||^2_W + lambda TV(x), 0 <= x <= upper.
Array fista_tv(const LinearOperator& A, const Array& b, const Array& w, double lambda, double upper, int iterations) {
  const double squared = std::pow((diagonal(Array(sqrt(w))) * A).norm(), 2);
  const double gradient_norm = 2 * std::sqrt(3.0) / 0.5;  // at most, for spacings of at least 0.5
  std::array<Array, 3> q{zeros(A.domain()), zeros(A.domain()), zeros(A.domain())};
  Array x = zeros(A.domain()), y = copy(x);
  double t = 1;
  for (int n = 0; n < iterations; ++n) {
    const Array g = adjoint(A) * (w * (A * y - b));
    const Array next = tv_prox(y - g / squared, squared, lambda, upper, gradient_norm, q, 60);
    const double grown = (1 + std::sqrt(1 + 4 * t * t)) / 2;
    const bool restart = value(dot(y - next, next - x)) > 0;
    y = restart ? next : Array(next + ((t - 1) / grown) * (next - x));
    t = restart ? 1 : grown;
    x = next;
  }
  return x;
}

TEST(Solvers, OfTotalVariationComeToTheMinimum) {
  const auto& each = scene();
  for (const double spacing : each.grid.spacing) ASSERT_GE(spacing, 0.5);
  std::vector<Volume> results;
  for (const int slabs : {0, 3}) {
    const Context on(device(), split(slabs));
    const LinearOperator A = projector(on, each.geometry, each.grid, each.projections);
    const Array b = A * uniform(A.domain(), 3), w = 0.5 + uniform(A.range(), 4);
    const double lambda = 0.05 * value(norm(b));
    const auto objective = [&](const Array& x) {
      return value(dot(w * (A * x - b), A * x - b)) / 2 + lambda * variation_value(x);
    };
    const Array x = fista_tv(A, b, w, lambda, 1, slabs == 0 ? 20 : 3);
    results.push_back(read(slabs == 0 ? fista_tv(A, b, w, lambda, 1, 3) : x));
    if (slabs > 0) continue;
    const double found = objective(x), longer = objective(fista_tv(A, b, w, lambda, 1, 60));
    EXPECT_GE(found, longer * (1 - 1e-5));
    EXPECT_LT(found, 1.01 * longer);
    EXPECT_LT(longer, 0.9 * objective(fista(A, b, w, 1, 40))) << "which knows nothing of the penalty";
    // the minimum is one of all directions
    const Array other = uniform(A.domain(), 9);
    for (const double t : {0.1, 0.01}) EXPECT_GT(objective(Array(x + t * (other - x))), longer * (1 - 1e-5));
  }
  EXPECT_TRUE(same_bits(results[0], results[1]));
}

}  // namespace
}  // namespace halocline::expressions::operators_test

// labels: device nightly
// The example of docs/expressions.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>

#include "algorithms/expressions/context.hpp"
#include "algorithms/expressions/total_variation.hpp"
#include "algorithms/solvers/projector_operator.hpp"
#include "tests/reference/iterative_problems.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/reconstruct_run.hpp"

namespace example {
using namespace halocline::expressions;

// Conjugate gradients for min ||A x - b||, safe in float32.
Array conjugate_gradients(const LinearOperator& A, const Array& b, int iterations, double tolerance) {
  Array x = zeros(A.domain()), r = copy(b), s = adjoint(A) * r, p = copy(s);
  Scalar gamma = dot(s, s);
  const Scalar start = gamma;
  const Array first = s / sqrt(gamma);
  for (int n = 0; n < iterations; ++n) {
    const Array q = A * p;                   // recorded; nothing runs yet
    const Scalar alpha = gamma / dot(q, q);  // a number that is known later
    x += alpha * p;
    r -= alpha * q;
    s = adjoint(A) * r;
    s -= dot(first, s) * first;
    const Scalar next = dot(s, s);  // summed in the pass that writes s
    p = s + (next / gamma) * p;
    gamma = next;
    if (value(gamma) <= tolerance * tolerance * value(start)) break;  // here the host looks
  }
  return x;
}

// min 1/2 ||A x - b||^2_W + lambda TV(x), 0 <= x <= upper: accelerated gradient steps with a step for each voxel and
// restarts (FISTA), until the objective is certain to be within the part `gap` of its minimum.
Array fista_tv(const LinearOperator& A, const Array& b, const Array& w, double lambda, double upper, const Array& start,
               int iterations, double gap) {
  const Array all = A.majoriser(w);                                         // A^T W A 1
  const Array d = max(all, 0.01 * mean(all));                               // not 0 where no ray comes
  TvProx prox(A.domain(), {.lambda = lambda, .lower = 0, .upper = upper});  // keeps its dual from call to call
  Array x = copy(start), y = copy(start);
  double t = 1;
  for (int n = 1; n <= iterations; ++n) {
    const Array g = adjoint(A) * (w * (A * y - b));
    const Array next = prox(y - g / d, 1 / d, 8);
    if (value(dot(d * (y - next), next - x)) > 0) {
      t = 1;
      y = next;
    } else {
      const double grown = (1 + std::sqrt(1 + 4 * t * t)) / 2;
      y = next + ((t - 1) / grown) * (next - x);
      t = grown;
    }
    x = next;
    if (n % 10 == 0 && duality_gap(A, b, w, x, prox).relative() < gap) break;
  }
  return x;
}

halocline::Volume reconstruct(const halocline::Geometry& geometry, const halocline::Volume& projections,
                              const halocline::Grid& grid) {
  const Context on(halocline::open_devices({.device = "all"}));
  const LinearOperator A = projector(on, geometry, grid, projections.grid);
  return read(conjugate_gradients(A, load(A.range(), projections), 12, 1e-4));
}

}  // namespace example

namespace halocline::example_test {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(HALOCLINE_SOURCE_DIR "/" + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(Example, OfTheDocumentReconstructs) {
  const auto scene = reference::scenes().front();
  const Volume truth = reference::random_volume(scene.grid, 1);
  const Volume b = project(truth, scene.geometry, scene.projections, reference::device()).output;
  const Volume x = example::reconstruct(scene.geometry, b, scene.grid);
  const Volume again = project(x, scene.geometry, scene.projections, reference::device()).output;
  double misfit = 0, all = 0;
  for (std::size_t n = 0; n < b.voxels.size(); ++n) {
    misfit += std::pow(again.voxels[n] - b.voxels[n], 2);
    all += std::pow(b.voxels[n], 2);
  }
  EXPECT_LT(std::sqrt(misfit / all), 0.02);
}

// 48^2 pixels, 30 views, counts: the minimum is that of spdhg.
TEST(Example, OfTheDocumentMinimisesTotalVariation) {
  const auto scan = reference::penalised_scan(48, 30, 2e4, 3);
  const auto& problem = scan.problem;
  const MeasuredScan measured{.scene = scan.scene,
                              .b = reference::volume_of(scan.scene.projections, problem.b),
                              .w = reference::volume_of(scan.scene.projections, problem.w)};
  ReconstructionParameters parameters;
  parameters.passes = 200;
  parameters.lambda = problem.lambda;
  parameters.regulariser.minimum = problem.lower;
  parameters.regulariser.maximum = problem.upper;
  parameters.gap = 0;
  const double minimum = problem.value(reference::vector_of(measured.reconstructed(parameters).x));
  using namespace expressions;
  const Context on(reference::device());
  const LinearOperator A = projector(on, scan.scene.geometry, scan.scene.grid, scan.scene.projections);
  const Array b = load(A.range(), measured.b), w = load(A.range(), *measured.w), nothing = zeros(A.domain());
  const auto value_after = [&](int iterations, double gap) {
    const Array x = example::fista_tv(A, b, w, problem.lambda, problem.upper, nothing, iterations, gap);
    return problem.value(reference::vector_of(read(x)));
  };
  const double found = value_after(300, 0), certified = value_after(300, 0.5);
  EXPECT_LT(found, 1.001 * minimum);
  EXPECT_GT(found, minimum * (1 - 1e-5));
  EXPECT_LT(certified, 1.5 * minimum);
  EXPECT_GT(certified, found) << "it ended earlier";
}

TEST(Example, IsThatOfTheDocument) {
  const std::string here = text_of("tests/algorithms/expressions/example_test.cpp");
  const auto begin = here.find("using namespace halocline::expressions;"), end = here.find("\n}  // namespace example");
  EXPECT_THAT(text_of("docs/expressions.md"), testing::HasSubstr(here.substr(begin, end - begin)));
}

}  // namespace
}  // namespace halocline::example_test

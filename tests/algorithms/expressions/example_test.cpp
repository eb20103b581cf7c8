// labels: device
// The example of docs/expressions.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "algorithms/expressions/context.hpp"
#include "algorithms/solvers/projector_operator.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"

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

halocline::Volume reconstruct(const halocline::Geometry& geometry, const halocline::Volume& projections,
                              const halocline::Grid& grid) {
  const Context on(halocline::open_devices({.device = "all"}));
  const LinearOperator A = projector(on, geometry, grid, projections.grid);
  return read(conjugate_gradients(A, load(A.range(), projections), 12, 1e-4));
}

}  // namespace example

namespace halocline {
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

TEST(Example, IsThatOfTheDocument) {
  const std::string here = text_of("tests/algorithms/expressions/example_test.cpp");
  const auto begin = here.find("using namespace halocline::expressions;"), end = here.find("\n}  // namespace example");
  EXPECT_THAT(text_of("docs/expressions.md"), testing::HasSubstr(here.substr(begin, end - begin)));
}

}  // namespace
}  // namespace halocline

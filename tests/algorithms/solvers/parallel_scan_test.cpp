// labels: device nightly
// Solvers on a device, in float32, against figures and iterates of double precision.
#include <gtest/gtest.h>

#include <map>

#include "algorithms/solvers/reconstruct.hpp"
#include "tests/reference/iterative_problems.hpp"

namespace halocline::parallel_scan_test {
namespace {

using reference::RayMatrix;
using reference::Vector;

struct Judged {
  double residual, error;  // ||b - A x|| / ||b|| as the solver says; RMSE
  Vector x;
};
Judged judged(const char* method, int iterations, const reference::Scene& scene, const Volume& b, const Vector& truth) {
  Volume volume = Volume::uninitialised(scene.grid);
  MemorySink sink(volume);
  const MemorySource source(b);
  ReconstructionParameters parameters;
  parameters.method = method;
  parameters.passes = iterations;
  const auto result = reconstruct({.projections = &source}, scene.geometry, sink, parameters, reference::device());
  const Vector x = reference::vector_of(volume);
  return {result.residual / result.projections, reference::rms_difference(x, truth), x};
}

// Residual relative to b, and RMS error, after k iterations.
struct Known {
  int k;
  double cgls_residual, cgls_error, sirt_residual, sirt_error;
};

TEST(ParallelScan, OfThirtyTwoPixelsHasTheKnownAnswers) {
  const auto scene = reference::small_parallel_scene();
  const RayMatrix A(scene);
  const Vector truth = reference::toft_phantom(scene.grid), exact = A.times(truth);
  const Volume b = reference::volume_of(scene.projections, exact);
  for (const Known& known : {Known{1, 2.85628091e-1, .147071440, 2.86081779e-1, .145973185},
                             Known{5, 4.32300895e-2, .0650218850, 1.48086307e-1, .109660066},
                             Known{10, 1.00565028e-2, .0488530101, 9.85896936e-2, .0915057370}}) {
    SCOPED_TRACE(known.k);
    const auto cgls = judged("cgls", known.k, scene, b, truth), sirt = judged("sirt", known.k, scene, b, truth);
    EXPECT_NEAR(cgls.residual, known.cgls_residual, 1e-5 * known.cgls_residual);
    EXPECT_NEAR(cgls.error, known.cgls_error, 1e-5 * known.cgls_error);
    EXPECT_NEAR(sirt.residual, known.sirt_residual, 1e-5 * known.sirt_residual);
    EXPECT_NEAR(sirt.error, known.sirt_error, 1e-5 * known.sirt_error);
  }
}

// Relative residuals of the iterates of double, in exact arithmetic or in floating point.
std::map<int, double> residuals(const RayMatrix& A, const Vector& b, bool orthogonal) {
  std::map<int, double> result;
  const auto look = [&](int k, const Vector& x) {
    result[k] = reference::norm(reference::minus(b, A.times(x))) / reference::norm(b);
  };
  reference::cgls({A, b}, 30, look, orthogonal);
  return result;
}

// Both follow exact arithmetic for a dozen iterations. Then the part of the gradient along those before returns, in
// double too, and costs an iteration or two.
TEST(ParallelScan, CglsInFloat32ConvergesAsInDouble) {
  const auto scene = reference::parallel_scene(128, 180, 183);
  const RayMatrix A(scene);
  const Vector truth = reference::toft_phantom(scene.grid), b = A.times(truth);
  const auto exact = residuals(A, b, true), as_computed = residuals(A, b, false);
  for (const int k : {5, 10, 12, 15, 20, 25, 30}) {
    const Judged found = judged("cgls", k, scene, reference::volume_of(scene.projections, b), truth);
    EXPECT_NEAR(found.residual, reference::norm(reference::minus(b, A.times(found.x))) / reference::norm(b), 2e-6);
    EXPECT_GT(found.residual, exact.at(k) * (1 - 1e-5)) << k;
    EXPECT_LT(found.residual, k <= 12 ? exact.at(k) * (1 + 1e-4) : 1.02 * as_computed.at(k)) << k;
  }
}

TEST(ParallelScan, OfAQuarterThousandPixelsHasTheKnownErrors) {
  const auto scene = reference::large_parallel_scene();
  const Vector truth = reference::toft_phantom(scene.grid), exact = reference::line_integrals(scene, truth);
  double all = 0;
  for (const double each : exact) all += each;
  EXPECT_NEAR(all, 730256.118, 1e-3);
  EXPECT_NEAR(reference::norm(exact), 5452.5887, 1e-4);
  const Volume b = reference::volume_of(scene.projections, exact);
  struct Error {
    const char* method;
    int k;
    double error;
  };
  for (const auto& [method, k, error] :
       {Error{"cgls", 5, .08233}, Error{"cgls", 10, .03845}, Error{"cgls", 20, .03126}, Error{"cgls", 50, .03074},
        Error{"sirt", 5, .15132}, Error{"sirt", 10, .12923}, Error{"sirt", 20, .10332}, Error{"sirt", 50, .06780},
        Error{"os-sart", 5, .06616}, Error{"os-sart", 10, .04502}, Error{"os-sart", 20, .03390},
        Error{"sart", 5, .03002}, Error{"sart", 10, .02987}}) {
    EXPECT_NEAR(judged(method, k, scene, b, truth).error, error, 0.005 * error) << method << ", " << k;
  }
  // counts of 2e4 photons a ray, 0.02 a pixel; the figures are of other counts
  Vector noisy = exact;
  for (double& each : noisy) each *= 0.02;
  noisy = reference::counted(noisy, 2e4, 5).b;
  for (double& each : noisy) each /= 0.02;
  const Volume measured = reference::volume_of(scene.projections, noisy);
  for (const auto& [method, k, error] :
       {Error{"cgls", 5, .08250}, Error{"cgls", 10, .04132}, Error{"cgls", 20, .03865}, Error{"cgls", 50, .05171},
        Error{"sirt", 20, .10339}, Error{"sirt", 50, .06831}, Error{"os-sart", 10, .04700},
        Error{"os-sart", 20, .03895}, Error{"sart", 2, .0383}, Error{"sart", 10, .04267}}) {
    EXPECT_NEAR(judged(method, k, scene, measured, truth).error, error, 0.05 * error) << method << ", " << k;
  }
}

}  // namespace
}  // namespace halocline::parallel_scan_test

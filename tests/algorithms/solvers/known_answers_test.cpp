// labels: unit
// The double-precision references of the solvers: figures found by an independent program, identities, and closed
// forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "tests/reference/dense_reference.hpp"
#include "tests/reference/iterative_problems.hpp"

namespace halocline::known_answers_test {
namespace {

using reference::Look;
using reference::RayMatrix;
using reference::Vector;

// The scan of 32^2 pixels and 24 views.
struct Small {
  reference::Scene scene = reference::small_parallel_scene();
  RayMatrix A{scene};
  Vector truth = reference::toft_phantom(scene.grid), b = A.times(truth);
};
const Small& small() {
  static const Small result;
  return result;
}

// Iterations of maximum likelihood.
Vector from_ones(int iterations, const Look& look = {}) {
  const RayMatrix& A = small().A;
  return reference::osem({A, small().b, {}, Vector(A.columns(), 1.0)}, reference::all_rays(A), iterations, look);
}

// 16^2 pixels, 24 views of 24 columns with noise: more rays than pixels.
struct Tiny {
  reference::Scene scene = reference::parallel_scene(16, 24, 24);
  RayMatrix A{scene};
  Vector b, w;
  Tiny() {
    const Vector truth = reference::toft_phantom(scene.grid);
    const auto counts = reference::counted(A.times(truth), 50, 3);
    b = counts.b, w = counts.w;
  }
};
const Tiny& tiny() {
  static const Tiny result;
  return result;
}

// ||r|| / ||b|| and RMSE after k iterations, and how exactly.
struct Known {
  int k;
  double residual, error, tolerance = 1e-8;
};

// A Look that compares.
Look expect(const std::vector<Known>& known) {
  return [known](int k, const Vector& x) {
    for (const Known& each : known)
      if (each.k == k) {
        SCOPED_TRACE(k);
        const double residual =
            reference::norm(reference::minus(small().b, small().A.times(x))) / reference::norm(small().b);
        EXPECT_NEAR(residual, each.residual, each.tolerance * each.residual);
        EXPECT_NEAR(reference::rms_difference(x, small().truth), each.error, each.tolerance * each.error);
      }
  };
}

TEST(KnownAnswers, OfTheMatrix) {
  std::size_t entries = 0;  // without those of rounding errors
  for (std::size_t n = 0; n < small().A.columns(); ++n) {
    Vector one(small().A.columns(), 0.0);
    one[n] = 1;
    const Vector column = small().A.times(one);
    entries += static_cast<std::size_t>(std::count_if(column.begin(), column.end(), [](double w) { return w > 1e-9; }));
  }
  EXPECT_EQ(entries, 44168u);
  EXPECT_NEAR(std::sqrt(small().A.squared_norm(200)), 27.2199880710, 1e-9);
}

TEST(KnownAnswers, OfCgls) {
  reference::cgls({small().A, small().b}, 30,
                  expect({{1, 2.85628091e-1, .147071440},
                          {5, 4.32300895e-2, .0650218850},
                          {10, 1.00565028e-2, .0488530101},
                          {20, 3.71708076e-3, .0420161032, 1e-4},  // rounding of the weights grows 1e8 times
                          {30, 1.97990520e-3, .0373355786, 1e-4}}));
}

TEST(KnownAnswers, OfSirt) {
  reference::sirt({small().A, small().b}, 20, 1, {},
                  expect({{1, 2.86081779e-1, .145973185},
                          {5, 1.48086307e-1, .109660066},
                          {10, 9.85896936e-2, .0915057370},
                          {20, 5.96100167e-2, .0739957553}}));
}

TEST(KnownAnswers, OfLandweber) {
  reference::landweber({small().A, small().b}, 20, 1 / (27.2199880710 * 27.2199880710), {},
                       expect({{1, 2.86126807e-1, .147290816},
                               {5, 1.67931673e-1, .115759221},
                               {10, 1.12058268e-1, .0973734424},
                               {20, 6.93538027e-2, .0793453845}}));
}

TEST(KnownAnswers, OfOsSart) {
  reference::os_sart({small().A, small().b}, reference::rays_of(small().scene, 4), 20, 1, {},
                     expect({{1, 1.65223389e-1, .114725066},
                             {5, 5.77734721e-2, .0731388176},
                             {10, 3.07064105e-2, .0595936917},
                             {20, 1.49357304e-2, .0516321653}}));
  reference::os_sart({small().A, small().b}, reference::rays_of(small().scene, 24), 20, 1, {},
                     expect({{1, 1.47876860e-1, .0810267067},
                             {5, 2.83329418e-2, .0485793069},
                             {10, 9.27174153e-3, .0452635781},
                             {20, 3.89760183e-3, .0428252834}}));
}

TEST(KnownAnswers, OfMlem) {
  from_ones(50, expect({{10, 7.48012536e-2, .0694823562}, {50, 1.83210444e-2, .0231971005}}));
}

TEST(Identities, CglsIsLsqr) {
  std::map<int, Vector> cgls;
  reference::cgls({small().A, small().b}, 20, [&](int k, const Vector& x) { cgls[k] = x; });
  reference::lsqr({small().A, small().b}, 20, [&](int k, const Vector& x) {
    const double difference = reference::relative_difference(x, cgls.at(k));
    EXPECT_LT(difference, k <= 5 ? 1e-12 : 1e-7) << k;
  });
}

TEST(Identities, SirtFromZeroAndMlemFromOneHaveTheSameFirstIterate) {
  const Vector sirt = reference::sirt({small().A, small().b}, 1), mlem = from_ones(1);
  for (std::size_t n = 0; n < sirt.size(); ++n) EXPECT_NEAR(sirt[n], mlem[n], 1e-14);
}

TEST(Identities, MlemKeepsTheWeightedSum) {
  const Vector columns = small().A.column_sums();
  double all = 0;
  for (const double each : small().b) all += each;
  double divergence = std::numeric_limits<double>::infinity();
  from_ones(20, [&](int k, const Vector& x) {
    EXPECT_NEAR(reference::dot(columns, x), all, 1e-12 * all) << k;
    const double now = reference::kullback_leibler(small().b, small().A.times(x));
    EXPECT_LT(now, divergence) << k;
    divergence = now;
  });
}

TEST(Identities, CglsLowersTheResidualAndLengthensTheSolution) {
  double residual = std::numeric_limits<double>::infinity(), length = 0;
  reference::cgls({small().A, small().b}, 30, [&](int k, const Vector& x) {
    const double now = reference::norm(reference::minus(small().b, small().A.times(x)));
    EXPECT_LT(now, residual) << k;
    EXPECT_GT(reference::norm(x), length) << k;
    residual = now, length = reference::norm(x);
  });
}

TEST(Identities, SirtLowersItsWeightedResidual) {
  const Vector rows = reference::inverse(small().A.row_sums());
  for (const double relaxation : {1.0, 1.9}) {
    double residual = std::numeric_limits<double>::infinity();
    reference::sirt({small().A, small().b}, 30, relaxation, {}, [&](int k, const Vector& x) {
      const Vector r = reference::minus(small().b, small().A.times(x));
      const double now = reference::dot(reference::product(r, rows), r);
      EXPECT_LT(now, residual) << relaxation << ", " << k;
      residual = now;
    });
  }
}

TEST(Identities, PowerStepsFindTheNorm) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> uniform;
  for (int trial = 0; trial < 30; ++trial) {
    std::vector<RayMatrix::Entry> entries;
    for (std::size_t n = 0; n < 12 * 9; ++n)
      if (uniform(random) < 0.4) entries.push_back({n / 9, n % 9, uniform(random)});
    const RayMatrix A(12, 9, entries);
    const double exact = reference::largest_singular_value(A), found = std::sqrt(A.squared_norm(20));
    EXPECT_LE(found, exact * (1 + 1e-12)) << trial;
    EXPECT_GT(found, 0.99 * exact) << trial;
  }
  const double exact = reference::largest_singular_value(tiny().A), found = std::sqrt(tiny().A.squared_norm(20));
  EXPECT_LE(found, exact * (1 + 1e-12));
  EXPECT_GE(1.05 * found, exact);
}

TEST(Identities, RowSumsOfRowSumsMajorise) {
  std::mt19937 random(2);
  std::normal_distribution<double> normal;
  const auto& [scene, A, b, w] = tiny();
  const Vector d = A.transposed_times(reference::product(A.row_sums(), w));
  for (int trial = 0; trial < 100; ++trial) {
    Vector v(A.columns());
    for (double& each : v) each = normal(random) + (trial % 2);  // the constant comes close
    const Vector projected = A.times(v);
    EXPECT_GE(reference::dot(reference::product(v, d), v), reference::dot(reference::product(projected, w), projected));
  }
}

TEST(ClosedForms, OfDampedLeastSquares) {
  // min ||A x - b||_W^2 + e ||x||^2 = min of rows W^1/2 A above e^1/2 I
  const auto& [scene, A, b, w] = tiny();
  const double e = 1e-3 * A.squared_norm(50);
  Vector root(w.size());
  std::transform(w.begin(), w.end(), root.begin(), [](double each) { return std::sqrt(each); });
  const RayMatrix damped = A.rows_scaled(root).with_identity(std::sqrt(e));
  Vector right = reference::product(b, root);
  right.resize(damped.rows(), 0.0);
  const Vector exact = reference::cholesky_solve(reference::gram(damped), damped.transposed_times(right));
  EXPECT_LT(reference::relative_difference(reference::cgls({damped, right}, 400), exact), 1e-10);
}

TEST(ClosedForms, OfASquareMatrix) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<RayMatrix::Entry> entries;
  for (std::size_t n = 0; n < 30 * 30; ++n)
    entries.push_back({n / 30, n % 30, n / 30 == n % 30 ? 10.0 : uniform(random)});
  const RayMatrix A(30, 30, entries);
  Vector x(30);
  for (double& each : x) each = uniform(random);
  EXPECT_LT(reference::relative_difference(reference::cgls({A, A.times(x)}, 60), x), 1e-10);
  EXPECT_LT(reference::relative_difference(reference::lsqr({A, A.times(x)}, 60), x), 1e-10);
}

}  // namespace
}  // namespace halocline::known_answers_test

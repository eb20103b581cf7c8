// labels: device slab dealt
// Unregularised solvers as programs against double precision with the explicit matrix; one slab against many slabs,
// batches and devices; bytes over the bus against those predicted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>

#include "algorithms/solvers/cgls.hpp"
#include "algorithms/solvers/gradient.hpp"
#include "algorithms/solvers/landweber.hpp"
#include "algorithms/solvers/lsqr.hpp"
#include "algorithms/solvers/ml_tr.hpp"
#include "algorithms/solvers/os_sart.hpp"
#include "algorithms/solvers/osem.hpp"
#include "algorithms/solvers/solver_steps.hpp"
#include "tests/reference/penalised_reference.hpp"
#include "tests/reference/solver_scan.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::classical_solvers_test {
namespace {

using reference::device;
using reference::difference;
using reference::LeastSquares;
using reference::Scan;
using reference::Vector;

constexpr Bounds box{0.2, 0.7};

// Each solver in several forms, and what it should find.
struct Case {
  std::string name;
  int subsets;
  std::function<Program(const RayOperator&, const ViewSubsets&)> solver;
  std::function<Vector(const Scan&)> expected;
  double tolerance = 2e-5;
};
void PrintTo(const Case& solver, std::ostream* out) {
  *out << solver.name;
}

double omega(const LeastSquares& problem, double relaxation) {
  return relaxation / (norm_margin * problem.squared_norm(20));
}

std::vector<Case> least_squares_cases() {
  constexpr int iterations = 4;
  return {
      {"landweber", 1,
       [](const auto& A, const auto&) { return landweber(A, {.iterations = iterations, .relaxation = 1.7}); },
       [](const Scan& scan) {
         const auto problem = scan.problem(false, 0);
         return reference::landweber(problem, iterations, omega(problem, 1.7), {});
       }},
      {"landweber_weights_box_start", 1,
       [](const auto& A, const auto&) {
         return landweber(A, {.iterations = iterations, .bounds = box, .weights = true, .from_start = true});
       },
       [](const Scan& scan) {
         const auto problem = scan.problem(true, std::nullopt);
         return reference::landweber(problem, iterations, omega(problem, 1), box);
       }},
      {"gradient", 1,
       [](const auto& A, const auto&) { return gradient(A, {.iterations = iterations, .momentum = false}); },
       [](const Scan& scan) { return reference::gradient(scan.problem(false, 0), iterations, false, false, {}); }},
      {"gradient_momentum", 1,
       [](const auto& A, const auto&) { return gradient(A, {.iterations = 2 * iterations, .restart = false}); },
       [](const Scan& scan) { return reference::gradient(scan.problem(false, 0), 2 * iterations, true, false, {}); }},
      {"gradient_restart_weights_box_start", 1,
       [](const auto& A, const auto&) {
         return gradient(A, {.iterations = 2 * iterations, .bounds = box, .weights = true, .from_start = true});
       },
       [](const Scan& scan) {
         return reference::gradient(scan.problem(true, std::nullopt), 2 * iterations, true, true, box);
       }},
      {"cgls_weights_start", 1,
       [](const auto& A, const auto&) {
         return cgls(A, {.iterations = iterations, .weights = true, .from_start = true});
       },
       [](const Scan& scan) { return reference::cgls(scan.problem(true, std::nullopt), iterations); }, 1e-4},
      {"lsqr", 1, [](const auto& A, const auto&) { return lsqr(A, {.iterations = iterations}); },
       [](const Scan& scan) { return reference::cgls(scan.problem(false, 0), iterations); }, 1e-4},
      {"lsqr_weights_start", 1,
       [](const auto& A, const auto&) {
         return lsqr(A, {.iterations = iterations, .weights = true, .from_start = true});
       },
       [](const Scan& scan) { return reference::cgls(scan.problem(true, std::nullopt), iterations); }, 1e-4},
  };
}

std::vector<Case> subset_cases() {
  std::vector<Case> cases;
  for (const int subsets : {1, 2, 4, 9})  // of nine views
    for (const bool keep_sums : {false, true}) {
      if (subsets == 1 && keep_sums) continue;
      const std::string name = std::to_string(subsets) + (keep_sums ? "_kept" : "");
      cases.push_back(
          {"os_sart_" + name, subsets,
           [=](const auto& A, const auto& s) {
             return os_sart(A, s, {.passes = 2, .relaxation = 1.3, .keep_sums = keep_sums});
           },
           [](const Scan& scan) { return reference::os_sart(scan.problem(false, 0), scan.rays(), 2, 1.3, {}); }});
      cases.push_back(
          {"os_sart_box_start_" + name, subsets,
           [=](const auto& A, const auto& s) {
             return os_sart(
                 A, s, {.passes = 2, .relaxation = 0.7, .bounds = box, .from_start = true, .keep_sums = keep_sums});
           },
           [](const Scan& scan) {
             return reference::os_sart(scan.problem(false, std::nullopt), scan.rays(), 2, 0.7, box);
           }});
      cases.push_back(
          {"osem_start_" + name, subsets,
           [=](const auto& A, const auto& s) {
             return osem(A, s, {.passes = 2, .from_start = true, .keep_sums = keep_sums});
           },
           [](const Scan& scan) { return reference::osem(scan.problem(false, std::nullopt), scan.rays(), 2); }});
    }
  return cases;
}

std::vector<Case> likelihood_cases() {
  return {{"mlem_start", 1, [](const auto& A, const auto&) { return mlem(A, {.iterations = 4, .from_start = true}); },
           [](const Scan& scan) {
             return reference::osem(scan.problem(false, std::nullopt), reference::all_rays(scan.A), 4);
           }},
          {"ml_tr", 1, [](const auto& A, const auto&) { return ml_tr(A, {.iterations = 4}); },
           [](const Scan& scan) { return reference::ml_tr(scan.problem(false, 0), 4, 1, {}); }, 1e-4},
          {"ml_tr_weights_box_start", 1,
           [](const auto& A, const auto&) {
             return ml_tr(A, {.iterations = 4, .relaxation = 0.8, .bounds = box, .weights = true, .from_start = true});
           },
           [](const Scan& scan) { return reference::ml_tr(scan.problem(true, std::nullopt), 4, 0.8, box); }, 1e-4}};
}

std::vector<Case> cases() {
  auto all = least_squares_cases();
  for (const auto& more : {subset_cases(), likelihood_cases()}) all.insert(all.end(), more.begin(), more.end());
  return all;
}

class ClassicalSolvers : public testing::TestWithParam<std::tuple<Case, std::string>> {
 protected:
  static const Scan& scan() {
    static std::map<std::pair<std::string, int>, Scan> made;
    const auto& [solver, name] = GetParam();
    const auto found = made.find({name, solver.subsets});
    if (found != made.end()) return found->second;
    return made.emplace(std::pair{name, solver.subsets}, Scan(reference::scene_named(name), solver.subsets))
        .first->second;
  }
  static RunResult found(const std::vector<Device>& devices, const RunOptions& options) {
    const auto& solver = std::get<0>(GetParam()).solver;
    return reference::run(
        scan(), [&](const RayOperator& A) { return solver(A, scan().subsets); }, devices, options);
  }
};

TEST_P(ClassicalSolvers, MatchDoublePrecisionWithTheMatrix) {
  const Case& solver = std::get<0>(GetParam());
  const Vector expected = solver.expected(scan());
  const RunResult result = found(device(), {});
  EXPECT_LT(difference(result.output, expected), solver.tolerance);
  const auto problem =
      scan().problem(solver.name.find("weights") != std::string::npos && !solver.name.starts_with("ml_tr"), 0);
  EXPECT_NEAR(result.scalars.at("residual"), problem.residual(expected), 2e-4 * problem.residual(expected));
}

TEST_P(ClassicalSolvers, SlabsBatchesAndDevicesChangeNoBit) {
  expect_same_bits(found, scan().scene.grid.size[2]);
}

INSTANTIATE_TEST_SUITE_P(, ClassicalSolvers,
                         testing::Combine(testing::ValuesIn(cases()), testing::Values("cone_tilted", "parallel")),
                         [](const auto& each) { return std::get<0>(each.param).name + "_" + std::get<1>(each.param); });

}  // namespace
}  // namespace halocline::classical_solvers_test

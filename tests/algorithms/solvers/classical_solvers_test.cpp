// labels: device slab dealt
// Unregularised solvers as programs against double precision with the explicit matrix; one slab against many slabs,
// batches and devices; bytes over the bus against those predicted.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>

#include "tests/reference/penalised_reference.hpp"
#include "tests/reference/solver_scan.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::classical_solvers_test {
namespace {

using reference::device;
using reference::difference;
using reference::Scan;
using reference::Vector;

const Bounds box{0.2, 0.7};

// Each solver in several forms, and what it should find.
struct Case {
  std::string name;
  ReconstructionParameters parameters;
  GivenInputs given;
  std::function<Vector(const Scan&)> expected;
  double tolerance = 2e-5;
  int subsets = 1;
};
void PrintTo(const Case& solver, std::ostream* out) {
  *out << solver.name;
}

ReconstructionParameters boxed(const char* method, int passes, double relaxation = 1) {
  ReconstructionParameters result{.method = method, .passes = passes, .relaxation = relaxation};
  result.regulariser.minimum = box.minimum;
  result.regulariser.maximum = box.maximum;
  return result;
}

std::vector<Case> least_squares_cases() {
  constexpr GivenInputs none, all{.weights = true, .start = true};
  const auto gradients = [](const Scan& scan) { return reference::cgls(scan.problem(true, std::nullopt), 4); };
  return {{"nesterov",
           {.method = "nesterov", .passes = 8},
           none,
           [](const Scan& scan) { return reference::gradient(scan.problem(false, 0), 8, true, true, {}); }},
          {"nesterov_weights_box_start", boxed("nesterov", 8), all,
           [](const Scan& scan) { return reference::gradient(scan.problem(true, std::nullopt), 8, true, true, box); }},
          {"cgls_weights_start", {.method = "cgls", .passes = 4}, all, gradients, 1e-4},
          {"lsqr",
           {.method = "lsqr", .passes = 4},
           none,
           [](const Scan& scan) { return reference::cgls(scan.problem(false, 0), 4); },
           1e-4},
          {"lsqr_weights_start", {.method = "lsqr", .passes = 4}, all, gradients, 1e-4}};
}

std::vector<Case> subset_cases() {
  std::vector<Case> cases;
  for (const int subsets : {1, 2, 4, 9}) {  // of nine views
    const std::string name = std::to_string(subsets);
    cases.push_back(
        {"os_sart_" + name, {.method = "os-sart", .passes = 2, .relaxation = 1.3}, {}, [](const Scan& scan) {
           return reference::os_sart(scan.problem(false, 0), scan.rays(), 2, 1.3, {});
         }});
    cases.push_back({"os_sart_box_start_" + name, boxed("os-sart", 2, 0.7), {.start = true}, [](const Scan& scan) {
                       return reference::os_sart(scan.problem(false, std::nullopt), scan.rays(), 2, 0.7, box);
                     }});
    cases.push_back({"osem_start_" + name, {.method = "osem", .passes = 2}, {.start = true}, [](const Scan& scan) {
                       return reference::osem(scan.problem(false, std::nullopt), scan.rays(), 2);
                     }});
    for (std::size_t n = cases.size() - 3; n < cases.size(); ++n) cases[n].subsets = subsets;
  }
  return cases;
}

std::vector<Case> cases() {
  auto all = least_squares_cases();
  for (const Case& each : subset_cases()) all.push_back(each);
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
    const Case& solver = std::get<0>(GetParam());
    return reference::run(scan(), reference::solver(scan(), solver.parameters, solver.given), devices, options);
  }
};

TEST_P(ClassicalSolvers, MatchDoublePrecisionWithTheMatrix) {
  const Case& solver = std::get<0>(GetParam());
  const Vector expected = solver.expected(scan());
  const RunResult result = found(device(), {});
  EXPECT_LT(difference(result.output, expected), solver.tolerance);
  const auto problem = scan().problem(solver.given.weights, 0);
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

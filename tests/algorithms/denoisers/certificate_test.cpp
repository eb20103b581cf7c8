// labels: device dealt
// The certificate against the solution in double precision: for every way that duals are stored, and for every member
// of the family.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "algorithms/denoisers/registry.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/variant_reference.hpp"

namespace halocline::certificate_test {
namespace {

using reference::Image;
using reference::image_of;
using reference::VariantProblem;

constexpr double lambda = 0.03;  // small enough for double precision to reach 1e-10 in a second

struct Case {
  std::string name;
  Regulariser regulariser{};
  bool weighted = false;
  FusedForm form{};
  Schedule schedule = Schedule::standard;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const bool weighted : {false, true})
    for (const auto form : {FusedForm{0, 32}, FusedForm{1, 16}, FusedForm{2, 16}}) {
      const std::string duals = std::to_string(form.stages) + "_stages_duals_" + std::to_string(form.dual_bits);
      result.push_back({(weighted ? "spdu_" : "pdu_") + duals, {}, weighted, form});
    }
  result.push_back({"spdu_chambolle_pock", {}, true, {}, Schedule::chambolle_pock});
  for (const auto& member : reference::regularisers()) {
    result.push_back({"pdu_" + member.name, member.regulariser, false});
    result.push_back({"spdu_" + member.name, member.regulariser, true});
  }
  return result;
}

// A ball off the centre, and noise.
Volume ball(const Grid& grid, double noise, unsigned seed) {
  Volume volume(grid);
  std::mt19937 generator(seed);
  std::normal_distribution<double> normal;
  for (std::size_t n = 0; n < volume.voxels.size(); ++n) {
    const double x = static_cast<double>(n % grid.size[0]) - 9,
                 y = static_cast<double>(n / grid.size[0] % grid.size[1]) - 7,
                 z = static_cast<double>(n / grid.slice()) - 11;
    volume.voxels[n] = static_cast<float>((std::hypot(x, y, z) < 6 ? 1 : 0) + noise * normal(generator));
  }
  return volume;
}

class Certificate : public testing::TestWithParam<Case> {};

TEST_P(Certificate, HoldsAgainstTheSolutionInDoublePrecision) {
  const Case& c = GetParam();
  const Grid grid = reference::grid_of({24, 21, 19}, {0.7, 1, 1.6});
  const Volume f = ball(grid, 0.1, 7), guide = ball(grid, 0.02, 8), w = reference::weights_with_holes(grid);
  MethodParameters parameters;
  parameters.size = grid.size;
  parameters.spacing = grid.spacing;
  parameters.lambda = lambda;
  parameters.regulariser = c.regulariser;
  parameters.fused = c.form;
  parameters.schedule = c.schedule;
  VariantProblem problem{reference::lattice_of(f), image_of(f), {}, lambda, c.regulariser, image_of(guide)};
  if (c.weighted) {
    parameters.largest_weight = *std::max_element(w.voxels.begin(), w.voxels.end());
    problem.w = image_of(w);
  }
  const auto solution = variant_primal_dual(problem, Schedule::standard, 1500);
  // Anisotropic variation and free edges of a reference take far longer; what the solution may be off counts there.
  const double left = solution.primal - solution.dual;
  ASSERT_LT(left, (c.regulariser.plain() ? 1e-10 : 1e-6) * solution.primal);
  // A float32 q is longer than lambda by a few roundings, so that the bound is that of a lambda so much larger.
  const double slack = 0x1p-22 * solution.primal;
  for (const int iterations : {5, 20, 100, 400}) {
    if (!c.regulariser.plain() && iterations > 100) break;  // nearer than that, the solution would have to be, too
    parameters.iterations = iterations;
    const auto method = make_denoiser(c.weighted ? "spdu" : "pdu", parameters);
    std::map<std::string, const Volume*> inputs;
    for (const auto& need : method->requirements().arrays)
      if (need.lifetime == Lifetime::input) inputs[need.name] = need.name == "f" ? &f : need.name == "w" ? &w : &guide;
    const Image u = image_of(run_program(method->program(), inputs, grid, open_devices({})).output);
    const auto& last = method->history().back();
    double distance2 = 0;
    for (std::size_t n = 0; n < u.size(); ++n) {
      const double weight = c.weighted ? problem.w[n] : 1;
      if (weight > 0) distance2 += std::pow(u[n] - solution.u[n], 2) / weight;
    }
    EXPECT_LE(std::sqrt(distance2) + std::sqrt(2 * std::max(left, 0.0)), std::sqrt(2 * (last.gap + slack)))
        << iterations;
    const double energy = variant_primal(problem, u);
    EXPECT_GE(energy, last.dual - slack) << iterations;
    EXPECT_GE(solution.primal, last.dual - slack) << iterations;
    EXPECT_NEAR(energy, last.primal, 1e-6 * energy) << iterations;
    // so that the bounds say something
    EXPECT_LT(last.relative_gap, iterations < 400 ? 3.0 / iterations : 3e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Stored, Certificate, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace halocline::certificate_test

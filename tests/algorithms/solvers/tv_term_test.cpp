// labels: device slab
// The proximal operator of the penalty: many of its steps find what the denoiser finds.
#include "algorithms/solvers/tv_term.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/denoisers/registry.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/variant_reference.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::tv_term_test {
namespace {

constexpr double lambda = 0.05;

double most_of(const Volume& a, const Volume& b) {
  double most = 0;
  for (std::size_t n = 0; n < a.voxels.size(); ++n) most = std::max<double>(most, std::abs(a.voxels[n] - b.voxels[n]));
  return most;
}

// argmin_x sum (x - f)^2 / (2 tau) + lambda TV(x), by so many steps.
Program proximal(const Grid& grid, const Regulariser& regulariser, int steps) {
  Program program;
  program.needs.algorithm = "proximal";
  program.needs.size = grid.size;
  program.needs.form = ProgramForm::steps;
  program.needs.iterations = steps;
  expressions::Recording on(program, grid, grid);
  const auto f = on.volume("f", Lifetime::input), tau = on.volume("tau", Lifetime::input);
  auto x = on.volume("x", Lifetime::output, true);
  TvTerm term(on, {lambda, regulariser});
  on.first([&] {
    x = min(regulariser.maximum, max(regulariser.minimum, f));
    term.start();
  });
  on.each([&] { term.prox(f, tau, x); });
  return on.finish();
}

class Proximal : public testing::TestWithParam<reference::NamedRegulariser> {
 protected:
  Proximal()
      : grid_(reference::grid_of({5, 4, 7}, {0.5, 0.8, 1.7})),
        f_(reference::random_volume(grid_, 3)),
        tau_(reference::random_volume(grid_, 5)),
        guide_(reference::random_volume(grid_, 7)),
        regulariser_(GetParam().regulariser) {
    for (float& each : tau_.voxels) each = 0.05f + 2 * each;
    if (regulariser_.guided) regulariser_.reference_eta = 0.3;
    if (!std::isfinite(regulariser_.minimum)) regulariser_.minimum = -0.2;
  }
  std::map<std::string, const Volume*> inputs(const Requirements& needs) const {
    std::map<std::string, const Volume*> result;
    for (const auto& need : needs.arrays)
      if (need.lifetime == Lifetime::input)
        result[need.name] = need.name == "f" ? &f_ : need.name == "reference" ? &guide_ : &tau_;
    return result;
  }
  RunResult found(int steps, const std::vector<Device>& devices, const RunOptions& options) const {
    const Program program = proximal(grid_, regulariser_, steps);
    return run_program(program, inputs(program.needs), grid_, devices, options);
  }

  Grid grid_;
  Volume f_, tau_, guide_;
  Regulariser regulariser_;
};

TEST_P(Proximal, IsTheDenoiser) {
  MethodParameters parameters;
  parameters.size = grid_.size;
  parameters.spacing = grid_.spacing;
  parameters.lambda = lambda;
  parameters.regulariser = regulariser_;
  parameters.largest_weight = *std::max_element(tau_.voxels.begin(), tau_.voxels.end());
  parameters.iterations = 2500;
  const auto method = make_denoiser("spdu", parameters);
  const auto denoised = run_program(method->program(), inputs(method->requirements()), grid_, reference::device());
  EXPECT_LT(method->history().back().gap, 1e-6 * method->history().back().primal);
  const auto proximal = found(parameters.iterations, reference::device(), {});
  EXPECT_LT(most_of(proximal.output, denoised.output), 1e-5);
  // by the definition, no further from the minimum than the denoiser
  const reference::VariantProblem problem{
      reference::lattice_of(f_),  reference::image_of(f_), reference::image_of(tau_), lambda, regulariser_,
      reference::image_of(guide_)};
  const double least = method->history().back().dual;
  EXPECT_LT(reference::variant_primal(problem, reference::image_of(proximal.output)) - least, 2e-6 * least);
}

TEST_P(Proximal, SlabsAndDevicesChangeNoBit) {
  expect_same_bits([this](const auto& devices, const auto& options) { return found(5, devices, options); },
                   grid_.size[2], {{2, 0}, {3, 0}, {7, 0}});
}

INSTANTIATE_TEST_SUITE_P(, Proximal, testing::ValuesIn(reference::regularisers()), [](const auto& each) {
  std::string name = each.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace halocline::tv_term_test

// labels: device error dealt
// Solvers of penalised least squares: one minimum, a gap that bounds the distance from it, weights, regularisers, and
// what they refuse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "algorithms/solvers/best_iterate.hpp"
#include "host/system/error.hpp"
#include "tests/reference/iterative_problems.hpp"
#include "tests/reference/variant_reference.hpp"
#include "tests/support/reconstruct_run.hpp"

namespace halocline::penalised_solvers_test {
namespace {

using reference::Vector;
using reference::vector_of;
using testing::HasSubstr;

constexpr double water = 0.02;  // per mm
constexpr double infinity = std::numeric_limits<double>::infinity();

// 64^2 pixels, 20 views, and the minimiser.
struct Small {
  reference::PenalisedScan scan = reference::penalised_scan(64, 20, 2e4, 6);
  Vector minimiser;
  double minimum;
  MeasuredScan measured;

  Small()
      : measured{.scene = scan.scene,
                 .b = reference::volume_of(scan.scene.projections, scan.problem.b),
                 .w = reference::volume_of(scan.scene.projections, scan.problem.w)} {
    const Vector start = reference::scaled_fdk(scan);
    measured.start = reference::volume_of(scan.scene.grid, start);
    const auto order = [](int pass) { return ViewSubsets(20, 20).permutation(1, static_cast<std::uint64_t>(pass)); };
    minimiser = reference::spdhg(scan.problem, reference::rays_of(scan.scene, 20), start,
                                 {.passes = 400, .order = order, .look = {}})
                    .x;
    minimum = scan.problem.value(minimiser);
  }
  ReconstructionParameters parameters(const char* method, int passes) const {
    ReconstructionParameters result;
    result.method = method;
    result.passes = passes;
    result.lambda = scan.problem.lambda;
    result.regulariser.minimum = scan.problem.lower;
    result.regulariser.maximum = scan.problem.upper;
    result.gap = 0;
    return result;
  }
  // RMS, parts of that of water.
  double away(const Volume& x) const { return reference::rms_difference(vector_of(x), minimiser) / water; }
};
const Small& small() {
  static const Small result;
  return result;
}

struct Method {
  const char* name;
  int passes;
  double away, gap;  // at most, in the end
};
void PrintTo(const Method& method, std::ostream* out) {
  *out << method.name;
}

class PenalisedSolvers : public testing::TestWithParam<Method> {};

TEST_P(PenalisedSolvers, FindTheMinimumAndBoundTheDistance) {
  const auto& [method, passes, away, gap] = GetParam();
  const auto found = small().measured.reconstructed(small().parameters(method, passes));
  EXPECT_LT(small().away(found.x), away);
  const auto& history = found.result.history;
  ASSERT_GT(history.size(), 3u);
  const double rounding = 1e-6 * small().minimum;
  for (const auto& look : history) {
    EXPECT_GE(look.primal, small().minimum - rounding) << look.passes;
    EXPECT_LE(look.dual, small().minimum + rounding) << look.passes;
    EXPECT_NEAR(look.gap, look.primal - look.dual, rounding) << look.passes;
    EXPECT_NEAR(look.relative_gap, look.gap / look.primal, 1e-6) << look.passes;
  }
  for (std::size_t n = 1; n < history.size(); ++n) EXPECT_GE(history[n].dual, history[n - 1].dual);
  EXPECT_LT(history.back().relative_gap, gap);
  EXPECT_EQ(history.back().passes, passes);
  // reported quantities are as defined
  const Vector x = vector_of(found.x);
  const auto& problem = small().scan.problem;
  EXPECT_NEAR(history.back().primal, problem.value(x), 1e-6 * small().minimum);
  const Vector misfit = reference::minus(problem.A.times(x), problem.b);
  const double residual = std::sqrt(reference::dot(misfit, reference::product(misfit, problem.w)));
  EXPECT_NEAR(found.result.residual, residual, 1e-5 * residual);
  EXPECT_EQ(found.result.rays, static_cast<double>(problem.b.size()));
  EXPECT_EQ(found.result.maximum, problem.upper);
}

INSTANTIATE_TEST_SUITE_P(, PenalisedSolvers,
                         testing::Values(Method{"spdhg", 150, 2e-4, 0.01}, Method{"fista", 500, 2e-4, 0.1},
                                         Method{"os-fista", 40, 5e-3, 10}),
                         [](const auto& each) {
                           std::string name = each.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(PenalisedRuns, EndWhereTheGapIsSmall) {
  for (const char* method : {"spdhg", "fista"}) {
    auto parameters = small().parameters(method, 2000);
    parameters.gap = 0.2;
    const auto found = small().measured.reconstructed(parameters);
    EXPECT_EQ(found.result.run.stopped_by, StoppedBy::method) << method;
    const auto& history = found.result.history;
    EXPECT_LE(history.back().relative_gap, 0.2) << method;
    EXPECT_GT(history.at(history.size() - 2).relative_gap, 0.2) << method;
    EXPECT_LT(history.back().primal, small().minimum * 1.2) << method;
  }
}

// A look costs half a pass: a run that nears its target looks when it is expected there.
TEST(PenalisedRuns, LookSoonerWhereTheGapNearsItsTarget) {
  for (const char* method : {"spdhg", "fista"}) {
    SCOPED_TRACE(method);
    auto parameters = small().parameters(method, 100);
    parameters.gap = 0;
    const auto regular = small().measured.reconstructed(parameters).result.history;
    std::size_t n = 1;  // the gap falls clearly from look n on to the next one
    const auto falls = [&](std::size_t at) {
      return regular[at].relative_gap < 0.9 && regular[at + 1].relative_gap < 0.7 * regular[at].relative_gap;
    };
    while (n + 2 < regular.size() && !falls(n)) ++n;
    ASSERT_LT(n + 2, regular.size());
    for (std::size_t at = 1; at + 1 < regular.size(); ++at)
      EXPECT_EQ(regular[at].passes - regular[at - 1].passes, regular[0].passes);
    double saved = 0;
    for (const double share : {0.95, 0.9, 0.6}) {
      parameters.gap = share * regular[n].relative_gap;
      const auto nearing = small().measured.reconstructed(parameters).result.history;
      ASSERT_GT(nearing.size(), n + 1) << share;
      EXPECT_LE(nearing.size(), n + 3) << share;  // one look before the next regular one
      for (std::size_t at = 0; at <= n; ++at) EXPECT_EQ(nearing[at].relative_gap, regular[at].relative_gap) << at;
      EXPECT_LT(nearing[n + 1].passes, regular[n + 1].passes) << share;
      EXPECT_LE(nearing.back().relative_gap, parameters.gap) << share;
      EXPECT_LE(nearing.back().passes, regular[n + 1].passes) << share;
      saved += regular[n + 1].passes - nearing.back().passes;
    }
    EXPECT_GT(saved, 0);
  }
}

// All views in each step: the objective falls but for the ripples of momentum.
TEST(PenalisedRuns, FistaHardlyLeadsUphill) {
  double before = infinity;
  for (int passes = 2; passes <= 40; passes += 2) {
    const auto found = small().measured.reconstructed(small().parameters("fista", passes));
    const double now = found.result.history.back().primal;
    EXPECT_LT(now, before * 1.001) << passes;
    before = now;
  }
  EXPECT_LT(before, 1.01 * small().minimum);
}

// Includes a subset for each view, which diverges with the steps of all views together.
TEST(PenalisedRuns, OrderedSubsetsStayNearTheMinimum) {
  for (const int subsets : {0, 20}) {
    auto parameters = small().parameters("os-fista", 60);
    parameters.polish_steps = 5;
    parameters.subsets = subsets;
    const auto result = small().measured.reconstructed(parameters).result;
    EXPECT_EQ(result.run.iterations, 60 * result.subsets);
    EXPECT_LT(result.history.back().primal, (subsets > 0 ? 1.3 : 1.03) * small().minimum) << subsets;
    EXPECT_LE(result.history.back().dual, small().minimum * (1 + 1e-6));
  }
}

TEST(PenalisedRuns, OrderedSubsetsOfFewViewsDoNotDivergeByDefault) {
  for (const int views : {12, 16, 20, 26}) {
    const reference::PenalisedScan scan = reference::penalised_scan(32, views, 2e4, 6);
    const MeasuredScan measured{.scene = scan.scene,
                                .b = reference::volume_of(scan.scene.projections, scan.problem.b),
                                .w = reference::volume_of(scan.scene.projections, scan.problem.w)};
    for (const double weaker : {1e-3, 1.0}) {
      ReconstructionParameters parameters;
      parameters.method = "os-fista";
      parameters.lambda = weaker * scan.problem.lambda;
      parameters.gap = 0;
      parameters.polish_steps = 5;
      const auto primal = [&](int passes) {
        parameters.passes = passes;
        const auto result = measured.reconstructed(parameters).result;
        EXPECT_FALSE(result.diverged) << views << " views, " << weaker;
        EXPECT_GT(result.subsets, 1);
        return result.history.back().primal;
      };
      const double first = primal(1), later = primal(20);
      EXPECT_LT(later, 0.5 * first) << views << " views, " << weaker;
      EXPECT_LT(primal(60), 1.05 * later) << views << " views, " << weaker;
    }
  }
}

// Objectives at successive looks.
TEST(PenalisedRuns, GoBackToTheBestImageWhereTheyDiverge) {
  Scalars known{{"least", infinity}, {"goes back", 0}, {"diverged", 0}, {"value at 0", 100}, {"improved", 0}};
  const auto judged = [&](double value) {
    BestIterate::judge(value, known);
    return std::array{known.at("improved"), known.at("goes back"), known.at("diverged"), known.at("least")};
  };
  EXPECT_THAT(judged(8), testing::ElementsAre(1, 0, 0, 8));
  EXPECT_THAT(judged(31), testing::ElementsAre(0, 0, 0, 8)) << "less than four times";
  EXPECT_THAT(judged(33), testing::ElementsAre(0, 1, 1, 8));
  EXPECT_THAT(judged(7), testing::ElementsAre(1, 0, 1, 7)) << "momentum is left out for good";
  EXPECT_THAT(judged(std::nan("")), testing::ElementsAre(0, 1, 1, 7));
  EXPECT_THAT(judged(0.01), testing::ElementsAre(1, 0, 1, 0.01));
  EXPECT_THAT(judged(0.09), testing::ElementsAre(0, 0, 1, 0.01)) << "small beside that of 0";
}

TEST(PenalisedRuns, BeginWithWhatTheyAreGivenOrWithNothing) {
  MeasuredScan without = small().measured;
  without.start.reset();
  MeasuredScan at_minimum = small().measured;
  at_minimum.start = reference::volume_of(at_minimum.scene.grid, small().minimiser);
  for (const char* method : {"spdhg", "fista"}) {
    const auto primal = [&](const MeasuredScan& scan) {
      return scan.reconstructed(small().parameters(method, 4)).result.history.back().primal;
    };
    const double start = small().scan.problem.value(Vector(small().minimiser.size(), 0.0));
    EXPECT_LT(primal(without), start) << method;
    EXPECT_LT(primal(at_minimum), primal(small().measured)) << method;
    EXPECT_LT(primal(small().measured), primal(without)) << method;
  }
}

// Rays of weight 0 are as if they had not been measured, whatever was.
TEST(PenalisedRuns, RaysWithoutWeightDoNotCount) {
  MeasuredScan some = small().measured;
  some.start.reset();
  const std::size_t kept = 15, view = some.scene.projections.slice();
  std::fill(some.w->voxels.begin() + static_cast<std::ptrdiff_t>(kept * view), some.w->voxels.end(), 0.0f);
  MeasuredScan other = some;
  std::fill(other.b.voxels.begin() + static_cast<std::ptrdiff_t>(kept * view), other.b.voxels.end(), 1e3f);
  MeasuredScan fewer = some;
  fewer.scene.geometry.views.resize(kept);
  fewer.scene.projections.size[2] = kept;
  for (Volume* each : {&fewer.b, &*fewer.w}) {
    each->grid.size[2] = kept;
    each->voxels.resize(kept * view);
  }
  for (const char* method : {"spdhg", "fista", "os-fista"}) {
    SCOPED_TRACE(method);
    const auto parameters = small().parameters(method, 12);
    const auto with = some.reconstructed(parameters);
    EXPECT_TRUE(other.reconstructed(parameters).x.voxels == with.x.voxels);
    EXPECT_EQ(with.result.rays, static_cast<double>(kept * view));
    if (solver_method(method).subsets) continue;  // others have other subsets
    const auto without = fewer.reconstructed(parameters);
    EXPECT_LT(reference::relative_difference(vector_of(with.x), vector_of(without.x)), 1e-5);
    EXPECT_NEAR(with.result.history.back().gap, without.result.history.back().gap,
                1e-4 * without.result.history.back().gap);
  }
}

TEST(PenalisedRuns, WeightsOfOneAreNoWeights) {
  MeasuredScan ones = small().measured, none = small().measured;
  std::fill(ones.w->voxels.begin(), ones.w->voxels.end(), 1.0f);
  none.w.reset();
  for (const char* method : {"spdhg", "fista", "os-fista"}) {
    auto parameters = small().parameters(method, 7);
    parameters.lambda = 1;
    const auto with = ones.reconstructed(parameters), without = none.reconstructed(parameters);
    EXPECT_TRUE(with.x.voxels == without.x.voxels) << method;
    EXPECT_EQ(with.result.run.scalars, without.result.run.scalars) << method;
  }
}

class PenalisedRegularisers : public testing::TestWithParam<reference::NamedRegulariser> {};

// Two methods find the same minimum, and its bound is near.
TEST_P(PenalisedRegularisers, HaveOneMinimum) {
  auto scan = reference::penalised_scan(24, 30, 2e4, 3);
  MeasuredScan measured{.scene = scan.scene,
                        .b = reference::volume_of(scan.scene.projections, scan.problem.b),
                        .w = reference::volume_of(scan.scene.projections, scan.problem.w)};
  measured.reference = reference::volume_of(scan.scene.grid, scan.truth);
  ReconstructionParameters parameters;
  parameters.lambda = 400;
  parameters.regulariser = GetParam().regulariser;
  auto& chosen = parameters.regulariser;  // of grey values of 1, but these are 0.02
  if (chosen.huber_delta) *chosen.huber_delta *= water;
  if (chosen.guided) chosen.reference_eta = 0.1 * water;
  for (double* bound : {&chosen.minimum, &chosen.maximum}) *bound = std::isfinite(*bound) ? *bound * water : *bound;
  if (!std::isfinite(chosen.minimum)) chosen.minimum = -0.1 * water;
  if (!std::isfinite(chosen.maximum)) chosen.maximum = 1.5 * water;
  parameters.gap = 0;
  parameters.passes = 120;
  const auto one = measured.reconstructed(parameters);
  parameters.method = "fista";
  parameters.passes = 400;
  const auto other = measured.reconstructed(parameters);
  EXPECT_LT(reference::rms_difference(vector_of(one.x), vector_of(other.x)), 2e-4 * water);
  EXPECT_LT(one.result.history.back().relative_gap, 0.01);
  const auto [least, most] = std::minmax_element(one.x.voxels.begin(), one.x.voxels.end());
  EXPECT_GE(*least, static_cast<float>(chosen.minimum));
  EXPECT_LE(*most, static_cast<float>(chosen.maximum));
  // the objective is the one of the definition
  const Vector x = vector_of(one.x), misfit = reference::minus(scan.problem.A.times(x), scan.problem.b);
  const double data = 0.5 * reference::dot(misfit, reference::product(misfit, scan.problem.w)),
               penalty = reference::variant_primal(
                   {scan.problem.lattice, x, {}, parameters.lambda, chosen, vector_of(*measured.reference)}, x);
  EXPECT_NEAR(one.result.history.back().primal, data + penalty, 1e-5 * (data + penalty));
}

INSTANTIATE_TEST_SUITE_P(, PenalisedRegularisers, testing::ValuesIn(reference::regularisers()), [](const auto& each) {
  std::string name = each.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

std::string message(const MeasuredScan& scan, const ReconstructionParameters& parameters) {
  try {
    scan.reconstructed(parameters);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(PenalisedErrors, NameTheWeights) {
  const auto with = [](const std::function<void(Volume&)>& change) {
    MeasuredScan scan = small().measured;
    change(*scan.w);
    return message(scan, small().parameters("spdhg", 1));
  };
  const char* name = "the weights of the rays (`weights`)";
  EXPECT_THAT(with([](Volume& w) { w.voxels[77] = -1; }),
              testing::AllOf(HasSubstr(name), HasSubstr("negative or not finite; expected the inverse of each line "
                                                        "integral's variance; put 0 where a ray does not count")));
  EXPECT_THAT(with([](Volume& w) { w.voxels.back() = NAN; }), HasSubstr("negative or not finite"));
  EXPECT_THAT(with([](Volume& w) { w.voxels.front() = HUGE_VALF; }), HasSubstr("negative or not finite"));
  EXPECT_THAT(with([](Volume& w) { std::fill(w.voxels.begin(), w.voxels.end(), 0.0f); }),
              testing::AllOf(HasSubstr(name), HasSubstr("0 for all")));
  EXPECT_THAT(with([](Volume& w) {
                w.grid.size[0] -= 1;
                w.voxels.resize(w.grid.count());
              }),
              testing::AllOf(HasSubstr(name), HasSubstr("expected those of the projections, ")));
}

TEST(PenalisedErrors, NameTheParameter) {
  const auto with = [](const std::function<void(ReconstructionParameters&)>& change, const char* method = "spdhg") {
    auto parameters = small().parameters(method, 1);
    change(parameters);
    return message(small().measured, parameters);
  };
  for (const double wrong : {0.0, -1.0, infinity, static_cast<double>(NAN)})
    EXPECT_THAT(with([&](auto& p) { p.lambda = wrong; }), HasSubstr("`lambda` is ")) << wrong;
  for (const double wrong : {1.0, -0.1, static_cast<double>(NAN)})
    EXPECT_THAT(with([&](auto& p) { p.gap = wrong; }), HasSubstr("`gap` is ")) << wrong;
  EXPECT_THAT(with([](auto& p) { p.polish_steps = 0; }),
              HasSubstr("polishing steps is 0; expected a whole number of at least 1"));
  for (const int wrong : {-1, 21})
    EXPECT_THAT(with([&](auto& p) { p.subsets = wrong; }), HasSubstr("`subsets` is ")) << wrong;
  EXPECT_THAT(with([](auto& p) { p.passes = -1; }), HasSubstr("`iterations` is -1; expected at least 1"));
  EXPECT_THAT(with([](auto& p) { p.regulariser.maximum = -1; }), HasSubstr("`minimum` is 0"));
  EXPECT_THAT(with([](auto& p) { p.regulariser.variation = Variation::huber; }), HasSubstr("`huber_delta`"));
}

TEST(PenalisedErrors, SayWhichMethodsTakeIt) {
  ReconstructionParameters parameters;
  const auto refused = [&](const GivenInputs& given = {}) -> std::string {
    try {
      check_parameters(parameters, given);
    } catch (const InputError& error) {
      return error.what();
    }
    return {};
  };
  parameters.method = "sirt";
  EXPECT_THAT(refused({.weights = true}), HasSubstr("weights (`weights`) goes with another method than sirt; leave it "
                                                    "out, or take one of: spdhg, fista, os-fista, cgls"));
  parameters.lambda = 1;
  EXPECT_THAT(refused(), HasSubstr("goes with another method than sirt; leave it out, or take one of: spdhg, fista, "
                                   "os-fista"));
  parameters.lambda = 0;
  parameters.gap_map = true;
  EXPECT_THAT(refused(), HasSubstr("`gap_map` goes with another method than sirt"));
  parameters.gap_map = false;
  parameters.subsets = 3;
  EXPECT_THAT(refused(), HasSubstr("`subsets` goes with another method than sirt"));
  parameters = {};
  parameters.method = "cgls";
  parameters.regulariser.maximum = 1;
  EXPECT_THAT(refused(), HasSubstr("a bound of the voxels (`minimum`, `maximum`) goes with another method than cgls"));
  parameters = {};
  parameters.lambda = 1;
  parameters.relaxation = 0.5;
  EXPECT_THAT(refused(), HasSubstr("`relaxation` goes with another method than spdhg; leave it out, or take one of: "
                                   "fdk, sirt, sart"));
  parameters.relaxation = 1;
  EXPECT_EQ(refused({.weights = true, .start = true}), "");
}

}  // namespace
}  // namespace halocline::penalised_solvers_test

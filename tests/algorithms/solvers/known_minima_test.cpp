// labels: app slow
// Penalised least squares whose minimum an independent program found: the double-precision reference needs few passes.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "apps/io/image_file.hpp"
#include "tests/reference/iterative_problems.hpp"
#include "tests/reference/real_data.hpp"

namespace halocline {
namespace {

using reference::Spdhg;
using reference::Vector;

// Counts of 128^2 pixels of 2 mm and their minimum. Passes until the RMS difference to the minimiser is 1e-2, 3e-3 and
// 1e-3 of 0.02 per mm, and until the gap is a tenth of the minimum.
struct Known {
  std::string name;
  int views, subsets;
  double minimum;
  std::array<int, 4> passes;
};

class KnownMinima : public testing::TestWithParam<Known> {};

TEST_P(KnownMinima, AreReachedInFewPasses) {
  const Known& known = GetParam();
  const std::string stem = "iterative/" + known.name;
  SKIP_WITHOUT(stem + "_b.mha");
  const auto values = [&](const char* what) { return reference::vector_of(read_image(real_data(stem + what))); };
  const auto scan = reference::penalised_scan(128, known.views, {values("_b.mha"), values("_w.mha")});
  const auto& [scene, truth, problem] = scan;
  const Vector stored = values("_truth.mha");
  for (std::size_t n = 0; n < truth.size(); ++n) EXPECT_NEAR(stored[n], truth[n], 1e-8);

  const auto subsets = reference::rays_of(scene, known.subsets);
  const ViewSubsets orders(known.views, known.subsets);
  const auto order = [&](int pass) { return orders.permutation(1, static_cast<std::uint64_t>(pass)); };
  const Vector start = reference::scaled_fdk(scan);
  const Spdhg end = reference::spdhg(problem, subsets, start, {.passes = 300, .order = order, .look = {}});
  EXPECT_NEAR(problem.value(end.x), known.minimum, 1e-7 * known.minimum);
  EXPECT_LE(problem.dual_value(end.r, reference::polished(problem, end, 300)), problem.value(end.x));

  std::array<int, 4> passes{};
  reference::spdhg(problem, subsets, start,
                   {.passes = known.passes[2], .order = order, .look = [&](int pass, const Spdhg& state) {
                      const double away = reference::rms_difference(state.x, end.x) / 0.02,
                                   value = problem.value(state.x),
                                   gap = value - problem.dual_value(state.r, reference::polished(problem, state, 50));
                      EXPECT_GE(gap, value - known.minimum * (1 + 1e-9)) << pass;
                      const bool reached[] = {away <= 1e-2, away <= 3e-3, away <= 1e-3, gap <= 0.1 * value};
                      for (std::size_t n = 0; n < 4; ++n)
                        if (passes[n] == 0 && reached[n]) passes[n] = pass;
                    }});
  for (std::size_t n = 0; n < 4; ++n) {
    EXPECT_GT(passes[n], 0) << n;
    EXPECT_LE(passes[n], known.passes[n]) << n;
  }
}

INSTANTIATE_TEST_SUITE_P(, KnownMinima,
                         testing::Values(Known{"T2", 60, 30, 12366.141015, {9, 18, 32, 22}},
                                         Known{"T2", 60, 60, 12366.141015, {6, 15, 25, 18}},
                                         Known{"T4", 20, 20, 8927.726390, {26, 48, 68, 52}}),
                         [](const auto& each) { return each.param.name + "_" + std::to_string(each.param.subsets); });

}  // namespace
}  // namespace halocline

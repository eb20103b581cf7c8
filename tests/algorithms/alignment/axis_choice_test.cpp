// labels: unit
// Choice between measures of the rotation axis, and their disagreement.
#include "algorithms/alignment/axis_choice.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/geometry/opposite_views.hpp"

namespace halocline::axis_choice_test {
namespace {

AxisEstimate at(double shift, double contrast) {
  return {shift, false, contrast};
}
AxisEstimate within(double shift, double uncertainty) {
  return {shift, false, 0, uncertainty};
}

TEST(AxisChoice, TakesSharpnessNearOppositeViewsAndTheseElsewhere) {
  AxisMeasures measures{.correlation = at(3, 2), .sharpness = at(3.4, 2)};
  EXPECT_EQ(choose_axis(measures, 1).method, "sharpness");
  EXPECT_TRUE(choose_axis(measures, 1).agreed());
  measures.displaced = true;  // weights move sharpness by a part of a pixel
  EXPECT_EQ(choose_axis(measures, 1).method, "correlation");
  measures.sharpness = at(9, 2);
  AxisChoice choice = choose_axis(measures, 1);
  EXPECT_EQ(choice.method, "correlation");
  EXPECT_EQ(choice.differing.size(), 1u);  // a warning is due, but sharpness goes astray there
  EXPECT_TRUE(choice.agreed());
  measures.displaced = false;
  choice = choose_axis(measures, 1);
  EXPECT_EQ(choice.method, "correlation");
  EXPECT_FALSE(choice.agreed());
}

TEST(AxisChoice, NoiseThatHidesTheContrastIsNoReasonToFollowSharpness) {
  AxisMeasures measures{.correlation = at(0, 1.02), .sharpness = at(8, 1.01)};
  EXPECT_FALSE(choose_axis(measures, 1).agreed());  // none is certain
  measures.correlation->uncertainty = 0.1;
  const AxisChoice choice = choose_axis(measures, 1);
  EXPECT_EQ(choice.method, "correlation");
  EXPECT_TRUE(choice.agreed());
  EXPECT_EQ(choice.differing.size(), 1u);
}

TEST(AxisChoice, OfHalfATurnTheDoubleWedgeCountsIfItIsCertain) {
  AxisMeasures measures{.correlation = at(-1.85, 3), .double_wedge = within(0, 0.05), .opposite_error = 1};
  EXPECT_EQ(choose_axis(measures, 1).method, "double wedge");
  EXPECT_TRUE(choose_axis(measures, 1).agreed());
  measures.sharpness = at(0.2, 2);
  EXPECT_EQ(choose_axis(measures, 1).method, "sharpness");  // from all views
  measures.sharpness = at(5, 2);
  EXPECT_EQ(choose_axis(measures, 1).method, "double wedge");
  EXPECT_FALSE(choose_axis(measures, 1).agreed());
  measures.sharpness = at(5, 1.01);
  EXPECT_TRUE(choose_axis(measures, 1).agreed());
  measures.sharpness.reset();
  measures.opposite_error = 0.5;
  EXPECT_FALSE(choose_axis(measures, 1).agreed());
  measures.double_wedge = within(0, 0.6);
  EXPECT_EQ(choose_axis(measures, 1).method, "correlation");
  EXPECT_TRUE(choose_axis(measures, 1).agreed());
  measures.truncated = true;  // then more than a single pair is better than that
  EXPECT_EQ(choose_axis(measures, 1).method, "double wedge");
  EXPECT_FALSE(choose_axis(measures, 1).agreed());
  measures.correlation->at_end = true;  // unless the axis may be beyond the range that was searched
  EXPECT_TRUE(choose_axis(measures, 1).axis.at_end);
}

TEST(OppositeViews, TellByHowMuchTheBestPairMissesHalfATurn) {
  CircularOptions options{.sdd = 0, .projections = 90, .arc = 180};
  EXPECT_NEAR(opposite_error(circular_geometry(options)), 2 * std::acos(-1.0) / 180, 1e-9);
  options.arc = 182;
  options.projections = 91;
  EXPECT_NEAR(opposite_error(circular_geometry(options)), 0, 1e-9);
}

}  // namespace
}  // namespace halocline::axis_choice_test

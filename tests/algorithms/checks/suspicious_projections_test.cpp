// labels: unit
#include "algorithms/checks/suspicious_projections.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <random>

#include "algorithms/phantoms/phantoms.hpp"
#include "algorithms/preprocessing/calibrate_counts.hpp"

namespace halocline::suspicious_projections_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t columns = 60, rows = 6;

Geometry turn(std::size_t views = 90) {
  return circular_geometry({.sid = 300, .sdd = 450, .projections = views});
}

/// Pixels of 1.5 mm, 1 mm at the axis; moved along u.
Grid detector(double shift = 0, std::size_t views = 90) {
  Grid grid;
  grid.size = {columns, rows, views};
  grid.spacing = {1.5, 1.5, 1};
  grid.origin = {-0.75 * (columns - 1) + shift, -0.75 * (rows - 1), 0};
  return grid;
}

/// Projections of an upright cylinder beside the axis.
Volume cylinder(double radius, const Grid& grid) {
  Primitive body{.shape = Shape::cylinder, .semi_axes = {radius, 500, radius}, .centre = {3, 0, -2}, .value = 0.02};
  return project_analytic({body}, turn(grid.size[2]), grid);
}

SuspiciousProjections look(const Volume& projections, const RedundancyOptions& options = {}) {
  return suspicious_projections(MemorySource(projections), nullptr,
                                redundancy_of(turn(projections.grid.size[2]), projections.grid, options), "'p.mha'");
}

void expect_nothing(const SuspiciousProjections& found) {
  EXPECT_EQ(found.constant, "");
  EXPECT_EQ(found.unlike_integrals, "");
  EXPECT_EQ(found.truncated, "");
}

void change(Volume& projections, const std::function<double(double)>& to) {
  for (float& value : projections.voxels) value = static_cast<float>(to(value));
}

/// Each value moved by up to three times `deviation`.
void add_noise(Volume& projections, double deviation) {
  std::mt19937 generator(5);
  change(projections, [&](double value) {
    double sum = -2;
    for (int n = 0; n < 4; ++n) sum += static_cast<double>(generator()) / 4294967296.0;
    return value + deviation * std::sqrt(3.0) * sum;
  });
}

TEST(SuspiciousProjections, AreNotThoseOfAnObjectThatIsSeenWhole) {
  Volume projections = cylinder(20, detector());
  expect_nothing(look(projections));
  const float greatest = *std::max_element(projections.voxels.begin(), projections.voxels.end());
  for (float& value : projections.voxels) value += 0.03f * greatest;  // air that is not quite 0
  expect_nothing(look(projections));
}

TEST(SuspiciousProjections, AreAllTheSame) {
  EXPECT_THAT(look(Volume(detector())).constant,
              AllOf(HasSubstr("'p.mha': all line integrals are 0"), HasSubstr("the volume will be empty")));
  EXPECT_THAT(look(Volume(detector(), 0.25f)).constant, HasSubstr("all line integrals are 0.25"));
  EXPECT_EQ(look(Volume(detector(), 0.25f)).truncated, "");
  for (const std::size_t view : {0, 1, 2, 3, 44, 87, 88, 89}) {  // whichever views are read first
    Volume one(detector());
    one.at(30, 3, view) = 1e-3f;
    expect_nothing(look(one));
  }
}

TEST(SuspiciousProjections, ReachOverTheEdge) {
  const auto found = look(cylinder(60, detector()));
  EXPECT_EQ(found.constant, "");
  EXPECT_THAT(found.truncated, AllOf(HasSubstr("'p.mha': the object seems to reach over the detector's edge"),
                                     HasSubstr("% in the first columns and"), HasSubstr("% in the last columns"),
                                     HasSubstr("`pad = 1`"), HasSubstr("should be 0")));
}

// The short side of a displaced detector is within the object by design, unless nothing is done about it.
TEST(SuspiciousProjections, ReachOverTheLongSideOfADisplacedDetector) {
  for (const double shift :
       {30.0, -30.0}) {  // of 45 mm on each side: 10 mm of the axis's plane are seen on the short one
    const char* long_side = shift > 0 ? "last" : "first";
    const char* short_side = shift > 0 ? "first" : "last";
    const Volume whole = cylinder(40, detector(shift));
    expect_nothing(look(whole));
    EXPECT_THAT(look(whole, {.displaced = false}).truncated, HasSubstr(short_side));
    EXPECT_THAT(look(cylinder(90, detector(shift))).truncated, AllOf(HasSubstr(long_side), Not(HasSubstr(short_side))));
  }
}

TEST(SuspiciousProjections, HaveTheWrongSign) {
  for (const double noise : {0.0, 0.05}) {
    for (const double shift : {0.0, 30.0}) {
      Volume projections = cylinder(20, detector(shift));
      add_noise(projections, noise);
      expect_nothing(look(projections));
      change(projections, [](double p) { return -p; });
      const auto found = look(projections);
      EXPECT_THAT(found.unlike_integrals, AllOf(HasSubstr("'p.mha': most line integrals are negative, from -0."),
                                                HasSubstr("change their sign")));
      EXPECT_EQ(found.truncated, "");
    }
  }
  Volume small = cylinder(2, detector());  // much air, and in it noise and flats that were a little darker
  add_noise(small, 0.01);
  change(small, [](double p) { return p - 0.02; });
  EXPECT_EQ(look(small).unlike_integrals, "");
  Volume difference = cylinder(20, detector());
  add_noise(difference, 0.5);
  change(difference, [](double p) { return p - 0.4; });
  EXPECT_EQ(look(difference).unlike_integrals, "");
}

TEST(SuspiciousProjections, AreTransmissions) {
  for (const double noise : {0.0, 0.03})
    for (const double radius : {3.0, 20.0})
      for (const double shift : {0.0, 30.0, -30.0}) {
        Volume projections = cylinder(radius, detector(shift));
        change(projections, [](double p) { return std::exp(-3 * p); });
        add_noise(projections, noise);
        const auto found = look(projections);
        EXPECT_THAT(found.unlike_integrals, AllOf(HasSubstr("'p.mha': the values seem to be transmissions"),
                                                  HasSubstr("`counts` `air = U0,V0,U1,V1`")));
        EXPECT_EQ(found.truncated, "");
      }
  Volume thin = cylinder(20, detector());  // within 0..1, but 0 at the edges
  change(thin, [](double p) { return 1.2 * p; });
  ASSERT_LT(*std::max_element(thin.voxels.begin(), thin.voxels.end()), 1);
  expect_nothing(look(thin));
  Volume truncated = cylinder(60, detector());  // about 1 at the edges, but more in the middle
  const double edge = truncated.at(0, 3, 0);
  change(truncated, [&](double p) { return p / edge; });
  EXPECT_EQ(look(truncated).unlike_integrals, "");
  EXPECT_NE(look(truncated).truncated, "");
}

// Counts as floats, a beam that was not quite 1, a thin object.
TEST(SuspiciousProjections, AreIntensitiesInAnyUnit) {
  struct Case {
    double air, thickness, noise;
  };
  for (const Case& c : {Case{65535, 3, 0}, {100, 3, 0.03}, {0.85, 3, 0}, {1, 0.05, 0}}) {
    Volume projections = cylinder(20, detector());
    change(projections, [&](double p) { return std::exp(-c.thickness * p); });
    add_noise(projections, c.noise);
    change(projections, [&](double p) { return c.air * p; });
    const auto found = look(projections);
    EXPECT_THAT(found.unlike_integrals, AllOf(HasSubstr(c.air == 1 ? "transmissions" : "intensities"),
                                              HasSubstr("`counts` `air = U0,V0,U1,V1`")))
        << c.air;
    EXPECT_EQ(found.truncated, "") << c.air;
  }
}

TEST(SuspiciousProjections, OfCountsAreThoseOfTheirLineIntegrals) {
  const auto of_counts = [](const Volume& integrals) {
    Grid single = integrals.grid;
    single.size[2] = 1;
    Volume flat(single), counts(integrals.grid);
    for (std::size_t n = 0; n < flat.voxels.size(); ++n) flat.voxels[n] = 4000 + 50 * static_cast<float>(n % 7);
    for (std::size_t row = 0; row < rows; ++row) flat.at(20, row, 0) = 0;  // a dead column
    for (std::size_t n = 0; n < counts.voxels.size(); ++n)
      counts.voxels[n] = flat.voxels[n % flat.voxels.size()] * std::exp(-integrals.voxels[n]);
    CountsFields fields{.flats = {.stack = &flat}};
    const auto calibration = calibrate_counts(MemorySource(counts), fields);
    return suspicious_projections(MemorySource(counts), &calibration, redundancy_of(turn(), integrals.grid), "'c.mha'");
  };
  expect_nothing(of_counts(cylinder(20, detector())));
  EXPECT_THAT(of_counts(cylinder(60, detector())).truncated,
              AllOf(HasSubstr("'c.mha': the object seems to reach over"), HasSubstr("give it as `air`")));
  Volume brighter = cylinder(20, detector());
  change(brighter, [](double p) { return -p; });
  EXPECT_THAT(of_counts(brighter).unlike_integrals,
              AllOf(HasSubstr("'c.mha': most line integrals are negative"), HasSubstr("`flats` are not exchanged")));
  EXPECT_THAT(of_counts(Volume(detector())).constant, HasSubstr("`flats` names images without the object"));
}

class CountingSource : public VolumeSource {
 public:
  explicit CountingSource(const Volume& volume) : memory_(volume) {}
  const Grid& grid() const override { return memory_.grid(); }
  void read(std::size_t first, std::size_t count, float* to) const override {
    read_ += count;
    memory_.read(first, count, to);
  }
  std::size_t values() const { return read_; }

 private:
  MemorySource memory_;
  mutable std::atomic<std::size_t> read_{0};
};

TEST(SuspiciousProjections, AreToldFromAFewViews) {
  const Volume projections = cylinder(60, detector(0, 400));
  const CountingSource source(projections);
  EXPECT_NE(suspicious_projections(source, nullptr, redundancy_of(turn(400), projections.grid), "p").truncated, "");
  EXPECT_LE(source.values(), 12 * columns * rows);
}

}  // namespace
}  // namespace halocline::suspicious_projections_test

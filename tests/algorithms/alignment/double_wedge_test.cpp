// labels: unit nightly
// The rotation axis of half a turn, from where its ends meet: objects that reach over the detector, noise and rings.
#include "algorithms/alignment/double_wedge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "host/system/error.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::double_wedge_test {
namespace {

constexpr double pi = std::numbers::pi;

/// Exact line integrals of ellipses and rectangles, averaged over the pixels.
struct Part {
  bool rectangle;
  double x, y, a, b, turn, density;  // half sizes
  double integral(double angle, double u) const {
    const double t = std::abs(u - x * std::cos(angle) - y * std::sin(angle));
    const double c = std::cos(angle - turn), s = std::sin(angle - turn);
    if (!rectangle) {
      const double square = a * a * c * c + b * b * s * s;
      return t * t >= square ? 0 : density * 2 * a * b * std::sqrt(square - t * t) / square;
    }
    const double wide = std::abs(a * c), deep = std::abs(b * s);
    const double chord = std::min(2 * a / std::max(std::abs(s), 1e-12), 2 * b / std::max(std::abs(c), 1e-12));
    return density * chord * std::clamp((wide + deep - t) / std::max(2 * std::min(wide, deep), 1e-9), 0.0, 1.0);
  }
};

/// Parts of radius r about (x, y).
std::vector<Part> object(const std::string& kind, double r, double x, double y, std::mt19937& random) {
  std::uniform_real_distribution<double> unit(0, 1);
  const auto some = [&](double low, double high) { return low + (high - low) * unit(random); };
  std::vector<Part> parts;
  const auto add = [&](std::size_t count, double low, double high, double least, double most, bool rectangle) {
    for (std::size_t n = 0; n < count; ++n) {
      const double far = 0.85 * r * std::sqrt(unit(random)), at = some(0, 2 * pi), a = r * some(low, high);
      parts.push_back({rectangle, x + far * std::cos(at), y + far * std::sin(at), a,
                       rectangle ? r * some(low, high) : a, some(0, pi), some(least, most)});
    }
  };
  if (kind == "slab") {
    parts.push_back({true, x, y, r, 0.2 * r, some(0, pi), 0.5});
    add(10, 0.02, 0.2, -0.3, 1, true);
  } else {
    parts.push_back({false, x, y, r, kind == "head" ? 0.75 * r : 0.95 * r, 0.3, kind == "porous" ? 1.0 : 0.5});
    if (kind == "balls") add(25, 0.02, 0.12, -0.3, 1, false);
    if (kind == "porous") add(150, 0.01, 0.05, -1, -1, false);
    if (kind == "head") {
      parts.push_back({false, x, y, 0.94 * r, 0.69 * r, 0.3, -0.4});
      add(8, 0.03, 0.25, -0.1, 0.1, false);
    }
  }
  return parts;
}

struct Scan {
  Volume projections;
  Geometry geometry;  // with the axis at the detector's middle
};

struct Trial {
  std::string kind;
  double radius, off;  // of the object, in widths of the detector
  std::size_t views;
  double photons, rings;  // 0: no noise; standard deviation of the columns' offsets
  double shift;           // columns
  std::size_t columns = 320, rows = 2;
  double arc = 180;
};

Scan scan_of(const Trial& trial, unsigned seed = 1) {
  std::mt19937 random(seed);
  const auto width = static_cast<double>(trial.columns);
  const auto parts = object(trial.kind, trial.radius * width, trial.off * width, 0.5 * trial.off * width, random);
  Scan scan;
  Grid grid{.size = {trial.columns, trial.rows, trial.views}, .origin = {-0.5 * (width - 1), 0, 0}};
  scan.projections = Volume(grid);
  scan.geometry = circular_geometry({.sdd = 0, .projections = trial.views, .arc = trial.arc});
  double most = 0;
  for (std::size_t n = 0; n < trial.views; ++n)
    for (std::size_t i = 0; i < trial.columns; ++i) {
      double sum = 0;
      for (const double at : {-0.25, 0.25})
        for (const Part& part : parts)
          sum += 0.5 * part.integral(scan.geometry.views[n].gantry_angle * pi / 180,
                                     static_cast<double>(i) + at - 0.5 * (width - 1) - trial.shift);
      for (std::size_t row = 0; row < trial.rows; ++row) scan.projections.at(i, row, n) = static_cast<float>(sum);
      most = std::max(most, sum);
    }
  std::normal_distribution<double> normal;
  std::vector<double> offsets(grid.slice());
  for (double& offset : offsets) offset = trial.rings * normal(random);
  for (std::size_t n = 0; n < grid.count(); ++n) {
    double value = 2.5 * scan.projections.voxels[n] / most;
    if (trial.photons > 0) {
      std::poisson_distribution<int> counts(trial.photons * std::exp(-value));
      value = -std::log(std::max(0.5, static_cast<double>(counts(random))) / trial.photons);
    }
    scan.projections.voxels[n] = static_cast<float>(value + offsets[n % grid.slice()]);
  }
  return scan;
}

const std::vector<std::string> kinds{"balls", "head", "slab", "porous"};

TEST(DoubleWedge, FindsTheAxisOfObjectsThatReachOverTheEdges) {
  const std::vector<double> shifts{0.5, -3.3, 7.9, -14.2};
  std::size_t n = 0;
  for (const auto& kind : kinds)
    for (const double radius : {0.35, 0.7, 1.1})
      for (const std::size_t views : {200, 400}) {
        const double shift = shifts[n++ % shifts.size()];
        const Scan scan = scan_of({kind, radius, 0.15, views, 0, 0, shift}, static_cast<unsigned>(n));
        const AxisEstimate axis = axis_by_double_wedge(scan.projections, scan.geometry, {0, 16});
        EXPECT_NEAR(axis.shift, shift, 0.15) << kind << radius << ", " << views;
        EXPECT_TRUE(axis.certain(1)) << kind << radius << ", " << views << ": " << *axis.uncertainty;
        EXPECT_FALSE(axis.at_end);
      }
}

TEST(DoubleWedge, FindsItInNoiseAndRingsOrSaysThatItIsUncertain) {
  const std::vector<double> shifts{-0.5, 4.6, -9.1, 13.7};
  std::size_t n = 0, certain = 0;
  for (const auto& kind : kinds)
    for (const double radius : {0.4, 0.8, 1.1})
      for (const auto& [photons, rings] : {std::pair{20000.0, 0.01}, std::pair{3000.0, 0.0}}) {
        const double shift = shifts[n++ % shifts.size()];
        const Scan scan = scan_of({kind, radius, 0.1, 400, photons, rings, shift, 320, 4}, static_cast<unsigned>(n));
        const AxisEstimate axis = axis_by_double_wedge(scan.projections, scan.geometry, {0, 16});
        std::printf("%-7s %.1f %6.0f photons, rings %.2f: %+.2f +- %.2f columns\n", kind.c_str(), radius, photons,
                    rings, axis.shift - shift, *axis.uncertainty);
        if (!axis.certain(1)) continue;
        ++certain;
        EXPECT_NEAR(axis.shift, shift, 0.5) << kind << radius << ", " << photons;
      }
  EXPECT_GE(certain, 18u);  // of 24
}

TEST(DoubleWedge, LooksThroughTheWholeRange) {
  for (const double shift : {-75.3, 52.8}) {
    const Scan scan = scan_of({"balls", 0.8, 0.1, 300, 0, 0, shift});
    EXPECT_NEAR(axis_by_double_wedge(scan.projections, scan.geometry, {0, 90}).shift, shift, 0.2);
    EXPECT_NEAR(axis_by_double_wedge(scan.projections, scan.geometry, {shift + 10, 20}).shift, shift, 0.2);
    const double least = std::abs(shift) - 20;
    EXPECT_LE(std::abs(axis_by_double_wedge(scan.projections, scan.geometry, {0, least}).shift), least + 1e-9);
  }
}

TEST(DoubleWedge, TakesAViewThatIsMeasuredTwice) {
  Scan scan = scan_of({"balls", 0.8, 0.1, 241, 0, 0, 6.4, 320, 1, 180.75});
  EXPECT_NEAR(axis_by_double_wedge(scan.projections, scan.geometry, {0, 16}).shift, 6.4, 0.15);
}

TEST(DoubleWedge, FindsNothingWhereTooLittleIsSeen) {
  const Scan scan = scan_of(
      {.kind = "balls", .radius = 0.6, .off = 0, .views = 90, .photons = 0, .rings = 0, .shift = 0, .columns = 16});
  EXPECT_THROW(axis_by_double_wedge(scan.projections, scan.geometry, {0, 1}), InputError);
}

TEST(DoubleWedge, RefusesWhatHasNoSeam) {
  const Scan scan = scan_of({"balls", 0.4, 0, 60, 0, 0, 0});
  const auto refused = [&](const Geometry& geometry, const char* part) {
    EXPECT_THAT(refusal_of([&] {
                  axis_by_double_wedge(scan.projections, geometry, {0, 5});
                }),
                testing::HasSubstr(part));
  };
  CircularOptions options{.sid = 500, .sdd = 700, .projections = 60};
  refused(circular_geometry(options), "parallel beam only");
  options.sdd = 0;
  options.arc = 120;
  refused(circular_geometry(options), "no view has one opposite");
  const Scan narrow = scan_of(
      {.kind = "balls", .radius = 0.4, .off = 0, .views = 60, .photons = 0, .rings = 0, .shift = 0, .columns = 15});
  EXPECT_THAT(refusal_of([&] {
                axis_by_double_wedge(narrow.projections, narrow.geometry, {0, 5});
              }),
              testing::HasSubstr("less than 16 columns"));
}

}  // namespace
}  // namespace halocline::double_wedge_test

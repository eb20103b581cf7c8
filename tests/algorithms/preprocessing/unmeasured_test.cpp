// labels: unit
// Counts of any scale, and values that replace those that were not measured: against analytic line integrals.
#include "algorithms/preprocessing/unmeasured.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "algorithms/phantoms/phantoms.hpp"
#include "algorithms/preprocessing/calibrate_counts.hpp"
#include "host/system/error.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::unmeasured_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t columns = 64, rows = 8, views = 90, slice = columns * rows;
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// A full turn of two bodies off the axis, up to 3.1.
const Volume& integrals() {
  static const Volume lines = [] {
    CircularOptions circle{.sid = 200, .sdd = 300, .projections = views};
    Primitive large, small;
    large.semi_axes = {14, 30, 12};
    large.centre = {2, 0, -3};
    large.value = 0.08;
    small.semi_axes = {3, 30, 3};
    small.centre = {8, 0, -5};
    small.value = 0.12;
    return project_analytic({large, small}, circular_geometry(circle), reference::detector(columns, rows, views, 1, 1));
  }();
  return lines;
}

double gain(std::size_t pixel) {
  return 1 + 0.1 * std::sin(static_cast<double>(7 * pixel));
}

/// Counts of a beam of `level`, and their flat.
struct Scan {
  Volume counts, flat;
  CountsFields fields() const { return CountsFields{.flats = {&flat, "flat.mha"}, .counts_name = "scan.mha"}; }
};

Scan scan_of(double level, bool whole = false) {
  Scan scan{integrals(), Volume(integrals().grid)};
  scan.flat.grid.size[2] = 1;
  scan.flat.voxels.resize(slice);
  const auto rounded = [whole](double value) { return static_cast<float>(whole ? std::round(value) : value); };
  for (std::size_t n = 0; n < slice; ++n) scan.flat.voxels[n] = rounded(level * gain(n));
  for (std::size_t n = 0; n < scan.counts.voxels.size(); ++n)
    scan.counts.voxels[n] = rounded(level * gain(n % slice) * std::exp(-static_cast<double>(integrals().voxels[n])));
  return scan;
}

CountsCalibration convert(Volume& counts, const CountsFields& fields, const CountsOptions& options = {}) {
  const CountsCalibration calibration = calibrate_counts(MemorySource(counts), fields, options);
  counts_to_line_integrals(counts, calibration);
  return calibration;
}

double largest_error(const Volume& found) {
  double largest = 0;
  for (std::size_t n = 0; n < found.voxels.size(); ++n)
    largest = std::max<double>(largest, std::abs(found.voxels[n] - integrals().voxels[n]));
  return largest;
}

TEST(CountsScale, MakesNoDifference) {
  for (const double level : {1e-3, 1.0, 10.0, 1e3, 1e6}) {
    Scan scan = scan_of(level);
    const auto calibration = convert(scan.counts, scan.fields());
    EXPECT_LT(largest_error(scan.counts), 3e-6) << level;
    EXPECT_EQ(calibration.report.bad_pixels, 0U) << level;
    EXPECT_EQ(calibration.report.raised + calibration.report.replaced, 0U) << level;
    // by the air alone, of an even detector
    Volume even = integrals();
    for (float& value : even.voxels) value = static_cast<float>(level * std::exp(-static_cast<double>(value)));
    CountsOptions air{.air = {{0, 0, 5, rows}}};
    convert(even, {}, air);
    EXPECT_LT(largest_error(even), 3e-6) << level;
  }
}

TEST(CountsScale, OfWholeNumbersOnlyRoundingIsLeft) {
  for (const double level : {250.0, 4000.0, 60000.0}) {
    Scan scan = scan_of(level, true);
    convert(scan.counts, scan.fields());
    EXPECT_LT(largest_error(scan.counts), 0.5 / (0.9 * level * std::exp(-3.2)) + 0.6 / level) << level;
  }
}

TEST(CountsScale, TransmissionsNeedNoFlats) {
  Volume shares = integrals();
  for (float& value : shares.voxels) value = std::exp(-value);
  Volume found = shares;
  const auto calibration = convert(found, {});
  EXPECT_TRUE(calibration.report.transmissions);
  EXPECT_LT(largest_error(found), 2e-6);
  // they have been divided by these flats
  const auto message = [&](const Volume& counts, const CountsFields& fields) -> std::string {
    return refusal_of([&] { calibrate_counts(MemorySource(counts), fields); });
  };
  const Scan scan = scan_of(1e4);
  EXPECT_THAT(message(shares, scan.fields()), AllOf(HasSubstr("flat.mha"), HasSubstr("leave the flats out")));
  EXPECT_THAT(message(scan.counts, {}), AllOf(HasSubstr("`flats`"), HasSubstr("`air`"), HasSubstr("0 to 1")));
}

// ---- flats

TEST(Flats, BeforeAndAfterTheScanGiveTheBeamInBetween) {
  Scan scan = scan_of(1e4);
  for (std::size_t n = 0; n < scan.counts.voxels.size(); ++n)
    scan.counts.voxels[n] *= 1 - 0.1f * static_cast<float>(n / slice) / static_cast<float>(views - 1);
  Volume after = scan.flat, both = scan.flat;
  for (float& value : after.voxels) value *= 0.9f;
  both.grid.size[2] = 2;
  both.voxels.insert(both.voxels.end(), after.voxels.begin(), after.voxels.end());
  CountsFields two = scan.fields(), one = scan.fields();
  two.flats_after = {&after, "after.mha"};
  one.flats.stack = &both;
  for (const CountsFields& fields : {two, one}) {
    Volume counts = scan.counts;
    const auto report = convert(counts, fields).report;
    EXPECT_TRUE(report.between_flats);
    EXPECT_NEAR(report.beam_high / report.beam_low, 1 / 0.9, 1e-5);
    EXPECT_LT(largest_error(counts), 1e-5);
  }
  // a growing scan has the beam of its views' numbers
  CountsOptions options{.scan_views = views};
  Volume part = scan.counts;
  part.grid.size[2] = 30;
  part.voxels.resize(30 * slice);
  CountsCalibrator calibrator(MemorySource(part), two, options);
  EXPECT_FLOAT_EQ(calibrator.calibration().beams[29] / calibrator.calibration().beams[0],
                  1 - 0.1f * 29 / static_cast<float>(views - 1));
  EXPECT_FLOAT_EQ(calibrator.add(MemorySource(part), "more").beams[29] / calibrator.calibration().beams[0],
                  1 - 0.1f * 59 / static_cast<float>(views - 1));
}

/// The scan's flat with each of these levels.
Volume flats_of(const Scan& scan, const std::vector<double>& levels) {
  Volume flats = scan.flat;
  flats.grid.size[2] = levels.size();
  flats.voxels.resize(levels.size() * slice);
  for (std::size_t n = 0; n < flats.voxels.size(); ++n)
    flats.voxels[n] = static_cast<float>(levels[n / slice] * scan.flat.voxels[n % slice]);
  return flats;
}

TEST(Flats, ThatWaverAreAveraged) {
  Scan scan = scan_of(1e4);
  const Volume flats = flats_of(scan, {1.02, 0.98, 0.99, 1.01});
  CountsFields fields = scan.fields();
  fields.flats.stack = &flats;
  EXPECT_FALSE(convert(scan.counts, fields).report.between_flats);
  EXPECT_LT(largest_error(scan.counts), 1e-5);
}

// A warming lamp, or another exposure, of a beam that is steady over the scan, in one file.
TEST(Flats, OfOneFileWithFewOfAnotherLevelAreAveraged) {
  const std::vector<std::vector<double>> steps{{0.5, 1, 1, 1, 1}, {1, 1, 1, 1, 0.5}, {0.9, 1, 1, 1},
                                               {0.5, 1},          {0.6, 0.6, 1, 1},  {1, 1, 1, 1, 1, 0.9, 0.9}};
  for (const auto& levels : steps) {
    Scan scan = scan_of(1e4);
    const Volume flats = flats_of(scan, levels);
    CountsFields fields = scan.fields();
    fields.flats.stack = &flats;
    const auto calibration = convert(scan.counts, fields);
    EXPECT_FALSE(calibration.report.between_flats) << testing::PrintToString(levels);
    const auto& step = calibration.report.odd_flats;
    ASSERT_TRUE(step.has_value());
    EXPECT_EQ(step->images, levels.size());
    EXPECT_NE(levels[step->before - 1], levels[step->before]);
    EXPECT_NEAR(step->levels.after / step->levels.before, levels.back() / levels.front(), 1e-6);
    // the beam of the mean is off by the same factor in all views
    const double mean = std::accumulate(levels.begin(), levels.end(), 0.0) / static_cast<double>(levels.size());
    for (float& value : scan.counts.voxels) value -= static_cast<float>(std::log(mean));
    EXPECT_LT(largest_error(scan.counts), 1e-5) << testing::PrintToString(levels);
  }
  for (const auto& levels : std::vector<std::vector<double>>{{0.75, 1}, {1, 0.9, 0.9}, {1, 1, 0.8, 0.8, 0.8}}) {
    Scan scan = scan_of(1e4);
    const Volume flats = flats_of(scan, levels);
    CountsFields fields = scan.fields();
    fields.flats.stack = &flats;
    const auto report = convert(scan.counts, fields).report;
    EXPECT_TRUE(report.between_flats) << testing::PrintToString(levels);
    EXPECT_FALSE(report.odd_flats.has_value());
  }
}

TEST(Flats, OfAnotherExposureAreWarnedOf) {
  const Volume thin = integrals();
  for (const float exposure : {0.5f, 1.0f, 1.15f, 5.0f}) {
    Scan scan = scan_of(1e4);
    // a thin object, 0 to 0.32: the counts are near the beam's
    for (std::size_t n = 0; n < scan.counts.voxels.size(); ++n)
      scan.counts.voxels[n] = exposure * scan.flat.voxels[n % slice] * std::exp(-0.1f * thin.voxels[n]);
    const double warned = calibrate_counts(MemorySource(scan.counts), scan.fields()).report.above_flats;
    if (exposure == 5)
      EXPECT_NEAR(warned, 5, 1);
    else
      EXPECT_EQ(warned, 1) << exposure;
    CountsOptions air;  // gives the exposure itself
    air.air = {0, 0, 5, rows};
    EXPECT_EQ(calibrate_counts(MemorySource(scan.counts), scan.fields(), air).report.above_flats, 1) << exposure;
  }
}

TEST(Flats, SingleHitsAreLeftOut) {
  for (const std::size_t count : {2, 3, 5}) {
    Scan scan = scan_of(1e4);
    Volume flats = scan.flat, darks = scan.flat;
    for (Volume* stack : {&flats, &darks}) {
      stack->grid.size[2] = count;
      stack->voxels.resize(count * slice);
    }
    std::mt19937 random(3);
    for (std::size_t n = 0; n < flats.voxels.size(); ++n) {
      darks.voxels[n] = 300 + static_cast<float>(random() % 5);
      flats.voxels[n] = scan.flat.voxels[n % slice] + 302;
    }
    for (float& value : scan.counts.voxels) value += 302;
    flats.voxels[slice + 100] = 1e9f;
    flats.voxels[300] = 17000;
    if (count > 2) darks.voxels[2 * slice + 200] = 8000;
    CountsFields fields = scan.fields();
    fields.flats.stack = &flats;
    fields.darks = {&darks, "dark.mha"};
    const auto report = convert(scan.counts, fields).report;
    EXPECT_EQ(report.flats_left_out, count > 2 ? 3U : 2U) << count;
    EXPECT_EQ(report.bad_pixels, 0U);
    EXPECT_LT(largest_error(scan.counts), 0.01) << count;
  }
}

// ---- bad pixels

/// Errors at these pixels, root mean square, filled and by a line along the rows.
struct Errors {
  double filled = 0, line = 0, largest = 0;
};
Errors errors_of(const std::function<bool(std::size_t column, std::size_t row)>& is_bad) {
  Scan scan = scan_of(1e4);
  for (std::size_t n = 0; n < scan.counts.voxels.size(); ++n)
    if (is_bad(n % columns, n % slice / columns)) scan.counts.voxels[n] = scan.flat.voxels[n % slice] = 0;
  convert(scan.counts, scan.fields());
  Errors out;
  std::size_t count = 0;
  for (std::size_t n = 0; n < scan.counts.voxels.size(); ++n) {
    const std::size_t column = n % columns, row = n % slice / columns;
    const double truth = integrals().voxels[n], error = scan.counts.voxels[n] - truth;
    if (!is_bad(column, row)) {
      EXPECT_NEAR(error, 0, 3e-6);
      continue;
    }
    std::size_t left = 0, right = 0;
    while (column >= left && is_bad(column - left, row)) ++left;
    while (column + right < columns && is_bad(column + right, row)) ++right;
    const bool has_left = column >= left, has_right = column + right < columns;
    const double low = has_left ? integrals().voxels[n - left] : 0,
                 high = has_right ? integrals().voxels[n + right] : 0;
    const double line = !has_left    ? high
                        : !has_right ? low
                                     : (static_cast<double>(right) * low + static_cast<double>(left) * high) /
                                           static_cast<double>(left + right);
    out.filled += error * error;
    out.line += (line - truth) * (line - truth);
    out.largest = std::max(out.largest, std::abs(error));
    ++count;
  }
  out.filled = std::sqrt(out.filled / static_cast<double>(count));
  out.line = std::sqrt(out.line / static_cast<double>(count));
  std::printf("filled %.4f RMS, %.4f at most; a line %.4f\n", out.filled, out.largest, out.line);
  return out;
}

TEST(BadPixels, OfColumnsAreFilledBetterThanByALine) {
  double filled = 0, line = 0;
  for (const std::size_t bad : {20, 32, 40, 50}) {
    const Errors errors = errors_of([&](std::size_t column, std::size_t) { return column == bad; });
    filled += errors.filled * errors.filled;
    line += errors.line * errors.line;
    EXPECT_LT(errors.filled, errors.line) << bad;
    EXPECT_LT(errors.largest, 0.15) << bad;
  }
  EXPECT_LT(filled, 0.3 * line);
}

TEST(BadPixels, OfBlocksAndRowsAreFilledOverTheShortSide) {
  // the bodies hardly change along the columns
  EXPECT_LT(errors_of([](std::size_t, std::size_t row) { return row == 2; }).largest, 0.05);
  EXPECT_LT(errors_of([](std::size_t, std::size_t row) { return row == 0; }).largest, 0.1);
  const auto in = [](std::size_t n, std::size_t first, std::size_t last) { return n >= first && n < last; };
  for (const std::size_t wide : {1, 3, 6, 12}) {
    const Errors inside =
        errors_of([&](std::size_t column, std::size_t row) { return in(column, 30, 30 + wide) && in(row, 2, 6); });
    EXPECT_LT(inside.largest, 0.1) << wide;
    const Errors corner =
        errors_of([&](std::size_t column, std::size_t row) { return in(column, 0, 20 + wide) && in(row, 0, 2); });
    EXPECT_LT(corner.largest, 0.2) << wide;
  }
}

TEST(BadPixels, WithoutNeighboursInRowAndColumnAreFilledFromThoseThatAreFilled) {
  const Errors cross = errors_of([](std::size_t column, std::size_t row) { return column == 40 || row == 3; });
  EXPECT_LT(cross.filled, cross.line);
}

TEST(BadPixels, OfOneViewAreFilledByALine) {
  Volume line(integrals().grid);
  line.grid.size = {8, 1, 1};
  line.voxels = {1, 2, nan, nan, 5, 6, 7, nan};
  const ReplacedValues found = fill_nonfinite(MemorySource(line), false, "p").replaced;
  found.put(0, 8, line.voxels.data());
  for (int n = 0; n < 7; ++n) EXPECT_FLOAT_EQ(line.voxels[n], static_cast<float>(n + 1));
  EXPECT_FLOAT_EQ(line.voxels[7], 7);
  line.voxels.assign(8, nan);
  EXPECT_THAT([&] { fill_nonfinite(MemorySource(line), false, "p.mha"); },
              testing::ThrowsMessage<InputError>(HasSubstr("p.mha: all pixels of the detector are bad")));
}

// ---- values that fail in a view

TEST(FailingCounts, HereAndThereAreInterpolated) {
  for (const bool whole : {false, true}) {
    Scan scan = scan_of(60000, whole);
    std::mt19937 random(11);
    std::vector<std::size_t> failing;
    const float values[] = {0, -50, 4e5f, 0, nan};
    for (int n = 0; n < 200; ++n) {
      failing.push_back(random() % scan.counts.voxels.size());
      scan.counts.voxels[failing.back()] = values[n % 5];
    }
    for (std::size_t n = 0; n < columns; ++n) failing.push_back(20 * slice + 5 * columns + n);  // a row that is dropped
    for (std::size_t n = 0; n < 9; ++n) failing.push_back(50 * slice + (2 + n / 3) * columns + 30 + n % 3);
    for (std::size_t n = 200; n < failing.size(); ++n) scan.counts.voxels[failing[n]] = 0;
    CountsOptions options{.saturation = 65535, .allow_nonfinite = true};
    const auto report = convert(scan.counts, scan.fields(), options).report;
    std::sort(failing.begin(), failing.end());
    failing.erase(std::unique(failing.begin(), failing.end()), failing.end());
    EXPECT_EQ(report.replaced, failing.size());
    EXPECT_EQ(report.raised, 0U);
    EXPECT_EQ(report.bad_pixels, 0U);
    double squares = 0;
    for (const std::size_t n : failing) squares += std::pow(scan.counts.voxels[n] - integrals().voxels[n], 2);
    std::printf("%zu filled to %.4f RMS, %.3f at most\n", failing.size(),
                std::sqrt(squares / static_cast<double>(failing.size())), largest_error(scan.counts));
    EXPECT_LT(std::sqrt(squares / static_cast<double>(failing.size())), 0.03);
    EXPECT_LT(largest_error(scan.counts), 0.3);
  }
}

// A pin that lets nothing through moves over the detector: in any one view it is a group of counts at the floor.
TEST(FailingCounts, OfOpaquePartsAreTheObject) {
  Scan scan = scan_of(60000, true);
  std::size_t hidden = 0;
  for (std::size_t view = 0; view < views; ++view)
    for (std::size_t row = 3; row < 6; ++row) {
      const auto column = static_cast<std::size_t>(std::lround(32 + 20 * std::sin(0.07 * static_cast<double>(view))));
      scan.counts.at(column, row, view) = 0;
      ++hidden;
    }
  const auto report = convert(scan.counts, scan.fields()).report;
  EXPECT_EQ(report.raised, hidden);
  EXPECT_EQ(report.replaced, 0U);
}

/// Errors of values that the counts have in place of theirs, and of all others.
struct ReplacedErrors {
  double largest = 0, elsewhere = 0;
  CountsReport report;
};
ReplacedErrors errors_with(Scan scan, const std::vector<std::size_t>& places, const std::function<float()>& count,
                           CountsFields fields) {
  std::vector<char> placed(scan.counts.voxels.size(), 0);
  for (const std::size_t n : places) scan.counts.voxels[n] = count(), placed[n] = 1;
  ReplacedErrors out;
  out.report = convert(scan.counts, fields).report;
  for (std::size_t n = 0; n < placed.size(); ++n) {
    double& largest = placed[n] ? out.largest : out.elsewhere;
    largest = std::max<double>(largest, std::abs(scan.counts.voxels[n] - integrals().voxels[n]));
  }
  return out;
}

std::vector<std::size_t> some_places(int count) {
  std::mt19937 random(17);
  std::vector<std::size_t> places;
  for (int n = 0; n < count; ++n) places.push_back(random() % integrals().voxels.size());
  return places;
}

// Values above the floor, but far from those around them. Near a possible part of the object they are kept.
TEST(FailingCounts, FarFromAllAroundThemAreInterpolated) {
  const Scan scan = scan_of(20000, true);
  int replaced = 0, all = 0;
  for (const float count : {1.0f, 10.0f, 100.0f})
    for (const std::size_t place : some_places(60)) {
      const ReplacedErrors found = errors_with(
          scan, {place}, [&] { return count; }, scan.fields());
      ++all;
      EXPECT_LT(found.elsewhere, 0.001) << count << " at " << place;
      if (found.report.replaced == 0) continue;
      ++replaced;
      EXPECT_EQ(found.report.replaced, 1U) << count << " at " << place;
      EXPECT_LT(found.largest, 0.3) << count << " at " << place;
    }
  std::printf("%d of %d replaced\n", replaced, all);
  EXPECT_GT(replaced, all / 4);
}

TEST(FailingCounts, OfTheDarkFieldsNoiseAreInterpolated) {
  Scan scan = scan_of(20000);
  std::mt19937 random(3);
  std::normal_distribution<float> dark(300, 20);
  for (const std::size_t images : {1U, 10U}) {
    Volume darks = scan.flat;
    darks.grid.size[2] = images;
    darks.voxels.resize(images * slice);
    for (float& value : darks.voxels) value = dark(random);
    Scan with_dark = scan;
    for (float& value : with_dark.counts.voxels) value += 300;
    for (float& value : with_dark.flat.voxels) value += 300;
    CountsFields fields = with_dark.fields();
    fields.darks = {&darks, "dark.mha"};
    const ReplacedErrors found = errors_with(
        with_dark, some_places(150), [&] { return dark(random); }, fields);
    EXPECT_EQ(found.report.replaced, 150U);
    EXPECT_EQ(found.report.raised, 0U);
    EXPECT_LT(found.largest, 0.3);
  }
}

// 20 x 6 pixels in four views, and half of the first two views.
TEST(FailingCounts, OfLargePartsInAFewViewsAreInterpolatedAndNamed) {
  const Scan scan = scan_of(20000, true);
  std::vector<std::size_t> places;
  for (std::size_t view = 40; view < 44; ++view)
    for (std::size_t row = 1; row < 7; ++row)
      for (std::size_t n = 10; n < 30; ++n) places.push_back(view * slice + row * columns + n);
  for (std::size_t view = 0; view < 2; ++view)
    for (std::size_t n = 0; n < slice / 2; ++n) places.push_back(view * slice + n);
  const ReplacedErrors found = errors_with(
      scan, places, [] { return 0.0f; }, scan.fields());
  EXPECT_THAT(found.report.rough_views, testing::ElementsAre(0, 1, 40, 41, 42, 43));
  EXPECT_EQ(found.report.replaced, places.size());
  EXPECT_EQ(found.report.raised, 0U);
  EXPECT_LT(found.largest, 0.6);
  EXPECT_LT(found.elsewhere, 0.001);
}

TEST(FailingCounts, AreNotFoundInNoise) {
  Scan scan = scan_of(1);
  for (const double mean : {1.0, 3.0, 10.0, 30.0, 1000.0}) {
    std::mt19937 random(5);
    std::poisson_distribution<int> photons(mean);
    for (float& count : scan.counts.voxels) count = static_cast<float>(photons(random));
    for (float& flat : scan.flat.voxels) flat = static_cast<float>(20 * mean);
    EXPECT_LE(convert(scan.counts, scan.fields()).report.replaced, 5U) << mean;  // of 46,080
  }
}

// A bead of a pixel goes over the detector: in any one view it is a single dim pixel.
TEST(FailingCounts, OfABeadAreTheObject) {
  Scan scan = scan_of(20000, true);
  for (std::size_t view = 0; view < views; ++view) {
    const auto column = static_cast<std::size_t>(std::lround(32 + 20 * std::sin(0.07 * static_cast<double>(view))));
    scan.counts.at(column, 4, view) = std::round(scan.counts.at(column, 4, view) / 10);
  }
  EXPECT_EQ(convert(scan.counts, scan.fields()).report.replaced, 0U);
}

TEST(Flats, ThatAreClippedAreNamed) {
  Scan scan = scan_of(62000);
  EXPECT_FALSE(convert(scan.counts, scan.fields()).report.clipped_flats.has_value());
  for (const float most : {255.0f, 4095.0f, 65535.0f}) {
    Scan clipped = scan_of(most);  // the gains of half of the pixels are above 1
    for (float& value : clipped.flat.voxels) value = std::min(value, most);
    const auto found = convert(clipped.counts, clipped.fields()).report.clipped_flats;
    ASSERT_TRUE(found.has_value()) << most;
    EXPECT_EQ(found->value, most);
    EXPECT_NEAR(found->share, 0.5, 0.05);
  }
}

TEST(FailingCounts, WithinViewsAreTheSameForEachViewAlone) {
  Scan scan = scan_of(1e4, true);
  for (std::size_t view = 0; view < views; ++view) {
    scan.counts.at(7 + view % 11, view % rows, view) = 0;
    for (std::size_t row = 0; row < rows; ++row) scan.counts.at(40, row, view) = 0;
  }
  CountsOptions options{.within_views = true};
  const auto whole = calibrate_counts(MemorySource(scan.counts), scan.fields(), options);
  Volume first = scan.counts, more = scan.counts;
  first.grid.size[2] = 30;
  first.voxels.resize(30 * slice);
  CountsCalibrator calibrator(MemorySource(first), scan.fields(), options);
  more.grid.size[2] = 1;
  for (std::size_t view = 30; view < 33; ++view) {
    more.voxels.assign(scan.counts.voxels.begin() + static_cast<std::ptrdiff_t>(view * slice),
                       scan.counts.voxels.begin() + static_cast<std::ptrdiff_t>((view + 1) * slice));
    const auto added = calibrator.add(MemorySource(more), "more.mha");
    ASSERT_EQ(added.replaced.views[0].size(), rows + 1);
    for (std::size_t n = 0; n <= rows; ++n) {
      EXPECT_EQ(added.replaced.views[0][n].pixel, whole.replaced.views[view][n].pixel);
      EXPECT_EQ(added.replaced.views[0][n].value, whole.replaced.views[view][n].value);
    }
  }
}

TEST(Nonfinite, LineIntegralsAreInterpolated) {
  Volume lines = integrals();
  std::mt19937 random(5);
  for (int n = 0; n < 100; ++n) lines.voxels[random() % lines.voxels.size()] = n % 2 ? nan : -INFINITY;
  for (std::size_t view = 0; view < views; ++view) lines.at(33, 4, view) = nan;
  const ReplacedValues found = fill_nonfinite(MemorySource(lines), false, "p").replaced;
  EXPECT_GT(found.count(), 180U);
  std::vector<float> values(lines.voxels.size());
  found.put(0, lines.voxels.size(), lines.voxels.data());
  EXPECT_LT(largest_error(lines), 0.3);
  // in pieces of any size the same
  Volume broken = integrals();
  const MemorySource source(broken);
  const MendedSource pieces(source, found);
  for (std::size_t first = 0; first < values.size(); first += 1000)
    pieces.read(first, std::min<std::size_t>(1000, values.size() - first), values.data() + first);
  for (std::size_t view = 0; view < views; ++view)
    for (const auto& value : found.views[view]) EXPECT_EQ(values[view * slice + value.pixel], value.value);
}

}  // namespace
}  // namespace halocline::unmeasured_test

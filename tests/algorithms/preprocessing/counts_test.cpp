// labels: unit
// Counts to line integrals: values by hand, a synthetic scan with all that detectors do wrong, rings, and refusals.
#include "algorithms/preprocessing/counts.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "algorithms/phantoms/phantoms.hpp"
#include "algorithms/preprocessing/calibrate_counts.hpp"
#include "algorithms/preprocessing/rings.hpp"
#include "host/system/error.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::counts_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Volume stack(std::array<std::size_t, 3> size, std::vector<float> values = {}) {
  Grid grid{.size = size};
  Volume out(grid);
  if (!values.empty()) out.voxels = std::move(values);
  return out;
}

/// Calibrates and converts.
CountsCalibration convert(Volume& counts, const Volume* flats, const Volume* darks, const CountsOptions& options = {},
                          const Volume* bad = nullptr) {
  CountsFields fields;
  fields.counts_name = "scan.mha";
  fields.flats = {flats, "flat.mha"};
  fields.darks = {darks, "dark.mha"};
  fields.bad_pixels = {bad, "bad.mha"};
  auto calibration = calibrate_counts(MemorySource(counts), fields, options);
  counts_to_line_integrals(counts, calibration);
  return calibration;
}

TEST(Counts, ByHand) {
  // detector 2 x 1, three flats and three darks: means 110, 210 and 10, 20
  Volume counts = stack({2, 1, 3}, {60, 115, 110, 210, 11, 400});
  const Volume flats = stack({2, 1, 3}, {100, 200, 120, 220, 110, 210}),
               darks = stack({2, 1, 3}, {9, 20, 10, 19, 11, 21});
  const CountsReport report = convert(counts, &flats, &darks).report;
  EXPECT_EQ(report.pixels, 6U);
  EXPECT_EQ(report.raised, 0U);
  EXPECT_EQ(report.bad_pixels, 0U);
  EXPECT_FLOAT_EQ(counts.voxels[0], static_cast<float>(std::log(2.0)));
  EXPECT_FLOAT_EQ(counts.voxels[1], static_cast<float>(std::log(2.0)));
  EXPECT_EQ(counts.voxels[2], 0);
  EXPECT_EQ(counts.voxels[3], 0);
  EXPECT_FLOAT_EQ(counts.voxels[4], static_cast<float>(std::log(100.0)));
  EXPECT_FLOAT_EQ(counts.voxels[5], static_cast<float>(-std::log(2.0)));  // brighter than the flat: kept
}

TEST(Counts, LowCountsAmongDimOnesAreRaisedAndSaturatedOnesTold) {
  const Volume flat = stack({4, 1, 1}, {110, 110, 110, 110}), dark = stack({4, 1, 1}, {10, 10, 10, 10});
  Volume counts = stack({4, 1, 4}, {60, 13, 5, 14, 60, 13, 10, 14, 60, 13, 20, 14, 110, 13, 20, 15});
  CountsOptions options{.saturation = 110};
  const CountsReport report = convert(counts, &flat, &dark, options).report;
  EXPECT_EQ(report.raised, 2U);
  EXPECT_EQ(report.saturated, 1U);
  EXPECT_EQ(report.replaced, 0U);
  for (int n = 0; n < 2; ++n) EXPECT_FLOAT_EQ(counts.at(2, 0, n), static_cast<float>(std::log(200.0)));
  EXPECT_FLOAT_EQ(counts.at(2, 0, 2), static_cast<float>(std::log(10.0)));
  counts = stack({4, 1, 2}, {60, 20, 12, 21, 60, 20, 20, 21});
  options.floor = 4;
  EXPECT_EQ(convert(counts, &flat, &dark, options).report.raised, 1U);
  EXPECT_FLOAT_EQ(counts.at(2, 0, 0), static_cast<float>(std::log(25.0)));
}

TEST(Counts, BadPixelsTakeTheLineBetweenGoodOnes) {
  // open 100 everywhere; columns 0, 3, 4 and 7 are dead: q = 1, 4 at columns 2, 5
  const auto count = [](double q) { return static_cast<float>(1e6 * std::exp(-q)); };
  const Volume flat = stack({8, 1, 1}, {0, 1e6, 1e6, 0, 0, 1e6, 1e6, 0});
  Volume counts = stack({8, 1, 1}, {7, count(0.5), count(1), 7, 7, count(4), count(3), 7});
  EXPECT_EQ(convert(counts, &flat, nullptr).report.bad_pixels, 4U);
  const double expected[] = {0.5, 0.5, 1, 2, 3, 4, 3, 3};
  // a count of 18000 is rounded by 2^-11/18000 at most
  for (int n = 0; n < 8; ++n) EXPECT_NEAR(counts.voxels[n], expected[n], 2e-6) << n;
}

/// Bad pixels, column + columns * row.
std::vector<std::size_t> replaced_in_all_views(const CountsCalibration& calibration) {
  std::vector<std::size_t> times(calibration.pixels.size(), 0), found;
  for (const auto& view : calibration.replaced.views)
    for (const auto& value : view) ++times[value.pixel];
  for (std::size_t n = 0; n < times.size(); ++n)
    if (times[n] == calibration.size[2]) found.push_back(n);
  return found;
}

TEST(Counts, BadPixelsAreFound) {
  constexpr std::size_t columns = 31;
  Volume counts = stack({columns, 2, 5}), flat = stack({columns, 2, 1});
  for (std::size_t n = 0; n < flat.voxels.size(); ++n) flat.voxels[n] = 1000 + static_cast<float>(n % 7) * 30;
  for (std::size_t view = 0; view < 5; ++view)
    for (std::size_t row = 0; row < 2; ++row)
      for (std::size_t n = 0; n < columns; ++n) {
        // the sides are in the air without noise: the same count in all views, and good
        const bool air = n < 4 || n > 26;
        counts.at(n, row, view) = flat.at(n, row, 0) * (air ? 1.0f : 0.3f + 0.01f * static_cast<float>((n + view) % 5));
      }
  for (std::size_t view = 0; view < 5; ++view) {
    counts.at(12, 0, view) = 777;  // stuck
    counts.at(20, 1, view) = 0;    // dark in the scan only
  }
  flat.at(8, 0, 0) = 3000;   // above double
  flat.at(15, 1, 0) = 400;   // below half
  flat.at(0, 1, 0) = 0;      // dead
  flat.at(17, 0, 0) = 1600;  // odd, but it measures
  CountsFields fields{.flats = {&flat, "flat.mha"}};
  const auto calibration = calibrate_counts(MemorySource(counts), fields);
  EXPECT_THAT(replaced_in_all_views(calibration), testing::ElementsAre(8, 12, columns, columns + 15, columns + 20));
  EXPECT_EQ(calibration.report.bad_pixels, 5U);
  EXPECT_EQ(calibration.report.raised, 0U);  // only those of good pixels count
  // a map replaces the search, but pixels without a flat are still bad
  Volume map = stack({columns, 2, 1});
  map.at(3, 0, 0) = 1;
  fields.bad_pixels = {&map, "bad.mha"};
  EXPECT_EQ(calibrate_counts(MemorySource(counts), fields).report.bad_pixels, 3U);
}

/// Marked pixels, column + columns * row.
std::vector<std::size_t> found_bad(const Volume& counts, const Volume* flat, const CountsOptions& options = {}) {
  CountsFields fields{.flats = {flat, "flat.mha"}};
  return replaced_in_all_views(calibrate_counts(MemorySource(counts), fields, options));
}

/// A body that moves in front of 64 x 8 pixels and leaves the sides in the air, 24 views, whole counts with or without
/// their noise. `hidden`: inside a round one that does not move, so that nothing that moves sees the beam.
Volume moving_body(const Volume& flat, bool noisy, bool hidden) {
  Volume counts = stack({64, 8, 24});
  std::mt19937 random(5);
  for (std::size_t view = 0; view < 24; ++view)
    for (std::size_t n = 0; n < flat.voxels.size(); ++n) {
      const double u = static_cast<double>(n % 64) - 31.5;
      const auto chord = [](double at, double radius) { return std::sqrt(std::max(0.0, radius * radius - at * at)); };
      double q = chord(u - 9 * std::cos(0.2618 * static_cast<double>(view)), 12) / 10;
      if (hidden) q += chord(u, 26) / 20;
      const double mean = flat.voxels[n] * std::exp(-q);
      counts.voxels[view * flat.voxels.size() + n] =
          static_cast<float>(noisy ? std::poisson_distribution<int>(mean)(random) : std::round(mean));
    }
  return counts;
}

TEST(Counts, StillPixelsAtTheEndsOfARowAreStuckWhereThereIsNoise) {
  std::vector<std::size_t> stuck;
  for (std::size_t row = 0; row < 8; ++row) stuck.insert(stuck.end(), {64 * row, 64 * row + 1, 64 * row + 63});
  stuck.push_back(64 * 3 + 20);
  std::sort(stuck.begin(), stuck.end());
  Volume even = stack({64, 8, 1}), uneven = stack({64, 8, 1});
  for (std::size_t n = 0; n < even.voxels.size(); ++n) {
    even.voxels[n] = 1000;
    uneven.voxels[n] = 900 + static_cast<float>((7 * n) % 200);
  }
  CountsOptions air{.air = {{2, 0, 5, 8}}};
  for (const bool hidden : {false, true})
    for (const Volume* flat : {&even, &uneven}) {
      EXPECT_THAT(found_bad(moving_body(*flat, true, hidden), flat), testing::IsEmpty());
      EXPECT_THAT(found_bad(moving_body(*flat, false, hidden), flat), testing::IsEmpty());
      // below the beam, just the flat's own count, and far above
      for (const float at : {300.0f, 777.0f, -1.0f, 4095.0f}) {
        Volume counts = moving_body(*flat, true, hidden);
        for (std::size_t view = 0; view < 24; ++view)
          for (const std::size_t n : stuck) counts.voxels[view * 512 + n] = at < 0 ? flat->voxels[n] : at;
        EXPECT_EQ(found_bad(counts, flat), stuck) << at << hidden;
        if (flat == &even && at > 0 && at < 1000) {
          EXPECT_EQ(found_bad(counts, nullptr, air), stuck) << at << hidden;
        }
      }
    }
  // without flats and without noise the air is good as well, and so it is beside a wild count
  Volume counts = moving_body(even, false, true);
  EXPECT_THAT(found_bad(counts, nullptr, air), testing::IsEmpty());
  counts.at(30, 2, 7) = 65535;
  EXPECT_THAT(found_bad(counts, &even), testing::IsEmpty());
  // a detector row that stands still as a whole is stuck, where there is noise
  counts = moving_body(even, true, false);
  for (std::size_t view = 0; view < 24; ++view)
    for (std::size_t n = 0; n < 64; ++n) counts.at(n, 5, view) = 600;
  const auto found = found_bad(counts, &even);
  ASSERT_EQ(found.size(), 64U);
  EXPECT_EQ(found.front(), 5U * 64);
}

// Still pixels in the air, beside dead columns at the edges and within the air.
TEST(Counts, DeadColumnsNearTheEdgeLeaveTheStillAirBesideThemGood) {
  Volume even = stack({64, 8, 1});
  std::fill(even.voxels.begin(), even.voxels.end(), 1000.0f);
  for (const auto& columns : {std::vector<std::size_t>{0}, {63}, {2, 61}, {0, 1, 5, 60, 63}})
    for (const bool hidden : {false, true})
      for (const char* kind : {"dark in flat and scan", "dark in the scan", "noise alone"}) {
        Volume flat = even, counts = moving_body(even, false, hidden);
        std::vector<std::size_t> dead;
        for (std::size_t row = 0; row < 8; ++row)
          for (const std::size_t column : columns) {
            dead.push_back(64 * row + column);
            const bool noise = kind[0] == 'n';
            if (kind != std::string("dark in the scan")) flat.at(column, row, 0) = noise ? 3 : 0;
            for (std::size_t view = 0; view < 24; ++view)
              counts.at(column, row, view) = noise ? static_cast<float>((view + row) % 5) : 0;
          }
        EXPECT_EQ(found_bad(counts, &flat), dead) << kind << " from " << columns.front() << (hidden ? " hidden" : "");
      }
}

TEST(Counts, RowsOfBadPixelsTakeTheLineBetweenTheRowsAroundThem) {
  // q = 0.3 a row and 0.1 a column; rows 0, 3, 4 and 7 are dead, and so is column 2
  constexpr std::size_t columns = 5, rows = 8;
  Volume flat = stack({columns, rows, 1}), map = flat, counts = stack({columns, rows, 30});
  const auto lost = [](std::size_t row) { return row == 0 || row == 3 || row == 4 || row == 7; };
  for (std::size_t n = 0; n < counts.voxels.size(); ++n) {
    const std::size_t column = n % columns, row = n / columns % rows;
    counts.voxels[n] =
        static_cast<float>(1e6 * std::exp(-0.3 * static_cast<double>(row) - 0.1 * static_cast<double>(column)));
    if (n < map.voxels.size()) map.voxels[n] = lost(row) || column == 2 ? 1 : 0;
  }
  std::fill(flat.voxels.begin(), flat.voxels.end(), 1e6f);
  const auto calibration = convert(counts, &flat, nullptr, {}, &map);
  EXPECT_THAT(calibration.bad_rows, testing::ElementsAre(0, 3, 4, 7));
  EXPECT_EQ(calibration.report.bad_pixels, 4 * columns + 4);
  for (std::size_t n = 0; n < counts.voxels.size(); ++n) {
    const std::size_t column = n % columns, row = n / columns % rows;
    const double from = row == 0 ? 1 : row == 7 ? 6 : static_cast<double>(row);
    EXPECT_NEAR(counts.voxels[n], 0.3 * from + 0.1 * static_cast<double>(column), 2e-6) << n;
  }
}

TEST(Counts, MeansAreTakenInDouble) {
  // the sum of 1001 flats near 2^24 is far beyond what float holds exactly
  Volume flats = stack({1, 1, 1001});
  for (std::size_t n = 0; n < 1001; ++n) flats.voxels[n] = 16777213.0F + static_cast<float>(n % 3);
  Volume counts = stack({1, 1, 1}, {8388607.0F});
  convert(counts, &flats, nullptr);
  double mean = 0;
  for (std::size_t n = 0; n < 1001; ++n) mean += flats.voxels[n] / 1001.0;
  EXPECT_FLOAT_EQ(counts.voxels[0], static_cast<float>(-std::log(8388607.0 / mean)));
}

TEST(Counts, BeamHardeningIsAPolynomial) {
  const Volume flat = stack({1, 1, 1}, {1000});
  Volume counts = stack({1, 1, 3}, {1000, 500, 10});
  CountsOptions options{.hardening = {0.9, 0.05, -0.002}};
  convert(counts, &flat, nullptr, options);
  for (const auto& [at, count] : {std::pair{0, 1000.0}, {1, 500.0}, {2, 10.0}}) {
    const double q = -std::log(count / 1000);
    EXPECT_NEAR(counts.voxels[at], 0.9 * q + 0.05 * q * q - 0.002 * q * q * q, 2e-6);
  }
}

// ---- a detector with all its faults

struct Scan {
  Volume truth, counts, flats, darks;
  std::vector<std::size_t> dead;  // of a row of 61
};

/// Gains and dark currents from pixel to pixel, a beam that flickers, counts that are whole numbers (`whole`).
Scan faulty_scan(bool whole) {
  CircularOptions circle{.sid = 100, .sdd = 150, .projections = 23};
  const Grid grid = reference::detector(61, 7, 23, 1.3, 2);
  Primitive body{.semi_axes = {11, 30, 14}, .centre = {4, 1, -6}, .value = 0.12};
  Scan scan;
  scan.truth = project_analytic({body}, circular_geometry(circle), grid);
  Grid few = grid;
  few.size[2] = 2;
  scan.counts = Volume(grid);
  scan.flats = scan.darks = Volume(few);
  scan.dead = {13, 14, 40};
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (std::size_t n = 0; n < grid.slice(); ++n) {
    const std::size_t column = n % 61;
    const bool is_dead = column == 13 || column == 14 || column == 40;
    const double dark = 90 + std::floor(40 * uniform(random)),
                 gain = is_dead ? 0 : 20000 * (0.8 + 0.4 * uniform(random));
    for (std::size_t view = 0; view < 2; ++view) {
      scan.darks.voxels[view * grid.slice() + n] = static_cast<float>(dark + (view ? 1 : -1));
      scan.flats.voxels[view * grid.slice() + n] = static_cast<float>(dark + gain + (view ? 20 : -20));
    }
    for (std::size_t view = 0; view < 23; ++view) {
      const double beam = 1 + 0.1 * std::sin(static_cast<double>(view));
      const double count =
          dark + gain * beam * std::exp(-static_cast<double>(scan.truth.voxels[view * grid.slice() + n]));
      scan.counts.voxels[view * grid.slice() + n] = static_cast<float>(whole ? std::round(count) : count);
    }
  }
  return scan;
}

TEST(Counts, OfAFaultyDetectorGiveTheLineIntegrals) {
  for (const bool whole : {false, true}) {
    Scan scan = faulty_scan(whole);
    const std::size_t slice = scan.truth.grid.slice();
    // two hot counts and two empty ones
    const std::vector<std::size_t> lost{3 * slice + 61 * 2 + 30, 9 * slice + 61 * 5 + 31, 8 * slice + 20,
                                        12 * slice + 50};
    scan.counts.voxels[lost[0]] = scan.counts.voxels[lost[1]] = 65535;
    scan.counts.voxels[lost[2]] = scan.counts.voxels[lost[3]] = 0;
    CountsOptions options{.air = {{0, 1, 6, 6}}, .saturation = 65535};
    const Volume counts = scan.counts;
    Volume integrals = counts;
    const auto calibration = convert(integrals, &scan.flats, &scan.darks, options);
    EXPECT_EQ(calibration.report.bad_pixels, 3U * 7U);
    EXPECT_EQ(calibration.report.saturated, 0U);
    EXPECT_EQ(calibration.report.raised, 0U);
    EXPECT_EQ(calibration.report.replaced, 4U);
    EXPECT_GT(calibration.report.beam_high, 1.09);
    EXPECT_LT(calibration.report.beam_low, 0.91);
    EXPECT_GT(*std::max_element(scan.truth.voxels.begin(), scan.truth.voxels.end()), 2.5);
    const double ulp = std::ldexp(1.0, -23);
    double worst = 0, filled = 0, lines = 0;
    for (std::size_t n = 0; n < counts.voxels.size(); ++n) {
      const std::size_t column = n % 61;
      const double truth = scan.truth.voxels[n], signal = counts.voxels[n] - 90 - 40, found = integrals.voxels[n];
      if (std::find(lost.begin(), lost.end(), n) != lost.end()) {
        EXPECT_NEAR(found, truth, 0.1) << n;
      } else if (column == 13 || column == 14 || column == 40) {
        const std::size_t low = column == 40 ? 39 : 12, high = column == 40 ? 41 : 15;
        const double share = static_cast<double>(column - low) / static_cast<double>(high - low);
        const double line =
            (1 - share) * scan.truth.voxels[n - column + low] + share * scan.truth.voxels[n - column + high];
        filled += (found - truth) * (found - truth);
        lines += (line - truth) * (line - truth);
      } else {
        // a float of up to 30000 and whole counts round the signal; the beam is a mean of such, of at least 14000
        // counts; six roundings of the ratio, 3 ulp of the logarithm and its interpolation
        const double rounded = whole ? 0.5 : 30000 * ulp / 2;
        const double bound = rounded / (signal - rounded) + rounded / 14000 + 6 * ulp + 5 * ulp * std::max(1.0, truth);
        EXPECT_NEAR(found, truth, bound) << n;
        worst = std::max(worst, std::abs(found - truth) / bound);
      }
    }
    std::printf("%s counts: at most %.2f of the bound; bad columns off by %.2f of what a line is\n",
                whole ? "whole" : "exact", worst, std::sqrt(filled / lines));
    EXPECT_LT(filled, 0.5 * lines);
  }
}

TEST(Counts, AirAloneIsEnoughForAnEvenDetector) {
  Volume counts = stack({4, 1, 2}, {100, 100, 50, 25, 200, 200, 100, 20});
  CountsOptions options{.air = {{0, 0, 2, 1}}};
  const auto calibration = convert(counts, nullptr, nullptr, options);
  EXPECT_EQ(calibration.beams, (std::vector<float>{100, 200}));
  EXPECT_FLOAT_EQ(counts.voxels[2], static_cast<float>(std::log(2.0)));
  EXPECT_FLOAT_EQ(counts.voxels[7], static_cast<float>(std::log(10.0)));
}

TEST(Counts, FurtherViewsAreCountedAndToldByTheirNumber) {
  Volume all = stack({3, 2, 6});
  for (std::size_t n = 0; n < all.voxels.size(); ++n) all.voxels[n] = static_cast<float>(60 + n % 5);
  for (std::size_t view = 0; view < 6; ++view) all.at(1, 1, view) = 0;         // a dead pixel, which does not count
  all.at(2, 0, 1) = all.at(2, 0, 4) = all.at(0, 1, 5) = 2;                     // raised
  all.at(0, 0, 3) = all.at(2, 1, 3) = all.at(2, 1, 4) = all.at(1, 1, 3) = 99;  // saturated
  const Volume flat = stack({3, 2, 1}, std::vector<float>(6, 100)), map = stack({3, 2, 1}, {0, 0, 0, 0, 1, 0});
  CountsOptions options{.air = {{0, 0, 1, 2}}, .floor = 4, .saturation = 99};
  CountsFields fields{.flats = {.stack = &flat}, .bad_pixels = {.stack = &map}};
  const auto whole = calibrate_counts(MemorySource(all), fields, options);
  EXPECT_EQ(whole.report.raised, 3U);
  EXPECT_EQ(whole.report.saturated, 3U);
  const auto views = [&](std::size_t first, std::size_t count) {
    const auto begin = all.voxels.begin() + static_cast<std::ptrdiff_t>(6 * first);
    return stack({3, 2, count}, {begin, begin + static_cast<std::ptrdiff_t>(6 * count)});
  };
  const Volume first = views(0, 2);
  CountsCalibrator calibrator(MemorySource(first), fields, options);
  auto beams = calibrator.calibration().beams;
  for (std::size_t at = 2; at < 6; at += 2) {
    const Volume more = views(at, 2);
    const auto added = calibrator.add(MemorySource(more), "more.mha");
    beams.insert(beams.end(), added.beams.begin(), added.beams.end());
  }
  EXPECT_EQ(beams, whole.beams);
  const CountsReport& report = calibrator.calibration().report;
  EXPECT_EQ(report.pixels, whole.report.pixels);
  EXPECT_EQ(report.raised, whole.report.raised);
  EXPECT_EQ(report.saturated, whole.report.saturated);
  EXPECT_EQ(report.beam_low, whole.report.beam_low);
  EXPECT_EQ(report.beam_high, whole.report.beam_high);
  const auto add = [&](const Volume& more) -> std::string {
    return refusal_of([&] { calibrator.add(MemorySource(more), "more.mha"); });
  };
  EXPECT_THAT(add(stack({3, 2, 1})), AllOf(HasSubstr("more.mha"), HasSubstr("view 6 has no count")));
  EXPECT_THAT(add(stack({3, 2, 2}, {60, 60, 60, 60, 60, 60, 0, 60, 60, 0, 60, 60})),
              AllOf(HasSubstr("more.mha"), HasSubstr("view 7 is dark in")));
}

// ---- rings

/// One row of 240 columns and 90 views of two bodies off the axis, no noise.
std::vector<float> sinogram() {
  CircularOptions circle{.sid = 300, .sdd = 450, .projections = 90};
  Primitive large, small;
  large.semi_axes = {45, 10, 38};
  large.centre = {13, 0, -7};
  large.value = 0.02;
  small.semi_axes = {6, 10, 6};
  small.centre = {-20, 0, 15};
  small.value = 0.05;
  return std::vector<float>(
      project_analytic({large, small}, circular_geometry(circle), reference::detector(240, 1, 90, 1, 1)).voxels);
}

std::vector<float> offsets_of(const std::vector<float>& values, std::size_t columns, int width) {
  const std::size_t views = values.size() / columns;
  return ring_offsets(still_details(values, columns, views, width), column_means(values, columns, views), columns,
                      width);
}

double rms(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

TEST(Rings, OfAScanWithoutThemNextToNothingIsTaken) {
  const auto clean = sinogram();
  const auto offsets = offsets_of(clean, 240, 2);
  const double peak = *std::max_element(clean.begin(), clean.end());
  double worst = 0;
  for (const float each : offsets) worst = std::max<double>(worst, std::abs(each));
  std::printf("of line integrals up to %.3f: %.6f RMS, %.6f at most\n", peak, rms(offsets), worst);
  EXPECT_LT(rms(offsets), 1e-3 * peak);
  EXPECT_LT(worst, 1e-2 * peak);
  // where a truncated detector ends on a slope only rounding is left
  std::vector<float> slope(50 * 90);
  for (std::size_t n = 0; n < slope.size(); ++n) slope[n] = 1 + 0.1f * static_cast<float>(n % 50);
  for (const float each : offsets_of(slope, 50, 2)) EXPECT_NEAR(each, 0, 4 * std::ldexp(6.0, -24));
}

TEST(Rings, OfNoiseNoMoreIsTakenThanTheMedianOfTheViewsHas) {
  std::mt19937 random(3);
  std::normal_distribution<float> noise(0, 0.02f);
  std::vector<float> values(1000 * 90);
  for (float& value : values) value = noise(random);
  // A median of N normal values has the variance pi/2 / N. Here they are values less a median of five means of two, of
  // variance 1 + pi/4 / 5, and less the median of eleven such medians, which adds pi/2 / 11; 1000 columns give a spread
  // to 3 %.
  const double pi = std::acos(-1.0);
  EXPECT_LT(rms(offsets_of(values, 1000, 2)), 1.06 * std::sqrt(pi / 2 / 90 * (1 + pi / 20) * (1 + pi / 22)) * 0.02);
}

TEST(Rings, OfSingleWrongPixelsAreAFifth) {
  const auto clean = sinogram();
  std::vector<float> wrong(240, 0.0f);
  for (std::size_t n = 11; n < 230; n += 17)
    wrong[n] = (n % 2 ? 1.0f : -1.0f) * (0.005f + 0.0001f * static_cast<float>(n));
  wrong[103] = wrong[104] = 0.02f;  // as wide as given
  auto values = clean;
  for (std::size_t n = 0; n < values.size(); ++n) values[n] += wrong[n % 240];
  const auto found = offsets_of(values, 240, 2);
  std::vector<float> left(240);
  for (std::size_t n = 0; n < 240; ++n) left[n] = wrong[n] - found[n];
  std::printf("wrong by %.5f RMS, then by %.5f\n", rms(wrong), rms(left));
  // The order of the five means without noise is that of how the body curves, and a wrong pixel among them moves the
  // median of those beside it by one place: 1e-3 for this one of 68 pixels' radius.
  EXPECT_LT(rms(left), 0.2 * rms(wrong));
}

TEST(Rings, OfWhollyWrongDetectorsAreNearlyHalved) {
  // every pixel is wrong, also those that it is compared with: medians of five means of two, and of eleven of the
  // differences, leave sqrt(pi/4 / 5 + pi/2 / 11 (1 + pi/4 / 5)) = 0.57 of it
  std::mt19937 random(5);
  std::normal_distribution<float> gain(0, 0.01f);
  auto values = sinogram();
  std::vector<float> wrong(240), left(240);
  for (float& each : wrong) each = gain(random);
  for (std::size_t n = 0; n < values.size(); ++n) values[n] += wrong[n % 240];
  const auto found = offsets_of(values, 240, 2);
  for (std::size_t n = 0; n < 240; ++n) left[n] = wrong[n] - found[n];
  EXPECT_LT(rms(left), 0.65 * rms(wrong));
}

TEST(Rings, CalibrationTakesThemOffTheLineIntegrals) {
  const auto clean = sinogram();
  Volume counts = stack({240, 1, 90}), flat = stack({240, 1, 1});
  for (std::size_t n = 0; n < 240; ++n) flat.voxels[n] = 50000;
  for (std::size_t n = 0; n < clean.size(); ++n)
    counts.voxels[n] = 50000 * std::exp(-clean[n]) * (n % 240 == 95 ? 0.97f : 1.0f);
  CountsOptions options{.ring_width = 2};
  const auto calibration = convert(counts, &flat, nullptr, options);
  EXPECT_GT(calibration.report.ring_rms, 0);
  double worst = 0;
  for (std::size_t n = 0; n < clean.size(); ++n)
    worst = std::max(worst, std::abs(static_cast<double>(counts.voxels[n]) - clean[n]));
  EXPECT_LT(worst, 0.1 * -std::log(0.97));
}

// ---- what is refused

std::string refusal(Volume counts, const Volume* flats, const Volume* darks, const CountsOptions& options = {},
                    const Volume* bad = nullptr) {
  return refusal_of([&] { convert(counts, flats, darks, options, bad); });
}

TEST(Counts, DetectorsMustMatch) {
  Volume counts = stack({93, 7, 2}), one = stack({93, 7, 1}), five = stack({93, 7, 5}), none = stack({93, 7, 0});
  for (auto* volume : {&counts, &one}) std::fill(volume->voxels.begin(), volume->voxels.end(), 9.0f);
  const Volume tall = stack({93, 8, 1}), narrow = stack({92, 7, 5});
  EXPECT_EQ(refusal(counts, &one, &five), "");
  EXPECT_THAT(refusal(counts, &tall, &five),
              AllOf(HasSubstr("flat.mha"), HasSubstr("93 x 8"), HasSubstr("93 x 7"), HasSubstr("scan.mha")));
  EXPECT_THAT(refusal(counts, &one, &narrow), AllOf(HasSubstr("dark.mha"), HasSubstr("92 x 7")));
  EXPECT_THAT(refusal(counts, &none, &one), AllOf(HasSubstr("flat.mha"), HasSubstr("no views")));
  EXPECT_THAT(refusal(counts, &one, &five, {}, &narrow), AllOf(HasSubstr("bad.mha"), HasSubstr("92 x 7")));
  EXPECT_THAT(refusal(counts, &one, &five, {}, &five), AllOf(HasSubstr("bad.mha"), HasSubstr("5 images")));
  auto calibration = convert(counts, &one, &five);
  Volume other = stack({93, 7, 3});
  EXPECT_THROW(counts_to_line_integrals(other, calibration), InputError);
}

TEST(Counts, BadFieldsAndCountsAreRefused) {
  const auto filled = [](std::array<std::size_t, 3> size, float value) {
    Volume volume = stack(size);
    std::fill(volume.voxels.begin(), volume.voxels.end(), value);
    return volume;
  };
  const Volume counts = filled({5, 3, 4}, 60), flat = filled({5, 3, 1}, 100), dark = filled({5, 3, 1}, 10);
  EXPECT_EQ(refusal(counts, &flat, &dark), "");
  EXPECT_THAT(refusal(counts, nullptr, &dark), AllOf(HasSubstr("`flats`"), HasSubstr("`air`")));
  EXPECT_THAT(refusal(counts, &dark, &flat),
              AllOf(HasSubstr("flat.mha"), HasSubstr("dark.mha"), HasSubstr("exchanged"), HasSubstr("15 of 15")));
  Volume lost = counts;
  for (std::size_t n = 0; n < 15; ++n) lost.voxels[2 * 15 + n] = n == 3 ? 10.05f : 0.0f;
  EXPECT_THAT(refusal(lost, &flat, &dark), AllOf(HasSubstr("scan.mha"), HasSubstr("view 2"), HasSubstr("`floor`")));
  Volume row = flat;
  for (std::size_t n = 5; n < 10; ++n) row.voxels[n] = 3;
  EXPECT_EQ(refusal(counts, &row, &dark), "");  // those above and below replace it
  const Volume nothing = filled({5, 3, 1}, 1);
  EXPECT_THAT(refusal(counts, &flat, &dark, {}, &nothing),
              AllOf(HasSubstr("scan.mha"), HasSubstr("all pixels of the detector are bad"), HasSubstr("`bad_pixels`")));
  for (const float value : {std::nanf(""), INFINITY}) {
    Volume broken = counts, broken_flat = flat, broken_dark = dark;
    broken.at(2, 1, 3) = broken_flat.at(2, 1, 0) = broken_dark.at(4, 2, 0) = value;
    EXPECT_THAT(refusal(broken, &flat, &dark), AllOf(HasSubstr("scan.mha"), HasSubstr("(2,1,3)")));
    EXPECT_THAT(refusal(counts, &broken_flat, &dark), AllOf(HasSubstr("flat.mha"), HasSubstr("(2,1,0)")));
    EXPECT_THAT(refusal(counts, &flat, &broken_dark), AllOf(HasSubstr("dark.mha"), HasSubstr("(4,2,0)")));
    EXPECT_THAT(refusal(counts, &flat, &dark, {}, &broken_flat), HasSubstr("bad.mha"));
  }
}

TEST(Counts, BadOptionsAreRefused) {
  Volume counts = stack({5, 3, 4}), flat = stack({5, 3, 1});
  for (auto* volume : {&counts, &flat}) std::fill(volume->voxels.begin(), volume->voxels.end(), 50.0f);
  const auto with = [&](const auto& change) {
    CountsOptions options;
    change(options);
    return refusal(counts, &flat, nullptr, options);
  };
  EXPECT_THAT(with([](auto& o) { o.air = {3, 0, 3, 3}; }), AllOf(HasSubstr("3,0,3,3"), HasSubstr("no pixel")));
  EXPECT_THAT(with([](auto& o) { o.air = {0, 0, 6, 3}; }), AllOf(HasSubstr("beyond"), HasSubstr("5 x 3")));
  EXPECT_THAT(with([](auto& o) { o.floor = 0; }), HasSubstr("`floor`"));
  for (const double saturation : {0.0, -1.0, std::nan("")})
    EXPECT_THAT(with([&](auto& o) { o.saturation = saturation; }), HasSubstr("`saturation`"));
  EXPECT_THAT(with([](auto& o) { o.hardening = {1, NAN}; }), HasSubstr("`hardening`"));
  EXPECT_THAT(with([](auto& o) { o.hardening.assign(17, 1); }), AllOf(HasSubstr("17"), HasSubstr("16")));
  EXPECT_THAT(with([](auto& o) { o.ring_width = 2; }), AllOf(HasSubstr("`ring_width`"), HasSubstr("4 views")));
  const Volume many = stack({5, 3, 30}, std::vector<float>(450, 50.0f));
  CountsOptions wide{.ring_width = 1};
  EXPECT_THAT(refusal(many, &flat, nullptr, wide), AllOf(HasSubstr("7 columns"), HasSubstr("has 5")));
  CountsOptions air{.air = {{1, 1, 2, 2}}};
  Volume map = stack({5, 3, 1});
  map.at(1, 1, 0) = 1;
  EXPECT_THAT(refusal(counts, &flat, nullptr, air, &map), AllOf(HasSubstr("1,1,2,2"), HasSubstr("no good pixel")));
  map.at(1, 1, 0) = 0;
  Volume dim = counts;
  dim.at(1, 1, 2) = 0;
  EXPECT_THAT(refusal(dim, &flat, nullptr, air, &map),
              AllOf(HasSubstr("view 2"), HasSubstr("dark"), HasSubstr("1,1,2,2")));
}

}  // namespace
}  // namespace halocline::counts_test

// labels: app device nightly
// FDK of measured projections against the figures published with them or found by independent programs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/geometry/geometry.hpp"
#include "algorithms/preprocessing/calibrate_counts.hpp"
#include "apps/images/image_file.hpp"
#include "tests/reference/real_data.hpp"

namespace halocline::real_scans_test {
namespace {

double median(std::vector<float> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

double correlation(const std::vector<float>& a, const std::vector<float>& b) {
  const double n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n,
               mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  return ab / std::sqrt(aa * bb);
}

// Acrylic discs (Helsinki Tomography Challenge 2022, Meaney et al.): fan beam, 721 views of 560 pixels. The reference
// is the organisers' filtered back-projection, in units of attenuation times their pixel.
struct Disc {
  std::string name;
  double attenuation;  // median within the segmentation, 1/mm, by an independent program
};

class HelsinkiDisc : public testing::TestWithParam<Disc> {};

TEST_P(HelsinkiDisc, EqualsTheReference) {
  const std::string stem = "fan_htc2022/htc_" + GetParam().name;
  SKIP_WITHOUT(stem + "_projections.mha");
  const Volume projections = read_image(real_data(stem + "_projections.mha"));
  const Volume reference = read_image(real_data(stem + "_reference_fbp.mha"));
  const Volume segmentation = read_image(real_data(stem + "_reference_segmentation.mha"));
  const double pixel = 0.148322;
  CircularOptions options{.sid = 410.66, .sdd = 553.74};
  for (int n = 0; n < 721; ++n) options.angles.push_back(0.5 * n);
  Grid grid = default_grid({512, 512, 1}, {pixel, pixel, pixel});
  const auto result = fdk(projections, circular_geometry(options), grid, {}, open_devices({}));

  std::vector<float> ours, theirs, material;
  double squares = 0;
  for (std::size_t j = 0; j < 512; ++j)
    for (std::size_t i = 0; i < 512; ++i) {
      const auto at = grid.world(static_cast<double>(i), static_cast<double>(j), 0);
      if (std::hypot(at[0], at[2]) > 36) continue;  // the disc and a little air
      const float value = result.output.at(i, j, 0), expected = static_cast<float>(reference.at(i, j, 0) / pixel);
      ours.push_back(value);
      theirs.push_back(expected);
      squares += std::pow(value - expected, 2);
      if (segmentation.at(i, j, 0) > 0) material.push_back(value);
    }
  const double r = correlation(ours, theirs), rmse = std::sqrt(squares / static_cast<double>(ours.size()));
  std::printf("%s: r %.6f, RMSE %.3g per mm, median %.6f per mm\n", stem.c_str(), r, rmse, median(material));
  EXPECT_GE(r, 0.9999);
  EXPECT_LE(rmse, 1.5e-4);
  EXPECT_NEAR(median(material), GetParam().attenuation, 0.002 * GetParam().attenuation);
}

INSTANTIATE_TEST_SUITE_P(Discs, HelsinkiDisc,
                         testing::Values(Disc{"solid_disc", 0.032466}, Disc{"ta", 0.032689}, Disc{"tb", 0.034271}),
                         [](const auto& disc) { return disc.param.name; });

// The disc from part of the measurement: 230 degrees of it, and the detector without its left third.
TEST(HelsinkiDiscInPart, HasTheAttenuationOfTheWhole) {
  SKIP_WITHOUT("fan_htc2022/htc_ta_projections.mha");
  const Volume projections = read_image(real_data("fan_htc2022/htc_ta_projections.mha"));
  const Volume segmentation = read_image(real_data("fan_htc2022/htc_ta_reference_segmentation.mha"));
  CircularOptions options{.sid = 410.66, .sdd = 553.74};
  for (int n = 0; n < 721; ++n) options.angles.push_back(0.5 * n);
  const Geometry turn = circular_geometry(options);
  Grid grid = default_grid({512, 512, 1}, {0.148322, 0.148322, 0.148322});
  const auto reconstruct = [&](const Volume& part, const Geometry& geometry) {
    return fdk(part, geometry, grid, {}, open_devices({})).output.voxels;
  };
  const auto whole = reconstruct(projections, turn);

  Volume arc = projections;
  arc.grid.size[2] = 461;
  arc.voxels.resize(arc.grid.count());
  Geometry short_turn = turn;
  short_turn.views.resize(461);

  Grid narrow = projections.grid;
  narrow.size[0] = 370;
  narrow.origin[0] += 190 * narrow.spacing[0];
  Volume side(narrow);
  for (std::size_t view = 0; view < 721; ++view)
    for (std::size_t column = 0; column < 370; ++column)
      side.at(column, 0, view) = projections.at(column + 190, 0, view);

  const auto material = [&](const std::vector<float>& volume) {
    std::vector<float> values;
    for (std::size_t n = 0; n < volume.size(); ++n)
      if (segmentation.voxels[n] > 0) values.push_back(volume[n]);
    return median(values);
  };
  for (const auto& part : {reconstruct(arc, short_turn), reconstruct(side, turn)}) {
    const double r = correlation(part, whole);
    std::printf("part of htc_ta: r %.5f with the whole, median %.6f of %.6f per mm\n", r, material(part),
                material(whole));
    EXPECT_GE(r, 0.995);  // the noise of fewer rays
    EXPECT_NEAR(material(part), material(whole), 0.005 * material(whole));
  }
}

// A dense cylinder beside the axis, 40 views of 64 x 64 (OpenMBIR-ConeBeam). A wrong sense of rotation doubles it.
TEST(ConeCylinder, IsSharpAndInItsPlace) {
  SKIP_WITHOUT("cone_cylinder/cylinder_lineint.mha");
  const Volume projections = read_image(real_data("cone_cylinder/cylinder_lineint.mha"));
  CircularOptions options{.sid = 71.6364, .sdd = 619.7902, .projections = 40};
  const double voxel = 0.36986;
  const Grid grid = default_grid({65, 65, 80}, {voxel, voxel, voxel});
  const auto volume = fdk(projections, circular_geometry(options), grid, {}, open_devices({})).output;
  // where the attenuation is above half of the cylinder's, slice by slice
  const float half = 0.09f;
  double x = 0, z = 0, voxels = 0;
  std::vector<double> area(80, 0.0);
  for (std::size_t k = 12; k < 78; ++k)
    for (std::size_t j = 0; j < 65; ++j)
      for (std::size_t i = 0; i < 65; ++i)
        if (volume.at(i, j, k) > half) {
          const auto at = grid.world(static_cast<double>(i), static_cast<double>(j), static_cast<double>(k));
          area[k] += voxel * voxel;
          x += at[0];
          z += at[2];
          ++voxels;
        }
  ASSERT_GT(voxels, 0);
  x /= voxels;
  z /= voxels;
  const double diameter = 2 * std::sqrt(median({area.begin() + 25, area.begin() + 55}) / M_PI);
  std::vector<float> centre, outer;
  for (std::size_t k = 30; k < 50; ++k)
    for (std::size_t j = 0; j < 65; ++j)
      for (std::size_t i = 0; i < 65; ++i) {
        const auto at = grid.world(static_cast<double>(i), static_cast<double>(j), static_cast<double>(k));
        const double radius = std::hypot(at[0] - x, at[2] - z);
        if (radius < 1) centre.push_back(volume.at(i, j, k));
        if (std::abs(radius - 4) < 0.3) outer.push_back(volume.at(i, j, k));
      }
  std::printf("cylinder: centre (%.2f, %.2f), diameter %.2f mm, mu %.4f in its centre, %.4f at 4 mm\n", x, z, diameter,
              median(centre), median(outer));
  EXPECT_NEAR(x, 5.00, 0.2);
  EXPECT_NEAR(z, 1.03, 0.2);
  EXPECT_NEAR(diameter, 9.9, 0.3);
  EXPECT_NEAR(median(centre), 0.175, 0.03 * 0.175);
  EXPECT_NEAR(median(outer), 0.189, 0.03 * 0.189);
}

CountsCalibration tooth_calibration(const Volume& counts, const CountsOptions& options = {}) {
  const Volume flats = read_image(real_data("parallel_tooth/tooth_flats.mha")),
               darks = read_image(real_data("parallel_tooth/tooth_darks.mha"));
  CountsFields fields{.flats = {.stack = &flats}, .darks = {.stack = &darks}};
  return calibrate_counts(MemorySource(counts), fields, options);
}

// A tooth in a parallel beam (tomopy's test scan), from counts. The axis is at column 296, where u = 0: moved off it,
// edges blur.
TEST(ParallelTooth, IsSharpestWithTheAxisWhereItIs) {
  SKIP_WITHOUT("parallel_tooth/tooth_counts.mha");
  Volume projections = read_image(real_data("parallel_tooth/tooth_counts.mha"));
  counts_to_line_integrals(projections, tooth_calibration(projections));
  CircularOptions options{.sdd = 0};
  for (int n = 0; n < 181; ++n) options.angles.push_back(static_cast<double>(n) * 180 / 181);
  const Grid grid = default_grid({600, 600, 1}, {1, 1, 1});
  // Attenuation cannot be negative: the part below 0 is least with the right axis (Donath et al., J. Opt. Soc.
  // Am. A 23, 2006).
  const auto negative = [&](double axis) {
    Volume shifted = projections;
    shifted.grid.origin[0] = -axis;
    FdkParameters smooth{.window = Window::hann, .cutoff = 0.5};
    const auto volume = fdk(shifted, circular_geometry(options), grid, smooth, open_devices({})).output;
    double sum = 0;
    for (std::size_t j = 0; j < 600; ++j)
      for (std::size_t i = 0; i < 600; ++i)
        if (std::hypot(static_cast<double>(i) - 299.5, static_cast<double>(j) - 299.5) < 280)
          sum -= std::min(0.0f, volume.at(i, j, 0));
    return sum;
  };
  const double at_axis = negative(296);
  for (double axis : {288.0, 292.0, 300.0, 304.0}) EXPECT_GT(negative(axis), 2 * at_axis) << axis;
}

TEST(ParallelTooth, InOnePassFromCountsIsTheSame) {
  SKIP_WITHOUT("parallel_tooth/tooth_counts.mha");
  const Volume counts = read_image(real_data("parallel_tooth/tooth_counts.mha"));
  CircularOptions circle{.sdd = 0};
  for (int n = 0; n < 181; ++n) circle.angles.push_back(static_cast<double>(n) * 180 / 181);
  const Geometry geometry = circular_geometry(circle);
  const Grid grid = default_grid({600, 600, 1}, {1, 1, 1});
  CountsOptions options{.ring_width = 2};
  std::vector<double> rings;
  for (const auto& each : {CountsOptions{}, options}) {
    const auto calibration = tooth_calibration(counts, each);
    EXPECT_EQ(calibration.report.bad_pixels, 0U);
    EXPECT_EQ(calibration.report.raised, 0U);
    FdkParameters parameters{.counts = {{&calibration}}};
    const auto fused = fdk(counts, geometry, grid, parameters, open_devices({})).output;
    Volume projections = counts;
    counts_to_line_integrals(projections, calibration);
    const auto steps = fdk(projections, geometry, grid, {}, open_devices({})).output;
    double difference = 0, largest = 0;
    for (std::size_t n = 0; n < fused.voxels.size(); ++n) {
      difference = std::max<double>(difference, std::abs(fused.voxels[n] - steps.voxels[n]));
      largest = std::max<double>(largest, std::abs(steps.voxels[n]));
    }
    EXPECT_LT(difference, 1e-5 * largest);
    // Rings: how the mean over each circle about the axis in the air round the tooth differs from those beside it.
    std::vector<double> sum(300), count(300);
    for (std::size_t j = 0; j < 600; ++j)
      for (std::size_t i = 0; i < 600; ++i) {
        const auto radius =
            static_cast<std::size_t>(std::hypot(static_cast<double>(i) - 299.5, static_cast<double>(j) - 299.5));
        if (radius >= 300) continue;
        sum[radius] += fused.voxels[j * 600 + i];
        ++count[radius];
      }
    double squares = 0;
    for (std::size_t r = 210; r < 280; ++r)
      squares += std::pow(sum[r] / count[r] - 0.5 * (sum[r - 2] / count[r - 2] + sum[r + 2] / count[r + 2]), 2);
    rings.push_back(std::sqrt(squares / 70));
  }
  std::printf("rings of %.3g 1/pixel RMS, reduced to %.3g\n", rings[0], rings[1]);
  EXPECT_LT(rings[1], 0.5 * rings[0]);
}

}  // namespace
}  // namespace halocline::real_scans_test

// labels: app device
// Rays that were not measured, in fdk, reconstruct and counts; and round bodies, which have no rings.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <random>

#include "apps/images/image_file.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/rms.hpp"

namespace halocline::unmeasured_rays_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

class UnmeasuredRays : public testing::Test {
 protected:
  /// clean.mha: a full turn of 72 views of 64 x 12 pixels. nan.mha: a dead pixel, part of a column and single values
  /// are not finite; weights.mha has 0 there, and other.mha any number.
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
    done({"geometry", "circular", "--sid", "200", "--sdd", "300", "--projections", "72", "-o", f / "g.xml"});
    done({"project", "--phantom", "shepp-logan-hc", "--phantom-size", "34", "--detector", "64,12", "--pixel", "1,1",
          "-g", f / "g.xml", "-o", f / "clean.mha"});
    Volume lines = read_image(f / "clean.mha"), weights(lines.grid, 1), other = lines;
    std::mt19937 random(3);
    const auto lose = [&](std::size_t n, float value) {
      lines.voxels[n] = value;
      weights.voxels[n] = 0;
      other.voxels[n] = 7;
    };
    for (std::size_t view = 0; view < 72; ++view) {
      lose(view * 768 + 6 * 64 + 27, nan);
      for (std::size_t row = 2; row < 5; ++row) lose(view * 768 + row * 64 + 40, nan);
    }
    for (int n = 0; n < 50; ++n) lose(random() % lines.voxels.size(), n % 2 ? nan : INFINITY);
    write_image(lines, f / "nan.mha");
    write_image(weights, f / "weights.mha");
    write_image(other, f / "other.mha");
  }
  Words made(const std::string& verb, const std::string& input, const std::string& output, const Words& more) const {
    return Words{verb,      "-i",        f / input, "-g", f / "g.xml", "--size",
                 "40,40,8", "--spacing", "1,1,1",   "-o", f / output} +
           more;
  }
  double rms(const std::string& a, const std::string& b) const {
    return halocline::rms(read_image(f / a), read_image(f / b));
  }
  bool same(const std::string& a, const std::string& b) const {
    return read_image(f / a).voxels == read_image(f / b).voxels;
  }
  Folder f;
};

TEST_F(UnmeasuredRays, AreInterpolatedByFdk) {
  done(made("fdk", "clean.mha", "clean_v.mha", {}));
  const Ran refused = run(made("fdk", "nan.mha", "v.mha", {}));
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("to take them for not measured"));
  const Ran ran = done(made("fdk", "nan.mha", "v.mha", {"--allow-nonfinite"}));
  EXPECT_THAT(ran.err, HasSubstr("values are NaN or infinite: taken for not measured, and interpolated"));
  Volume zeros = read_image(f / "other.mha");
  const Volume weights = read_image(f / "weights.mha");
  for (std::size_t n = 0; n < zeros.voxels.size(); ++n) zeros.voxels[n] *= weights.voxels[n];
  write_image(zeros, f / "zeros.mha");
  done(made("fdk", "zeros.mha", "zeros_v.mha", {}));
  const double filled = rms("v.mha", "clean_v.mha"), zeroed = rms("zeros_v.mha", "clean_v.mha");
  std::printf("interpolated: off by %.3g 1/mm, as zeros by %.3g\n", filled, zeroed);
  EXPECT_LT(filled, 0.08 * zeroed);
  // whatever the slabs, and where only some rows are read
  done(made("fdk", "nan.mha", "slabs.mha", {"--allow-nonfinite", "--device-memory", "3M"}));
  EXPECT_TRUE(same("slabs.mha", "v.mha"));
}

TEST_F(UnmeasuredRays, HaveNoWeightInReconstruct) {
  const Words cgls{"--method", "cgls", "--iterations", "5"};
  const Ran ran = done(made("reconstruct", "nan.mha", "v.mha", cgls + Words{"--allow-nonfinite"}));
  EXPECT_THAT(ran.out, HasSubstr("left out (weight 0)"));
  done(made("reconstruct", "other.mha", "weighted.mha", cgls + Words{"--weights", f / "weights.mha"}));
  EXPECT_TRUE(same("v.mha", "weighted.mha"));
  // methods without weights
  EXPECT_THAT(
      done(made("reconstruct", "nan.mha", "s.mha", {"--method", "sirt", "--iterations", "2", "--allow-nonfinite"})).out,
      AllOf(HasSubstr("interpolated, for sirt takes no weights"), HasSubstr("cgls and spdhg")));
}

// A bin has nearly the value that it has with all of its pixels, and as weight the share of those that were measured.
TEST_F(UnmeasuredRays, CountInBinsByTheShareThatWasMeasured) {
  const Volume lines = read_image(f / "clean.mha"), weights = read_image(f / "weights.mha");
  Grid grid = lines.grid;
  grid.size = {32, 6, 72};
  grid.spacing = {2, 2, 1};
  grid.origin = {grid.origin[0] + 0.5, grid.origin[1] + 0.5, grid.origin[2]};
  Volume bins(grid), shares(grid);
  for (std::size_t view = 0; view < 72; ++view)
    for (std::size_t row = 0; row < 12; ++row)
      for (std::size_t n = 0; n < 64; ++n) {
        bins.at(n / 2, row / 2, view) += lines.at(n, row, view) / 4;
        shares.at(n / 2, row / 2, view) += weights.at(n, row, view) / 4;
      }
  write_image(bins, f / "bins.mha");
  write_image(shares, f / "shares.mha");
  const Words cgls{"--method", "cgls", "--iterations", "5"};
  done(made("reconstruct", "nan.mha", "v.mha", cgls + Words{"--allow-nonfinite", "--bin", "2"}));
  done(made("reconstruct", "bins.mha", "weighted.mha", cgls + Words{"--weights", f / "shares.mha"}));
  done(made("reconstruct", "bins.mha", "unweighted.mha", cgls));
  const double off = rms("v.mha", "weighted.mha"), without = rms("v.mha", "unweighted.mha");
  std::printf("bins: off by %.3g 1/mm, with equal weights by %.3g\n", off, without);
  EXPECT_LT(off, 5e-6);
  EXPECT_GT(without, 10 * off);
}

TEST_F(UnmeasuredRays, OfCountsHaveNoWeightEither) {
  Volume counts = read_image(f / "other.mha"), flat(counts.grid, 20000);
  const Volume weights = read_image(f / "weights.mha");
  flat.grid.size[2] = 1;
  flat.voxels.resize(768);
  for (std::size_t n = 0; n < counts.voxels.size(); ++n)
    counts.voxels[n] = weights.voxels[n] > 0 ? 20000 * std::exp(-counts.voxels[n]) : 0;
  write_image(counts, f / "counts.mha");
  write_image(flat, f / "flat.mha");
  const Words cgls{"--method", "cgls", "--iterations", "5"};
  const Ran ran = done(
      made("reconstruct", "counts.mha", "v.mha", cgls + Words{"--counts", "--flat", f / "flat.mha", "--no-weights"}));
  EXPECT_THAT(ran.out, AllOf(HasSubstr("4 detector pixels are bad and interpolated (up to 1 x 3)"),
                             HasSubstr("left out (weight 0)")));
  done(made("reconstruct", "other.mha", "weighted.mha", cgls + Words{"--weights", f / "weights.mha"}));
  EXPECT_LT(rms("v.mha", "weighted.mha"), 1e-6);
  // counts that are not finite were not measured either
  for (std::size_t n = 0; n < counts.voxels.size(); ++n)
    if (weights.voxels[n] == 0) counts.voxels[n] = nan;
  write_image(counts, f / "counts.mha");
  done(made("reconstruct", "counts.mha", "w.mha",
            cgls + Words{"--counts", "--flat", f / "flat.mha", "--no-weights", "--allow-nonfinite"}));
  EXPECT_LT(rms("w.mha", "weighted.mha"), 1e-6);
}

// The scan's shadow begins at column 7 or so.
TEST_F(UnmeasuredRays, AtTheEdgeThatTheObjectReachesAreWarnedOf) {
  const Volume clean = read_image(f / "clean.mha");
  Grid single = clean.grid;
  single.size[2] = 1;
  write_image(Volume(single, 20000), f / "flat.mha");
  for (const std::size_t lost : {2, 16}) {
    Volume lines = clean, counts = clean;
    for (std::size_t n = 0; n < lines.voxels.size(); ++n) {
      const bool is_lost = n % 64 < lost;
      counts.voxels[n] = is_lost ? 0 : 20000 * std::exp(-lines.voxels[n]);
      if (is_lost) lines.voxels[n] = nan;
    }
    write_image(lines, f / "lines.mha");
    write_image(counts, f / "counts.mha");
    const auto warned = lost == 16 ? testing::Matcher<const std::string&>(HasSubstr("16 columns at the edges"))
                                   : testing::Not(HasSubstr("columns at the edges"));
    EXPECT_THAT(done(made("fdk", "lines.mha", "v.mha", {"--allow-nonfinite"})).err, warned);
    EXPECT_THAT(done(made("fdk", "counts.mha", "v.mha", {"--counts", "--flat", f / "flat.mha"})).err, warned);
  }
}

TEST_F(UnmeasuredRays, ThatNoDetectorGivesAreRefused) {
  Volume lines = read_image(f / "clean.mha");
  lines.voxels[768 * 3 + 65] = 3e38f;
  write_image(lines, f / "huge.mha");
  for (const Words& more : {Words{}, {"--counts", "--air", "0,0,2,2"}, {"--allow-nonfinite"}}) {
    const Ran ran = run(made("fdk", "huge.mha", "v.mha", more));
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, AllOf(HasSubstr("huge.mha"), HasSubstr("beyond 1e+30"), HasSubstr("(1,1,3)")));
  }
}

TEST_F(UnmeasuredRays, OfARoundBodyAreNoRings) {
  // tubes around the axis: the wall of the inner one is 0.05, the outer 0.02
  Volume lines(read_image(f / "clean.mha").grid);
  for (std::size_t n = 0; n < lines.voxels.size(); ++n) {
    const double u = (static_cast<double>(n % 64) - 31.5) / 1.5;  // at the axis, nearly
    const auto chord = [&](double radius) { return 2 * std::sqrt(std::max(0.0, radius * radius - u * u)); };
    lines.voxels[n] = static_cast<float>(0.02 * chord(17) + 0.03 * chord(6));
  }
  write_image(lines, f / "round.mha");
  done(made("fdk", "round.mha", "as_it_is.mha", {}));
  for (const char* width : {"1", "2", "5"}) {
    const Ran ran = done(made("fdk", "round.mha", "reduced.mha", {"--reduce-rings", width}));
    EXPECT_LT(rms("reduced.mha", "as_it_is.mha"), 1e-5) << width;
    EXPECT_THAT(ran.out, HasSubstr("no rings found")) << width;
  }
}

}  // namespace
}  // namespace halocline::unmeasured_rays_test

// labels: app device
// `halocline counts` and `halocline fdk --counts` on files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "apps/images/image_file.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::counts_command_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CountsCommand : public testing::Test {
 protected:
  /// 24 views of a shadow that moves, on 33 x 9 pixels: counts as uint16, one of them saturated and one 0, a dead
  /// column.
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
    Grid grid{.size = {33, 9, 24}, .origin = {-16, -4, 0}};
    Volume counts(grid);
    Grid single = grid;
    single.size[2] = 1;
    Volume flats(single), darks(single, 20), map(single), wide(single);
    for (std::size_t view = 0; view < 24; ++view)
      for (std::size_t row = 0; row < 9; ++row)
        for (std::size_t n = 0; n < 33; ++n) {
          const double gain = n == 21 ? 0 : 5000 + 40 * static_cast<double>((7 * n + row) % 11);
          const double at = (static_cast<double>(n) - 16 - 4 * std::cos(static_cast<double>(view) * 0.2618)) / 7;
          counts.at(n, row, view) = static_cast<float>(
              20 + std::round(gain * (view % 2 ? 1.05 : 1) * std::exp(-2 * std::sqrt(std::max(0.0, 1 - at * at)))));
          flats.at(n, row, 0) = static_cast<float>(20 + gain);
          map.at(n, row, 0) = n == 21 ? 1 : 0;
        }
    counts.at(12, 3, 5) = 65535;
    counts.at(13, 6, 7) = 0;
    const auto image = create_image(path("counts.mha"), grid, {Component::uint16, {}});
    image->begin();
    image->write(0, counts.voxels.size(), Volume(counts).voxels.data());
    image->commit();
    write_image(flats, path("flat.mha"));
    write_image(darks, path("dark.mha"));
    write_image(map, path("map.mha"));
    single.size[0] = 34;
    write_image(Volume(single, 1), path("wide.mha"));
    ASSERT_EQ(
        run({"geometry", "circular", "--sid", "60", "--sdd", "90", "--projections", "24", "-o", path("g.xml")}).code,
        0);
  }
  std::string path(const std::string& name) const { return folder_ / name; }
  Ran fdk(const std::string& input, const std::string& output, const Words& more = {}) const {
    Words words{"fdk",     "-i",        path(input), "-g", path("g.xml"), "--size",
                "15,13,7", "--spacing", "1,1,1",     "-o", path(output)};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  /// Words with all options that turn counts into line integrals.
  Words fields() const {
    return {"--flat",  path("flat.mha"),   "--dark",   path("dark.mha"), "--air",
            "0,0,3,9", "--beam-hardening", "1.0,0.05", "--reduce-rings", "1"};
  }
  Words counts_fields() const {
    Words words = fields();
    words.insert(words.begin(), "--counts");
    return words;
  }
  void expect_same(const std::string& a, const std::string& b) const {
    const Volume found = read_image(path(a)), expected = read_image(path(b));
    float largest = 0, difference = 0;
    for (std::size_t n = 0; n < found.voxels.size(); ++n) {
      largest = std::max(largest, std::abs(expected.voxels[n]));
      difference = std::max(difference, std::abs(found.voxels[n] - expected.voxels[n]));
    }
    EXPECT_GT(largest, 0.05) << b;
    EXPECT_LT(difference, 5e-6 * largest) << a << " and " << b;  // see counts_fdk_test
  }
  Folder folder_;
};

TEST_F(CountsCommand, FdkOfCountsIsFdkOfTheirLineIntegrals) {
  Words words{"counts", "-i", path("counts.mha"), "-o", path("li.mha")};
  for (const auto& word : fields()) words.push_back(word);
  const Ran made = done(words);
  EXPECT_THAT(made.out, AllOf(HasSubstr("0 of 7128 counts were raised to 0.5"), HasSubstr("0 saturated"),
                              HasSubstr("9 detector pixels are bad and interpolated (up to 1 x 9)"),
                              HasSubstr("2 values failed in a view and are interpolated"), HasSubstr("the beam varies"),
                              HasSubstr("ring offsets")));
  ASSERT_EQ(fdk("li.mha", "steps.mha", {"--halves-out", path("odd.mha") + "," + path("even.mha")}).code, 0);
  Words more = counts_fields();
  for (const auto& word : Words{"--halves-out", path("odd2.mha") + "," + path("even2.mha"), "--variance-out",
                                path("v.mha"), "--photons-per-count", "0.5", "--report", path("r.json")})
    more.push_back(word);
  const Ran ran = fdk("counts.mha", "fused.mha", more);
  ASSERT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("2 values failed in a view"), HasSubstr("0.5 photons a count")));
  expect_same("fused.mha", "steps.mha");
  expect_same("odd2.mha", "odd.mha");
  expect_same("even2.mha", "even.mha");
  const auto report = nlohmann::json::parse(content(path("r.json")))["results"];
  EXPECT_EQ(report["counts"]["bad_pixels"], 9);
  EXPECT_EQ(report["counts"]["replaced"], 2);
  EXPECT_EQ(report["views"], 24);
  // counts as float32 make bitwise identical results; twice the photons half the variance
  write_image(read_image(path("counts.mha")), path("float.mha"));
  Words float_words = counts_fields();
  for (const auto& word : Words{"--variance-out", path("v2.mha"), "--saturation", "65535"}) float_words.push_back(word);
  ASSERT_EQ(fdk("float.mha", "float_fused.mha", float_words).code, 0);
  EXPECT_TRUE(read_image(path("float_fused.mha")).voxels == read_image(path("fused.mha")).voxels);
  const Volume variance = read_image(path("v.mha")), half = read_image(path("v2.mha"));
  EXPECT_GT(variance.at(7, 6, 3), 0);
  EXPECT_FLOAT_EQ(half.at(7, 6, 3), 0.5f * variance.at(7, 6, 3));
}

TEST_F(CountsCommand, AMapFindsWhatTheSearchFinds) {
  const Words basic{"--counts", "--flat", path("flat.mha"), "--dark", path("dark.mha")};
  Words with_map = basic;
  with_map.insert(with_map.end(), {"--bad-pixels", path("map.mha")});
  ASSERT_EQ(fdk("counts.mha", "searched.mha", basic).code, 0);
  ASSERT_EQ(fdk("counts.mha", "mapped.mha", with_map).code, 0);
  EXPECT_TRUE(read_image(path("searched.mha")).voxels == read_image(path("mapped.mha")).voxels);
}

TEST_F(CountsCommand, LostPartsAndClippedFlatsAreWarnedOf) {
  Volume counts = read_image(path("counts.mha")), flat = read_image(path("flat.mha"));
  for (std::size_t row = 1; row < 8; ++row)
    for (std::size_t n = 2; n < 14; ++n) counts.at(n, row, 5) = 0;
  write_image(counts, path("lost.mha"));
  const auto converted = [&](const std::string& flats) {
    return run({"counts", "-i", path("lost.mha"), "-o", path("li.mha"), "--flat", path(flats), "--dark",
                path("dark.mha"), "--report", path("r.json")});
  };
  const Ran lost = converted("flat.mha");
  ASSERT_EQ(lost.code, 0) << lost.err;
  EXPECT_THAT(lost.err, AllOf(HasSubstr("was lost in view 5"), Not(HasSubstr("of the values of --flat"))));
  EXPECT_EQ(nlohmann::json::parse(content(path("r.json")))["results"]["counts"]["rough_views"],
            nlohmann::json::array({5}));
  for (float& value : flat.voxels) value = 65535;
  write_image(flat, path("clipped.mha"));
  EXPECT_THAT(converted("clipped.mha").err, HasSubstr("100 % of the values of --flat are 65535"));
}

TEST_F(CountsCommand, RowsOfBadPixelsAreInterpolatedAndTold) {
  Volume map = read_image(path("map.mha"));
  for (std::size_t n = 0; n < 33; ++n) map.at(n, 4, 0) = 1;
  write_image(map, path("row.mha"));
  const Words words{"counts",         "-i",     path("counts.mha"), "-o",           path("li.mha"),  "--flat",
                    path("flat.mha"), "--dark", path("dark.mha"),   "--bad-pixels", path("row.mha"), "--report",
                    path("r.json")};
  const Ran ran = done(words);
  EXPECT_THAT(ran.err, HasSubstr("1 of 9 detector rows have no good pixel, row 4 the first"));
  EXPECT_EQ(nlohmann::json::parse(content(path("r.json")))["results"]["counts"]["bad_rows"], nlohmann::json({4}));
  const Volume integrals = read_image(path("li.mha"));
  // The object is the same in all rows. The weakest beam has 677 counts, so rounding moves each of the values that a
  // pixel is interpolated from by up to 7.4e-4. Odd views have 1.05 times the beam.
  for (std::size_t view = 0; view < 24; ++view)
    for (std::size_t n = 0; n < 33; ++n) {
      if (n == 21) continue;
      const double at = (static_cast<double>(n) - 16 - 4 * std::cos(static_cast<double>(view) * 0.2618)) / 7;
      const double truth = 2 * std::sqrt(std::max(0.0, 1 - at * at)) - (view % 2 ? std::log(1.05) : 0);
      EXPECT_NEAR(integrals.at(n, 4, view), truth, 1.5e-3) << n << ", view " << view;
    }
}

// The result is that of a file in which the pixels had been binned before, with counts in place of those that were not
// measured.
TEST_F(CountsCommand, PartsAreThoseOfAFileOfSums) {
  const Words fields{"--flat", path("flat.mha"), "--dark", path("dark.mha"), "--bad-pixels", path("holes.mha")};
  const auto mend = [&] {  // by the line integrals that the command finds
    ASSERT_EQ(run(Words{"counts", "-i", path("counts.mha"), "-o", path("li.mha")} + fields).code, 0);
    const Volume holes = read_image(path("holes.mha")), darks = read_image(path("dark.mha"));
    Volume flats = read_image(path("flat.mha")), counts = read_image(path("li.mha"));
    std::vector<float> open;
    for (std::size_t n = 0; n < flats.voxels.size(); ++n)
      if (holes.voxels[n] == 0) open.push_back(flats.voxels[n] - darks.voxels[n]);
    std::nth_element(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(open.size() / 2), open.end());
    for (std::size_t n = 0; n < flats.voxels.size(); ++n)
      if (holes.voxels[n] != 0) flats.voxels[n] = darks.voxels[n] + open[open.size() / 2];
    for (std::size_t n = 0; n < counts.voxels.size(); ++n) {
      const std::size_t pixel = n % flats.voxels.size();
      counts.voxels[n] = static_cast<float>(std::round(
          darks.voxels[pixel] + (flats.voxels[pixel] - darks.voxels[pixel]) * std::exp(-double(counts.voxels[n]))));
    }
    write_image(counts, path("mended_counts.mha"));
    write_image(flats, path("mended_flat.mha"));
    write_image(darks, path("mended_dark.mha"));
  };
  const auto bins = [&](const std::string& name) {  // columns 2 to 31 in pairs, rows 1 to 8 in pairs
    const Volume all = read_image(path("mended_" + name));
    Grid grid = all.grid;
    grid.size = {15, 4, all.grid.size[2]};
    grid.spacing = {2, 2, 1};
    grid.origin = {-13.5, -2.5, 0};
    Volume out(grid);
    for (std::size_t n = 0; n < out.voxels.size(); ++n) {
      const std::size_t u = n % 15, v = n / 15 % 4, view = n / 60;
      double sum = 0;
      for (std::size_t j = 1 + 2 * v; j < 3 + 2 * v; ++j)
        for (std::size_t i = 2 + 2 * u; i < 4 + 2 * u; ++i) sum += all.at(i, j, view);
      out.voxels[n] = static_cast<float>(sum);
    }
    write_image(out, path("sum_" + name));
    if (name == "dark.mha") write_image(Volume(out.grid), path("none.mha"));
  };
  const auto run_fdk = [&](const std::string& prefix, const std::string& map_name, const std::string& output,
                           Words more) {
    for (const auto& word : Words{"--counts", "--flat", path(prefix + "flat.mha"), "--dark", path(prefix + "dark.mha"),
                                  "--bad-pixels", path(map_name), "--beam-hardening", "1.0,0.05", "--variance-out",
                                  path("v_" + output), "--halves-out", path("a_" + output) + "," + path("b_" + output)})
      more.push_back(word);
    const Ran ran = fdk(prefix + "counts.mha", output, more);
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran;
  };
  Volume map = read_image(path("map.mha"));
  for (std::size_t row = 0; row < 9; ++row) map.at(20, row, 0) = 1;
  for (const std::size_t n : {8, 9}) map.at(n, 5, 0) = map.at(n, 6, 0) = 1;
  write_image(map, path("holes.mha"));
  mend();
  for (const char* name : {"counts.mha", "flat.mha", "dark.mha"}) bins(name);
  // electronic noise of four pixels is twice that of one
  run_fdk("sum_", "none.mha", "sums.mha", {"--electronic", "6"});
  const Ran ran = run_fdk("", "holes.mha", "bins.mha", {"--electronic", "3", "--crop", "2,1,30,8", "--bin", "2"});
  EXPECT_THAT(ran.out, AllOf(HasSubstr("of the whole scan"), HasSubstr("22 detector pixels are bad")));
  for (const std::string kind : {"", "v_", "a_", "b_"})
    EXPECT_TRUE(read_image(path(kind + "bins.mha")).voxels == read_image(path(kind + "sums.mha")).voxels) << kind;
  // frames, each with its views' beams
  const Words frames{"--counts", "--flat", path("flat.mha"), "--air", "0,0,3,9", "--allow-incomplete-arc"};
  Words more = frames;
  more.insert(more.end(), {"--views-per-frame", "12"});
  ASSERT_EQ(fdk("counts.mha", "frame%d.mha", more).code, 0);
  for (const auto& [frame, views] : {std::pair{"frame0.mha", "0:11"}, {"frame1.mha", "12:23"}}) {
    more = frames;
    more.insert(more.end(), {"--views", views});
    ASSERT_EQ(fdk("counts.mha", "views.mha", more).code, 0);
    EXPECT_TRUE(read_image(path("views.mha")).voxels == read_image(path(frame)).voxels) << frame;
  }
}

TEST_F(CountsCommand, WrongOptionsAreRefused) {
  const auto refused = [&](const Words& words) {
    const Ran ran = fdk("counts.mha", "none.mha", words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    return ran.err;
  };
  EXPECT_THAT(refused({"--flat", path("flat.mha")}), HasSubstr("--counts"));
  EXPECT_THAT(refused({"--counts"}), AllOf(HasSubstr("--flat"), HasSubstr("--air")));
  EXPECT_THAT(refused({"--counts", "--flat", path("wide.mha")}),
              AllOf(HasSubstr("--flat"), HasSubstr("wide.mha"), HasSubstr("34 x 9"), HasSubstr("33 x 9")));
  EXPECT_THAT(refused({"--counts", "--flat", path("flat.mha"), "--dark", path("wide.mha")}), HasSubstr("--dark"));
  EXPECT_THAT(refused({"--counts", "--flat", path("flat.mha"), "--bad-pixels", path("wide.mha")}),
              HasSubstr("--bad-pixels"));
  EXPECT_THAT(refused({"--counts", "--flat", path("dark.mha"), "--dark", path("flat.mha")}), HasSubstr("exchanged"));
  EXPECT_THAT(refused({"--counts", "--air", "3,0,3,9"}), HasSubstr("holds no pixel"));
  EXPECT_THAT(refused({"--counts", "--air", "30,0,40,9"}), HasSubstr("beyond the detector"));
  EXPECT_THAT(refused({"--counts", "--air", "0,0,3"}), HasSubstr("U0,V0,U1,V1"));
  EXPECT_THAT(refused({"--counts", "--air", "0,0,3,9", "--floor", "0"}), HasSubstr("--floor"));
  EXPECT_THAT(refused({"--counts", "--air", "0,0,3,9", "--beam-hardening", "1,x"}), HasSubstr("--beam-hardening"));
  for (const char* text : {"0", "0,1", "-1,0.1"})
    EXPECT_THAT(refused({"--counts", "--air", "0,0,3,9", std::string("--beam-hardening=") + text}),
                AllOf(HasSubstr("--beam-hardening begins with C1 = "), HasSubstr("must be positive")));
  EXPECT_THAT(refused({"--counts", "--air", "0,0,3,9", "--beam-hardening", "1,1e7"}),
              HasSubstr("a coefficient of --beam-hardening is 1e+07"));
  EXPECT_THAT(refused({"--counts", "--air", "0,0,3,9", "--beam-hardening", "1e30"}),
              HasSubstr("no greater than 1e+18"));
  EXPECT_THAT(refused({"--counts", "--air", "0,0,3,9", "--floor", "1e30"}), HasSubstr("set --floor"));
  EXPECT_THAT(refused({"--counts", "--air", "0,0,3,9", "--variance-out", path("v.mha"), "--photons-per-count", "1e16"}),
              HasSubstr("no more than 1e+15"));
  EXPECT_THAT(refused({"--counts", "--air", "0,0,3,9", "--variance-out", path("v.mha"), "--electronic", "1e10"}),
              HasSubstr("0 to 1e+09"));
  EXPECT_THAT(refused({"--counts", "--air", "0,0,3,9", "--bin", "33,1"}),
              AllOf(HasSubstr("--bin 33: one column"), HasSubstr("two at the very least")));
  EXPECT_THAT(refused({"--counts", "--air", "0,0,3,9", "--bin", "34,1"}), HasSubstr("there are 33"));
  EXPECT_THAT(refused({"--counts", "--air", "0,0,3,9", "--crop", "3,0,1,9"}), HasSubstr("--crop: one column"));
  EXPECT_THAT(refused({"--counts", "--air", "0,0,3,9", "--pixel", "1e10,1e10"}), HasSubstr("1e-09 to 1e+09 mm"));
  EXPECT_THAT(refused({"--counts", "--air", "0,0,3,9", "--hu", "1e30"}), HasSubstr("--hu"));
  EXPECT_THAT(refused({"--counts", "--air", "0,0,3,9", "--reduce-rings", "9"}), HasSubstr("39 columns"));
  EXPECT_THAT(refused({"--counts", "--air", "0,0,3,9", "--variance-out", path("v.mha"), "--photons", "1000"}),
              HasSubstr("--photons-per-count"));
  EXPECT_THAT(refused({"--counts", "--air", "0,0,3,9", "--photons-per-count", "2"}), HasSubstr("--variance-out"));
  EXPECT_THAT(refused({"--counts", "--flat", path("none.mha")}), HasSubstr("does not exist"));
  EXPECT_FALSE(std::filesystem::exists(path("none.mha")));
  const Ran dry = fdk("counts.mha", "none.mha", {"--counts", "--air", "0,0,3,9", "--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("counts_pixels"));
}

TEST_F(CountsCommand, TellsOfPixelsThatFailNowAndThen) {
  Volume counts = read_image(path("counts.mha"));
  const auto warnings = [&](const Volume& stack, const std::string& air, const Words& more = {}) {
    write_image(stack, path("some.mha"));
    const Ran ran = done(Words{"counts", "-i", path("some.mha"), "--flat", path("flat.mha"), "--dark", path("dark.mha"),
                               "--air", air, "-o", path("q.mha")} +
                         more);
    return ran.err;
  };
  EXPECT_THAT(warnings(counts, "0,0,3,9"), Not(HasSubstr("show nothing in part of the views")));
  EXPECT_THAT(warnings(counts, "0,0,3,9"), Not(HasSubstr("the beam in --air")));
  EXPECT_THAT(warnings(counts, "14,0,19,9"), HasSubstr("does the region see the object"));
  // a dense part hides pixels side by side: none of them has failed
  Volume hidden = counts;
  for (std::size_t view = 0; view < 12; ++view)
    for (std::size_t n = 10; n < 18; ++n)
      for (std::size_t row = 0; row < 9; ++row) hidden.at(n, row, view) = 20;
  EXPECT_THAT(warnings(hidden, "0,0,3,9"), Not(HasSubstr("show nothing in part of the views")));
  for (std::size_t view = 0; view < 8; ++view)
    for (std::size_t row = 2; row < 5; ++row) counts.at(9, row, view) = 0;
  EXPECT_THAT(warnings(counts, "0,0,3,9"), Not(HasSubstr("show nothing in part of the views")));  // interpolated
  EXPECT_THAT(warnings(counts, "0,0,3,9", {"--floor", "400"}),
              HasSubstr("3 pixels show nothing in part of the views, in which those beside them do, column 9 of row 2 "
                        "the first"));
}

TEST_F(CountsCommand, WholeNumbersAreNoLineIntegrals) {
  EXPECT_THAT(fdk("counts.mha", "r.mha").err, AllOf(HasSubstr("holds whole numbers (uint16)"), HasSubstr("--counts")));
  EXPECT_THAT(fdk("counts.mha", "r.mha", counts_fields()).err, Not(HasSubstr("whole numbers")));
}

}  // namespace
}  // namespace halocline::counts_command_test

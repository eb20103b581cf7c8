// labels: app device nightly
// `slices --follow`: views that arrive while it runs give the bits of the finished scan, and an early end keeps
// finished results.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "apps/images/image_file.hpp"
#include "host/system/interrupt.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::slices_follow_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using std::chrono_literals::operator""ms;

class SlicesFollow : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
    done({"geometry", "circular", "--sid", "200", "--sdd", "300", "--projections", "48", "--arc", "480", "-o",
          f / "g.xml"});
    done({"project", "--phantom", "shepp-logan", "--phantom-size", "28", "--mu", "0.02", "-g", f / "g.xml",
          "--detector", "32,24", "--pixel", "2,2", "-o", f / "stack.mha"});
    fs::create_directory(f / "scan");
  }
  // 3 windows: 0 to 35, 6 to 41, 12 to 47.
  Words words(const std::string& input, const std::string& prefix, const Words& more) const {
    Words all{"slices", "-i",      f / input, "-g",     f / "g.xml", "--size", "16,16,12",     "--spacing",
              "2,2,2",  "--views", "36",      "--step", "6",         "-o",     outputs(prefix)};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::string outputs(const std::string& prefix) const { return fmt::format("{0}a.mha,{0}c.mha,{0}s.mha", f / prefix); }
  Words live(const std::string& prefix, Words more = {}, const std::string& input = "scan/p_%02d.mha") const {
    more.insert(more.end(), {"--follow", "--wait", "300"});  // never reached
    return words(input, prefix, more);
  }
  std::string file(std::size_t view, const std::string& type = "mha") const {
    return f / fmt::format("scan/p_{:02}.{}", view, type);
  }
  // Writes and renames, as a scanner should.
  void drop(const Volume& stack, std::size_t first, std::size_t last, const std::string& type = "mha") const {
    Grid grid = stack.grid;
    grid.size[2] = 1;
    for (std::size_t n = first; n < last; ++n) {
      Volume view(grid);
      std::copy_n(stack.voxels.begin() + static_cast<std::ptrdiff_t>(n * grid.count()), grid.count(),
                  view.voxels.begin());
      write_image(view, f / ("part." + type));
      fs::rename(f / ("part." + type), file(n, type));
      std::this_thread::sleep_for(2ms);
    }
  }
  // Or until far too long has passed.
  static void wait_until(const std::function<bool()>& there) {
    for (int n = 0; n < 30000 && !there(); ++n) std::this_thread::sleep_for(10ms);
  }
  void expect_same(const std::string& one, const std::string& other, const Words& names = {"a", "c", "s"}) const {
    for (const auto& name : names)
      EXPECT_TRUE(content(f / (one + name + ".mha")) == content(f / (other + name + ".mha"))) << name;
  }
  void expect_first_window(const std::string& prefix) {
    done(words("stack.mha", "whole_", {}));
    const Volume all = read_image(f / "whole_a.mha"), kept = read_image(f / (prefix + "a.mha"));
    ASSERT_EQ(kept.grid.size[2], 1u);
    EXPECT_TRUE(std::equal(kept.voxels.begin(), kept.voxels.end(), all.voxels.begin()));
  }
  static int times(const std::string& text, const std::string& part) {
    int found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }
  Folder f;
};

TEST_F(SlicesFollow, GivesTheBitsOfTheFinishedScan) {
  const Volume stack = read_image(f / "stack.mha");
  done(words("stack.mha", "whole_", {"--hu", "0.02", "--crop", "1,1,31,22", "--bin", "2"}));
  std::thread scanner([&] { drop(stack, 0, 48); });
  const Ran ran = run(live("live_", {"--hu", "0.02", "--crop", "1,1,31,22", "--bin", "2", "--report", f / "r.json"}));
  scanner.join();
  ASSERT_EQ(ran.code, 0) << ran.err;
  expect_same("live_", "whole_");
  EXPECT_THAT(ran.out, AllOf(HasSubstr("views 0 to 35 of 48: the slices are written"), HasSubstr("views 12 to 47"),
                             HasSubstr("coronal slice, 3 windows")));
  const auto results = nlohmann::json::parse(content(f / "r.json"))["results"];
  EXPECT_EQ(results["windows"], nlohmann::json::parse("[[0, 35], [6, 41], [12, 47]]"));
  EXPECT_EQ(results["updates"].size(), 3u);
}

TEST_F(SlicesFollow, ReplacesTheNewestSliceWhileTheScanGoesOn) {
  const Volume stack = read_image(f / "stack.mha");
  done(words("stack.mha", "whole_", {}));
  Volume newest;
  std::thread scanner([&] {
    drop(stack, 0, 36);
    wait_until([&] { return fs::exists(f / "live_s.mha"); });  // the last of the three
    newest = read_image(f / "live_a.mha");
    for (std::size_t n = 0; n < 36; ++n) fs::remove(file(n));  // they were taken
    drop(stack, 36, 48);
  });
  const Ran ran = run(live("live_", {}, "scan/p_*.mha"));
  scanner.join();
  ASSERT_EQ(ran.code, 0) << ran.err;
  expect_same("live_", "whole_");
  const Volume all = read_image(f / "whole_a.mha");
  ASSERT_EQ(newest.grid.size[2], 1u);
  EXPECT_TRUE(std::equal(newest.voxels.begin(), newest.voxels.end(), all.voxels.begin()));
}

TEST_F(SlicesFollow, TakesAFileOnceItIsWhole) {
  const Volume stack = read_image(f / "stack.mha");
  done(words("stack.mha", "whole_", {}));
  drop(stack, 0, 40);
  const std::string early = content(file(5)), late = content(file(39));
  write_text(file(5), early.substr(0, early.size() / 2));
  write_text(file(39), late.substr(0, 10));
  std::thread scanner([&] {
    std::this_thread::sleep_for(600ms);  // for longer than a file must not change
    write_text(file(5), early);
    wait_until([&] { return fs::exists(f / "live_s.mha"); });
    std::this_thread::sleep_for(600ms);
    write_text(file(39), late);
    drop(stack, 40, 48);
  });
  const Ran ran = run(live("live_"));
  scanner.join();
  ASSERT_EQ(ran.code, 0) << ran.err;
  expect_same("live_", "whole_");
}

// Flats, a dead column, a beam that wavers, parts of the detector and the variance, all on the device together.
TEST_F(SlicesFollow, TakesCounts) {
  Volume counts = read_image(f / "stack.mha");
  Grid single = counts.grid;
  single.size[2] = 1;
  Volume flat(single, 5000), dark(single, 20);
  for (std::size_t n = 0; n < counts.voxels.size(); ++n) {
    const std::size_t pixel = n % single.count(), view = n / single.count();
    flat.voxels[pixel] = 5000 + 50 * static_cast<float>(pixel % 17);
    const float beam = 1 + 0.01f * static_cast<float>(view % 7);
    counts.voxels[n] = 20 + std::round(beam * (flat.voxels[pixel] - 20) * std::exp(-counts.voxels[n]));
    if (pixel % 32 == 14) counts.voxels[n] = 0;
  }
  write_image(counts, f / "counts.mha");
  write_image(flat, f / "flat.mha");
  write_image(dark, f / "dark.mha");
  for (const bool cut : {false, true}) {
    Words with{"--counts", "--flat", f / "flat.mha", "--dark", f / "dark.mha", "--air", "0,0,2,24"};
    if (cut) with.insert(with.end(), {"--crop", "0,2,32,20", "--bin", "2"});
    const auto variance = [&](const std::string& prefix) {
      Words all = with;
      all.insert(all.end(), {"--photons-per-count", "2", "--variance-out", outputs(prefix + "v")});
      return all;
    };
    done(words("counts.mha", "whole_", variance("whole_")));
    std::thread scanner([&] { drop(counts, 0, 48); });
    auto more = variance("live_");
    more.insert(more.end(), {"--report", f / "r.json"});
    const Ran ran = run(live("live_", more));
    scanner.join();
    ASSERT_EQ(ran.code, 0) << ran.err;
    expect_same("live_", "whole_", {"a", "c", "s", "va", "vc", "vs"});
    const auto report = nlohmann::json::parse(content(f / "r.json"))["results"]["counts"];
    EXPECT_EQ(report["bad_pixels"], 24);
    EXPECT_EQ(report["pixels"], 32 * 24 * 48);
    EXPECT_NEAR(report["beam_highest"].get<double>() / report["beam_lowest"].get<double>(), 1.06, 0.01);
    for (std::size_t n = 0; n < 48; ++n) fs::remove(file(n));
  }
  // a view that was lost
  std::fill_n(counts.voxels.begin() + static_cast<std::ptrdiff_t>(40 * single.count()), single.count(), 0.0f);
  drop(counts, 0, 48);
  const Ran ran = run(live("lost_", {"--counts", "--flat", f / "flat.mha"}));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr(file(40)), HasSubstr("view 40 has no count"), HasSubstr("the beam was off"),
                             HasSubstr("1 of 3 windows are kept")));
}

TEST_F(SlicesFollow, WarnsOfWhatOnlyLaterViewsShow) {
  Volume counts = read_image(f / "stack.mha");
  for (float& value : counts.voxels) value = std::round(5000 * std::exp(-value));
  const std::size_t slice = counts.grid.slice();
  for (std::size_t n = 42 * slice; n < 43 * slice; ++n) counts.voxels[n] *= 0.5f;  // the beam, in --air and elsewhere
  counts.voxels[40 * slice + 100] = 5200;  // as bright as the beam may be: a brighter one is interpolated
  drop(counts, 0, 48);
  const Words with{"--counts", "--air", "0,0,1,24", "--saturation", "5200"};
  const Ran late = done(live("late_", with));
  EXPECT_THAT(late.err, AllOf(HasSubstr("1 of 36864 counts are saturated"), HasSubstr("the beam in --air is from")));
  counts.voxels[3 * slice + 100] = 5200;
  drop(counts, 3, 4);
  const Ran early = done(live("early_", with));
  EXPECT_THAT(early.err, HasSubstr("1 of 27648 counts are saturated"));
  EXPECT_EQ(times(early.err, "are saturated"), 1);
}

// The first file says how large the detector is, and only then such a geometry says how many views there are.
TEST_F(SlicesFollow, TakesAGeometryThatNeedsTheDetector) {
  done({"geometry", "convert", "-i", f / "g.xml", "--to", "astra", "--detector", "32,24", "--pixel", "2,2", "-o",
        f / "g.txt"});
  const auto with = [&](Words more) {
    Words all{"slices",
              "-i",
              f / "scan/p_%02d.mha",
              "-g",
              f / "g.txt",
              "--size",
              "16,16,12",
              "--spacing",
              "2,2,2",
              "--follow",
              "-o",
              outputs("x_"),
              "--counts",
              "--air",
              "0,0,1,24",
              "--reduce-rings",
              "2"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const Ran any = with({"--dry-run"});
  EXPECT_EQ(any.code, 0) << any.err;
  const Ran few = with({"--views", "12", "--dry-run"});
  EXPECT_EQ(few.code, 2);
  EXPECT_THAT(few.err, HasSubstr("12 views are too few"));
  drop(read_image(f / "stack.mha"), 0, 48);
  fs::copy_file(file(0), file(48));
  const Ran more = with({});
  EXPECT_EQ(more.code, 2);
  EXPECT_THAT(more.err, AllOf(HasSubstr(file(48) + "' is file 49 of"), HasSubstr("g.txt' has 48 views")));
  EXPECT_FALSE(fs::exists(f / "x_a.mha"));
}

TEST_F(SlicesFollow, EndsWhenNoMoreCome) {
  const Volume stack = read_image(f / "stack.mha");
  drop(stack, 0, 48);
  fs::remove(file(39));
  const Ran ran = run(words("scan/p_%02d.mha", "live_", {"--follow", "--wait", "0.4", "--report", f / "r.json"}));
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("view 39 of '" + (f / "scan/p_%02d.mha")), HasSubstr("--wait"),
                             HasSubstr(file(39) + "' is missing, though '" + file(40)),
                             HasSubstr("39 of 48 views came"), HasSubstr("1 of 3 windows are kept in")));
  expect_first_window("live_");
  EXPECT_EQ(nlohmann::json::parse(content(f / "r.json"))["results"]["windows"].size(), 1u);
  const Ran none = run(words("scan/q*.mha", "none_", {"--follow", "--wait", "0.1"}));
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, AllOf(HasSubstr("view 0 of '"), HasSubstr("0 of 48 views came")));
  EXPECT_FALSE(fs::exists(f / "none_a.mha"));
}

TEST_F(SlicesFollow, KeepsWhatItHasMadeWhenAFileIsWrong) {
  const Volume stack = read_image(f / "stack.mha");
  drop(stack, 0, 48);
  Grid grid = stack.grid;
  grid.size = {30, 24, 1};
  write_image(Volume(grid, 1), file(40));
  const Ran wrong = run(live("live_"));
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, AllOf(HasSubstr(file(40) + "' has 30 x 24 pixels"), HasSubstr(file(0)),
                               HasSubstr("1 of 3 windows are kept in")));
  expect_first_window("live_");
  Volume nan = stack;
  nan.voxels[stack.grid.slice() * 40 + 33] = std::nanf("");
  drop(nan, 40, 41);
  const Ran bad = run(live("nan_"));
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, AllOf(HasSubstr(file(40) + "': 1 value is NaN"), HasSubstr("(1,1,0)")));
  const Ran zero = done(live("zero_", {"--allow-nonfinite"}));
  EXPECT_THAT(zero.err, HasSubstr("1 value is NaN or infinite: taken for not measured, and interpolated"));
}

TEST_F(SlicesFollow, RefusesMoreFilesThanViews) {
  const Volume stack = read_image(f / "stack.mha");
  drop(stack, 0, 48);
  fs::copy_file(file(0), file(48));
  const Ran ran = run(live("live_"));
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr(file(48) + "' is file 49 of"), HasSubstr("g.xml' has 48 views")));
  EXPECT_FALSE(fs::exists(f / "live_a.mha"));
}

TEST_F(SlicesFollow, CtrlCKeepsTheWindowsSoFar) {
  const Volume stack = read_image(f / "stack.mha");
  drop(stack, 0, 36);
  std::thread user([&] {
    wait_until([&] { return fs::exists(f / "live_s.mha"); });
    request_interrupt(true);
  });
  const Ran ran = run(live("live_"));
  user.join();
  request_interrupt(false);
  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("interrupted: 1 of 3 windows are kept in " + (f / "live_a.mha")));
  expect_first_window("live_");
}

TEST_F(SlicesFollow, RefusesByName) {
  const auto refuses = [&](Words more, const std::string& part, const std::string& input = "scan/p_*.mha") {
    const Ran ran = run(live("x_", more, input));
    EXPECT_EQ(ran.code, 2) << part;
    EXPECT_THAT(ran.err, HasSubstr(part));
  };
  refuses({}, "is one file; a series that grows", "stack.mha");
  refuses({}, "there is no folder '" + (f / "none"), "none/p*.mha");
  refuses({}, "does not exist", "none");
  refuses({}, "--pixel DU,DV", "scan");
  refuses({"--counts"}, "--flat");
  refuses({"--counts", "--flat", f / "none.mha"}, "none.mha' does not exist");
  refuses({}, "'.png' is no image format that can be read", "scan/p_*.png");
  refuses({}, "wildcards beside a place for the number", "*/p_%02d.mha");
  write_text(f / "scan/p_flat.mha", "x");
  fs::copy_file(f / "g.xml", f / "scan/p_g.mha");
  for (const char* option : {"--flat", "--dark", "--bad-pixels"})
    refuses({"--counts", "--air", "0,0,2,2", option, f / "scan/p_flat.mha"},
            fmt::format("{} '{}' would be taken for a file of the series that grows, -i '{}'", option,
                        f / "scan/p_flat.mha", f / "scan/p_*.mha"));
  EXPECT_THAT(run({"slices", "-i", f / "scan/*", "-g", f / "scan/p_g.mha", "--size", "4,4,4", "--spacing", "2,2,2",
                   "--follow", "-o", outputs("x_")})
                  .err,
              HasSubstr("--geometry '" + (f / "scan/p_g.mha") + "' would be taken for a file of the series"));
  for (const char* name : {"scan/p_flat.mha", "scan/p_g.mha"}) fs::remove(f / name);
  refuses({"--report", f / "scan/p_r.mha"}, "would be taken for a file of the series");
  Words inside = words("scan/*.mha", "scan/x_", {"--follow"});
  EXPECT_THAT(run(inside).err, HasSubstr("-o '" + (f / "scan/x_a.mha") + "' would be taken for a file of the series"));
  EXPECT_THAT(run(words("stack.mha", "x_", {"--wait", "3"})).err, HasSubstr("--follow"));
  EXPECT_EQ(run(words("scan/p_*.mha", "x_", {"--follow", "--wait", "0"})).code, 2);
  EXPECT_THAT(run({"slices", "-i", f / "scan/*.mha", "-g", f / "g.xml", "--size", "4,4,4", "--spacing", "2,2,2",
                   "--follow", "--views", "49", "-o", outputs("x_")})
                  .err,
              HasSubstr("--views is 49"));
}

TEST_F(SlicesFollow, PlansWithoutAFileAndWithOne) {
  const Ran before = done(live("x_", {"--dry-run"}));
  EXPECT_THAT(before.out, AllOf(HasSubstr("axial, 3 of 36 views"), HasSubstr("is there yet")));
  drop(read_image(f / "stack.mha"), 0, 1);
  const Ran after = done(live("x_", {"--dry-run"}));
  EXPECT_THAT(after.out, AllOf(HasSubstr("axial, 3 of 36 views"), HasSubstr("resident")));
  EXPECT_FALSE(fs::exists(f / "x_a.mha"));
}

#ifdef HALOCLINE_WITH_ITK

TEST_F(SlicesFollow, TakesTiffFilesOfAFolder) {
  const Volume stack = read_image(f / "stack.mha");
  done(words("stack.mha", "whole_", {}));
  std::thread scanner([&] { drop(stack, 0, 48, "tif"); });
  const Ran ran = run(live("live_", {"--pixel", "2,2"}, "scan"));
  scanner.join();
  ASSERT_EQ(ran.code, 0) << ran.err;
  expect_same("live_", "whole_");
}

TEST_F(SlicesFollow, WarnsOfATiffOutputOnce) {
  drop(read_image(f / "stack.mha"), 0, 48);
  const Ran ran = done({"slices", "-i", f / "scan/p_%02d.mha", "-g", f / "g.xml", "--size", "16,16,12", "--spacing",
                        "2,2,2", "--views", "36", "--step", "6", "--follow", "--plane", "axial", "-o", f / "x.tif"});
  EXPECT_EQ(times(ran.err, "x.tif': TIFF keeps neither"), 1) << ran.err;
}

#endif

}  // namespace
}  // namespace halocline::slices_follow_test

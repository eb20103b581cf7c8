// labels: app device
// Rings of line integrals: --reduce-rings of fdk, slices and find-axis without --counts.
#include "algorithms/preprocessing/ring_reduction.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "apps/images/image_file.hpp"
#include "host/system/error.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/rms.hpp"

namespace halocline::ring_reduction_test {
namespace {

using testing::HasSubstr;

float offset_of(std::size_t column) {
  return column % 9 != 4 ? 0.0f : column % 2 ? 0.03f : -0.03f;
}

class ReduceRings : public testing::Test {
 protected:
  /// clean.mha: a full turn of 72 views of 96 x 12 pixels; p.mha: the same with every ninth column wrong.
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
    done({"geometry", "circular", "--sid", "200", "--sdd", "300", "--projections", "72", "-o", f / "g.xml"});
    done({"project", "--phantom", "shepp-logan-hc", "--phantom-size", "50", "--detector", "96,12", "--pixel", "1,1",
          "-g", f / "g.xml", "-o", f / "clean.mha"});
    Volume stack = read_image(f / "clean.mha");
    for (std::size_t n = 0; n < stack.voxels.size(); ++n) stack.voxels[n] += offset_of(n % 96);
    write_image(stack, f / "p.mha");
  }
  Words fdk(const std::string& input, const std::string& output, const Words& more = {}) const {
    return Words{"fdk",     "-i",        f / input, "-g", f / "g.xml", "--size",
                 "48,48,6", "--spacing", "1,1,1",   "-o", f / output} +
           more;
  }
  double rms(const std::string& a, const std::string& b) const {
    return halocline::rms(read_image(f / a), read_image(f / b));
  }
  bool same(const std::string& a, const std::string& b) const { return content(f / a) == content(f / b); }
  Folder f;
};

TEST_F(ReduceRings, OfLineIntegralsLeavesAFifth) {
  done(fdk("clean.mha", "clean_v.mha"));
  done(fdk("p.mha", "rings.mha"));
  const Ran ran = done(fdk("p.mha", "reduced.mha", {"--reduce-rings", "1", "--report", f / "r.json"}));
  EXPECT_THAT(ran.out, HasSubstr("ring offsets of"));
  const double before = rms("rings.mha", "clean_v.mha"), after = rms("reduced.mha", "clean_v.mha");
  std::printf("rings of %.3g 1/mm RMS, reduced to %.3g\n", before, after);
  EXPECT_LT(after, 0.2 * before);
  EXPECT_NEAR(nlohmann::json::parse(content(f / "r.json"))["results"]["ring_offset_rms"].get<double>(), 0.01, 2e-3);
}

TEST_F(ReduceRings, ByZeroTheBytesStay) {
  done(fdk("p.mha", "a.mha"));
  done(fdk("p.mha", "b.mha", {"--reduce-rings", "0"}));
  EXPECT_TRUE(same("a.mha", "b.mha"));
  const Words counts{"--counts", "--air", "0,0,2,12"};
  Volume stack = read_image(f / "p.mha");
  for (float& value : stack.voxels) value = 10000 * std::exp(-value);
  write_image(stack, f / "counts.mha");
  done(fdk("counts.mha", "a.mha", counts));
  done(fdk("counts.mha", "b.mha", counts + Words{"--reduce-rings", "0"}));
  EXPECT_TRUE(same("a.mha", "b.mha"));
  const Words convert{"counts", "-i", f / "counts.mha", "--air", "0,0,2,12", "-o"};
  done(convert + Words{f / "a.mha"});
  done(convert + Words{f / "b.mha", "--reduce-rings", "0"});
  EXPECT_TRUE(same("a.mha", "b.mha"));
}

TEST_F(ReduceRings, PartsHaveTheOffsetsOfTheWholeScan) {
  Volume stack = read_image(f / "p.mha");
  const DetectorOffsets offsets = ring_offsets(MemorySource(stack), 1, "p");
  take_off(offsets, 0, stack.voxels.size(), stack.voxels.data());
  write_image(stack, f / "reduced.mha");
  const Words reduce{"--reduce-rings", "1"};
  for (const Words& part : {Words{}, {"--crop", "3,1,93,11"}, {"--bin", "2"}, {"--views", "0:70:2"}}) {
    done(fdk("reduced.mha", "a.mha", part));
    done(fdk("p.mha", "b.mha", part + reduce));
    EXPECT_TRUE(same("a.mha", "b.mha")) << (part.empty() ? "whole" : part.front());
  }
  const auto slices = [&](const std::string& input, const Words& more) {
    done(Words{"slices", "-i", f / input, "-g", f / "g.xml", "--size", "48,48,6", "--spacing", "1,1,1", "--plane",
               "axial", "-o"} +
         more);
  };
  slices("reduced.mha", {f / "a.mha", "--crop", "3,1,93,11"});
  slices("p.mha", Words{f / "b.mha", "--crop", "3,1,93,11"} + reduce);
  EXPECT_TRUE(same("a.mha", "b.mha"));
  for (std::size_t n = 0; n < 72; ++n) {  // a growing scan, all views of which are its window
    Volume view(read_image(f / "p.mha").grid);
    view.grid.size[2] = 1;
    const Volume all = read_image(f / "p.mha");
    view.voxels.assign(all.voxels.begin() + static_cast<std::ptrdiff_t>(n * 96 * 12),
                       all.voxels.begin() + static_cast<std::ptrdiff_t>((n + 1) * 96 * 12));
    write_image(view, f / fmt::format("p_{:02}.mha", n));
  }
  slices("p_%02d.mha", Words{f / "b.mha", "--crop", "3,1,93,11", "--follow", "--wait", "60"} + reduce);
  EXPECT_TRUE(same("a.mha", "b.mha"));
  const auto axis = [&](const std::string& input, const Words& more) {
    return done(Words{"geometry", "find-axis", "-i", f / input, "-g", f / "g.xml", "--method", "correlation"} + more)
        .out;
  };
  EXPECT_THAT(axis("p.mha", reduce), HasSubstr(axis("reduced.mha", {})));
}

/// Counts what is read of how many pieces.
class CountingSource : public VolumeSource {
 public:
  explicit CountingSource(const Volume& volume) : memory_(volume) {}
  const Grid& grid() const override { return memory_.grid(); }
  void read(std::size_t first, std::size_t count, float* to) const override {
    ++pieces;
    memory_.read(first, count, to);
  }
  mutable std::atomic<std::size_t> pieces{0};

 private:
  MemorySource memory_;
};

// A file of a series each.
TEST_F(ReduceRings, ReadsViewsOnce) {
  const Volume stack = read_image(f / "p.mha");
  const CountingSource source(stack);
  ring_offsets(source, 1, "p");
  EXPECT_EQ(source.pieces, stack.grid.size[2]);
}

TEST_F(ReduceRings, RefusesWhatCannotBe) {
  const auto refused = [&](const Words& words, const char* part) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2);
    EXPECT_THAT(ran.err, HasSubstr(part));
  };
  refused(fdk("p.mha", "x.mha", {"--reduce-rings", "-1"}), "--reduce-rings");
  refused(fdk("p.mha", "x.mha", {"--reduce-rings", "24"}), "p.mha': rings 24 pixels wide (--reduce-rings) need");
  refused(fdk("p.mha", "x.mha", {"--air", "0,0,2,2"}), "--counts");
  Volume stack = read_image(f / "p.mha");
  stack.voxels[777] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(ring_offsets(MemorySource(stack), 1, "p"), InputError);
}

}  // namespace
}  // namespace halocline::ring_reduction_test

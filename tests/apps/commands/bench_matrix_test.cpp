// labels: app device
// halocline bench matrix: what it counts, draws, measures and refuses.
#include <nlohmann/json.hpp>

#include "apps/bench/matrix_times.hpp"
#include "tests/support/bench_times.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::bench_matrix_test {
namespace {

using nlohmann::json;

TEST(BenchMatrix, CountsEverySizeWithAllRays) {
  const Folder f;
  const Ran ran = done({"bench", "matrix", "--count-only", "--sizes", "16, 32", "--rays", "24x32,12x20", "--json",
                        "--report", f / "report.json"});
  const json results = json::parse(ran.out);
  EXPECT_EQ(json::parse(content(f / "report.json"))["results"], results);
  ASSERT_EQ(results["matrices"].size(), 4u);
  for (const json& each : results["matrices"]) {
    const MatrixProblem problem{each["size"], each["views"], each["detector"]};
    const MatrixSize size = matrix_size(rays_of(problem));
    EXPECT_EQ(each["nonzeros"], size.nonzeros);
    EXPECT_EQ(each["elements"], problem.size * problem.size * problem.views * problem.columns);
    EXPECT_EQ(each["csr_bytes"], size.csr_bytes());
    ASSERT_EQ(each["tiles"].size(), 3u);
    for (std::size_t n = 0; n < 3; ++n) {
      EXPECT_EQ(each["tiles"][n]["tiles"], size.tiles[n]);
      EXPECT_EQ(each["tiles"][n]["bytes"], 256 * size.tiles[n]);
    }
    ASSERT_EQ(each["blocks"].size(), 3u);
    for (const json& block : each["blocks"]) {
      EXPECT_LT(block["nonempty_after"].get<double>(), block["nonempty_before"].get<double>()) << block;
      EXPECT_LE(block["nonempty_before"].get<double>(), block["blocks"].get<double>()) << block;
      EXPECT_EQ(block["bytes_with_symmetry"].get<std::uint64_t>(), block["bytes"].get<std::uint64_t>() / 8) << block;
    }
  }
  EXPECT_EQ(results["matrices"][1]["size"], 32);
  EXPECT_EQ(results["matrices"][1]["views"], 24);
  EXPECT_EQ(results["matrices"][2]["detector"], 20);
}

TEST(BenchMatrix, HasTablesForReaders) {
  const Ran fan = done({"bench", "matrix", "--count-only", "--sizes", "16", "--rays", "24x32", "--beam", "fan",
                        "--projector", "siddon"});
  expect_contains(fan.out, {"fan beam, the projector siddon", "16 x 16", "24 x 32", "0.0001966", "2x4 tiles, 1e6",
                            "8.32.16", "8 x 16", "row by row"});
  const Ran table = done({"bench", "matrix", "--count-only", "--sizes", "16", "--rays", "24x32", "--markdown"});
  expect_contains(table.out, {"| pixels | rays | elements, 1e9 |", "| 16 x 16 | 24 x 32 | 16.16.16 | 16 x 16 | 4x4 |"});
  const Ran dry = done({"bench", "matrix", "--count-only", "--sizes", "16", "--rays", "24x32", "--dry-run"});
  EXPECT_EQ(dry.out, "would count:\n  16 x 16 pixels, 24 x 32 rays, parallel beam, joseph\n");
}

TEST(BenchMatrix, DrawsNonzerosBeforeAndAfter) {
  const Folder f;
  done({"bench", "matrix", "--count-only", "--sizes", "16", "--rays", "24x32", "--png", f / "sparsity.png"});
  EXPECT_EQ(content(f / "sparsity.png").substr(1, 3), "PNG");
  const SliceRays rays = rays_of({16, 24, 32});
  const GreyImage image = sparsity_picture(rays, {2, 4});
  EXPECT_EQ(image.width, 256u + 16 + 256);
  EXPECT_EQ(image.height, 512u);
  std::size_t left = 0, right = 0;
  for (std::size_t at = 0; at < image.pixels.size(); ++at)
    if (image.pixels[at] == 0) ++(at % image.width < 256 ? left : right);
  EXPECT_GT(left, 2000u);
  EXPECT_GT(right, 2000u);
}

TEST(BenchMatrix, RefusesBadSizes) {
  refused({"bench", "matrix", "--count-only", "--sizes", "64,many"},
          {"--sizes has \"many\"", "256,512, from 1 to 5792"});
  refused({"bench", "matrix", "--count-only", "--sizes", "0"}, {"--sizes has \"0\""});
  refused({"bench", "matrix", "--count-only", "--sizes", "5793", "--rays", "1x1"},
          {"--sizes has \"5793\"", "from 1 to 5792"});
  done({"bench", "matrix", "--count-only", "--sizes", "5792", "--rays", "1x1"});
  refused({"bench", "matrix", "--count-only", "--sizes", "64,,128"}, {"--sizes has \"\""});
  for (const char* rays : {"720", "720x", "x512", "0x512", "720x5.5", "720x512x2", "-3x4"})
    refused({"bench", "matrix", "--count-only", "--rays", rays},
            {std::string("--rays has \"") + rays + "\"", "VIEWSxDETECTOR"});
  refused({"bench", "matrix", "--count-only", "--projector", "voxel"}, {"--projector", "siddon"});
  refused({"bench", "matrix", "--count-only", "--png", "picture.jpg"}, {"--png 'picture.jpg'", ".png"});
}

class BenchMatrixTimes : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  }
  static std::vector<std::string> command(const std::vector<std::string>& more) {
    std::vector<std::string> words{"bench", "matrix", "--sizes", "16", "--rays", "24x32", "--seconds", "0.001"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
};

bool is_stored(const std::string& mode) {
  return mode.starts_with("matrix") || mode.starts_with("symmetric");
}

// Half precision: of the weights alone, and of the values, too.
double tolerance(const std::string& mode) {
  return mode == "matrix-half" ? 1e-3 : is_stored(mode) ? 2e-4 : 2e-6;
}

// Rows of products that a pass over the tiles takes, with those of no slice: blocks of 16, some of them at a time.
double padded_rows(const std::string& mode, double slices) {
  const double halves = mode == "matrix" || mode == "symmetric" ? 2 : 1,
               blocks = std::ceil(slices * (mode.starts_with("symmetric") ? 8 : 1) / 16),
               together = std::min(blocks, 2.0);
  return 16 * halves * together * std::ceil(blocks / together);
}

void expect_sane(const json& problem, const json& mode) {
  const std::string name = mode["mode"];
  const double seconds = mode["forward_seconds"].get<double>() + mode["adjoint_seconds"].get<double>(),
               slices = problem["slices"];
  expect_times(mode, "forward_seconds");
  expect_times(mode, "adjoint_seconds");
  EXPECT_NEAR(mode["seconds_per_slice_iteration"].get<double>(), seconds / slices, 1e-9 * seconds) << name;
  EXPECT_NEAR(mode["updates_per_s"].get<double>() * seconds, 2 * problem["nonzeros"].get<double>() * slices, 1) << name;
  EXPECT_NEAR(mode["share_of_copy"].get<double>() * problem["copy_bytes_per_s"].get<double>(),
              mode["bytes_per_s"].get<double>(), 1)
      << name;
  for (const char* error : {"forward_relative_rmse", "adjoint_relative_rmse"}) {
    EXPECT_GT(mode[error].get<double>(), 1e-9) << name << " " << error;  // fp64 is not float32's own
    EXPECT_LT(mode[error].get<double>(), tolerance(name)) << name << " " << error;
  }
  const bool stored = is_stored(name);
  EXPECT_EQ(mode.contains("break_even_iterations"), stored) << name;
  if (!stored) return;
  EXPECT_NEAR(mode["build_seconds"].get<double>(),
              mode["list_seconds"].get<double>() + mode["fill_seconds"].get<double>(), 1e-9)
      << name;
  const double tiles = mode["tile_bytes"].get<double>() / 256;
  EXPECT_NEAR(mode["flops_per_s"].get<double>() * seconds, 2 * tiles * 8 * 16 * padded_rows(name, slices) * 2, 1)
      << name;
}

void expect_every_mode(const json& results, const char* beam) {
  ASSERT_EQ(results["matrices"].size(), 1u);
  ASSERT_GE(results["benches"].size(), 1u);
  for (const json& bench : results["benches"]) {
    ASSERT_EQ(bench["problems"].size(), 2u);
    EXPECT_EQ(bench["problems"][0]["slices"], 1);
    EXPECT_EQ(bench["problems"][1]["slices"], 33);
    for (const json& problem : bench["problems"]) {
      EXPECT_EQ(problem["beam"], beam);
      EXPECT_EQ(problem["nonzeros"], results["matrices"][0]["nonzeros"].get<double>());
      EXPECT_EQ(problem["modes"].size() + problem["left_out"].size(), matrix_modes().size());
      EXPECT_GE(problem["modes"].size(), 2u) << problem["left_out"];  // rays and matrix-plain
      for (const json& mode : problem["modes"]) expect_sane(problem, mode);
    }
  }
}

TEST_F(BenchMatrixTimes, MeasuresEveryModeForAllSlices) {
  for (const char* projector : {"joseph", "siddon", "distance-driven"})
    for (const char* beam : {"parallel", "fan"}) {
      SCOPED_TRACE(testing::Message() << projector << ", " << beam);
      const Folder f;
      const Ran ran = done(command(
          {"--slices", "1, 33", "--beam", beam, "--projector", projector, "--json", "--report", f / "report.json"}));
      const json results = json::parse(ran.out);
      EXPECT_EQ(json::parse(content(f / "report.json"))["results"], results);
      expect_every_mode(results, beam);
    }
}

TEST_F(BenchMatrixTimes, SaysWhichModesAreLeftOutAndWhy) {
  const Ran table = done(command({"--slices", "2", "--modes", "matrix-plain,rays"}));
  expect_contains(table.out, {"ms a slice and iteration", "  2       matrix-plain ", "  2       rays "});
  EXPECT_EQ(table.out.find("left out"), std::string::npos) << table.out;
  const Ran markdown = done(command({"--slices", "2", "--modes", "slices", "--markdown"}));
  expect_contains(markdown.out, {"| pixels | rays | slices | mode |", "| 16 x 16 | 24 x 32 | 2 | slices |"});
  const Ran siddon = done(command({"--slices", "2", "--projector", "siddon"}));
  expect_contains(siddon.out, {"left out: slices: for the projector joseph only\n", " matrix-plain ", " rays "});
  const Ran large = done({"bench", "matrix", "--sizes", "16,64", "--rays", "24x32", "--slices", "2", "--modes",
                          "matrix-plain", "--seconds", "0.001", "--device-memory", "1M"});
  expect_contains(large.out, {"left out: 64 x 64 pixels, 24 x 32 rays, 2 slices, matrix-plain: ", "memory"});
  EXPECT_EQ(large.out.find("left out: 16 x 16"), std::string::npos) << large.out;
  for (const Device& device : open_devices({})) {
    const std::string lack = lack_of("matrix", {16, 24, 32}, device);
    if (lack.empty()) continue;
    const Ran units = done(command({"--slices", "2", "--modes", "matrix"}));
    expect_contains(units.out, {"left out: matrix: " + lack + "\n"});
  }
}

TEST_F(BenchMatrixTimes, ADryRunMeasuresNothing) {
  const Ran dry = done(command({"--slices", "2,32", "--modes", "rays", "--dry-run"}));
  expect_contains(dry.out, {"would count:\n", "would measure on ", ", slices: 2, 32\n  rays\n"});
}

TEST_F(BenchMatrixTimes, RefusesWhatItCannotMeasure) {
  refused(command({"--modes", "matrix,texture"}),
          {"--modes", "\"texture\"", "matrix, matrix-half, symmetric, matrix-plain, symmetric-plain, slices, rays"});
  for (const char* slices : {"0", "1,", "2.5", "8193"})
    refused(command({"--slices", slices}), {"--slices has", "from 1 to 8192"});
  refused(command({"--seconds", "0"}), {"--seconds"});
  refused(command({"--device", "no such device"}), {"--device"});
  refused({"bench", "matrix", "--count-only", "--modes", "rays"}, {"--count-only", "--modes"});
  refused({"bench", "matrix", "--count-only", "--slices", "4"}, {"--count-only", "--slices"});
  refused({"bench", "matrix", "--count-only", "--seconds", "1"}, {"--count-only", "--seconds"});
}

TEST(MatrixTimes, StoringPaysOnceBuildingIsEarned) {
  const auto rate = [](const char* mode, double seconds) {
    MatrixRate each;
    each.mode = mode;
    each.forward.times = RunTimes({0.75 * seconds}), each.adjoint.times = RunTimes({0.25 * seconds});
    return each;
  };
  MatrixRate stored = rate("matrix", 0.5);
  stored.stored = true;
  stored.list_seconds = 9, stored.fill_seconds = 1.25;
  MatrixTimes times;
  times.rates = {stored};
  EXPECT_EQ(times.fastest_unstored(), nullptr);
  times.rates = {stored, rate("slices", 1), rate("rays", 3)};
  EXPECT_EQ(times.fastest_unstored()->mode, "slices");
  EXPECT_EQ(times.break_even(stored), 21);
  times.rates.push_back(rate("rays", 0.5));
  EXPECT_EQ(times.break_even(stored), std::nullopt);
}

}  // namespace
}  // namespace halocline::bench_matrix_test

// labels: app
// halocline bench matrix: what it counts, draws and refuses.
#include <nlohmann/json.hpp>

#include "apps/bench/matrix_bench.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::bench_matrix_test {
namespace {

using nlohmann::json;

TEST(BenchMatrix, CountsEverySizeWithAllRays) {
  const Folder f;
  const Ran ran =
      done({"bench", "matrix", "--sizes", "16, 32", "--rays", "24x32,12x20", "--json", "--report", f / "report.json"});
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
  const Ran fan =
      done({"bench", "matrix", "--sizes", "16", "--rays", "24x32", "--beam", "fan", "--projector", "siddon"});
  expect_contains(fan.out, {"fan beam, the projector siddon", "16 x 16", "24 x 32", "0.0001966", "2x4 tiles, 1e6",
                            "8.32.16", "8 x 16", "row by row"});
  const Ran table = done({"bench", "matrix", "--sizes", "16", "--rays", "24x32", "--markdown"});
  expect_contains(table.out, {"| pixels | rays | elements, 1e9 |", "| 16 x 16 | 24 x 32 | 16.16.16 | 16 x 16 | 4x4 |"});
  const Ran dry = done({"bench", "matrix", "--sizes", "16", "--rays", "24x32", "--dry-run"});
  EXPECT_EQ(dry.out, "would count:\n  16 x 16 pixels, 24 x 32 rays, parallel beam, joseph\n");
}

TEST(BenchMatrix, DrawsNonzerosBeforeAndAfter) {
  const Folder f;
  done({"bench", "matrix", "--sizes", "16", "--rays", "24x32", "--png", f / "sparsity.png"});
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
  refused({"bench", "matrix", "--sizes", "64,many"}, {"--sizes has \"many\"", "256,512, from 1 to 5792"});
  refused({"bench", "matrix", "--sizes", "0"}, {"--sizes has \"0\""});
  refused({"bench", "matrix", "--sizes", "5793", "--rays", "1x1"}, {"--sizes has \"5793\"", "from 1 to 5792"});
  done({"bench", "matrix", "--sizes", "5792", "--rays", "1x1"});
  refused({"bench", "matrix", "--sizes", "64,,128"}, {"--sizes has \"\""});
  for (const char* rays : {"720", "720x", "x512", "0x512", "720x5.5", "720x512x2", "-3x4"})
    refused({"bench", "matrix", "--rays", rays}, {std::string("--rays has \"") + rays + "\"", "VIEWSxDETECTOR"});
  refused({"bench", "matrix", "--projector", "voxel"}, {"--projector", "siddon"});
  refused({"bench", "matrix", "--png", "picture.jpg"}, {"--png 'picture.jpg'", ".png"});
}

}  // namespace
}  // namespace halocline::bench_matrix_test

// labels: app device
// halocline kernel check: the guide's projectors pass, and planted faults are found and named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/support/command_process.hpp"

namespace halocline::kernel_check_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string example(const std::string& stem) {
  return content((fs::path(HALOCLINE_SOURCE_DIR) / "docs" / "projectors" / (stem + ".cl")).string());
}

bool oclgrind_is_here() {
  return exit_code("command -v oclgrind > /dev/null") == 0;
}

class KernelCheck : public testing::Test {
 protected:
  Folder folder;

  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "there is no OpenCL device";
  }
  /// The check of a text.
  Ran check(const std::string& text, const Words& more = {}) const {
    write_text(folder / "mine.cl", text);
    return run_child(Words{"kernel", "check", folder / "mine.cl"} + more, folder, [] { return true; });
  }
  /// The check of an example with one piece of its text replaced, which must fail.
  std::string faulty(const std::string& stem, const std::string& piece, const std::string& by,
                     const Words& more = {}) const {
    std::string text = example(stem);
    const auto at = text.find(piece);
    if (at == std::string::npos) throw std::logic_error("the example lacks " + piece);
    const Ran ran = check(text.replace(at, piece.size(), by), more);
    EXPECT_EQ(ran.code, 1) << ran.out;
    return ran.out;
  }
};

constexpr const char* store = "  projections[at] = sum;\n";

TEST_F(KernelCheck, TheGuidesProjectorsPass) {
  for (const std::string stem : {"joseph", "siddon", "nearest", "attenuated"}) {
    SCOPED_TRACE(stem);
    const std::string report = folder / (stem + ".json");
    Words more{"--report", report};
    if (stem == "attenuated") more = more + Words{"--table", "mu=0.02"};
    if (stem == "joseph" || stem == "siddon") more = more + Words{"--like", stem};
    const Ran ran = check(example(stem), more);
    EXPECT_EQ(ran.code, 0) << ran.out;
    for (const char* line :
         {"pass  adjoint (cone, turned volume)", "pass  finite values", "pass  split forward", "pass  split adjoint",
          "pass  unwritten memory", "pass  reads outside", "pass  guard zones", "nothing was found to be wrong"})
      EXPECT_THAT(ran.out, HasSubstr(line));
    EXPECT_THAT(ran.out,
                HasSubstr(oclgrind_is_here() ? "pass  oclgrind" : "skip  oclgrind: Oclgrind is not installed"));
    const json checks = json::parse(content(report)).at("results").at("checks");
    EXPECT_GE(checks.size(), 16u);
    for (const auto& each : checks) EXPECT_NE(each.at("verdict"), "fail") << each;
  }
}

TEST_F(KernelCheck, WrongAdjoint) {
  const std::string out =
      faulty("nearest", "fma(path_mm(ray, axis, voxel) *", "fma(1.001f * path_mm(ray, axis, voxel) *");
  EXPECT_THAT(out, AllOf(HasSubstr("FAIL  adjoint (parallel): "), HasSubstr("FAIL  adjoint (cone, one voxel): "),
                         HasSubstr("checks failed: adjoint\n"), HasSubstr("pass  split forward")));
}

TEST_F(KernelCheck, HalfAPixel) {
  const std::string out = faulty("joseph", "+ line.shift_b,", "+ line.shift_b + 0.5f,", {"--like", "joseph"});
  EXPECT_THAT(out, AllOf(HasSubstr("FAIL  like joseph (fan): "), HasSubstr("checks failed: like joseph\n")));
}

TEST_F(KernelCheck, ReadsThatDependOnUnwrittenMemory) {
  const std::string out = faulty("nearest", "k >= extent.end) continue;", "k > extent.end) continue;");
  EXPECT_THAT(out, HasSubstr("FAIL  unwritten memory: parallel, A x on other memory: "));
}

// A table of a number a view, read one further.
TEST_F(KernelCheck, ReadsBehindTables) {
  const std::string gain = "length = path * gain[pixel.view + 1] *";
  EXPECT_THAT(faulty("joseph", "length = path *", gain, {"--table", "gain=1:views"}),
              AllOf(HasSubstr("FAIL  reads outside: parallel, A x between other guard zones: "),
                    HasSubstr("pass  unwritten memory")));
  std::string right = example("joseph");
  right.replace(right.find("length = path *"), 15, "length = path * gain[pixel.view] *");
  const Ran ran = check(right, {"--table", "gain=1:views"});
  EXPECT_EQ(ran.code, 0) << ran.out;
}

// Far enough behind the array that records of the driver survive.
TEST_F(KernelCheck, WritesOutside) {
  const std::string out = faulty("nearest", store,
                                 std::string(store) +
                                     "  if (at == 0) projections[batch.columns * batch.rows * "
                                     "batch.views + 4000] = 1;\n");
  EXPECT_THAT(out, HasSubstr("FAIL  guard zones: parallel, A x: array projections"));
}

TEST_F(KernelCheck, NotANumber) {
  EXPECT_THAT(faulty("nearest", store, "  projections[at] = column == 3 ? NAN : sum;\n"),
              HasSubstr("FAIL  finite values: parallel, A x: 49 of 1617 values are not finite"));
  EXPECT_THAT(faulty("joseph", "weight = length *", "weight = (m == 2 ? NAN : 1) * length *"),
              HasSubstr("is not finite, or too large"));
}

TEST_F(KernelCheck, DependsOnTheSplit) {
  const std::string out = faulty("nearest", store, "  projections[at] = sum + 0.01f * extent.begin;\n");
  EXPECT_THAT(out, AllOf(HasSubstr("FAIL  split forward: parallel, A x in 2 slabs, batches of 3 views: 1617 of 1617"),
                         HasSubstr("pass  split adjoint")));
}

TEST_F(KernelCheck, RacesBoundsAndBarriersUnderOclgrind) {
  if (!oclgrind_is_here()) GTEST_SKIP() << "Oclgrind is not installed (Debian package oclgrind)";
  const std::string race = std::string(store) +
                           "  __local float shared[1];\n  shared[0] = sum;\n"
                           "  if (shared[0] == 12345.0f) projections[at] = 0;\n";
  EXPECT_THAT(
      faulty("nearest", store, race),
      testing::ContainsRegex("FAIL  oclgrind: .*data race.* in the kernel project, line 3[0-9] .*projector.cl"));
  EXPECT_THAT(faulty("nearest", "sum = projections[at];", "sum = projections[at] + 0 * (volume[100000000] > 1);"),
              testing::ContainsRegex("FAIL  oclgrind: Invalid read .* in the kernel project, line 27 .*projector.cl"));
  EXPECT_THAT(faulty("nearest", store, std::string(store) + "  if (column == 3) barrier(CLK_LOCAL_MEM_FENCE);\n"),
              HasSubstr("FAIL  oclgrind: Work-group divergence detected (barrier) in the kernel project"));
}

TEST_F(KernelCheck, Hangs) {
  const std::string out =
      faulty("nearest", store, std::string(store) + "  volatile int on = 1;\n  while (on) ;\n", {"--limit", "3"});
  EXPECT_THAT(out, AllOf(HasSubstr("FAIL  hang (adjoint): not done after 3 s"), HasSubstr("skip  memory: not done"),
                         HasSubstr("checks failed: hang\n")));
}

TEST_F(KernelCheck, WrongInput) {
  const auto refused = [&](const std::string& text, const std::string& why, const Words& more = {}) {
    const Ran ran = check(text, more);
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_THAT(ran.out, AllOf(HasSubstr(why), Not(HasSubstr("FAIL  "))));
  };
  std::string text = example("nearest");
  text.replace(text.find("const float path ="), 18, "const flat path =");
  refused(text, "projector.cl:21:");
  refused(text, "\n  21   const flat path = path_mm(ray, axis, voxel);");
  refused("float nothing;", "no projector");
  refused(example("attenuated"), "use of undeclared identifier 'mu'");
  refused(example("attenuated"), "if mu is a table, give it: --table");
  refused(example("attenuated"), "--table is mu; expected NAME=VALUE", {"--table", "mu"});
  refused(example("attenuated"), "the size of the table mu is 3x; expected volume", {"--table", "mu=1:3x"});
  refused(example("joseph"), "--device", {"--device", "no such device"});
  const Ran other = run_child({"kernel", "check", folder / "mine.txt"}, folder, [] { return true; });
  EXPECT_EQ(other.code, 2) << other.out;
}

TEST_F(KernelCheck, TextsThatDoNotCompileAreWrongInputOfEveryCommand) {
  const auto run = [&](const Words& words) { return run_child(words, folder, [] { return true; }); };
  const std::string scan = folder / "g.xml", volume = folder / "v.mha", text = folder / "mine.cl";
  ASSERT_EQ(run({"geometry", "circular", "--sid", "100", "--sdd", "150", "--projections", "2", "-o", scan}).code, 0);
  ASSERT_EQ(run({"phantom", "--type", "shepp-logan", "--size", "4,4,4", "--spacing", "1,1,1", "-o", volume}).code, 0);
  write_text(text, "#define PROJECTOR_VERSION 1\nvoid trace(TRACE_PARAMETERS) { nonsense(); }\n");
  const Ran ran = run({"project", "-i", volume, "-g", scan, "--projector", text, "--detector", "4,4", "--pixel", "2,2",
                       "-o", folder / "p.mha"});
  EXPECT_EQ(ran.code, 2) << ran.out;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("does not compile"), HasSubstr("nonsense")));
}

}  // namespace
}  // namespace halocline::kernel_check_test

// labels: app device slab error nightly
// --scratch: volumes and states in files of a folder. Bitwise identical results, nothing left, forecasts that separate
// memory from files, and errors where the host or the disk is too small.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/images/image_file.hpp"
#include "tests/reference/tv_reference.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/compressed_images.hpp"
#include "tests/support/sanitized.hpp"

namespace halocline::scratch_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr double volume_bytes = 4.0 * 110 * 110 * 110, page = 4096;

class ScratchTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "there is no OpenCL device";
    std::filesystem::create_directories(f / "files");
    write_image(reference::two_balls(110, 0.1), f / "v.mha");
  }
  Words denoise(const std::string& output, const Words& more = {}, const std::string& input = "v.mha") const {
    return Words{"denoise", "-i",       f / input,         "--method", "pdu",          "--no-tune",
                 "-o",      f / output, "--alpha",         "15",       "--iterations", "24",
                 "--gap",   "1e-9",     "--device-memory", "16M",      "--report",     f / "report.json"} +
           more;
  }
  Words scratch() const { return {"--scratch", f / "files"}; }
  json report() const { return json::parse(content(f / "report.json")); }
  void expect_nothing_left() const { EXPECT_TRUE(std::filesystem::is_empty(f / "files")); }
  // Runs without and with --scratch.
  void expect_same_bits(const std::function<Words(const std::string& output)>& words, const std::string& ending) const {
    const Ran memory = run(words("a" + ending)), files = run(words("b" + ending) + scratch());
    ASSERT_EQ(memory.code, 0) << memory.err;
    ASSERT_EQ(files.code, 0) << files.err;
    EXPECT_TRUE(content(f / ("a" + ending)) == content(f / ("b" + ending)));
    expect_nothing_left();
  }
  Folder f;
};

TEST_F(ScratchTest, TheStateOfSlabsLiesThere) {
  expect_same_bits([this](const std::string& output) { return denoise(output); }, ".mha");
  const json plan = report()["runs"]["denoise"]["plan"], files = report()["scratch"];
  ASSERT_FALSE(plan["resident"].get<bool>()) << plan.dump(2);
  ASSERT_GT(plan["passes"].get<double>(), 1);
  // u, qx, qy, qz, each in whole pages
  EXPECT_EQ(files["predicted_peak_bytes"].get<double>(), 4 * volume_bytes);
  EXPECT_NEAR(files["actual_peak_bytes"].get<double>(), 4 * volume_bytes, 4 * page);
  EXPECT_EQ(files["folder"], f / "files");
}

TEST_F(ScratchTest, WholeVolumesLieThereToo) {
  // A compressed input is held as a whole, and an output with a picture beside it.
  write_compressed_meta(reference::two_balls(110, 0.1), f / "packed.mha");
  expect_same_bits(
      [&](const std::string& output) {
        auto words = denoise(output, {"--png", f / (output + ".png")}, "packed.mha");
        for (auto& word : words) word = word == "16M" ? "2G" : word;
        return words;
      },
      ".nrrd");
  EXPECT_TRUE(content(f / "a.nrrd.png") == content(f / "b.nrrd.png"));
  const json files = report()["scratch"];
  EXPECT_EQ(files["predicted_peak_bytes"].get<double>(), 2 * volume_bytes);
  EXPECT_GE(files["actual_peak_bytes"].get<double>(), 2 * volume_bytes);
}

TEST_F(ScratchTest, OtherFormsAndSeveralDevices) {
  for (const Words& more : {Words{"--stages", "2", "--duals", "snorm16"}, Words{"--sub-devices", "2"}}) {
    expect_same_bits(
        [&](const std::string& output) {
          auto words = denoise(output, more);
          for (auto& word : words) word = word == "16M" ? "6M" : word;
          return words;
        },
        ".mha");
    EXPECT_FALSE(report()["runs"]["denoise"]["plan"]["resident"].get<bool>());
    EXPECT_GE(report()["scratch"]["actual_peak_bytes"].get<double>(), volume_bytes);
  }
}

TEST_F(ScratchTest, FdkHoldsItsProjectionsThere) {
  ASSERT_EQ(
      run({"geometry", "circular", "--sid", "500", "--sdd", "1000", "--projections", "90", "-o", f / "g.xml"}).code, 0);
  ASSERT_EQ(run({"project", "--phantom", "shepp-logan", "--phantom-size", "60", "-g", f / "g.xml", "--detector",
                 "160,128", "--pixel", "1,1", "-o", f / "p.mha"})
                .code,
            0);
  // Two passes over the projections, for the variance; a result that is gathered before it is written.
  expect_same_bits(
      [this](const std::string& output) {
        return Words{"fdk",
                     "-i",
                     f / "p.mha",
                     "-g",
                     f / "g.xml",
                     "--size",
                     "64,64,64",
                     "--spacing",
                     "1,1,1",
                     "--photons",
                     "1e4",
                     "--variance-out",
                     f / ("variance-" + output),
                     "-o",
                     f / output,
                     "--device-memory",
                     "8M",
                     "--report",
                     f / "report.json"};
      },
      ".nrrd");
  EXPECT_TRUE(content(f / "variance-a.nrrd") == content(f / "variance-b.nrrd"));
  EXPECT_GE(report()["scratch"]["actual_peak_bytes"].get<double>(), 4.0 * 160 * 128 * 90);
}

TEST_F(ScratchTest, AStateThatWasKeptGoesOnThere) {
  ASSERT_EQ(run(denoise("a.mha")).code, 0);
  const Words kept{"--checkpoint", f / "state", "--checkpoint-every", "0"};
  // Begun in files and ended in memory, and the other way round.
  for (const bool begins : {true, false}) {
    const Words first = begins ? scratch() : Words(), second = begins ? Words() : scratch();
    ASSERT_EQ(run(denoise("b.mha", kept + Words{"--time-limit", "0.001"} + first)).code, 0);
    ASSERT_TRUE(std::filesystem::exists(f / "state"));
    const Ran ran = done(denoise("b.mha", kept + Words{"--resume"} + second));
    EXPECT_THAT(ran.err, HasSubstr("going on after"));
    EXPECT_TRUE(content(f / "a.mha") == content(f / "b.mha"));
  }
  expect_nothing_left();
}

TEST_F(ScratchTest, TheForecastTellsMemoryFromFiles) {
  const Ran memory = run(denoise("u.mha", {"--dry-run"})),
            files = run(denoise("u.mha", Words{"--dry-run"} + scratch()));
  EXPECT_THAT(memory.out, Not(HasSubstr("scratch files")));
  EXPECT_THAT(files.out, HasSubstr("scratch files: 20.31 MiB (inputs and results 5.08 MiB, the run 15.23 MiB)"));
  const Ran plan =
      run({"plan", "--method", "pdu", "--size", "110", "--device-memory", "16M", "--json", "--scratch", "x"});
  ASSERT_EQ(plan.code, 0) << plan.err;
  EXPECT_EQ(json::parse(plan.out)["forecasts"][0]["scratch_bytes"].get<double>(), 5 * volume_bytes);  // f, too
  expect_nothing_left();
}

// A separate process, whose memory is that of the one job; drivers keep some from the first time on.
TEST_F(ScratchTest, MemoryIsForecastWithinFivePercent) {
  if (sanitized) GTEST_SKIP() << "a sanitizer has memory of its own beside each page";
  write_image(reference::two_balls(300, 0.1), f / "large.mha");
  auto words = denoise("u.mha", Words{"--quiet"} + scratch(), "large.mha");
  for (auto& word : words) word = word == "16M" ? "200M" : word;
  std::string command = "env -u HALOCLINE_POISON_MEMORY " + std::string(HALOCLINE_COMMAND);
  for (const auto& word : words) command += " " + word;
  for (int n = 0; n < 2; ++n) ASSERT_EQ(std::system(command.c_str()), 0) << command;
  const json memory = report()["host_memory"], files = report()["scratch"];
  EXPECT_NEAR(memory["predicted_peak_bytes"].get<double>() / memory["actual_peak_bytes"].get<double>(), 1, 0.05)
      << report().dump(2);
  EXPECT_NEAR(files["predicted_peak_bytes"].get<double>() / files["actual_peak_bytes"].get<double>(), 1, 1e-3) << files;
  expect_nothing_left();
}

TEST_F(ScratchTest, AHostThatIsTooSmallIsToldOfIt) {
  const Words plan{"plan", "--method", "pdu", "--size", "110", "--device-memory", "16M"};
  const auto refused = [&](const std::string& memory, const Words& more = {}) {
    return run(plan + Words{"--host-memory", memory} + more);
  };
  const auto taken = [&](const Words& more) {
    return json::parse(run(plan + Words{"--json"} + more).out)["forecasts"][0]["host_peak_bytes"].get<double>();
  };
  // Mean of the job's memory with a folder and without.
  const std::string between = std::to_string(static_cast<std::size_t>((taken({}) + taken(scratch())) / 2));
  const Ran ran = refused(between);
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("host's memory is too small"),
                             HasSubstr("With --scratch FOLDER 25.39 MiB of it lie in files of that folder"),
                             HasSubstr("in memory.")));
  EXPECT_EQ(refused(between, scratch()).code, 0);
  EXPECT_THAT(refused("1M").err, AllOf(HasSubstr("too small"), Not(HasSubstr("--scratch"))));  // it would not help
  EXPECT_THAT(refused("1M", scratch()).err, AllOf(HasSubstr("too small"), HasSubstr("scratch files: 25.39 MiB")));
  const Ran metrics = run({"metrics", "-i", f / "v.mha", "--host-memory", "1K"});
  EXPECT_EQ(metrics.code, 2);
  EXPECT_THAT(metrics.err, HasSubstr("too small"));
}

TEST_F(ScratchTest, ErrorsComeBeforeTheRun) {
  write_text(f / "file", "x");
  for (const auto& [folder, what] : {std::pair<std::string, std::string>{f / "none", "does not exist"},
                                     {f / "file", "is not a folder"},
                                     {"/proc/self", "cannot be written"},
                                     {"", "expected a folder"}}) {
    const Ran ran = run(denoise("u.mha", {"--scratch", folder}));
    EXPECT_EQ(ran.code, 2) << folder;
    EXPECT_THAT(ran.err, AllOf(HasSubstr("--scratch"), HasSubstr(what))) << folder;
    EXPECT_FALSE(std::filesystem::exists(f / "u.mha"));
  }
}

std::string joined(const Words& words) {
  std::string line = HALOCLINE_COMMAND;
  for (const auto& word : words) line += " " + word;
  return line;
}

TEST_F(ScratchTest, ADiskThatIsTooSmallEndsItBeforeTheRun) {
  // 1024 blocks of 512 bytes (dash) or 1024: less than the arrays of the run.
  const std::string log = f / "log";
  EXPECT_EQ(exit_code("ulimit -f 8192; " + joined(denoise("u.mha", scratch())) + " 2>" + log), 2);
  EXPECT_THAT(content(log),
              AllOf(HasSubstr("--scratch '" + f / "files" + "'"), HasSubstr("bytes"), HasSubstr("ulimit -f")));
  EXPECT_FALSE(std::filesystem::exists(f / "u.mha"));
  expect_nothing_left();
}

TEST_F(ScratchTest, NothingIsLeftWhateverEndsIt) {
  auto words = denoise("u.mha", scratch());
  for (auto& word : words) word = word == "24" ? "100000" : word;
  for (const std::string signal : {"KILL", "TERM"}) {
    // Waits until the arrays of the state exist.
    const std::string line = joined(words) + " 2>/dev/null & pid=$!; for n in $(seq 600); do count=$(grep -c " +
                             (f / "files") + " /proc/$pid/maps); [ $count -ge 4 ] && break; sleep 0.1; done; echo " +
                             "$count >" + (f / "count") + "; kill -" + signal + " $pid; wait $pid";
    EXPECT_NE(exit_code(line), 0);
    EXPECT_GE(std::stoi(content(f / "count")), 4) << signal;
    expect_nothing_left();
    EXPECT_FALSE(std::filesystem::exists(f / "u.mha"));
  }
  // An error: steps that leave the range of float32.
  const Ran ran = run({"denoise", "-i", f / "v.mha", "--method", "tvgd", "--step", "1e38", "--iterations", "20", "-o",
                       f / "u.mha", "--device-memory", "16M", "--scratch", f / "files"});
  EXPECT_EQ(ran.code, 2) << ran.err;
  expect_nothing_left();
}

}  // namespace
}  // namespace halocline::scratch_test

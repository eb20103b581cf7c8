// labels: app device error dealt
// halocline fdk --checkpoint and --resume: whatever ends a run, the same command resumes to a bitwise identical result,
// and finished parts are not computed again; files of another job, or damaged ones, are refused.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/command_process.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/killed_runs.hpp"

namespace halocline::fdk_checkpoint_test {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::size_t edge = 96, slice_bytes = sizeof(float) * edge * edge;

class FdkCheckpoint : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!has_device()) return;
    folder_ = new Folder;
    const auto& f = *folder_;
    const auto made = [](const Ran& ran) { ASSERT_EQ(ran.code, 0) << ran.err; };
    for (const auto& [geometry, angles] : {std::pair{"g.xml", "240"}, {"other.xml", "241"}})
      made(
          run({"geometry", "circular", "--sid", "1000", "--sdd", "1500", "--projections", angles, "-o", f / geometry}));
    made(run({"project", "--phantom", "shepp-logan-hc", "--phantom-size", "176", "--geometry", f / "g.xml",
              "--detector", "96,96", "--pixel", "3,3", "-o", f / "views.mha"}));
    made(run({"noise", "-i", f / "views.mha", "--photons", "10000", "--seed", "3", "-o", f / "noisy.mha"}));
  }
  static void TearDownTestSuite() {
    delete folder_;
    folder_ = nullptr;
  }
  void SetUp() override {
    if (folder_ == nullptr) GTEST_SKIP() << "there is no OpenCL device";
    clear();
  }
  static Words fdk(const Words& more = {}, const std::string& input = "views.mha") {
    const auto& f = *folder_;
    return Words{"fdk",      "-i",        f / input, "-g", f / "g.xml",   "--size",
                 "96,96,96", "--spacing", "2,2,2",   "-o", f / "out.mha", "--no-tune"} +
           more;
  }
  static Words kept() { return {"--checkpoint", *folder_ / "state"}; }
  static std::string path(const std::string& name) { return *folder_ / name; }
  static bool is_there(const std::string& name) { return std::filesystem::exists(path(name)); }
  static std::size_t bytes_of(const std::string& name) {
    std::error_code code;
    const auto bytes = std::filesystem::file_size(path(name), code);
    return code ? 0 : static_cast<std::size_t>(bytes);
  }
  static void clear() {
    for (const auto& name : folder_->files())
      if (name != "g.xml" && name != "other.xml" && name != "views.mha" && name != "noisy.mha")
        std::filesystem::remove(path(name));
  }
  static std::string result_of(const Words& words) {
    done(words);
    return content(path("out.mha"));
  }

  // Leaves the state of a run that is killed when the file has so many bytes.
  static void leave_state(const Words& more = {}, std::size_t bytes = 24 * slice_bytes) {
    for (int tries = 0; tries < 20; ++tries) {
      clear();
      const Process process(fdk(kept() + more), path("log"));
      while (bytes_of("state") < bytes && !is_there("out.mha")) std::this_thread::sleep_for(Seconds(0.002));
      process.signal(SIGKILL);
      process.wait();
      if (!is_there("out.mha") && is_there("state")) return;
    }
    FAIL() << "no run could be killed half way";
  }
  static void expect_refused(const Words& words, const std::vector<std::string>& parts) {
    refused(words, parts);
    EXPECT_FALSE(is_there("out.mha"));
  }

  static Folder* folder_;
};
Folder* FdkCheckpoint::folder_ = nullptr;

const Words resume{"--resume"};

TEST_F(FdkCheckpoint, ALinkToTheFileStaysAndTheFileGoes) {
  std::filesystem::create_symlink("behind", path("state"));
  result_of(fdk(kept()));
  EXPECT_TRUE(std::filesystem::is_symlink(path("state")));
  EXPECT_FALSE(is_there("behind"));
}

TEST_F(FdkCheckpoint, AKilledRunGoesOnToTheSameBitsAndComputesTheRestAlone) {
  const std::string expected = result_of(fdk());
  leave_state();
  const std::size_t kept_bytes = bytes_of("state");
  const Ran ran = done(fdk(kept() + resume + Words{"--report", path("report.json")}));
  EXPECT_NE(ran.err.find("going on: "), std::string::npos) << ran.err;
  EXPECT_TRUE(content(path("out.mha")) == expected);
  EXPECT_FALSE(is_there("state"));
  const auto report = nlohmann::json::parse(content(path("report.json")));
  const std::size_t before = report["results"]["resumed_after_slices"];
  EXPECT_GT(before, 0u);
  EXPECT_LE(before, kept_bytes / slice_bytes);
  std::size_t computed = 0;
  for (const auto& slab : report["runs"]["fdk"]["plan"]["slabs"])
    computed += slab["interior"][1].get<std::size_t>() - slab["interior"][0].get<std::size_t>();
  EXPECT_EQ(computed, edge - before);
}

TEST_F(FdkCheckpoint, OnOtherDevicesAndBudgets) {
  const std::string expected = result_of(fdk());
  leave_state();
  const Words words = fdk(kept() + resume + Words{"--device-memory", "3M", "--sub-devices", "2", "--device", "cpu"});
  done(words);
  EXPECT_TRUE(content(path("out.mha")) == expected);
}

TEST_F(FdkCheckpoint, ResumeWithoutAFileStartsFromTheBeginning) {
  const std::string expected = result_of(fdk());
  clear();
  const Ran ran = done(fdk(kept() + resume));
  EXPECT_NE(ran.err.find("starts from the beginning"), std::string::npos) << ran.err;
  EXPECT_TRUE(content(path("out.mha")) == expected);
  EXPECT_FALSE(is_there("state"));
}

// All that a frame consists of: other units, types and formats are made of what is kept.
TEST_F(FdkCheckpoint, TheVarianceAndTheHalvesGoOnToo) {
  const Words more{"--variance-out", path("var.mha"), "--photons", "10000",        "--hu",
                   "0.02",           "--output-type", "int16",     "--halves-out", path("a.mha") + "," + path("b.mha")};
  ASSERT_EQ(run(fdk(more)).code, 0);
  std::map<std::string, std::string> expected;
  for (const char* name : {"out.mha", "var.mha", "a.mha", "b.mha"}) expected[name] = content(path(name));
  for (const std::size_t volumes : {0, 1, 2, 3}) {
    leave_state(more, (volumes * edge + 24) * slice_bytes);
    done(fdk(kept() + more + resume));
    for (const auto& [name, bytes] : expected) EXPECT_TRUE(content(path(name)) == bytes) << name << ", " << volumes;
    EXPECT_FALSE(is_there("state"));
  }
}

TEST_F(FdkCheckpoint, FramesThatWereFinishedStay) {
  auto words = fdk(Words{"--views-per-frame", "80", "--allow-incomplete-arc"});
  std::replace(words.begin(), words.end(), path("out.mha"), path("frame_%d.mha"));
  ASSERT_EQ(run(words).code, 0);
  std::vector<std::string> expected;
  for (int n = 0; n < 3; ++n) expected.push_back(content(path(fmt::format("frame_{}.mha", n))));
  clear();
  words = words + kept();
  const Process process(words, path("log"));
  while (!is_there("frame_0.mha") || bytes_of("state") > 30 * slice_bytes || bytes_of("state") < 12 * slice_bytes)
    if (std::this_thread::sleep_for(std::chrono::milliseconds(1)); is_there("frame_2.mha")) break;
  process.signal(SIGKILL);
  process.wait();
  ASSERT_TRUE(is_there("state")) << process.output();
  const auto before = std::filesystem::last_write_time(path("frame_0.mha"));
  expect_refused(words + resume + Words{"--hu", "0.02"}, {"another job", "--hu"});
  const Ran ran = done(words + resume);
  for (int n = 0; n < 3; ++n) EXPECT_TRUE(content(path(fmt::format("frame_{}.mha", n))) == expected[n]) << n;
  EXPECT_NE(ran.err.find(" of frame "), std::string::npos) << ran.err;
  EXPECT_EQ(std::filesystem::last_write_time(path("frame_0.mha")), before);
  EXPECT_FALSE(is_there("state"));
}

TEST_F(FdkCheckpoint, AFileOfAnotherJobIsRefused) {
  leave_state();
  const std::string state = content(path("state"));
  expect_refused(fdk(kept()), {"--checkpoint", "there already", "--resume", "remove it"});
  expect_refused(fdk(kept() + resume + Words{"--window", "hann"}),
                 {"another job", "--window \"ram-lak\" there, \"hann\" here", "remove it"});
  expect_refused(fdk(kept() + resume, "noisy.mha"), {"another job", "the voxels of -i"});
  std::string wider = content(path("views.mha"));
  const auto spacing = wider.find("ElementSpacing = ");
  ASSERT_NE(spacing, std::string::npos);
  wider[wider.find_first_of("123456789", spacing)] = '7';
  write_text(path("wider.mha"), wider);
  expect_refused(fdk(kept() + resume, "wider.mha"), {"another job", "the grid of -i"});
  expect_refused(fdk(kept() + resume + Words{"--variance-out", path("var.mha"), "--photons", "10000"}),
                 {"another job", "results"});
  auto words = fdk(kept() + resume);
  std::replace(words.begin(), words.end(), std::string("2,2,2"), std::string("2,2,1"));
  expect_refused(words, {"another job", "grid"});
  expect_refused({"fdk", "-i", path("views.mha"), "-g", path("g.xml"), "--size", "96,96,96", "--spacing", "2,2,2", "-o",
                  path("out.mha"), "--checkpoint", path("views.mha")},
                 {"--checkpoint", "views.mha", "input"});
  EXPECT_TRUE(content(path("state")) == state);
}

TEST_F(FdkCheckpoint, DamagedFilesAreRefusedAndDamagedPiecesComputedAgain) {
  const std::string expected = result_of(fdk());
  leave_state();
  const std::string state = content(path("state"));
  std::uint64_t text_bytes = 0;
  std::memcpy(&text_bytes, state.data() + 24, sizeof text_bytes);
  const auto flipped = [&](std::size_t at) {
    std::string bytes = state;
    bytes[at] = static_cast<char>(bytes[at] ^ 16);
    return bytes;
  };
  const auto refused = [&](const std::string& bytes, const std::vector<std::string>& parts) {
    write_text(path("state"), bytes);
    auto all = parts;
    all.emplace_back("remove it");
    expect_refused(fdk(kept() + resume), all);
    EXPECT_TRUE(content(path("state")) == bytes);
  };
  refused("", {"holds no state"});
  refused(content(path("views.mha")), {"holds no state"});
  refused(state.substr(0, 40), {"cut short"});
  refused(flipped(12), {"damaged", "description"});
  refused(flipped(40), {"damaged", "description"});
  std::string format = state;
  format[8] = 7;
  refused(format, {"format 7", "reads format 3"});

  const std::size_t pieces = 32 + text_bytes;
  const auto recomputed = [&](const std::string& bytes, const std::string& warning) {
    write_text(path("state"), bytes);
    const Ran ran = done(fdk(kept() + resume));
    EXPECT_NE(ran.err.find(warning), std::string::npos) << ran.err;
    EXPECT_TRUE(content(path("out.mha")) == expected);
    EXPECT_FALSE(is_there("state"));
    std::filesystem::remove(path("out.mha"));
  };
  const std::string wrong = "1 piece has the wrong checksum and will be computed again";
  recomputed(flipped(pieces + 32 + 4567), wrong);        // a voxel of the first piece
  recomputed(flipped(pieces + 9), "going on: 0 of 96");  // the head of the first piece: where the next begins is lost
  recomputed(state.substr(0, state.size() - 5), "going on: ");
  recomputed(state.substr(0, pieces), "going on: 0 of 96");
}

TEST_F(FdkCheckpoint, OptionsThatDoNotGoTogether) {
  expect_refused(fdk(resume), {"--resume", "--checkpoint"});
  expect_refused(fdk(Words{"--checkpoint", path("none/state")}), {"none", "does not exist"});
  expect_refused(fdk(Words{"--checkpoint", path("out.mha")}), {"--checkpoint", "out.mha", "name of its own"});
}

TEST_F(FdkCheckpoint, ADryRunSaysHowLargeItCanGet) {
  const Ran ran = done(fdk(kept() + Words{"--dry-run", "--variance-out", path("var.mha"), "--photons", "10000"}));
  EXPECT_NE(ran.out.find("checkpoint: up to 6.75 MiB"), std::string::npos) << ran.out;  // two of 96^3 float32
  EXPECT_NE(ran.out.find("\n       7 "), std::string::npos) << ran.out;                 // eight slabs
  EXPECT_FALSE(is_there("state"));
}

// The limit on a file's size simulates a disk that fills: the result of whole numbers fits, the state does not.
TEST_F(FdkCheckpoint, ADiskThatFillsCostsTheCheckpointAlone) {
  const Words more{"--hu", "0.02", "--output-type", "int16"};
  const std::string expected = result_of(fdk(more));
  clear();
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{2 * edge * edge * edge + 1000, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const Ran ran = run(fdk(kept() + more));
  ::setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(ran.code, 0) << ran.err;
  expect_contains(ran.err, {"cannot write", "state", "The run goes on and keeps nothing more"});
  EXPECT_TRUE(content(path("out.mha")) == expected);
  EXPECT_FALSE(is_there("state"));
}

TEST_F(FdkCheckpoint, CtrlCSaysHowToGoOn) {
  const std::string expected = result_of(fdk());
  for (int tries = 0; tries < 20; ++tries) {
    clear();
    const Process process(fdk(kept()), path("log"));
    while (bytes_of("state") < 13 * slice_bytes && !is_there("out.mha")) std::this_thread::sleep_for(Seconds(0.002));
    process.signal(SIGINT);
    const int code = process.wait();
    if (code == 0) continue;  // it had ended
    EXPECT_EQ(code, 1);
    expect_contains(process.output(),
                    {"interrupted: ", " of 96 slices are in ", "the same command with --resume goes on from"});
    EXPECT_FALSE(is_there("out.mha"));
    EXPECT_EQ(run(fdk(kept() + resume)).code, 0);
    EXPECT_TRUE(content(path("out.mha")) == expected);
    return;
  }
  FAIL() << "no run could be interrupted";
}

// Ten times, each at a random moment; when a run ends before, another begins.
TEST_F(FdkCheckpoint, KilledAtTenRandomMomentsAndResumedToTheSameBits) {
  const KilledRuns runs = killed_ten_times(fdk(Words{"--device-memory", "3M"}), kept() + resume, path("out.mha"),
                                           path("state"), path("log"), 0.2, 0.9);
  EXPECT_GE(runs.with_state, 3);  // or nothing was resumed
}

}  // namespace
}  // namespace halocline::fdk_checkpoint_test

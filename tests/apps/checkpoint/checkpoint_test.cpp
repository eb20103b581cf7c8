// labels: app device error nightly
// halocline denoise --checkpoint and --resume: whatever ends a run, the same command resumes to a bitwise identical
// result; files of another job, version, or damaged ones are refused.
#include "apps/checkpoint/checkpoint.hpp"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "apps/images/image_file.hpp"
#include "host/system/error.hpp"
#include "tests/reference/tv_reference.hpp"
#include "tests/support/command_process.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/killed_runs.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::checkpoint_test {
namespace {

class CheckpointTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "there is no OpenCL device";
    write_image(reference::two_balls(32, 0.1), f / "v.mha");
    write_image(reference::two_balls(32, 0.2), f / "other.mha");
  }
  Words denoise(const Words& more = {}, const std::string& input = "v.mha") const {
    return Words{"denoise", "-i", f / input, "--method", "pdu", "-o", f / "out.mha", "--no-tune"} + more;
  }
  Words kept() const { return {"--checkpoint", f / "state", "--checkpoint-every", "0"}; }

  // A state that a time limit has left.
  void leave_state(const Words& more) const {
    const Ran ran = done(denoise(kept() + more + Words{"--time-limit", "0.02"}));
    ASSERT_TRUE(std::filesystem::exists(f / "state")) << ran.out << ran.err;
    EXPECT_NE(ran.out.find("with --resume goes on from there"), std::string::npos) << ran.out;
    std::filesystem::remove(f / "out.mha");
  }
  void expect_refused(const Words& words, const std::vector<std::string>& parts) const {
    refused(words, parts);
    EXPECT_FALSE(std::filesystem::exists(f / "out.mha"));
  }

  Folder f;
};

const Words endless{"--alpha", "15", "--gap", "0", "--iterations", "30000"};
const Words long_run{"--alpha", "15", "--gap", "0", "--iterations", "600"};

TEST_F(CheckpointTest, ResumedAfterATimeLimitToTheSameBitsAndRemoved) {
  // The strength is chosen once: the resumed run uses it.
  for (const Words& more : {long_run, Words{"--gap", "1e-6", "--iterations", "600"}}) {
    ASSERT_EQ(run(denoise(more)).code, 0);
    const std::string expected = content(f / "out.mha");
    std::filesystem::remove(f / "out.mha");
    leave_state(more);
    const Ran ran = done(denoise(kept() + more + Words{"--resume", "--report", f / "report.json"}));
    EXPECT_NE(ran.err.find("going on after "), std::string::npos) << ran.err;
    EXPECT_TRUE(content(f / "out.mha") == expected);
    EXPECT_FALSE(std::filesystem::exists(f / "state"));
    const auto report = nlohmann::json::parse(content(f / "report.json"));
    EXPECT_GT(report["results"]["resumed_after_iterations"].get<int>(), 0);
    std::filesystem::remove(f / "out.mha");
  }
}

TEST_F(CheckpointTest, ResumeWithoutAFileStartsFromTheBeginning) {
  ASSERT_EQ(run(denoise(long_run)).code, 0);
  const std::string expected = content(f / "out.mha");
  const Ran ran = done(denoise(kept() + long_run + Words{"--resume"}));
  EXPECT_NE(ran.err.find("starts from the beginning"), std::string::npos) << ran.err;
  EXPECT_TRUE(content(f / "out.mha") == expected);
  EXPECT_FALSE(std::filesystem::exists(f / "state"));
}

TEST_F(CheckpointTest, AFileOfAnotherJobIsRefused) {
  leave_state(endless);
  const std::string state = content(f / "state");
  const Words resume = kept() + Words{"--resume"};
  expect_refused(denoise(kept() + endless), {"--checkpoint", "there already", "--resume", "remove it"});
  auto changed = endless;
  changed[1] = "20";
  expect_refused(denoise(resume + changed), {"another job", "--alpha 15 there, 20 here", "remove it"});
  changed = endless;
  changed[5] = "500";
  expect_refused(denoise(resume + changed), {"another job", "--iterations 30000 there, 500 here"});
  expect_refused(denoise(resume + endless + Words{"--duals", "snorm16"}),
                 {"another job", "--duals", "\"snorm16\" here"});
  expect_refused(denoise(resume + endless, "other.mha"), {"another job", "the voxels of -i"});
  auto other = denoise(resume);
  other[4] = "tvgd";
  expect_refused(other + Words{"--step", "0.01"}, {"another job", "--method \"pdu\" there, \"tvgd\" here"});
  EXPECT_TRUE(content(f / "state") == state);
  // Devices, budgets, names and ends are no part of it.
  std::filesystem::copy_file(f / "v.mha", f / "same.mha");
  done(denoise(resume + endless + Words{"--device-memory", "400K", "--time-limit", "0.02"}, "same.mha"));
}

TEST_F(CheckpointTest, DamagedFilesAreRefused) {
  leave_state(endless);
  const std::string state = content(f / "state");
  const Words words = denoise(kept() + endless + Words{"--resume"});
  const auto with = [&](const std::string& bytes, const std::vector<std::string>& parts) {
    write_text(f / "state", bytes);
    auto all = parts;
    all.emplace_back("remove it");
    expect_refused(words, all);
    EXPECT_TRUE(content(f / "state") == bytes);
  };
  with("", {"holds no state"});
  with(content(f / "v.mha"), {"holds no state"});
  for (const std::size_t bytes : {std::size_t{32}, state.size() / 2, state.size() - 1})
    with(state.substr(0, bytes), {"cut short", std::to_string(bytes), std::to_string(state.size())});
  std::string format = state;
  format[8] = 7;
  with(format, {"format 7", "reads format 3"});
  const auto flipped = [&](std::size_t at) {
    std::string bytes = state;
    bytes[at] = static_cast<char>(bytes[at] ^ 16);
    return bytes;
  };
  with(flipped(12), {"damaged", "description"});
  with(flipped(state.size() - 20), {"damaged", "description"});
  with(flipped(32), {"damaged", "array u"});
  with(flipped(32 + 4 * 32 * 32 * 32 + 4567), {"damaged", "array qx"});
  with(flipped(32 + 4 * 4 * 32 * 32 * 32 - 1), {"damaged", "array qz"});
}

TEST_F(CheckpointTest, AllThatDiffersIsNamed) {
  const std::string path = f / "made";
  RunState state;
  state.iterations = 3;
  state.reductions = {{2, {0.1, -std::numeric_limits<double>::infinity()}}};
  state.arrays = {{"u", 5}};
  state.read = [](const std::string&, std::size_t first, std::size_t count, std::byte* to) {
    for (std::size_t n = 0; n < count; ++n) to[n] = static_cast<std::byte>(first + n + 1);
  };
  Checkpoint written(path);
  written.set_job({{"--alpha", 15}, {"the version of halocline", "0.1.0"}});
  EXPECT_FALSE(written.kept());
  written.keep(state);
  EXPECT_NE(written.how_to_resume().find("after 3 iterations"), std::string::npos);
  Checkpoint read(path);
  read.set_job({{"--alpha", 15}, {"--gap", 0.5}, {"the version of halocline", "0.2.0"}});
  const std::string text = refusal_of([&] { read.resume(); });
  EXPECT_NE(text.find("--gap nothing there, 0.5 here"), std::string::npos) << text;
  EXPECT_NE(text.find("the version of halocline \"0.1.0\" there, \"0.2.0\" here"), std::string::npos) << text;
  EXPECT_EQ(text.find("--alpha"), std::string::npos) << text;
  Checkpoint same(path);
  same.set_job({{"the version of halocline", "0.1.0"}, {"--alpha", 15}});
  ASSERT_TRUE(same.resume());
  const auto kept = same.kept();
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->iterations, 3);
  ASSERT_EQ(kept->reductions.size(), 1u);
  EXPECT_EQ(kept->reductions[0].done, 2);
  EXPECT_EQ(kept->reductions[0].sums, state.reductions[0].sums);
  std::byte last{};
  kept->read("u", 4, 1, &last);
  EXPECT_EQ(last, std::byte{5});
}

TEST_F(CheckpointTest, OptionsThatDoNotGoTogether) {
  expect_refused(denoise(Words{"--resume"}), {"--resume", "--checkpoint"});
  expect_refused(denoise(Words{"--checkpoint-every", "5"}), {"--checkpoint-every", "--checkpoint"});
  expect_refused(denoise(Words{"--checkpoint", f / "state", "--checkpoint-every", "-1"}), {"--checkpoint-every", "-1"});
  expect_refused(denoise(Words{"--checkpoint", f / "none/state"}), {"none", "does not exist"});
  expect_refused(denoise(Words{"--checkpoint", f / "v.mha"}), {"--checkpoint", "v.mha", "input"});
  expect_refused(denoise(Words{"--checkpoint", f / "out.mha"}), {"--checkpoint", "out.mha", "name of its own"});
  expect_refused({"denoise", "-i", f / "v.mha", "--method", "median", "-o", f / "out.mha", "--checkpoint", f / "state"},
                 {"--checkpoint", "median", "--radius"});
}

TEST_F(CheckpointTest, ADryRunSaysHowLargeItIs) {
  const Ran ran = done(denoise(kept() + long_run + Words{"--dry-run"}));
  EXPECT_NE(ran.out.find("checkpoint: 512.00 KiB"), std::string::npos) << ran.out;  // u and q of 32^3 float32
  EXPECT_FALSE(std::filesystem::exists(f / "state"));
}

TEST_F(CheckpointTest, ADiskWithoutRoomIsRefusedBeforeTheRun) {
  const Checkpoint checkpoint(f / "state");
  const std::string text = refusal_of([&] { checkpoint.check(std::size_t{1} << 60, false); });
  expect_contains(text, {"`checkpoint`", "state", "1073741824.00 GiB", "free some space"});
}

// The limit on a file's size simulates a disk that fills: 200 KB hold the result, and no state.
TEST_F(CheckpointTest, ADiskThatFillsCostsTheCheckpointAlone) {
  ASSERT_EQ(run(denoise(long_run)).code, 0);
  const std::string expected = content(f / "out.mha");
  std::filesystem::remove(f / "out.mha");
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small{200000, old.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const Ran ran = run(denoise(kept() + long_run));
  ::setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_EQ(ran.code, 0) << ran.err;
  expect_contains(ran.err, {"cannot write", "state", "The run goes on without a checkpoint after ", "tries again"});
  const std::string part = "The run goes on";
  EXPECT_EQ(ran.err.find(part, ran.err.find(part) + 1), std::string::npos) << "said for every pass: " << ran.err;
  EXPECT_TRUE(content(f / "out.mha") == expected);
  EXPECT_EQ(f.files(), (Words{"other.mha", "out.mha", "v.mha"}));
}

// One warning for all states that find no room, and another when one has been kept in between.
TEST_F(CheckpointTest, ADiskThatStaysFullIsToldOfOnce) {
  std::ostringstream said;
  auto& sinks = spdlog::default_logger()->sinks();
  sinks.push_back(std::make_shared<spdlog::sinks::ostream_sink_mt>(said));
  std::signal(SIGXFSZ, SIG_IGN);  // as the command does
  rlimit old{};
  ::getrlimit(RLIMIT_FSIZE, &old);
  Checkpoint checkpoint(f / "state");
  RunState state;
  state.arrays = {{"u", 4000}};
  state.read = [](const std::string&, std::size_t, std::size_t count, std::byte* to) {
    std::fill_n(to, count, std::byte{1});
  };
  const auto keep = [&](int iterations, bool room) {
    const rlimit small{1000, old.rlim_max};
    if (!room) ::setrlimit(RLIMIT_FSIZE, &small);
    state.iterations = iterations;
    checkpoint.keep(state);
    ::setrlimit(RLIMIT_FSIZE, &old);
    return checkpoint.iterations();
  };
  for (const int n : {1, 2, 3}) EXPECT_EQ(keep(n, false), std::nullopt);
  EXPECT_EQ(keep(4, true), 4);
  for (const int n : {5, 6}) EXPECT_EQ(keep(n, false), 4);
  sinks.pop_back();
  const auto warnings = [&](const std::string& part) {
    int count = 0;
    for (auto at = said.str().find(part); at != std::string::npos; at = said.str().find(part, at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(warnings("The run goes on without a checkpoint"), 2) << said.str();
  EXPECT_EQ(warnings("after 1 iterations, and tries again when the next is due\n"), 1) << said.str();
  EXPECT_EQ(warnings("after 5 iterations, and tries again when the next is due; the one after 4 stays until then\n"), 1)
      << said.str();
}

TEST_F(CheckpointTest, CtrlCLeavesTheStateAndSaysHowToGoOn) {
  const Process process(denoise(kept() + endless), f / "log");
  while (!std::filesystem::exists(f / "state")) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(), 1);
  expect_contains(process.output(),
                  {"interrupted: the state after ", "the same command with --resume goes on from there"});
  EXPECT_FALSE(std::filesystem::exists(f / "out.mha"));
  done(denoise(kept() + endless + Words{"--resume", "--time-limit", "0.02"}));
}

// Ten times, each at a random moment; when a run ends before, another begins.
TEST_F(CheckpointTest, KilledAtTenRandomMomentsOutOfCoreAndResumedToTheSameBits) {
  write_image(reference::two_balls(64, 0.1), f / "v.mha");
  const Words words = denoise({"--alpha", "15", "--gap", "1e-6", "--iterations", "400", "--device-memory", "2500K"});
  const Words resumable{"--checkpoint", f / "state", "--checkpoint-every", "0.05", "--resume"};
  const KilledRuns runs = killed_ten_times(words, resumable, f / "out.mha", f / "state", f / "log", 0.05, 0.8);
  EXPECT_GE(runs.with_state, 3);  // or nothing was resumed
}

}  // namespace
}  // namespace halocline::checkpoint_test

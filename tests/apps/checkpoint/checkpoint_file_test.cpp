// labels: app error
// Files where a checkpoint is to be read or written: pipes, links, damaged descriptions.
#include "apps/checkpoint/checkpoint_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "apps/checkpoint/checkpoint.hpp"
#include "tests/support/command_process.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::checkpoint_file_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A state without arrays.
RunState no_arrays() {
  RunState state;
  state.iterations = 3;
  return state;
}

TEST(CheckpointFile, APipeIsRefused) {
  const Folder f;
  ASSERT_EQ(::mkfifo((f / "state").c_str(), 0600), 0);
  Checkpoint checkpoint(f / "state");
  EXPECT_THAT(refusal_of([&] { checkpoint.resume(); }), AllOf(HasSubstr("`checkpoint`"), HasSubstr("a pipe")));
}

TEST(CheckpointFile, TheTemporaryFileFollowsNoLink) {
  const Folder f;
  write_text(f / "victim", "mine");
  std::filesystem::create_symlink(f / "victim", f / "state.tmp");
  Checkpoint checkpoint(f / "state");
  checkpoint.set_job(nlohmann::json::object());
  checkpoint.keep(no_arrays());
  EXPECT_EQ(content(f / "victim"), "mine");
  EXPECT_TRUE(checkpoint.resume());
  EXPECT_FALSE(std::filesystem::exists(f / "state.tmp"));
}

TEST(CheckpointFile, ADescriptionWithARightChecksumIsCheckedToo) {
  const Folder f;
  const auto refusal = [&](const std::string& text) {
    const CheckpointHead head = checkpoint_head("halostat", text, sizeof head);
    write_text(f / "state", std::string(reinterpret_cast<const char*>(&head), sizeof head) + text);
    Checkpoint checkpoint(f / "state");
    checkpoint.set_job(nlohmann::json::object());
    return refusal_of([&] {
      checkpoint.resume();
      checkpoint.kept();
    });
  };
  EXPECT_THAT(refusal("{}"), AllOf(HasSubstr("is damaged"), HasSubstr("lacks a part"), HasSubstr("remove it")));
  EXPECT_THAT(refusal("{"), HasSubstr("lacks a part"));
  EXPECT_THAT(refusal(R"({"job": {}, "iterations": -1})"), HasSubstr("'iterations'"));
  EXPECT_THAT(refusal(R"({"job": {}, "iterations": 1, "reductions": [], "arrays":
                          [{"name": "u", "at": 32, "bytes": 1099511627776, "crc32": []}]})"),
              HasSubstr("array \"u\" does not lie in it"));
}

}  // namespace
}  // namespace halocline::checkpoint_file_test

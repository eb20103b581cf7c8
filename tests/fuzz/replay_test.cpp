// labels: app error itk
// Targets of the fuzzer on their seeds and on the files of tests/fuzz/regressions, which are findings that were mended.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/target.hpp"

namespace halocline::replay_test {
namespace {

namespace fs = std::filesystem;

const fs::path folder = fs::path(HALOCLINE_SOURCE_DIR) / "tests/fuzz";

std::vector<fs::path> files_of(const std::string& kind, const std::string& target) {
  std::vector<fs::path> files;
  if (fs::exists(folder / kind / target))
    for (const auto& entry : fs::directory_iterator(folder / kind / target)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

class Replay : public testing::TestWithParam<std::string> {};

TEST_P(Replay, OnlyErrorsOfThisLibraryComeOut) {
  const auto target = fuzz::targets().at(GetParam());
  EXPECT_FALSE(files_of("seeds", GetParam()).empty());
  for (const char* kind : {"seeds", "regressions"})
    for (const fs::path& file : files_of(kind, GetParam())) {
      std::ifstream in(file, std::ios::binary);
      EXPECT_NO_THROW(fuzz::run(target, {std::istreambuf_iterator<char>(in), {}})) << file;
    }
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const auto& [name, target] : fuzz::targets()) result.push_back(name);
  return result;
}
INSTANTIATE_TEST_SUITE_P(Targets, Replay, testing::ValuesIn(names()), [](const auto& each) { return each.param; });

// A folder that no target reads is a misspelt one.
TEST(ReplayFolders, AreOfTargets) {
  for (const char* kind : {"seeds", "regressions"})
    for (const auto& entry : fs::directory_iterator(folder / kind))
      EXPECT_TRUE(fuzz::targets().contains(entry.path().filename().string())) << entry.path();
}

}  // namespace
}  // namespace halocline::replay_test

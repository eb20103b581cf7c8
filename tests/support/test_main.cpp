// The main() of a layer's test program: `algorithms_tests --file=ramp_test` runs the cases of
// tests/algorithms/fdk/ramp_test.cpp alone, which is what ctest does for each file. All of GoogleTest's options work
// beside it; --gtest_filter replaces it. Exit code 77: all of them were skipped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <string>

namespace {

// A filter with the full names of all cases whose macro is in the file `stem`.cpp; empty: there are none.
std::string cases_of(const std::string& stem) {
  std::string filter;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s) {
    const testing::TestSuite& suite = *all.GetTestSuite(s);
    for (int t = 0; t < suite.total_test_count(); ++t) {
      const testing::TestInfo& test = *suite.GetTestInfo(t);
      if (std::filesystem::path(test.file()).stem() != stem) continue;
      if (!filter.empty()) filter += ':';
      filter.append(suite.name()).append(".").append(test.name());
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  constexpr char option[] = "--file=";
  if (argc > 1 && std::string(argv[1]).starts_with(option) && testing::GTEST_FLAG(filter) == "*") {
    const std::string stem = std::string(argv[1]).substr(sizeof option - 1);
    const std::string filter = cases_of(stem);
    if (filter.empty()) {
      std::fprintf(stderr, "%s has no test of a file '%s.cpp'\n", argv[0], stem.c_str());
      return 2;
    }
    testing::GTEST_FLAG(filter) = filter;
  }
  const int code = RUN_ALL_TESTS();
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  constexpr int skipped = 77;  // SKIP_RETURN_CODE
  return code == 0 && all.skipped_test_count() > 0 && all.successful_test_count() == 0 ? skipped : code;
}

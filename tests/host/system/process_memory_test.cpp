// labels: unit app error
// Memory of the host: limits of the process count, and the error of a job that does not fit them names the remedy.
#include "host/system/process_memory.hpp"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cstdlib>

#include "tests/support/command_runner.hpp"
#include "tests/support/image_actions.hpp"
#include "tests/support/sanitized.hpp"

namespace halocline::process_memory_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr std::size_t mebi = std::size_t{1} << 20;

class ProcessMemory : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (sanitized) GTEST_SKIP() << "a sanitizer takes terabytes of address space";
    if (process_bytes() == 0) GTEST_SKIP() << "the system does not tell";
  }
};

TEST_P(ProcessMemory, ALimitOfAddressSpaceIsWhatTheProcessMayStillAdd) {
  rlimit now{};
  ASSERT_EQ(::getrlimit(GetParam(), &now), 0);
  if (now.rlim_cur != RLIM_INFINITY) GTEST_SKIP() << "there is a limit already";
  const std::size_t whole = host_memory_bytes();
  ASSERT_GT(whole, 500 * mebi);
  const int wrong = in_child([&] {
    const auto with = [&](std::size_t bytes) {
      const rlimit limit{bytes, RLIM_INFINITY};
      ::setrlimit(GetParam(), &limit);
      return host_memory_bytes();
    };
    // Address space that is used already is no memory that can be had.
    const std::size_t more = with(400 * mebi), less = with(300 * mebi);
    if (more > process_bytes() + 400 * mebi) return 1;
    if (more <= less || more - less < 99 * mebi || more - less > 101 * mebi) return 2;
    if (with(1) > process_bytes() + mebi) return 3;
    if (with(std::size_t{1} << 60) != whole) return 4;
    return with(RLIM_INFINITY) == whole ? 0 : 5;
  });
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(Limits, ProcessMemory, testing::Values(RLIMIT_AS, RLIMIT_DATA),
                         [](const auto& limit) { return limit.param == RLIMIT_AS ? "address_space" : "data"; });

TEST(ProcessMemoryCommand, WhatALimitOfAddressSpaceDoesNotHoldIsRefusedByTheForecast) {
  if (sanitized) GTEST_SKIP() << "a sanitizer takes terabytes of address space";
  const Folder f;
  const std::string command = "ulimit -v 700000; exec '" HALOCLINE_COMMAND
                              "' phantom --type shepp-logan --size 640,640,640 --spacing 1,1,1 -o '" +
                              (f / "v.mha") + "' 2>'" + (f / "log") + "'";
  const int status = std::system(command.c_str());
  EXPECT_EQ(WEXITSTATUS(status), 2);
  EXPECT_THAT(content(f / "log"), AllOf(HasSubstr("the host's memory is too small"), HasSubstr("1000.00 MiB"),
                                        HasSubstr("ulimit -v or -d leaves"), HasSubstr("--host-memory")));
  EXPECT_FALSE(std::filesystem::exists(f / "v.mha"));
}

}  // namespace
}  // namespace halocline::process_memory_test

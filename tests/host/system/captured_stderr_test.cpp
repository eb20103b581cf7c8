// labels: unit
#include "host/system/captured_stderr.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace halocline::captured_stderr_test {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// Messages logged during its lifetime.
class Logged {
 public:
  explicit Logged(spdlog::level::level_enum level) : before_(spdlog::default_logger()) {
    auto logger = std::make_shared<spdlog::logger>("test", std::make_shared<spdlog::sinks::ostream_sink_mt>(text_));
    logger->set_pattern("%l: %v");
    logger->set_level(level);
    spdlog::set_default_logger(std::move(logger));
  }
  ~Logged() { spdlog::set_default_logger(before_); }
  std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::shared_ptr<spdlog::logger> before_;
};

void say(const char* text) {
  std::fputs(text, stderr);
}

TEST(CapturedStderr, LinesAreToldAtLevelDebug) {
  const Logged logged(spdlog::level::debug);
  testing::internal::CaptureStderr();
  {
    const CapturedStderr captured("Library");
    say("4 warnings generated.\n\nand a line without end");
    write_stderr("ours\n");
  }
  say("afterwards\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "ours\nafterwards\n");
  EXPECT_EQ(logged.text(), "debug: Library: 4 warnings generated.\ndebug: Library: and a line without end\n");
}

TEST(CapturedStderr, AboveLevelDebugNothingIsTold) {
  const Logged logged(spdlog::level::info);
  testing::internal::CaptureStderr();
  for (int n = 0; n < 3; ++n) {
    const CapturedStderr captured("Library");
    say("noise\n");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(logged.text(), "");
}

TEST(CapturedStderr, OneWithinAnotherTellsEachLineOnce) {
  const Logged logged(spdlog::level::debug);
  testing::internal::CaptureStderr();
  {
    const CapturedStderr outer("Outer");
    say("one\n");
    {
      const CapturedStderr inner("Inner");
      say("two\n");
    }
    say("three\n");
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(logged.text(), "debug: Inner: one\ndebug: Inner: two\ndebug: Outer: three\n");
}

TEST(CapturedStderr, NothingIsLostOrMixedByThreads) {
  constexpr std::size_t threads = 4, times = 200;
  const Logged logged(spdlog::level::debug);
  testing::internal::CaptureStderr();
  std::vector<std::thread> all;
  for (std::size_t n = 0; n < threads; ++n)
    all.emplace_back([] {
      for (std::size_t time = 0; time < times; ++time) {
        write_stderr("ours\n");
        const CapturedStderr captured("Library");
        say("noise\n");
        write_stderr("ours\n");
      }
    });
  for (auto& thread : all) thread.join();
  const std::string shown = testing::internal::GetCapturedStderr();
  EXPECT_EQ(count(shown, "ours\n"), 2 * threads * times);
  EXPECT_EQ(shown.size(), 5 * 2 * threads * times);
  EXPECT_EQ(count(logged.text(), "noise\n"), threads * times);
}

// Output beyond the size of any pipe does no harm.
TEST(CapturedStderr, MuchNoiseDoesNotBlock) {
  const Logged logged(spdlog::level::info);
  testing::internal::CaptureStderr();
  {
    const CapturedStderr captured("Library");
    const std::string line(1 << 20, 'x');
    for (int n = 0; n < 8; ++n) say(line.c_str());
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

// Exit status and output of a child that does this.
template <typename Action>
std::pair<int, std::string> ended(Action action) {
  testing::internal::CaptureStderr();
  const pid_t child = ::fork();
  if (child == 0) {
    action();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return {status, testing::internal::GetCapturedStderr()};
}

TEST(CapturedStderr, AnAbortTellsWhatWasKept) {
  const auto [status, text] = ended([] {
    const CapturedStderr captured("Library");
    say("assertion failed\n");
    std::abort();
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT) << status;
  EXPECT_EQ(text, "assertion failed\n");
}

TEST(CapturedStderr, AnExitWithinTellsWhatWasKept) {
  const auto [status, text] = ended([] {
    const CapturedStderr captured("Library");
    say("LLVM ERROR: IO failure on output stream: File too large\n");
    std::exit(1);
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
  EXPECT_EQ(text.find("LLVM ERROR: IO failure on output stream: File too large\nhalocline: error: a library"), 0u)
      << text;
  const auto named = ended([] {
    const CapturedStderr captured("Library", "'x.dcm' cannot be read\n");
    std::exit(1);
  });
  EXPECT_TRUE(WIFEXITED(named.first) && WEXITSTATUS(named.first) == 2) << named.first;
  EXPECT_EQ(named.second, "'x.dcm' cannot be read\n");
  const auto after = ended([] {
    { const CapturedStderr captured("Library", "'x.dcm' cannot be read\n"); }
    std::exit(3);
  });
  EXPECT_TRUE(WIFEXITED(after.first) && WEXITSTATUS(after.first) == 3) << after.first;
  EXPECT_EQ(after.second, "");
}

std::size_t fill_the_stack(std::size_t depth) {
  volatile char some[1024];
  some[depth % sizeof some] = 1;
  return depth == 0 ? 0 : some[0] + fill_the_stack(depth + 1);
}

TEST(CapturedStderr, LastWordsFollowAndEndWithCode2) {
  for (const int signal : {SIGABRT, SIGSEGV, SIGFPE}) {
    const auto [status, text] = ended([signal] {
      const CapturedStderr captured("Library", "'x.dcm' cannot be read\n");
      const CapturedStderr within("Another");
      say("assertion failed\n");
      ::raise(signal);
    });
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 2) << status;
    EXPECT_EQ(text, "assertion failed\n'x.dcm' cannot be read\n");
  }
  const auto overflow = ended([] {
    const CapturedStderr captured("Library", "'x.dcm' cannot be read\n");
    struct rlimit small {
      1 << 20, 1 << 20
    };
    ::setrlimit(RLIMIT_STACK, &small);
    fill_the_stack(1);
  });
  EXPECT_TRUE(WIFEXITED(overflow.first) && WEXITSTATUS(overflow.first) == 2) << overflow.first;
  EXPECT_EQ(overflow.second, "'x.dcm' cannot be read\n");
  const auto [status, text] = ended([] {  // another thread's
    const CapturedStderr captured("Library", "'x.dcm' cannot be read\n");
    std::thread([] { ::raise(SIGABRT); }).join();
  });
  EXPECT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(text, "");
}

TEST(CapturedStderr, WithoutAStandardErrorOutput) {
  const auto [status, text] = ended([] {
    ::close(STDERR_FILENO);
    {
      const CapturedStderr captured("Library");
      write_stderr("nobody reads this");
    }
    if (::fcntl(STDERR_FILENO, F_GETFD) != -1) ::_exit(1);
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace halocline::captured_stderr_test

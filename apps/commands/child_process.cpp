#include "apps/commands/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <thread>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> result;
  for (const auto& word : words) result.push_back(const_cast<char*>(word.c_str()));
  result.push_back(nullptr);
  return result;
}

// The environment with these in place of those of the same names.
std::vector<std::string> environment_with(std::vector<std::string> variables) {
  const std::size_t own = variables.size();
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view line = *each;
    const std::string_view name = line.substr(0, line.find('=') + 1);
    if (std::none_of(variables.begin(), variables.begin() + static_cast<std::ptrdiff_t>(own),
                     [&](const std::string& given) { return given.starts_with(name); }))
      variables.emplace_back(line);
  }
  return variables;
}

pid_t start_child(const std::vector<std::string>& words, const std::vector<std::string>& variables,
                  const std::string& log) {
  const auto environment = environment_with(variables);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int code = posix_spawnp(&child, words.front().c_str(), &files, &attributes, pointers_to(words).data(),
                                pointers_to(environment).data());
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (code != 0) throw Error(fmt::format("'{}' cannot be started: {}", words.front(), std::strerror(code)));
  return child;
}

// Ends the child's process group, if it still runs, and collects it.
class Child {
 public:
  explicit Child(pid_t child) : child_(child) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() { end(); }
  bool ended() { return ended_ = ended_ || ::waitpid(child_, &status_, WNOHANG) == child_; }
  void end() {
    if (ended_) return;
    ::kill(-child_, SIGKILL);
    ::waitpid(child_, &status_, 0);
    ended_ = true;
  }
  int status() const { return status_; }

 private:
  pid_t child_;
  int status_ = 0;
  bool ended_ = false;
};

}  // namespace

ChildEnd run_child(const std::vector<std::string>& words, const std::vector<std::string>& variables,
                   const std::string& log, double limit) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit));
  Child child(start_child(words, variables, log));
  ChildEnd result;
  while (!child.ended()) {
    check_interrupt();
    if (Clock::now() >= end) {
      child.end();
      return {.timed_out = true};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (WIFSIGNALED(child.status())) result.signal = WTERMSIG(child.status());
  if (WIFEXITED(child.status())) result.code = WEXITSTATUS(child.status());
  return result;
}

std::string this_program() {
  std::error_code code;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", code);
  if (code) throw Error("the system does not say which file this program is (/proc/self/exe)");
  return program.string();
}

}  // namespace halocline

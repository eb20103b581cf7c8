// Runs the command as a separate process, which can be killed, in another environment: other variables, another user.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/command_runner.hpp"

namespace halocline {

class Process {
 public:
  /// `change` runs in the child before the command begins; what it says as well is in output(). Exit code 127: it could
  /// not begin.
  Process(
      const Words& words, const std::string& log, const std::function<bool()>& change = [] { return true; })
      : log_(log) {
    child_ = ::fork();
    if (child_ != 0) return;
    if (std::freopen(log.c_str(), "w", stdout) == nullptr || ::dup2(1, 2) < 0 || !change()) ::_exit(127);
    std::vector<char*> argv{const_cast<char*>("halocline")};
    for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execv(HALOCLINE_COMMAND, argv.data());
    ::_exit(127);
  }
  void signal(int number) const { ::kill(child_, number); }
  /// The exit code; -1 if a signal ended it.
  int wait() const {
    int status = 0;
    ::waitpid(child_, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string output() const { return content(log_); }

 private:
  std::string log_;
  pid_t child_ = -1;
};

/// Runs it to its end.
inline Ran run_child(const Words& words, const Folder& folder, const std::function<bool()>& change) {
  const Process process(words, folder / "log", change);
  return {process.wait(), process.output(), ""};
}

}  // namespace halocline

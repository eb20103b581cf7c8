// Runs the command as a separate process, which can be killed.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "tests/support/command_runner.hpp"

namespace halocline {

class Process {
 public:
  Process(const Words& words, const std::string& log) : log_(log) {
    child_ = ::fork();
    if (child_ != 0) return;
    if (std::freopen(log.c_str(), "w", stdout) == nullptr || ::dup2(1, 2) < 0) ::_exit(126);
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

}  // namespace halocline

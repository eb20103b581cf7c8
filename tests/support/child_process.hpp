// Runs the command as a separate process in another environment: other variables, another user.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/command_runner.hpp"

namespace halocline {

/// `change` runs in the child before the command begins; what it says as well is in `out`. Code 127: it could not
/// begin; -1: a signal ended it.
inline Ran run_child(const std::vector<std::string>& words, const Folder& folder, const std::function<bool()>& change) {
  const std::string log = folder / "log";
  const pid_t child = ::fork();
  if (child == 0) {
    if (std::freopen(log.c_str(), "w", stdout) == nullptr || ::dup2(1, 2) < 0 || !change()) ::_exit(127);
    std::vector<char*> argv{const_cast<char*>("halocline")};
    for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    ::execv(HALOCLINE_COMMAND, argv.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content(log), ""};
}

}  // namespace halocline

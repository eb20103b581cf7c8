// Child processes with a limit of time.
#pragma once

#include <string>
#include <vector>

namespace halocline {

struct ChildEnd {
  bool timed_out = false;
  int signal = 0;  ///< that ended it; 0: none
  int code = 0;    ///< its exit code, else
};

/// Runs a program in a process group of its own, with `variables` ("NAME=value") added to the environment, and writes
/// what it prints to the file `log`. Kills it after `limit` seconds. Throws Error if it cannot begin, Interrupted.
ChildEnd run_child(const std::vector<std::string>& words, const std::vector<std::string>& variables,
                   const std::string& log, double limit);

/// The file of this program. Throws Error where the system does not say it.
std::string this_program();

}  // namespace halocline

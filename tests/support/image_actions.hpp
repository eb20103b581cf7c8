// Result of an action on image files.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "host/system/error.hpp"

namespace halocline {

/// "InputError: ..." or "FileError: ...", or "no error".
template <typename Action>
std::string error_of(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    return std::string("InputError: ") + error.what();
  } catch (const FileError& error) {
    return std::string("FileError: ") + error.what();
  }
  return "no error";
}

/// Runs `action` in a child, where limits and identity can be changed; returns its exit status.
template <typename Action>
int in_child(Action action) {
  const pid_t child = fork();
  if (child == 0) _exit(action());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

}  // namespace halocline

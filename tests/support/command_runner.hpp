// Runs the command in this process and keeps what it printed; a folder that goes away with the test.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "apps/command.hpp"
#include "host/opencl/device_info.hpp"

namespace halocline {

/// Words of a command line.
using Words = std::vector<std::string>;

inline Words operator+(Words a, const Words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

struct Ran {
  int code = -1;
  std::string out, err;
};

inline Ran run(const Words& words) {
  std::vector<const char*> argv{"halocline"};
  for (const auto& word : words) argv.push_back(word.c_str());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Ran ran;
  ran.code = run_command(static_cast<int>(argv.size()), argv.data());
  ran.out = testing::internal::GetCapturedStdout();
  ran.err = testing::internal::GetCapturedStderr();
  return ran;
}

/// Runs words that succeed.
inline Ran done(const Words& words) {
  Ran ran = run(words);
  EXPECT_EQ(ran.code, 0) << ran.err;
  return ran;
}

inline void expect_contains(const std::string& text, const std::vector<std::string>& parts) {
  for (const auto& part : parts) EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
}

/// Runs words that are refused with these parts in the message.
inline void refused(const Words& words, const std::vector<std::string>& parts) {
  const Ran ran = run(words);
  EXPECT_EQ(ran.code, 2) << ran.out << ran.err;
  expect_contains(ran.err, parts);
}

class Folder {
 public:
  Folder() {
    static int number = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("halocline-test-" + std::to_string(::getpid()) + "-" + std::to_string(number++));
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code code;
    std::filesystem::remove_all(path_, code);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  std::string path() const { return path_.string(); }
  /// Names of all files, hidden temporary ones too, sorted.
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::filesystem::path path_;
};

inline std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// Exit code of a line of the shell; -1 if a signal ended it.
inline int exit_code(const std::string& shell) {
  const int status = std::system(shell.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

inline bool has_device() {
  return !list_devices().empty();
}

}  // namespace halocline

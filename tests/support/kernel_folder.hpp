// A kernel of a test's own.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace halocline {

/// While it lives, `file` is a file of kernels with this text.
class KernelFolder {
 public:
  KernelFolder(const std::string& file, const char* text)
      : folder_(std::filesystem::path(testing::TempDir()) / ("halocline_" + file)) {
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / file) << text;
    ::setenv("HALOCLINE_CL_PATH", folder_.c_str(), 1);
  }
  ~KernelFolder() { ::unsetenv("HALOCLINE_CL_PATH"); }
  KernelFolder(const KernelFolder&) = delete;
  KernelFolder& operator=(const KernelFolder&) = delete;

 private:
  std::filesystem::path folder_;
};

}  // namespace halocline

// Folder of the real scans that some tests read. They are not part of the project: without them those tests are
// skipped, by name.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace halocline {

/// Path of a file of the data folder: $HALOCLINE_TEST_DATA, else ../shared/data beside the source tree.
inline std::string real_data(const std::string& file) {
  const char* folder = std::getenv("HALOCLINE_TEST_DATA");
  const std::filesystem::path base = folder != nullptr
                                         ? std::filesystem::path(folder)
                                         : std::filesystem::path(HALOCLINE_SOURCE_DIR) / ".." / "shared" / "data";
  return (base / file).string();
}

}  // namespace halocline

#define SKIP_WITHOUT(file)                                    \
  if (!std::filesystem::exists(::halocline::real_data(file))) \
  GTEST_SKIP() << "no real scan " << (file) << " (set HALOCLINE_TEST_DATA)"

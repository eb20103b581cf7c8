// labels: unit
#include "host/system/log.hpp"

#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <sstream>

namespace halocline::log_test {
namespace {

TEST(LibraryLog, isSpdlogsUntilAnotherOneIsSet) {
  std::ostringstream text;
  EXPECT_EQ(library_log(), spdlog::default_logger());
  set_library_log(std::make_shared<spdlog::logger>("own", std::make_shared<spdlog::sinks::ostream_sink_mt>(text)));
  library_log()->warn("of the {}", "library");
  spdlog::warn("of somebody else");
  set_library_log(nullptr);
  EXPECT_EQ(library_log(), spdlog::default_logger());
  EXPECT_NE(text.str().find("of the library"), std::string::npos) << text.str();
  EXPECT_EQ(text.str().find("of somebody else"), std::string::npos) << text.str();
}

}  // namespace
}  // namespace halocline::log_test

// labels: app device
// halocline devices --kernels: resources of every kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "cl/sources.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::devices_kernels_test {
namespace {

using nlohmann::json;

TEST(DevicesKernels, AreThoseOfAllFiles) {
  const json list = json::parse(done({"devices", "--kernels", "--json"}).out);
  std::set<std::string> files;
  for (const json& device : list) {
    ASSERT_EQ(device.at("selected"), device.contains("kernels"));
    for (const json& each : device.value("kernels", json::array())) {
      ASSERT_FALSE(each.contains("error")) << each.at("error");
      EXPECT_GT(each.at("largest_group"), 0);
      EXPECT_GT(each.at("group_multiple"), 0);
      files.insert(each.at("file"));
    }
  }
  for (const auto& [file, text] : embedded_sources()) EXPECT_EQ(files.contains(file), file.ends_with(".cl")) << file;
}

TEST(DevicesKernels, AreARowEach) {
  const std::string table = done({"devices", "--kernels"}).out;
  EXPECT_THAT(table, testing::ContainsRegex("kernel +private bytes +local bytes +multiple +largest group +registers"));
  EXPECT_THAT(table, testing::ContainsRegex("\npdu_fused_iterate +[0-9]+ +[1-9][0-9]+ +[1-9][0-9]* +[1-9][0-9]+ "));
}

}  // namespace
}  // namespace halocline::devices_kernels_test

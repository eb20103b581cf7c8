// Times that benches print as JSON.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace halocline {

/// Checks a time, its mean and its deviation: of runs none of which is shorter than the least.
inline void expect_times(const nlohmann::json& row, const std::string& name = "seconds") {
  const double least = row.at(name), mean = row.at("mean_" + name), deviation = row.at("deviation_" + name);
  EXPECT_GT(least, 0) << name << row;
  EXPECT_GE(mean, (1 - 1e-12) * least) << name << row;
  EXPECT_GE(deviation, 0) << name << row;
  EXPECT_TRUE(deviation == 0 || mean > least) << name << row;
}

}  // namespace halocline

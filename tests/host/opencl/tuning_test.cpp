// labels: device
// Tuned values by class of problem, and their way to a launch.
#include "host/opencl/tuning.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "host/opencl/program_cache.hpp"
#include "host/opencl/tuned_values.hpp"

namespace halocline::tuning_test {
namespace {

using ::testing::ElementsAre;

TEST(ProblemClass, RoundsSizesUpToPowersOfTwo) {
  const auto few = problem_class({300, 300, 1200}, {300, 1548, 3});
  ASSERT_TRUE(few);
  EXPECT_EQ(few->text(), "512 x 512 x 2048 voxels, 4 views of 512 x 2048 pixels");
  EXPECT_EQ(problem_class({512, 257, 2048}, {512, 2048, 4}), few);
  EXPECT_NE(problem_class({513, 257, 2048}, {512, 2048, 4}), few);
  EXPECT_NE(problem_class({512, 257, 2048}, {512, 2048, 5}), few);
  EXPECT_NE(problem_class({1000, 1000, 1000}, {1000, 1000, 1000}), few);
  EXPECT_EQ(problem_class({2000, 2000, 1}, {2000, 1, 1})->text(), "2048 x 2048 x 1 voxels, 1 view of 2048 x 1 pixels");
}

TEST(ProblemClass, NeedsViews) {
  EXPECT_EQ(problem_class({512, 512, 512}, {0, 0, 0}), std::nullopt);
}

TEST(Tuning, LooksInTheClassThenInAllProblems) {
  const auto problem = problem_class({300, 300, 1200}, {300, 1548, 3}), other = problem_class({8, 8, 8}, {8, 8, 8});
  Tuning tuning;
  tuning.groups["a"] = {64, 4, 1};
  tuning.groups["b"] = {32, 8, 1};
  tuning.choices["form"] = "plain";
  tuning.problems[*problem].groups["a"] = {16, 4, 1};
  tuning.problems[*problem].choices["only here"] = "8";
  EXPECT_THAT(*tuning.group("a", problem), ElementsAre(16, 4, 1));
  EXPECT_THAT(*tuning.group("a", other), ElementsAre(64, 4, 1));
  EXPECT_THAT(*tuning.group("a", std::nullopt), ElementsAre(64, 4, 1));
  EXPECT_THAT(*tuning.group("b", problem), ElementsAre(32, 8, 1));
  EXPECT_EQ(tuning.group("c", problem), nullptr);
  EXPECT_EQ(*tuning.choice("form", problem), "plain");
  EXPECT_EQ(*tuning.choice("only here", problem), "8");
  EXPECT_EQ(tuning.choice("only here", other), nullptr);
}

TEST(Tuning, IsThatOfTheProblemThatAHandleLaunches) {
  Device device = open_devices({}).front();
  const Tuning before = tuning_of(device);
  const std::string file = keep_kernel_text("shape_of_group",
                                            "__kernel void shape_of_group(__global int* shape) {\n"
                                            "  shape[0] = get_local_size(0);\n"
                                            "  shape[1] = get_local_size(1);\n"
                                            "}\n");
  const Buffer shape = device.buffer("shape", 8);
  const auto launched = [&](const std::optional<ProblemClass>& problem) {
    Device handle = device;
    handle.set_problem(problem);
    const KernelArgument arguments[] = {&shape};
    const Event done = handle.launch({file, "shape_of_group", ""}, {64, 64, 1}, arguments);
    std::array<std::int32_t, 2> found{};
    handle.read(shape, 0, found.data(), sizeof found, std::span(&done, 1)).wait();
    return found;
  };
  const auto problem = problem_class({300, 300, 1200}, {300, 1548, 3}), other = problem_class({8, 8, 8}, {8, 8, 8});
  Tuning tuning;
  tuning.groups["shape_of_group"] = {8, 2, 1};
  tuning.problems[*problem].groups["shape_of_group"] = {4, 8, 1};
  use_tuning(device, tuning);
  EXPECT_THAT(launched(problem), ElementsAre(4, 8));
  EXPECT_THAT(launched(other), ElementsAre(8, 2));
  EXPECT_THAT(launched(std::nullopt), ElementsAre(8, 2));
  use_tuning(device, {});
  EXPECT_THAT(launched(problem), ElementsAre(64, 4)) << "the default";
  use_tuning(device, before);
}

}  // namespace
}  // namespace halocline::tuning_test

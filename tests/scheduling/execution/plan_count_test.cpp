// labels: device
// A job is planned once: what a forecast shows is what runs.
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <functional>
#include <sstream>
#include <string>

#include "algorithms/denoise/denoise.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "algorithms/projectors/projector.hpp"
#include "algorithms/solvers/reconstruct.hpp"
#include "host/system/log.hpp"
#include "scheduling/profiling/rates.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::plan_count_test {
namespace {

using reference::device;

// Number of plans that `work` makes.
int plans_of(const std::function<void()>& work) {
  std::ostringstream text;
  const auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(text);
  const auto logger = std::make_shared<spdlog::logger>("plans", sink);
  logger->set_pattern("%v");
  logger->set_level(spdlog::level::trace);
  set_library_log(logger);
  work();
  set_library_log(nullptr);
  int count = 0;
  std::istringstream lines(text.str());
  for (std::string line; std::getline(lines, line);) count += line.starts_with("planning ") ? 1 : 0;
  return count;
}

// A job by a forecast, and a run that is given it or not.
struct Job {
  std::function<Plan()> forecast;
  std::function<RunResult(const RunOptions&)> run;
};

class PlanCount : public testing::Test {
 protected:
  static void expect_one_plan(const Job& job) {
    job.run({});  // checks kernel variants by small runs, whose results are kept
    EXPECT_EQ(plans_of([&] { job.run({}); }), 1);
    RunOptions options;
    EXPECT_EQ(plans_of([&] {
                options.planned = job.forecast();
                EXPECT_EQ(job.run(options).plan.text(), options.planned->text());
              }),
              1);
  }

  const reference::Scene scene = reference::scene_named("cone");
  const Volume stack = reference::random_volume(scene.projections, 1), volume = reference::random_volume(scene.grid, 2);
  const std::vector<DeviceModel> models = device_models(device());
};

TEST_F(PlanCount, IsOneForFdk) {
  expect_one_plan(
      {[&] { return plan_fdk(scene.geometry, scene.projections, scene.grid, {}, models); },
       [&](const RunOptions& options) { return fdk(stack, scene.geometry, scene.grid, {}, device(), options); }});
}

TEST_F(PlanCount, IsOneForProjections) {
  expect_one_plan({[&] { return plan_project(scene.geometry, scene.grid, scene.projections, {}, models); },
                   [&](const RunOptions& options) {
                     return project(volume, scene.geometry, scene.projections, ProjectionParameters{}, device(),
                                    options);
                   }});
}

TEST_F(PlanCount, IsOneForDenoise) {
  for (const int stages : {0, 2}) {
    DenoiseParameters parameters{.alpha = 10, .iterations = 4, .stages = stages};
    expect_one_plan({[&] { return plan_denoise(scene.grid, parameters, device()); },
                     [&](const RunOptions& options) {
                       return RunResult{.plan = denoise(volume, nullptr, parameters, device(), options).plan};
                     }});
  }
}

TEST_F(PlanCount, IsOneForReconstruct) {
  ReconstructionParameters parameters{.method = "sirt", .passes = 2};
  const MemorySource source(stack);
  expect_one_plan(
      {[&] { return plan_reconstruct(scene.projections, scene.geometry, scene.grid, parameters, {}, models); },
       [&](const RunOptions& options) {
         Volume result(scene.grid);
         MemorySink sink(result);
         return reconstruct({.projections = &source}, scene.geometry, sink, parameters, device(), options).run;
       }});
}

TEST_F(PlanCount, APlanOfSomethingElseIsNotCarriedOut) {
  Grid other = scene.grid;
  ++other.size[2];
  RunOptions options{.planned = plan_fdk(scene.geometry, scene.projections, other, {}, models)};
  RunResult found;
  EXPECT_EQ(plans_of([&] { found = fdk(stack, scene.geometry, scene.grid, {}, device(), options); }), 1);
  EXPECT_TRUE(found.output.voxels == fdk(stack, scene.geometry, scene.grid, {}, device()).output.voxels);
  EXPECT_EQ(found.plan.requirements.size, scene.grid.size);
}

}  // namespace
}  // namespace halocline::plan_count_test

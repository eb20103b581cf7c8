// labels: device slab dealt
// Beginnings and ends of runs other than by their iterations: time, Ctrl-C, a warm start, a path of strengths. However
// the volume is split, the result is that of that number of iterations.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "algorithms/denoisers/pdu.hpp"
#include "algorithms/denoisers/registry.hpp"
#include "algorithms/denoisers/spdu.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/tv_reference.hpp"

namespace halocline::run_control_test {
namespace {

const Volume& image() {
  static const Volume f = reference::two_balls(24, 0.1);
  return f;
}

Volume weights() {
  Volume w = reference::ramp_weights(24);
  return w;
}

MethodParameters parameters_for(const Volume& f, int iterations, double gap = 0) {
  MethodParameters parameters;
  parameters.size = f.grid.size;
  parameters.spacing = f.grid.spacing;
  parameters.iterations = iterations;
  parameters.lambda = 1.0 / 15;
  parameters.gap = gap;
  parameters.largest_weight = 8;
  parameters.step = 0.01;
  parameters.epsilon = 0.005;
  return parameters;
}

bool same(const Volume& a, const Volume& b) {
  return a.voxels.size() == b.voxels.size() &&
         std::memcmp(a.voxels.data(), b.voxels.data(), sizeof(float) * a.voxels.size()) == 0;
}

// Ways to split the volume: one slab, streamed slabs, two devices.
struct Split {
  std::string name;
  int slabs = 0, exchange = 0;
  bool two_devices = false;
};

void PrintTo(const Split& split, std::ostream* out) {
  *out << split.name;
}

class Splits : public testing::TestWithParam<Split> {
 protected:
  void SetUp() override {
    request_interrupt(false);
    const auto& split = GetParam();
    DeviceSelection selection;
    if (split.two_devices) {
      const auto all = list_devices();
      const auto cpu = std::find_if(all.begin(), all.end(), [](const DeviceInfo& info) { return info.cpu(); });
      if (cpu == all.end()) GTEST_SKIP() << "no CPU device to split in two";
      selection.device = std::to_string(cpu->index);
      whole_ = open_devices(selection);
      selection.sub_devices = 2;
    }
    devices_ = open_devices(selection);
    if (!split.two_devices) whole_ = devices_;
    options_.plan.minimum_slabs = split.slabs;
    options_.plan.iterations_per_exchange = split.exchange;
  }
  void TearDown() override { request_interrupt(false); }

  RunResult run(IterativeMethod& method, bool weighted = false) const {
    std::map<std::string, const Volume*> inputs{{"f", &image()}};
    const Volume w = weights();
    if (weighted) inputs["w"] = &w;
    return run_program(method.program(), inputs, image().grid, devices_, options_);
  }

  // Runs on one slab of a device of the same kind.
  RunResult run_whole(IterativeMethod& method, bool weighted = false, const RunOptions& options = {}) const {
    std::map<std::string, const Volume*> inputs{{"f", &image()}};
    const Volume w = weights();
    if (weighted) inputs["w"] = &w;
    return run_program(method.program(), inputs, image().grid, whole_, options);
  }

  Volume plain_run(const std::string& method, const MethodParameters& parameters) const {
    return run_whole(*make_method(method, parameters)).output;
  }

  std::vector<Device> devices_, whole_;
  RunOptions options_;
};

INSTANTIATE_TEST_SUITE_P(RunControl, Splits,
                         testing::Values(Split{"one"}, Split{"three_slabs", 3}, Split{"five_slabs_2", 5, 2},
                                         Split{"two_devices", 0, 0, true}, Split{"two_devices_3", 0, 3, true},
                                         Split{"two_devices_five_slabs", 5, 0, true}),
                         [](const auto& info) { return info.param.name; });

// Presses Ctrl-C in the nth step.
class Interrupting : public Pdu {
 public:
  Interrupting(const MethodParameters& parameters, int calls) : Pdu(parameters), calls_(calls) {}
  void iterate_together(Slab& slab, int first, int count, Range core) const override {
    if (!takes_parts(slab)) step();  // otherwise it calls what follows
    Pdu::iterate_together(slab, first, count, core);
  }
  void iterate_parts(Slab& slab, int first, int count, std::span<const Range> parts,
                     const std::function<void(std::size_t)>& launched) const override {
    step();
    Pdu::iterate_parts(slab, first, count, parts, launched);
  }

 private:
  void step() const {
    if (--calls_ == 0) request_interrupt(true);
  }
  mutable std::atomic<int> calls_;
};

TEST_P(Splits, InterruptedRunsKeepAStateOfOneIterationWithItsCertificate) {
  options_.keep_partial = true;
  for (const int stages : {0, 2})
    for (const int calls : {1, 4, 17, 38}) {
      SCOPED_TRACE(testing::Message() << calls << " calls of " << stages);
      auto parameters = parameters_for(image(), 400);
      parameters.fused.stages = stages;
      Interrupting method(parameters, calls);
      const auto result = run(method);
      EXPECT_EQ(result.stopped_by, StoppedBy::interrupt);
      EXPECT_LT(result.iterations, 160);
      if (stages == 0 && GetParam().slabs == 0 && !GetParam().two_devices) {
        EXPECT_EQ(result.iterations, calls);
      }
      EXPECT_FALSE(interrupt_requested());
      ASSERT_FALSE(method.history().empty());
      const auto& last = method.history().back();
      EXPECT_EQ(last.iteration, result.iterations);
      if (result.iterations == 0) {
        EXPECT_TRUE(same(result.output, image()));
        continue;
      }
      parameters.iterations = result.iterations;
      Pdu whole(parameters);
      const auto expected = run_whole(whole);
      EXPECT_TRUE(same(result.output, expected.output));
      EXPECT_EQ(last.gap, whole.history().back().gap);
    }
}

TEST_P(Splits, WithoutKeepingAnInterruptionThrows) {
  Interrupting method(parameters_for(image(), 400), 5);
  EXPECT_THROW(run(method), Interrupted);
}

// Presses it in two calls.
class Impatient : public Interrupting {
 public:
  explicit Impatient(const MethodParameters& parameters) : Interrupting(parameters, 3) {}
  void reduce(Slab& slab, int done, Range interior) const override {
    request_interrupt(true);
    Interrupting::reduce(slab, done, interior);
  }
};

TEST_P(Splits, ACtrlCInTheLastReductionStillKeepsTheResult) {
  options_.keep_partial = true;
  Impatient method(parameters_for(image(), 400));
  const auto result = run(method);
  EXPECT_EQ(result.stopped_by, StoppedBy::interrupt);
  EXPECT_EQ(method.history().back().iteration, result.iterations);
}

TEST_P(Splits, ATimeLimitEndsWithARightResult) {
  options_.time_limit = 0.05;
  Pdu method(parameters_for(image(), 100000));
  const auto result = run(method);
  EXPECT_EQ(result.stopped_by, StoppedBy::time);
  EXPECT_LT(result.seconds, 5);
  ASSERT_LT(result.iterations, 100000);
  EXPECT_EQ(method.history().back().iteration, result.iterations);
  if (result.iterations > 0) {
    EXPECT_TRUE(same(result.output, plain_run("pdu", parameters_for(image(), result.iterations))));
  }
}

TEST_P(Splits, TheDescentIsKeptAndTimedToo) {
  struct Form {
    bool timed, variant;
  };
  for (const auto& [timed, variant] : {Form{false, false}, {true, false}, {false, true}, {true, true}}) {
    auto parameters = parameters_for(image(), 5000);
    if (variant) parameters.adaptive_delta = 0.4;
    parameters.statistical = variant;
    const auto method = make_denoiser("tvgd", parameters);
    options_.keep_partial = !timed;
    options_.time_limit = timed ? 0.03 : 0;
    int reports = 0;
    options_.progress = nullptr;
    if (!timed)
      options_.progress = [&](const ProgressState&) {
        if (++reports == 6) request_interrupt(true);
      };
    const auto result = run(*method, variant);
    EXPECT_EQ(result.stopped_by, timed ? StoppedBy::time : StoppedBy::interrupt);
    request_interrupt(false);
    ASSERT_LT(result.iterations, 5000);
    EXPECT_EQ(method->history().back().iteration, result.iterations);
    EXPECT_TRUE(std::isfinite(method->history().back().fidelity));
    if (result.iterations == 0) continue;
    parameters.iterations = result.iterations;
    EXPECT_TRUE(same(result.output, run_whole(*make_method("tvgd", parameters), variant).output));
  }
}

TEST_P(Splits, GapsAreEvaluatedAtTheSameNumbers) {
  for (const char* name : {"pdu", "spdu"}) {
    const auto method = make_denoiser(name, parameters_for(image(), 400, 1e-4));
    const auto result = run(*method, name == std::string("spdu"));
    EXPECT_EQ(result.stopped_by, StoppedBy::method);
    const auto one = make_denoiser(name, parameters_for(image(), 400, 1e-4));
    const auto whole = run_whole(*one, name == std::string("spdu"));
    EXPECT_TRUE(same(result.output, whole.output));
    ASSERT_EQ(method->history().size(), one->history().size());
    EXPECT_LE(method->history().size(), 8u);
    for (std::size_t n = 0; n < one->history().size(); ++n) {
      EXPECT_EQ(method->history()[n].iteration, one->history()[n].iteration);
      EXPECT_EQ(method->history()[n].gap, one->history()[n].gap);
    }
  }
}

TEST_P(Splits, WarmStartsReachTheSameMinimum) {
  Volume start = image();
  for (std::size_t n = 0; n < start.voxels.size(); ++n)
    start.voxels[n] = 0.3f * start.voxels[n] + 0.5f * static_cast<float>(n % 24 < 12);
  for (const auto schedule : {Schedule::standard, Schedule::chambolle_pock})
    for (const char* name : {"pdu", "spdu"}) {
      auto parameters = parameters_for(image(), 2000, 1e-6);
      parameters.schedule = schedule;
      const auto method = make_denoiser(name, parameters);
      options_.initial.clear();
      for (const auto& array : method->image_arrays()) options_.initial[array] = &start;
      const bool weighted = name == std::string("spdu");
      const auto warm = run(*method, weighted);
      EXPECT_TRUE(method->converged());
      const double warm_gap = method->history().back().gap;
      const auto cold_method = make_denoiser(name, parameters);
      const Volume w = weights();
      const auto cold = run_whole(*cold_method, weighted);
      double distance2 = 0;
      for (std::size_t n = 0; n < w.voxels.size(); ++n)
        distance2 += std::pow(warm.output.voxels[n] - cold.output.voxels[n], 2) / (weighted ? w.voxels[n] : 1);
      const double bound = std::sqrt(2 * warm_gap) + std::sqrt(2 * cold_method->history().back().gap);
      EXPECT_LE(std::sqrt(distance2), bound);
      EXPECT_FALSE(same(warm.output, cold.output));  // it did start elsewhere
    }
}

TEST_P(Splits, TheDescentBeginsAtTheGivenImage) {
  Volume start = image();
  for (auto& value : start.voxels) value += 0.25f;
  auto parameters = parameters_for(image(), 1);
  const auto method = make_denoiser("tvgd", parameters);
  for (const auto& array : method->image_arrays()) options_.initial[array] = &start;
  const auto result = run(*method);
  ASSERT_EQ(method->history().front().iteration, 0);
  const double count = static_cast<double>(start.voxels.size());
  EXPECT_NEAR(method->history().front().fidelity, 0.25 * std::sqrt(count), 1e-4 * std::sqrt(count));
  double change2 = 0;
  for (std::size_t n = 0; n < start.voxels.size(); ++n)
    change2 += std::pow(result.output.voxels[n] - start.voxels[n], 2);
  EXPECT_NEAR(std::sqrt(change2 / count), parameters.step, 1e-3 * parameters.step);
}

const std::vector<double> path{1.0 / 25, 1.0 / 15, 1.0 / 11};

struct PathOutcome {
  std::vector<Volume> outputs;
  std::vector<StageRecord> stages;
  int iterations = 0;
};

template <class Run>
PathOutcome follow(const std::string& name, MethodParameters parameters, RunOptions& options, const Run& run) {
  parameters.path = path;
  const auto method = make_denoiser(name, parameters);
  PathOutcome outcome;
  options.stage_output = [&](int stage, const Volume& output) {
    EXPECT_EQ(stage, static_cast<int>(outcome.outputs.size()));
    outcome.outputs.push_back(output);
  };
  auto result = run(*method);
  outcome.outputs.push_back(std::move(result.output));
  outcome.stages = method->stages();
  outcome.iterations = result.iterations;
  EXPECT_TRUE(method->converged());
  EXPECT_EQ(result.stopped_by, StoppedBy::method);
  return outcome;
}

TEST_P(Splits, PathsAreTheSameAndCertified) {
  struct Form {
    Schedule schedule;
    FusedForm fused;
  };
  for (const char* name : {"pdu", "spdu"})
    for (const auto& [schedule, fused] :
         {Form{Schedule::standard, {}}, Form{Schedule::seed, {}}, Form{Schedule::chambolle_pock, {}},
          Form{Schedule::standard, {2, 32}}, Form{Schedule::standard, {2, 16}}, Form{Schedule::zhu_chan, {1, 16}}}) {
      SCOPED_TRACE(testing::Message() << name << " " << schedule_name(schedule) << " " << fused.stages << " "
                                      << fused.dual_bits);
      const bool weighted = name == std::string("spdu");
      auto parameters = parameters_for(image(), 400, 1e-2);
      parameters.schedule = schedule;
      parameters.fused = fused;
      const auto split = follow(name, parameters, options_, [&](auto& method) { return run(method, weighted); });
      RunOptions plain;
      const auto one =
          follow(name, parameters, plain, [&](auto& method) { return run_whole(method, weighted, plain); });
      ASSERT_EQ(split.outputs.size(), path.size());
      ASSERT_EQ(split.stages.size(), path.size());
      EXPECT_EQ(split.iterations, one.iterations);
      for (std::size_t n = 0; n < path.size(); ++n) {
        EXPECT_TRUE(same(split.outputs[n], one.outputs[n])) << n;
        EXPECT_EQ(split.stages[n].lambda, path[n]);
        EXPECT_EQ(split.stages[n].last.iteration, one.stages[n].last.iteration);
        EXPECT_EQ(split.stages[n].last.gap, one.stages[n].last.gap);
        EXPECT_LE(split.stages[n].last.relative_gap, 1e-2);
      }
    }
}

TEST(RunControl, PathsNeedFewerIterationsThanColdStarts) {
  const Volume f = reference::two_balls(48, 0.1);
  int warm = 0, cold = 0;
  auto parameters = parameters_for(f, 400, 1e-3);
  parameters.path = {1.0 / 20, 1.0 / 15, 1.0 / 12};
  Pdu method(parameters);
  std::vector<Volume> outputs;
  RunOptions options;
  options.stage_output = [&](int stage, const Volume& output) {
    EXPECT_EQ(stage, static_cast<int>(outputs.size()));
    outputs.push_back(output);
  };
  outputs.push_back(run_program(method.program(), {{"f", &f}}, f.grid, open_devices({}), options).output);
  parameters.path.clear();
  for (std::size_t n = 0; n < 3; ++n) {
    const auto& stage = method.stages()[n];
    parameters.lambda = stage.lambda;
    Pdu single(parameters);
    const auto result = run_program(single.program(), {{"f", &f}}, f.grid, open_devices({}));
    if (n == 0) {
      EXPECT_TRUE(same(result.output, outputs[0]));
    } else {
      EXPECT_LT(stage.last.iteration, result.iterations);
    }
    warm += stage.last.iteration;
    cold += result.iterations;
    double distance2 = 0;
    for (std::size_t v = 0; v < f.voxels.size(); ++v)
      distance2 += std::pow(outputs[n].voxels[v] - result.output.voxels[v], 2);
    EXPECT_LE(std::sqrt(distance2), std::sqrt(2 * stage.last.gap) + std::sqrt(2 * single.history().back().gap));
  }
  EXPECT_LE(warm, 0.9 * cold);
}

TEST(RunControl, AStageThatDoesNotConvergeHandsOverAfterItsIterations) {
  auto parameters = parameters_for(image(), 7, 1e-7);
  parameters.path = path;
  Pdu method(parameters);
  int outputs = 0;
  RunOptions options;
  options.stage_output = [&](int, const Volume&) { ++outputs; };
  const auto result = run_program(method.program(), {{"f", &image()}}, image().grid, open_devices({}), options);
  EXPECT_EQ(result.iterations, 21);
  EXPECT_EQ(outputs, 2);
  EXPECT_FALSE(method.converged());
  ASSERT_EQ(method.stages().size(), 3u);
  for (const auto& stage : method.stages()) EXPECT_EQ(stage.last.iteration, 7);
}

TEST(RunControl, AnInterruptedPathHasTheStagesUntilThen) {
  request_interrupt(false);
  auto parameters = parameters_for(image(), 400, 1e-3);
  parameters.path = path;
  Pdu method(parameters);
  RunOptions options{.keep_partial = true};
  int outputs = 0;
  options.stage_output = [&](int, const Volume&) {
    ++outputs;
    request_interrupt(true);
  };
  const auto result = run_program(method.program(), {{"f", &image()}}, image().grid, open_devices({}), options);
  request_interrupt(false);
  EXPECT_EQ(result.stopped_by, StoppedBy::interrupt);
  EXPECT_EQ(outputs, 1);
  ASSERT_EQ(method.stages().size(), 1u);  // nothing of the second
  EXPECT_EQ(method.history().back().iteration, result.iterations);
}

TEST(RunControl, AnUnreachableGapIsGivenUp) {
  Pdu method(parameters_for(image(), 100000, 1e-12));
  const auto result = run_program(method.program(), {{"f", &image()}}, image().grid, open_devices({}));
  EXPECT_TRUE(method.stalled());
  EXPECT_FALSE(method.converged());
  EXPECT_EQ(result.stopped_by, StoppedBy::method);
  EXPECT_LT(result.iterations, 10000);
  EXPECT_LT(method.history().back().relative_gap, 1e-6);
}

TEST(RunControl, ProgressTellsWhatIsExpected) {
  Pdu method(parameters_for(image(), 100000, 1e-5));
  RunOptions options;
  std::vector<ProgressState> states;
  options.progress = [&](const ProgressState& state) { states.push_back(state); };
  const auto result = run_program(method.program(), {{"f", &image()}}, image().grid, open_devices({}), options);
  ASSERT_GE(states.size(), 3u);
  EXPECT_LT(states[1].total, 4.0 * result.iterations);
  EXPECT_GT(states[1].total, result.iterations / 4.0);
  EXPECT_EQ(states.back().done, states.back().total);
}

}  // namespace
}  // namespace halocline::run_control_test

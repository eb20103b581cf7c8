// labels: device slab nightly
// Runs that resume from a state that an earlier one has kept: after every pass, on other slabs and devices than before,
// the result and all findings are bitwise identical to a run without interruption.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <set>

#include "algorithms/denoisers/pdu.hpp"
#include "algorithms/denoisers/registry.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "scheduling/execution/checkpoint_store.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/tv_reference.hpp"
#include "tests/support/kept_states.hpp"

namespace halocline::resume_test {
namespace {

// A box whose slices are no multiple of anything, off centre.
const Volume& image() {
  static const Volume f = [] {
    const Volume cube = reference::two_balls(24, 0.1);
    Grid grid = cube.grid;
    grid.size = {24, 21, 23};
    Volume part(grid);
    for (std::size_t k = 0; k < 23; ++k)
      for (std::size_t j = 0; j < 21; ++j)
        for (std::size_t i = 0; i < 24; ++i) part.at(i, j, k) = cube.at(i, j + 2, k);
    return part;
  }();
  return f;
}

const Volume& weights() {
  static const Volume w = [] {
    Volume result(image().grid);
    for (std::size_t n = 0; n < result.voxels.size(); ++n) result.voxels[n] = 0.5f + static_cast<float>(n % 7);
    return result;
  }();
  return w;
}

struct Case {
  std::string name, method = "pdu";
  int iterations = 24;
  double gap = 0;
  int stages = 0, dual_bits = 32;
  Schedule schedule = Schedule::standard;
  bool path = false, target = false, variant = false;

  bool weighted() const { return method == "spdu" || variant; }
  std::unique_ptr<DenoiseMethod> make() const {
    MethodParameters parameters;
    parameters.size = image().grid.size;
    parameters.spacing = image().grid.spacing;
    parameters.iterations = iterations;
    parameters.lambda = 1.0 / 15;
    parameters.gap = gap;
    parameters.schedule = schedule;
    parameters.largest_weight = 6.5;
    parameters.fused = {stages, dual_bits};
    parameters.step = target ? 0.002 : 0.01;
    parameters.epsilon = 0.005;
    if (target) parameters.target_rms = 0.09;
    if (variant) parameters.adaptive_delta = 0.4, parameters.statistical = true;
    if (path) parameters.path = {1.0 / 30, 1.0 / 15, 1.0 / 8};
    if (method == "pdu4d") parameters.time = {0.7, 3};
    return make_denoiser(method, parameters);
  }
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = [] {
    std::vector<Case> result;
    for (const int bits : {32, 16})
      for (const int stages : {1, 2}) {
        Case fused{"pdu_" + std::to_string(stages) + "x" + std::to_string(bits)};
        fused.stages = stages, fused.dual_bits = bits;
        result.push_back(fused);
      }
    result.push_back({"pdu_in_place"});
    result.push_back({.name = "pdu_gap", .iterations = 300, .gap = 2e-3});
    result.push_back({.name = "pdu_chambolle_pock", .schedule = Schedule::chambolle_pock});
    result.push_back({.name = "pdu_path", .iterations = 60, .gap = 1e-2, .path = true});
    result.push_back({.name = "pdu4d", .method = "pdu4d"});
    result.push_back({.name = "spdu", .method = "spdu"});
    result.push_back({.name = "spdu_2x16", .method = "spdu", .stages = 2, .dual_bits = 16});
    result.push_back({.name = "tvgd", .method = "tvgd", .iterations = 70});  // more than a window of steered ones
    result.push_back({.name = "tvgd_target", .method = "tvgd", .iterations = 200, .target = true});
    result.push_back({.name = "tvgd_variant", .method = "tvgd", .iterations = 70, .variant = true});
    return result;
  }();
  return all;
}

struct Split {
  std::string name;
  int slabs = 0, exchange = 0;
  bool two_devices = false;
};
const Split splits[] = {{"one"}, {"three_slabs_4", 3, 4}, {"two_devices_3", 0, 3, true}, {"two_devices_5", 5, 5, true}};

void PrintTo(const Split& split, std::ostream* out) {
  *out << split.name;
}

struct Devices {
  std::vector<Device> one, two;
};

class Resume : public testing::TestWithParam<Split> {
 protected:
  void SetUp() override {
    request_interrupt(false);
    const auto all = list_devices();
    const auto cpu = std::find_if(all.begin(), all.end(), [](const DeviceInfo& info) { return info.cpu(); });
    if (cpu == all.end()) GTEST_SKIP() << "no CPU device to split in two";
    DeviceSelection selection{.device = std::to_string(cpu->index)};
    devices_.one = open_devices(selection);
    selection.sub_devices = 2;
    devices_.two = open_devices(selection);
  }
  void TearDown() override { request_interrupt(false); }

  RunResult run(IterativeMethod& method, bool weighted, const Split& split, RunOptions options = {}) const {
    std::map<std::string, const Volume*> inputs{{"f", &image()}};
    if (weighted) inputs["w"] = &weights();
    options.plan.minimum_slabs = split.slabs;
    options.plan.iterations_per_exchange = split.exchange;
    return run_program(method.program(), inputs, image().grid, split.two_devices ? devices_.two : devices_.one,
                       options);
  }

  Devices devices_;
};

INSTANTIATE_TEST_SUITE_P(Resume, Resume, testing::ValuesIn(splits), [](const auto& info) { return info.param.name; });

void expect_same_records(const DenoiseMethod& a, const DenoiseMethod& b) {
  EXPECT_EQ(a.converged(), b.converged());
  EXPECT_EQ(a.stalled(), b.stalled());
  EXPECT_EQ(a.stages().size(), b.stages().size());
  ASSERT_EQ(a.history().size(), b.history().size());
  const auto same = [](double x, double y) { return std::memcmp(&x, &y, sizeof x) == 0; };
  for (std::size_t n = 0; n < a.history().size(); ++n) {
    EXPECT_EQ(a.history()[n].iteration, b.history()[n].iteration);
    EXPECT_TRUE(same(a.history()[n].gap, b.history()[n].gap));
    EXPECT_TRUE(same(a.history()[n].fidelity, b.history()[n].fidelity));
  }
}

TEST_P(Resume, FromAnyStateOnAnySplitToTheSameBits) {
  for (const auto& each : cases()) {
    SCOPED_TRACE(each.name);
    const auto whole = each.make();
    std::map<int, std::vector<float>> stages;
    RunOptions plain;
    plain.stage_output = [&](int stage, const Volume& output) { stages[stage] = output.voxels; };
    const auto expected = run(*whole, each.weighted(), splits[0], plain);

    KeptStates memory;
    RunOptions options{.checkpoint_store = &memory, .keep_every = 0};
    const auto kept = each.make();
    const auto result = run(*kept, each.weighted(), GetParam(), options);
    EXPECT_TRUE(result.output.voxels == expected.output.voxels);
    expect_same_records(*kept, *whole);
    ASSERT_FALSE(memory.all.empty());

    const std::size_t last = memory.all.size() - 1;
    for (const std::size_t n : std::set<std::size_t>{last / 3, last}) {
      const int begin = memory.all[n].state.iterations;
      SCOPED_TRACE(testing::Message() << "from iteration " << begin << " of " << result.iterations);
      EXPECT_GT(begin, 0);
      EXPECT_LT(begin, result.iterations);
      for (const auto& split : {GetParam(), splits[n % std::size(splits)]}) {
        SCOPED_TRACE(split.name);
        KeptStates from;
        from.from = &memory.all[n];
        options.checkpoint_store = &from;
        std::map<int, std::vector<float>> later;
        options.stage_output = [&](int stage, const Volume& output) { later[stage] = output.voxels; };
        const auto method = each.make();
        const auto resumed = run(*method, each.weighted(), split, options);
        EXPECT_EQ(resumed.iterations, expected.iterations);
        EXPECT_EQ(resumed.stopped_by, expected.stopped_by);
        EXPECT_TRUE(resumed.output.voxels == expected.output.voxels);
        expect_same_records(*method, *whole);
        for (const auto& [stage, output] : later) EXPECT_TRUE(output == stages.at(stage));
      }
    }
  }
}

// Presses Ctrl-C, or loses its device, in the nth call of iterate_together().
class Troubled : public Pdu {
 public:
  Troubled(const MethodParameters& parameters, int calls, bool lost) : Pdu(parameters), calls_(calls), lost_(lost) {}
  void iterate_together(Slab& slab, int first, int count, Range core) const override {
    if (--calls_ == 0) {
      if (lost_) throw DeviceError("lost on purpose", slab.device().name);
      request_interrupt(true);
    }
    if (calls_ <= 0) least_ = std::min(least_.load(), first);
    Pdu::iterate_together(slab, first, count, core);
  }
  int least_since() const { return least_; }

 private:
  mutable std::atomic<int> calls_, least_{1000};
  bool lost_;
};

MethodParameters plain_parameters(int iterations) {
  return {.size = image().grid.size, .spacing = image().grid.spacing, .iterations = iterations, .lambda = 1.0 / 15};
}

TEST_P(Resume, CtrlCKeepsTheIterationItEndedAt) {
  Pdu whole(plain_parameters(40));
  const auto expected = run(whole, false, splits[0]);
  KeptStates memory;
  RunOptions options{.checkpoint_store = &memory, .keep_every = 1000};
  Troubled method(plain_parameters(40), 17, false);
  EXPECT_THROW(run(method, false, GetParam(), options), Interrupted);
  ASSERT_EQ(memory.all.size(), 1u);
  EXPECT_GT(memory.all.front().state.iterations, 0);
  request_interrupt(false);
  memory.from = &memory.all.front();
  Pdu again(plain_parameters(40));
  const auto resumed = run(again, false, GetParam(), options);
  EXPECT_TRUE(resumed.output.voxels == expected.output.voxels);
  expect_same_records(again, whole);
}

TEST_P(Resume, ATimeLimitKeepsTheState) {
  Pdu whole(plain_parameters(3000));
  const auto expected = run(whole, false, splits[0]);
  KeptStates memory;
  memory.follow = true;
  RunOptions options{.time_limit = 0.05, .checkpoint_store = &memory, .keep_every = 1000};
  Pdu cut(plain_parameters(3000));
  auto result = run(cut, false, GetParam(), options);
  EXPECT_EQ(result.stopped_by, StoppedBy::time);
  ASSERT_EQ(memory.all.size(), result.iterations > 0 ? 1u : 0u);
  options.time_limit = 0;
  result = run(cut, false, GetParam(), options);
  EXPECT_TRUE(result.output.voxels == expected.output.voxels);
  expect_same_records(cut, whole);
}

TEST_P(Resume, ALostDeviceCostsNoMoreThanSinceTheLastState) {
  if (!GetParam().two_devices) GTEST_SKIP() << "one device";
  Pdu whole(plain_parameters(40));
  const auto expected = run(whole, false, splits[0]);
  KeptStates memory;
  memory.follow = true;
  RunOptions options{.checkpoint_store = &memory, .keep_every = 0};
  Troubled method(plain_parameters(40), 61, true);
  const auto result = run(method, false, GetParam(), options);
  EXPECT_TRUE(result.output.voxels == expected.output.voxels);
  expect_same_records(method, whole);
  EXPECT_GE(method.least_since(), 5);
}

TEST_P(Resume, AStateOfOtherArraysIsRefused) {
  KeptStates memory;
  RunOptions options{.checkpoint_store = &memory, .keep_every = 0};
  Pdu method(plain_parameters(12));
  run(method, false, GetParam(), options);
  memory.from = &memory.all.back();
  auto narrow = plain_parameters(12);
  narrow.fused = {2, 16};
  Pdu other(narrow);
  EXPECT_THROW(run(other, false, GetParam(), options), InputError);
  Pdu shorter(plain_parameters(memory.from->state.iterations - 1));
  EXPECT_THROW(run(shorter, false, GetParam(), options), InputError);
}

}  // namespace
}  // namespace halocline::resume_test

// labels: device slab
// Streamed slabs: however thick, however many iterations a pass, bitwise identical to one slab; and transfers that are
// enqueued beside the kernels of another slab.
#include "scheduling/execution/region_stream.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "algorithms/denoisers/registry.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::region_stream_test {
namespace {

constexpr int iterations = 17;  // the last of the reductions, at 5, 10, 15 and the end, is not one of the others

struct Form {
  std::string method;
  std::size_t nz;
  FusedForm fused{};
};

void PrintTo(const Form& form, std::ostream* out) {
  *out << form.method << " of " << form.nz << " slices, " << form.fused.stages << " stages";
}

Volume noisy(const Grid& grid) {
  Volume volume(grid);
  std::mt19937 generator(11);
  std::normal_distribution<float> normal;
  for (std::size_t n = 0; n < volume.voxels.size(); ++n)
    volume.voxels[n] = static_cast<float>(n % 5) + 0.4f * normal(generator);
  return volume;
}

MethodParameters parameters_for(const Form& form) {
  MethodParameters parameters;
  parameters.size = {7, 5, form.nz};
  parameters.spacing = {0.5, 0.8, 1.7};
  parameters.iterations = iterations;
  parameters.lambda = 0.3;
  parameters.fused = form.fused;
  parameters.step = 0.03;
  parameters.epsilon = 0.05;
  return parameters;
}

struct Outcome {
  RunResult result;
  std::vector<std::vector<double>> numbers;  // of every reduction
};

Outcome run(const Form& form, const std::vector<Device>& devices, int slabs, int exchange) {
  const auto parameters = parameters_for(form);
  Grid grid{.size = parameters.size, .spacing = parameters.spacing};
  const Volume f = noisy(grid);
  const auto method = make_method(form.method, parameters);
  RunOptions options{.plan = {.minimum_slabs = slabs, .iterations_per_exchange = exchange}};
  Outcome outcome{run_program(method->program(), {{"f", &f}}, grid, devices, options), {}};
  if (const auto* denoiser = dynamic_cast<const DenoiseMethod*>(method.get()))
    for (const auto& record : denoiser->history()) {
      outcome.numbers.push_back({static_cast<double>(record.iteration)});
      for (const double number : {record.total_variation, record.fidelity, record.gap})
        if (std::isfinite(number)) outcome.numbers.back().push_back(number);
    }
  return outcome;
}

void expect_same(const Outcome& one, const Outcome& split) {
  EXPECT_EQ(one.result.iterations, split.result.iterations);
  EXPECT_EQ(one.result.output.voxels, split.result.output.voxels);
  EXPECT_EQ(one.numbers, split.numbers);
}

class Regions : public testing::TestWithParam<Form> {};

TEST_P(Regions, OfAnyThicknessAndPassGiveTheBitsOfOne) {
  const auto device = open_devices({});
  const auto one = run(GetParam(), device, 0, 0);
  ASSERT_TRUE(one.result.plan.resident);
  const auto nz = static_cast<int>(GetParam().nz);
  for (const int slabs : {2, 3, nz})         // the last: one slice each
    for (const int exchange : {1, 4, 17}) {  // 17: one pass; thicker than most slabs
      if (slabs > nz || (nz > 20 && slabs == nz && exchange == 1)) continue;
      SCOPED_TRACE(testing::Message() << slabs << " slabs, " << exchange << " iterations a pass");
      const auto split = run(GetParam(), device, slabs, exchange);
      EXPECT_EQ(split.result.plan.resident, nz == 1);
      EXPECT_EQ(split.result.peak_bytes, split.result.plan.slabs.front().bytes);  // declared is allocated
      expect_same(one, split);
    }
}

TEST_P(Regions, OfTwoDevicesGiveTheBitsOfOne) {
  DeviceSelection cpu, two;
  cpu.device = two.device = reference::cpu_or_default();
  two.sub_devices = 2;
  std::vector<Device> whole, halves;
  try {
    whole = open_devices(cpu);
    halves = open_devices(two);
  } catch (const InputError&) {
    GTEST_SKIP() << "no CPU device to split in two";
  }
  const auto one = run(GetParam(), whole, 0, 0);
  for (const int exchange : {1, 3, 17}) {
    SCOPED_TRACE(testing::Message() << exchange << " iterations a pass");
    expect_same(one, run(GetParam(), halves, 5, exchange));
  }
}

INSTANTIATE_TEST_SUITE_P(RegionStream, Regions,
                         testing::Values(Form{"pdu", 1}, Form{"pdu", 7}, Form{"pdu", 93}, Form{"pdu", 7, {2, 16}},
                                         Form{"pdu", 93, {2, 32}}, Form{"tvgd", 7}, Form{"tvgd", 93},
                                         Form{"skeleton", 7}, Form{"gaussian", 7}),
                         [](const auto& info) {
                           return info.param.method + "_" + std::to_string(info.param.nz) + "_" +
                                  std::to_string(info.param.fused.stages);
                         });

TEST(RegionStream, movesWhatThePlanSays) {
  const auto device = open_devices({});
  const double voxels = 7 * 5 * 93;
  // one pass: the image up, the result down, and the sums of four reductions
  const auto one = run({"pdu", 93}, device, 6, iterations);
  EXPECT_DOUBLE_EQ(one.result.plan.bus_bytes, 2 * 4 * voxels);
  EXPECT_EQ(one.result.plan.passes, 1);
  const double sums = one.result.bus_bytes - one.result.plan.bus_bytes;
  EXPECT_EQ(sums, 4 * 93 * 6 * 8);
  // three passes: the state up and down between them, in its stored type
  const auto three = run({"pdu", 93, {1, 16}}, device, 6, 7);
  EXPECT_EQ(three.result.plan.passes, 3);
  EXPECT_DOUBLE_EQ(three.result.plan.bus_bytes, (3 * 4 + 2 * 2 * (4 + 3 * 2) + 4) * voxels);
  EXPECT_EQ(three.result.bus_bytes - three.result.plan.bus_bytes, sums);
}

// Both ways, up to all of it; resident slabs report nothing.
TEST(RegionStream, tellsWhatHasMoved) {
  const auto parameters = parameters_for({"pdu", 93});
  Grid grid{.size = parameters.size, .spacing = parameters.spacing};
  const Volume f = noisy(grid);
  for (const int slabs : {1, 6}) {
    const auto method = make_method("pdu", parameters);
    std::vector<ProgressState> states;
    RunOptions options{.plan = {.minimum_slabs = slabs, .iterations_per_exchange = 7}};
    options.progress = [&](const ProgressState& state) { states.push_back(state); };
    const auto result = run_program(method->program(), {{"f", &f}}, grid, open_devices({}), options);
    ASSERT_EQ(result.plan.resident, slabs == 1);
    ASSERT_GE(states.size(), 2u);
    for (std::size_t n = 1; n < states.size(); ++n) {
      EXPECT_GE(states[n].up, states[n - 1].up);
      EXPECT_GE(states[n].down, states[n - 1].down);
    }
    if (slabs == 1) {
      EXPECT_EQ(states.back().up, 0);
      EXPECT_EQ(states.back().down, 0);
      continue;
    }
    // the image three times, the state twice to the device and three times back, the last time without its duals
    const double voxels = 7 * 5 * 93;
    EXPECT_EQ(states.back().up, (3 * 4 + 2 * (4 + 3 * 4)) * voxels);
    EXPECT_EQ(states.back().up + states.back().down, result.bus_bytes);
  }
}

// The order of enqueueing, which is what a driver can overlap: it does not depend on how it executes them.
TEST(RegionStream, enqueuesTransfersOfItsNeighboursBeforeTheLastKernelsOfARegion) {
  auto device = open_devices({});
  auto trace = std::make_shared<Trace>();
  device.front().record(trace);
  constexpr int regions = 6, passes = 5;  // of 4, 4, 4, 4 and 1 iterations
  const auto split = run({"pdu", 93}, device, regions, 4);
  device.front().record(nullptr);
  ASSERT_TRUE(is_overlapped(split.result.plan.requirements));
  ASSERT_EQ(split.result.plan.slabs.size(), static_cast<std::size_t>(regions));
  // A region begins when the inputs below it are copied from the one before.
  const auto begins = [](const TraceEntry& entry) { return entry.name == "copy f" || entry.name == "copy other f"; };
  int uploads = 0, downloads = 0;  // that kernels of the same region follow
  std::vector<const TraceEntry*> waiting;
  for (const auto& entry : trace->entries()) {
    if (begins(entry)) {
      waiting.clear();
    } else if (entry.queue != "compute") {
      waiting.push_back(&entry);
    } else if (entry.name == "pdu_primal") {
      for (const auto* each : waiting) ++(each->queue == "upload" ? uploads : downloads);
      waiting.clear();
    }
  }
  // At least half of the pieces in the passes with several steps: the input and the four arrays of the state.
  EXPECT_GE(uploads, (passes - 1) * (regions - 1) * 5 / 2);
  EXPECT_GE(downloads, (passes - 1) * (regions - 1) * 4 / 2);
}

}  // namespace
}  // namespace halocline::region_stream_test

// labels: device slab dealt
// Every iterative method of the registry: however the volume is split, bitwise identical results.
#include "algorithms/denoisers/registry.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "host/system/error.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/variant_reference.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::registry_test {
namespace {

constexpr int iterations = 12;  // reductions at 5, 10 and the end

MethodParameters parameters_for(const std::array<std::size_t, 3>& size, Schedule schedule = Schedule::standard,
                                bool gpu = false, FusedForm fused = {}) {
  MethodParameters parameters;
  parameters.size = size;
  parameters.spacing = {0.5, 0.8, 1.7};
  parameters.iterations = iterations;
  parameters.lambda = 0.3;
  parameters.schedule = schedule;
  parameters.largest_weight = 2;
  parameters.step = 0.03;
  parameters.epsilon = 0.05;
  parameters.variants.gpu = gpu;
  parameters.fused = fused;
  parameters.filter.sigma = 0.6;  // two slices; more would leave nothing to split of seven
  parameters.filter.search_radius = 1;
  parameters.noise = 0.3;
  return parameters;
}

struct Outcome {
  Volume u;
  std::vector<double> numbers;  // of the last reduction
  Plan plan;
  std::size_t peak = 0;
};

// Inputs are made up by name: positive weights, some of them 0; anything else is a noisy gradient.
class Job {
 public:
  Job(std::string name, const MethodParameters& parameters) : name_(std::move(name)), parameters_(parameters) {
    grid_.size = parameters.size;
    grid_.spacing = parameters.spacing;
    std::mt19937 generator(5);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> uniform(0.2f, 2.0f);
    for (const auto& need : make_method(name_, parameters_)->requirements().arrays) {
      if (need.lifetime != Lifetime::input) continue;
      Volume volume(grid_);
      for (std::size_t n = 0; n < volume.voxels.size(); ++n)
        volume.voxels[n] = need.name == "w"
                               ? (n % 11 < 2 ? 0 : uniform(generator))
                               : static_cast<float>(n) / static_cast<float>(grid_.count()) + 0.3f * normal(generator);
      volumes_[need.name] = volume;
    }
  }

  Outcome run(const std::vector<Device>& devices, const PlanOptions& plan = {}) const {
    std::map<std::string, const Volume*> inputs;
    for (const auto& [name, volume] : volumes_) inputs[name] = &volume;
    const auto method = make_method(name_, parameters_);
    RunOptions options{.plan = plan};
    auto result = run_program(method->program(), inputs, grid_, devices, options);
    Outcome outcome{std::move(result.output), {}, result.plan, result.peak_bytes};
    if (const auto* denoiser = dynamic_cast<const DenoiseMethod*>(method.get())) {
      const auto& last = denoiser->history().back();
      if (grid_.count() > 1) {
        EXPECT_EQ(last.iteration, method->requirements().iterations);
      }
      outcome.numbers = {last.total_variation, last.fidelity};
      for (const double number : {last.weighted_fidelity, last.gap})
        if (std::isfinite(number)) outcome.numbers.push_back(number);
    }
    return outcome;
  }

 private:
  std::string name_;
  MethodParameters parameters_;
  Grid grid_;
  std::map<std::string, Volume> volumes_;
};

void expect_same(const Outcome& a, const Outcome& b) {
  ASSERT_EQ(a.u.voxels.size(), b.u.voxels.size());
  EXPECT_EQ(0, std::memcmp(a.u.voxels.data(), b.u.voxels.data(), 4 * a.u.voxels.size()));
  EXPECT_EQ(a.numbers, b.numbers);
}

std::size_t planned_peak(const Plan& plan) {
  std::size_t most = 0;
  for (const auto& slab : plan.slabs) most = std::max(most, slab.bytes);
  return most;
}

struct Case {
  std::string method;
  std::array<std::size_t, 3> size;
  Schedule schedule = Schedule::standard;
  bool gpu = false;  // the kernels for GPUs whatever the device
  FusedForm fused{};
  reference::NamedRegulariser regulariser{};
  std::size_t depth = 1;  // pdu4d
  reference::NamedDescent descent{};
};

std::string form_name(const Case& c) {
  const auto& form = c.fused;
  return (form.stages == 0 ? "" : "_fused_" + std::to_string(form.stages) + "_bits_" + std::to_string(form.dual_bits));
}

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.method << " " << c.size[0] << "x" << c.size[1] << "x" << c.size[2] << " " << schedule_name(c.schedule)
       << (c.gpu ? " gpu" : "") << form_name(c) << " " << c.regulariser.name << c.descent.name;
}

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const auto& name : method_names())
    for (const auto& size : {std::array<std::size_t, 3>{1, 1, 9}, {7, 1, 7}, {93, 7, 13}, {17, 37, 23}})
      result.push_back({name, size});
  for (const char* name : {"pdu", "spdu"})
    for (const auto schedule : {Schedule::zhu_chan, Schedule::seed, Schedule::chambolle_pock})
      result.push_back({name, {17, 37, 23}, schedule});
  for (const auto& name : method_names()) result.push_back({name, {17, 37, 23}, Schedule::standard, true});
  for (const char* name : {"pdu", "spdu"})
    for (const auto& regulariser : reference::regularisers())
      result.push_back({name, {17, 37, 23}, Schedule::standard, false, {}, regulariser});
  result.push_back({"spdu", {17, 37, 23}, Schedule::chambolle_pock, true, {}, reference::regularisers()[5]});
  for (const auto& descent : reference::descents()) {
    for (const auto& size : {std::array<std::size_t, 3>{1, 1, 9}, {7, 1, 7}, {93, 7, 13}, {17, 37, 23}})
      result.push_back({"tvgd", size, Schedule::standard, false, {}, {}, 1, descent});
    result.push_back({"tvgd", {17, 37, 23}, Schedule::standard, true, {}, {}, 1, descent});
  }
  for (const auto schedule : {Schedule::standard, Schedule::seed, Schedule::chambolle_pock})
    result.push_back({"pdu4d", {17, 35, 11}, schedule, false, {}, {}, 5});
  for (const char* name : {"pdu", "spdu"})
    for (const auto form : {FusedForm{1, 32}, FusedForm{2, 16}, FusedForm{2, 32}}) {
      result.push_back({name, {17, 37, 23}, Schedule::standard, false, form});
      // several columns a work-item; rows of 93 are read one by one
      if (form.dual_bits == 16)
        for (const auto& size : {std::array<std::size_t, 3>{36, 22, 13}, {34, 22, 13}, {93, 7, 13}})
          result.push_back({name, size, Schedule::standard, true, form});
    }
  return result;
}

class EveryMethod : public testing::TestWithParam<Case> {
 protected:
  static MethodParameters parameters() {
    auto result = parameters_for(GetParam().size, GetParam().schedule, GetParam().gpu, GetParam().fused);
    result.regulariser = GetParam().regulariser.regulariser;
    result.time.depth = GetParam().depth;
    GetParam().descent.put_into(result);
    return result;
  }

  Job job_{GetParam().method, parameters()};
  std::vector<Device> device_ = open_devices({});
};

TEST_P(EveryMethod, ManySlabsGiveTheBitsOfOne) {
  const auto one = job_.run(device_);
  ASSERT_EQ(one.plan.slabs.size(), 1u);
  EXPECT_EQ(one.peak, planned_peak(one.plan));
  for (const int slabs : {2, 5})
    for (const int exchange : {1, 2, 0}) {
      SCOPED_TRACE(testing::Message() << slabs << " slabs, " << exchange << " iterations an exchange");
      PlanOptions plan{.minimum_slabs = slabs, .iterations_per_exchange = exchange};
      const auto split = job_.run(device_, plan);
      EXPECT_GE(split.plan.slabs.size(), static_cast<std::size_t>(slabs));
      EXPECT_EQ(split.peak, planned_peak(split.plan));
      expect_same(one, split);
    }
}

TEST_P(EveryMethod, TwoDevicesGiveTheBitsOfOne) {
  const auto all = list_devices();
  const auto cpu = std::find_if(all.begin(), all.end(), [](const DeviceInfo& info) { return info.cpu(); });
  if (cpu == all.end()) GTEST_SKIP() << "no CPU device to split in two";
  DeviceSelection whole{.device = std::to_string(cpu->index)};
  DeviceSelection two = whole;
  two.sub_devices = 2;
  const auto devices = open_devices(two);
  ASSERT_EQ(devices.size(), 2u);
  const auto one = job_.run(open_devices(whole));
  for (const int slabs : {0, 5}) {
    PlanOptions plan{.minimum_slabs = slabs};
    const auto split = job_.run(devices, plan);
    EXPECT_GE(split.plan.slabs.size(), 2u);
    expect_same(one, split);
  }
}

TEST_P(EveryMethod, ATinyBudgetIsKept) {
  const auto one = job_.run(device_);
  DeviceSelection small{.device_memory = planned_peak(one.plan) * 8 / 10};
  const auto devices = open_devices(small);
  const auto split = job_.run(devices);
  EXPECT_GE(split.plan.slabs.size(), 2u);
  EXPECT_LE(devices.front().ledger().peak(), small.device_memory);
  expect_same(one, split);
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  const auto& size = info.param.size;
  std::string name = info.param.method + "_" + schedule_name(info.param.schedule) + (info.param.gpu ? "_gpu" : "") +
                     form_name(info.param) +
                     (info.param.regulariser.name.empty() ? "" : "_" + info.param.regulariser.name) +
                     (info.param.descent.name.empty() ? "" : "_" + info.param.descent.name);
  for (const auto n : size) name += "_" + std::to_string(n);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryMethod, testing::ValuesIn(cases()), name_of);

TEST(Registry, OneVoxelAndOneSlice) {
  const auto device = open_devices({});
  for (const auto& name : method_names())
    for (const auto& size : {std::array<std::size_t, 3>{1, 1, 1}, {9, 8, 1}}) {
      const auto outcome = Job(name, parameters_for(size)).run(device);
      for (const float value : outcome.u.voxels) EXPECT_TRUE(std::isfinite(value)) << name;
    }
}

TEST(Registry, UnknownMethodsAreRefusedWithAList) {
  EXPECT_THAT(refusal_of([&] { make_denoiser("wavelet", {}); }),
              testing::HasSubstr("`method` is \"wavelet\"; expected one of: pdu, spdu, tvgd"));
  EXPECT_THROW(make_denoiser("skeleton", {}), InputError);
  EXPECT_NO_THROW(make_method("skeleton", {}));
}

}  // namespace
}  // namespace halocline::registry_test

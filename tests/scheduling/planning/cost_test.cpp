// labels: unit
// The cost model on machines that are not there.
#include "scheduling/planning/cost.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "algorithms/denoise/denoise.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/device_selection.hpp"
#include "scheduling/planning/host_memory.hpp"
#include "scheduling/planning/machine.hpp"
#include "scheduling/profiling/rates.hpp"
#include "scheduling/profiling/rates_text.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::cost_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::size_t gibi = std::size_t{1} << 30;

DeviceModel device(const std::string& name, double copy, std::size_t memory = 64 * gibi) {
  DeviceModel result{.name = name};
  result.memory = result.max_allocation = memory;
  result.memory_bandwidth = copy;
  result.bus_bandwidth = 20e9;
  result.latency = 2e-5;
  return result;
}

Plan pdu(std::size_t n, const std::vector<DeviceModel>& devices, const PlanOptions& options = {}) {
  DenoiseParameters parameters{.method = "pdu", .iterations = 200, .stages = 0};
  Grid grid{.size = {n, n, n}};
  return plan_denoise(grid, parameters, devices, options);
}

Plan pdu_as_fast_as_can_be(const std::vector<DeviceModel>& devices) {
  DenoiseParameters parameters{.iterations = 60};
  Grid grid{.size = {512, 512, 512}};
  return plan_denoise(grid, parameters, devices);
}

std::map<int, std::int64_t> slices_of(const Plan& plan) {
  std::map<int, std::int64_t> slices;
  for (const auto& slab : plan.slabs) slices[slab.device] += slab.interior.count();
  return slices;
}

TEST(Shares, areEqualForRatesThatDifferByLessThanTheyAreMeasured) {
  const Plan plan = pdu(512, {device("a", 1000e9), device("b", 970e9), device("c", 960e9), device("d", 990e9)});
  const auto slices = slices_of(plan);
  ASSERT_EQ(slices.size(), 4u);
  for (const auto& [number, count] : slices) EXPECT_EQ(count, 128) << number;
}

DeviceModel h200() {
  auto gpu = device("NVIDIA H200", 4209e9, 126 * gibi);
  gpu.platform = "NVIDIA CUDA";
  gpu.bus_bandwidth = 45e9;
  return gpu;
}

DeviceModel cpu(double copy) {
  auto result = device("cpu", copy);
  result.cpu = result.shares_memory = true;
  result.bus_bandwidth = 200e9;
  return result;
}

// A GPU's fastest kernels are none that a CPU can run: with those for both it is half as fast.
TEST(Company, ofACpuIsNotKeptWhereTheGpuIsFasterAlone) {
  const Plan alone = pdu_as_fast_as_can_be({h200()}), both = pdu_as_fast_as_can_be({h200(), cpu(100e9)});
  EXPECT_EQ(both.seconds, alone.seconds);
  EXPECT_EQ(both.requirements.kernels, alone.requirements.kernels);
  EXPECT_THAT(alone.requirements.kernels, Contains("pdu_fused_iterate"));
  EXPECT_EQ(both.devices.size(), 1u);
  EXPECT_THAT(both.notes, ElementsAre(HasSubstr("left out: the CPU; with it, and kernels for both, it would take")));
  // a CPU as fast as the GPU is welcome
  const Plan fast = pdu_as_fast_as_can_be({h200(), cpu(9000e9)});
  EXPECT_EQ(slices_of(fast).size(), 2u);
  EXPECT_THAT(fast.notes, IsEmpty());
}

TEST(Company, isKeptWhereItBringsTwoPerCent) {
  EXPECT_EQ(note_on_selection(1.0, 0.97, 1), std::nullopt);
  EXPECT_THAT(note_on_selection(1.0, 0.99, 1).value_or(""),
              HasSubstr("the CPU; with it the job would take no less time"));
  EXPECT_THAT(note_on_selection(1.0, 1.5, 2).value_or(""), HasSubstr("the CPUs; with them, and kernels for both"));
  EXPECT_THAT(note_on_selection(1.0, std::nullopt, 1).value_or(""), HasSubstr("cannot be done"));
}

TEST(Company, isAskedForWhereTheGpuAloneCannot) {
  const std::vector devices{h200(), cpu(100e9)};
  const auto planner = [](std::size_t least) {
    return [least](const std::vector<DeviceModel>& some) {
      if (some.size() < least) throw PlanError("too large");
      return pdu_as_fast_as_can_be(some);
    };
  };
  EXPECT_THAT(select_devices(devices, planner(1)).devices, testing::SizeIs(1));
  EXPECT_THAT(select_devices(devices, planner(2)).devices, testing::SizeIs(2));
  const auto refusing = [](auto error) {
    return [error](const std::vector<DeviceModel>& some) {
      if (some.back().cpu) throw error;
      return pdu_as_fast_as_can_be(some);
    };
  };
  const auto note = [](const Selection<DeviceModel>& selection) { return selection.plan.value().notes.at(0); };
  EXPECT_THAT(note(select_devices(devices, refusing(PlanError("too large")))), HasSubstr("cannot be done"));
  EXPECT_THAT(note(select_devices(devices, refusing(InputError("small groups")))), HasSubstr("cannot be done"));
  EXPECT_THAT(select_devices(std::vector{h200(), h200()}, planner(1)).devices, testing::SizeIs(2));
  EXPECT_THAT(select_devices(std::vector{cpu(1e11)}, planner(1)).devices, testing::SizeIs(1));
}

TEST(Shares, followTheRates) {
  const auto slices = slices_of(pdu(512, {device("slow", 500e9), device("fast", 1500e9)}));
  ASSERT_EQ(slices.size(), 2u);
  // 200 iterations of 52 bytes against 8 bytes over the bus: nearly as the kernels' rates.
  EXPECT_NEAR(static_cast<double>(slices.at(0)) / 512, 0.25, 0.02);
}

TEST(Shares, goByTheJobsOwnKernelsWhereTheirRateIsKnown) {
  auto a = device("a", 1000e9), b = device("b", 1000e9);
  a.rates["pdu in-place"] = 10e9;
  b.rates["pdu in-place"] = 30e9;
  b.rates["another"] = 1e9;
  const auto slices = slices_of(pdu(512, {a, b}));
  EXPECT_NEAR(static_cast<double>(slices.at(0)) / 512, 0.25, 0.02);
}

TEST(LeavingOut, namesTheDeviceThatWouldGainLessThanItCosts) {
  const Plan plan = pdu(512, {device("the CPU", 20e9), device("the GPU", 4000e9)});
  EXPECT_EQ(slices_of(plan), (std::map<int, std::int64_t>{{1, 512}}));
  ASSERT_EQ(plan.notes.size(), 1u);
  EXPECT_THAT(plan.notes[0], AllOf(HasSubstr("left out: the CPU"), HasSubstr(" s instead of ")));
  EXPECT_THAT(plan.text(), HasSubstr(plan.notes[0]));
}

TEST(LeavingOut, keepsADeviceThatBringsAFifth) {
  const std::vector devices{device("the CPU", 200e9), device("the GPU", 800e9)};
  const Plan both = pdu(512, devices), alone = pdu(512, {devices[1]});
  EXPECT_EQ(slices_of(both).size(), 2u);
  EXPECT_THAT(both.notes, IsEmpty());
  EXPECT_LT(both.seconds, 0.9 * alone.seconds);
}

TEST(LeavingOut, takesAsManyEqualDevicesAsPay) {
  std::vector<DeviceModel> eight;
  for (int n = 0; n < 8; ++n) eight.push_back(device("card " + std::to_string(n), 4000e9));
  const auto some = [&](std::size_t count) { return std::vector(eight.begin(), eight.begin() + count); };
  const Plan small = pdu(64, eight);  // an exchange takes longer than the iterations
  EXPECT_EQ(slices_of(small), (std::map<int, std::int64_t>{{0, 64}}));
  EXPECT_EQ(small.seconds, pdu(64, some(1)).seconds);
  ASSERT_EQ(small.notes.size(), 1u);
  EXPECT_THAT(small.notes[0], AllOf(HasSubstr("left out: card 1 + card 2"), HasSubstr("+ card 7"), HasSubstr("more")));
  EXPECT_EQ(slices_of(pdu(1024, eight)).size(), 8u);
  std::set<std::size_t> used;
  for (const std::size_t n : {64, 128, 192, 256, 384, 512, 768}) {
    const Plan plan = pdu(n, eight);
    used.insert(slices_of(plan).size());
    for (const std::size_t count : {1, 2, 4, 8})
      EXPECT_LE((1 - worth_another) * plan.seconds, pdu(n, some(count)).seconds) << n;
  }
  EXPECT_THAT(used, AllOf(Contains(1), Contains(8)));
  // Devices with room among equally fast ones: here the volume is on one card.
  eight[0].memory = eight[0].max_allocation = 4 << 20;
  EXPECT_EQ(slices_of(pdu(64, eight)), (std::map<int, std::int64_t>{{1, 64}}));
}

TEST(LeavingOut, neverPartsTheDevicesOfASplit) {
  std::vector parts{device("a", 1000e9), device("b", 1000e9)};
  for (auto& each : parts) each.part = true;
  EXPECT_EQ(slices_of(pdu(16, parts)).size(), 2u);  // so small that one would be faster
}

TEST(LeavingOut, takesASlowDeviceWhoseMemoryIsNeeded) {
  std::vector devices{device("small", 1000e9, gibi), device("large", 100e9)};
  for (auto& each : devices) each.bus_bandwidth = 0.5e9;  // coming and going takes longer than the slow device
  const Plan plan = pdu(512, devices);
  EXPECT_TRUE(slices_of(plan).contains(1));
  EXPECT_LE(plan.seconds, pdu(512, {devices[0]}).seconds);
  EXPECT_LE(plan.seconds, pdu(512, {devices[1]}).seconds);
}

Requirements projector() {
  Requirements r;
  r.algorithm = "project";
  r.form = ProgramForm::ray_sums;
  r.size = {256, 256, 256};
  r.stack = {256, 256, 720};
  r.arrays.resize(2);
  r.arrays[0] = {};
  r.arrays[0].name = "volume";
  r.arrays[0].lifetime = Lifetime::input;
  r.arrays[1].name = "projections";
  r.arrays[1].kind = ArrayKind::projections;
  r.arrays[1].lifetime = Lifetime::output;
  r.cost.bytes = 12;
  return r;
}

TEST(ViewShares, followTheRatesAndLeaveOutWhatDoesNotPay) {
  const auto shares = [](const std::vector<DeviceModel>& devices) {
    return view_shares(make_plan(projector(), devices));
  };
  EXPECT_THAT(shares({device("a", 1000e9), device("b", 1000e9)}), ElementsAre(0.5, 0.5));
  const auto unlike = shares({device("a", 100e9), device("b", 300e9)});
  EXPECT_NEAR(unlike[0], 0.25, 0.02);
  EXPECT_DOUBLE_EQ(unlike[0] + unlike[1], 1);
  EXPECT_THAT(shares({device("cpu", 1e9), device("gpu", 1000e9)}), ElementsAre(0, 1));
  std::vector equal{device("a", 1000e9), device("b", 1000e9)};
  for (auto& each : equal) each.latency = 1;          // a batch takes longer to begin than to compute
  EXPECT_THAT(shares(equal), ElementsAre(0.5, 0.5));  // half of the batches each
  auto few = projector();
  few.stack[2] = 16;  // one batch
  EXPECT_THAT(view_shares(make_plan(few, equal)), ElementsAre(1, 0));
  const Plan plan = make_plan(projector(), std::vector{device("cpu", 1e9), device("gpu", 1000e9)});
  ASSERT_EQ(plan.notes.size(), 1u);
  EXPECT_THAT(plan.notes[0], HasSubstr("left out: cpu"));
}

TEST(Seconds, ofPhasesInPieces) {
  const PhaseSeconds phases{1, 4, 2, 0.5};
  EXPECT_DOUBLE_EQ(pipelined(phases, 1), 7.5);          // one after the other
  EXPECT_DOUBLE_EQ(pipelined(phases, 3), 4 + 1 + 0.5);  // a third of the transfers is not hidden
  EXPECT_NEAR(pipelined(phases, 1e9), 4.5, 1e-6);       // the longest alone
}

TEST(Seconds, ofAWholeVolumeAreKernelsAndTransfers) {
  const Plan plan = pdu(256, {device("a", 1000e9)});
  const double voxels = 256.0 * 256 * 256;
  const double kernels = 200 * voxels * plan.requirements.cost.bytes / 1000e9, transfers = 2 * 4 * voxels / 20e9;
  EXPECT_GT(plan.seconds, kernels + transfers);
  EXPECT_LT(plan.seconds, 1.1 * (kernels + transfers));  // and some evaluations of the gap
}

TEST(Seconds, areBoundByWhatTheHostCanSend) {
  const std::vector devices(4, device("a", 300e9));
  PlanOptions options{.host_bandwidth = 5e9};
  EXPECT_GT(pdu(512, devices, options).seconds, 1.2 * pdu(512, devices).seconds);
  options.host_bandwidth = 500e9;
  EXPECT_DOUBLE_EQ(pdu(512, devices, options).seconds, pdu(512, devices).seconds);
}

// Two devices out of core: both send at once, so a host that sends less slows them down. It sends and receives at once.
TEST(Seconds, ofSlabsThatComeAndGoAreBoundByTheHostToo) {
  std::vector devices{device("a", 1000e9, gibi / 2), device("b", 1000e9, gibi / 2)};
  const Plan free = pdu(512, devices);
  ASSERT_FALSE(free.resident);
  PlanOptions options{.host_bandwidth = 1e9};
  const Plan bound = pdu(512, devices, options);
  ASSERT_FALSE(bound.resident);
  EXPECT_GE(bound.seconds, 0.5 * bound.bus_bytes / 1e9);
  EXPECT_GT(bound.seconds, 2 * free.seconds);
  options.host_bandwidth = 500e9;
  EXPECT_DOUBLE_EQ(pdu(512, devices, options).seconds, free.seconds);
}

TEST(Seconds, ofSlabsThatComeAndGoCountReductions) {
  Plan plan = pdu(512, {device("a", 1000e9, gibi / 2)});
  ASSERT_FALSE(plan.resident);
  ASSERT_GT(plan.requirements.cost.reduction_bytes, 0);
  plan.devices[0].bus_bandwidth = 1e15;  // kernels alone count
  const double with = estimate_seconds(plan);
  const double each = plan.requirements.cost.reduction_bytes * 512.0 * 512 * 512 / 1000e9;
  const double reductions = static_cast<double>(plan.requirements.reductions.size()) + 1;
  plan.requirements.cost.reduction_bytes = 0;
  EXPECT_NEAR(with - estimate_seconds(plan), reductions * each, 1e-6 * with);
}

TEST(HostBytes, ofARunOfOnePassHoldItsStateIfItMayEndEarly) {
  DenoiseParameters parameters{.iterations = 1, .stages = 0};
  Grid grid{.size = {512, 512, 512}};
  const auto plan = [&](bool may_end_early) {
    PlanOptions options{.iterations_per_exchange = 1, .may_end_early = may_end_early};
    return plan_denoise(grid, parameters, std::vector{device("a", 1000e9, gibi)}, options);
  };
  ASSERT_FALSE(plan(false).resident);
  ASSERT_EQ(plan(false).passes, 1);
  const double volume = 4.0 * 512 * 512 * 512;
  EXPECT_DOUBLE_EQ(plan(true).host_bytes - plan(false).host_bytes, 3 * volume);  // qx, qy, qz
}

TEST(HostBytes, areTheStateOfSlabsThatComeAndGo) {
  const Plan plan = pdu(512, {device("a", 1000e9, gibi)});  // 2.7 GB in all
  ASSERT_FALSE(plan.resident);
  ASSERT_GT(plan.passes, 1);
  const double volume = 4.0 * 512 * 512 * 512;
  // qx, qy, qz (u is in the result; seams remain on the device), and four chunks of 16 MiB for the bus, up and down
  EXPECT_DOUBLE_EQ(plan.host_bytes, 3 * volume + (128 << 20));
  EXPECT_LT(pdu(512, {device("a", 1000e9)}).host_bytes, 0.2 * volume);
  auto cpu = device("cpu", 50e9);
  cpu.cpu = true;
  const Plan on_host = pdu(512, {cpu});
  EXPECT_DOUBLE_EQ(on_host.host_bytes, static_cast<double>(on_host.slabs[0].bytes) + (64 << 20));
  // a small volume on its way there and one on its way back touch no more of the chunks than they are
  const Plan small = pdu(64, {cpu});
  EXPECT_DOUBLE_EQ(small.host_bytes, static_cast<double>(small.slabs[0].bytes) + 2 * (1 << 20));
}

TEST(HostBytes, ofStateAreThoseThatAScratchFolderCanTake) {
  const double volume = 4.0 * 512 * 512 * 512;
  const Plan visited = pdu(512, {device("a", 1000e9, gibi)});
  EXPECT_DOUBLE_EQ(host_state_bytes(visited), 3 * volume);
  EXPECT_EQ(host_state_bytes(pdu(512, {device("a", 1000e9)})), 0);
  HostMemoryEstimate need{1e9, 2 * volume + 5e6, visited.host_bytes, 2 * volume, host_state_bytes(visited)};
  EXPECT_DOUBLE_EQ(need.peak(), 1e9 + 5 * volume + 5e6 + (128 << 20));
  EXPECT_EQ(need.on_scratch(), 0);
  need.scratch = true;
  EXPECT_DOUBLE_EQ(need.peak(), 1e9 + 5e6 + (128 << 20));
  EXPECT_DOUBLE_EQ(need.on_scratch(), 5 * volume);
}

TEST(HostNeedErrors, nameTheScratchFolderWhereItHelps) {
  const Plan plan = pdu(512, {device("a", 1000e9)});
  HostMemoryEstimate need{1e9, 3e9, 1e9, 2e9, 0.5e9};
  const auto text = [&](std::size_t memory) {
    std::string result;
    for (const bool planned : {true, false}) try {
        planned ? require_host_memory(plan, need, memory, "") : require_host_memory(need, memory, "");
      } catch (const PlanError& error) {
        result += error.what();
      }
    return result;
  };
  const std::string remedy =
      "With `scratch` FOLDER 2.33 GiB of it lie in files of that folder while the job runs, and "
      "2.33 GiB in memory.";
  const std::string fits = text(2'600'000'000);
  EXPECT_NE(fits.find(remedy), fits.rfind(remedy)) << fits;             // in both texts
  EXPECT_EQ(text(2'400'000'000).find("`scratch`"), std::string::npos);  // too little even so
  need.scratch = true;
  EXPECT_EQ(text(2'600'000'000), "");
  EXPECT_THAT(text(2'400'000'000), AllOf(HasSubstr("scratch files: 2.33 GiB"), HasSubstr("of 512 x 512 voxels would"),
                                         Not(HasSubstr("`scratch`"))));
}

TEST(HostNeedErrors, sayHowManySlicesWouldFit) {
  const Plan plan = pdu(512, {device("a", 1000e9)});
  const HostMemoryEstimate need{1e9, 3e9, 1e9};
  require_host_memory(plan, need, 5'000'000'000, "");
  require_host_memory(plan, need, 0, "");  // nothing is known
  EXPECT_THAT(refusal_of<PlanError>([&] { require_host_memory(plan, need, 3'000'000'000, "--host-memory sets it."); }),
              AllOf(HasSubstr("512 x 512 x 512"), HasSubstr("256 slices"), HasSubstr("4.66 GiB"), HasSubstr("2.79 GiB"),
                    HasSubstr("--host-memory sets it.")));
  EXPECT_THAT(refusal_of<PlanError>([&] { require_host_memory(plan, need, 900'000'000, ""); }),
              HasSubstr("not even one slice"));
}

TEST(RatesText, comesBack) {
  const DeviceRates rates{1e9, 2e9, 3e9, 4e-5, {{"pdu in-place", 5e9}, {"tvgd", 6e9}}, {{"too low", 1784023200}}};
  const auto back = rates_from_text(rates_text(rates));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->copy, 1e9);
  EXPECT_EQ(back->upload, 2e9);
  EXPECT_EQ(back->download, 3e9);
  EXPECT_EQ(back->latency, 4e-5);
  EXPECT_EQ(back->kernels, rates.kernels);
  EXPECT_EQ(back->doubted, rates.doubted);
}

TEST(RatesText, thatIsDamagedIsMeasuredAgain) {
  const std::string good = rates_text({1e9, 2e9, 3e9, 4e-5, {}});
  for (const std::string& text :
       {std::string(), good.substr(0, good.size() / 2), std::string("[]"), std::string("{}"),
        std::string(R"({"version":0,"copy":1,"upload":1,"download":1,"latency":1,"kernels":{}})"),
        rates_text({-1, 2e9, 3e9, 4e-5, {}}), rates_text({1e9, 2e9, 3e9, 4e-5, {{"a", 0}}})})
    EXPECT_FALSE(rates_from_text(text)) << text;
}

const std::string good_machine = R"({"name": "m", "host": {"memory_gib": 64, "bus_gb_per_s": 10}, "devices": [
  {"name": "gpu", "count": 2, "memory_gib": 8, "max_allocation_gib": 2, "copy_gb_per_s": 200, "upload_gb_per_s": 10,
   "rates": {"pdu in-place": 3e9, "tvgd": 4e9}},
  {"name": "cpu", "type": "cpu", "memory_gib": 32, "copy_gb_per_s": 20, "upload_gb_per_s": 8, "latency_us": 10}]})";

TEST(MachineFile, describesDevices) {
  const Machine machine = parse_machine(good_machine, "m.json");
  EXPECT_EQ(machine.host_memory, 64 * gibi);
  EXPECT_EQ(machine.host_bandwidth, 10e9);
  ASSERT_EQ(machine.devices.size(), 3u);
  EXPECT_EQ(machine.devices[0].name, "gpu #0");
  EXPECT_EQ(machine.devices[1].name, "gpu #1");
  EXPECT_EQ(machine.devices[1].memory, static_cast<std::size_t>(0.9 * 8 * static_cast<double>(gibi)));
  EXPECT_EQ(machine.devices[1].max_allocation, 2 * gibi);
  EXPECT_EQ(machine.devices[1].memory_bandwidth, 200e9);
  EXPECT_EQ(machine.devices[1].download_bandwidth, 10e9);
  EXPECT_EQ(machine.devices[1].rates.at("tvgd"), 4e9);
  EXPECT_TRUE(machine.devices[2].cpu);
  EXPECT_EQ(machine.devices[2].name, "cpu");
  EXPECT_DOUBLE_EQ(machine.devices[2].latency, 1e-5);
}

std::string machine_error(const std::string& from, const std::string& to) {
  std::string text = good_machine;
  text.replace(text.find(from), from.size(), to);
  return refusal_of([&] { parse_machine(text, "m.json"); });
}

TEST(MachineFileErrors, nameTheFileAndWhatIsWrong) {
  EXPECT_THAT(machine_error("}]}", ""), AllOf(HasSubstr("m.json"), HasSubstr("damaged"), HasSubstr("expected JSON")));
  EXPECT_THAT(machine_error("8", "1e999"), AllOf(HasSubstr("m.json"), HasSubstr("damaged"), HasSubstr("1e999")));
  EXPECT_THAT(machine_error("\"memory_gib\": 8,", "\"memory_gib\": -8,"),
              AllOf(HasSubstr("m.json"), HasSubstr("device 0"), HasSubstr("-8"), HasSubstr("a positive number")));
  EXPECT_THAT(machine_error("\"memory_gib\": 64", "\"memory_gib\": \"64G\""), HasSubstr("a positive number"));
  EXPECT_THAT(machine_error("\"memory_gib\": 32, ", ""), AllOf(HasSubstr("device 1"), HasSubstr("is missing")));
  EXPECT_THAT(machine_error("\"latency_us\"", "\"latency\""), HasSubstr("there is no \"latency\""));
  EXPECT_THAT(machine_error("\"count\": 2", "\"count\": 1.5"), HasSubstr("a whole number"));
  EXPECT_THAT(machine_error("\"type\": \"cpu\"", "\"type\": \"npu\""), HasSubstr("gpu or cpu"));
  EXPECT_THAT(machine_error("\"tvgd\": 4e9", "\"tvgd\": 0"), HasSubstr("tvgd"));
  const auto refused = [](const std::string& text) { return refusal_of([&] { parse_machine(text, "m.json"); }); };
  EXPECT_THAT(refused(R"({"name": "m", "host": {"memory_gib": 1}, "devices": []})"), HasSubstr("lists no device"));
  EXPECT_THAT(refused("[1]"), HasSubstr("not an object"));
  EXPECT_THROW(read_machine("/nowhere/m.json"), InputError);
}

// A program as Y. Huang's (2023, chapters 4 and 5): so many volumes, of which all but f are state; one slice from each
// neighbour before every iteration.
Requirements thesis_program(const std::string& rate, std::size_t n, int volumes, int iterations) {
  Requirements r{.algorithm = rate, .size = {n, n, n}, .iterations = iterations};
  r.halo_low = r.halo_high = 1;
  r.cost.name = rate;
  for (int v = 0; v < volumes; ++v) {
    r.arrays.emplace_back();
    r.arrays.back().name = std::to_string(v);
    r.arrays.back().lifetime = v == 0 ? Lifetime::input : v == 1 ? Lifetime::output : Lifetime::state;
  }
  return r;
}

// Efficiencies on four W8100 (Huang 2023, figure 5.6: rates of iterations, without the first and last transfers). The
// bus was fitted to PDU on two devices; the rest is predicted, to the 3 points that the measured ones scatter by: TV-GD
// on two is predicted at 99.98 and 99.52 %, better than sending halos one after the other can be.
TEST(Simulation, meetsTheScalingThatWasMeasuredOnFourW8100) {
  const Machine machine = read_machine(std::string(HALOCLINE_SOURCE_DIR) + "/apps/machines/w8100x4.json");
  const auto efficiency = [&](const std::string& rate, std::size_t n, int volumes, std::size_t count) {
    const auto seconds = [&](std::size_t devices, int iterations) {
      PlanOptions options{.iterations_per_exchange = 1, .host_bandwidth = machine.host_bandwidth};
      const std::vector<DeviceModel> used(machine.devices.begin(),
                                          machine.devices.begin() + static_cast<std::ptrdiff_t>(devices));
      return make_plan(thesis_program(rate, n, volumes, iterations), used, options).seconds;
    };
    const auto an_iteration = [&](std::size_t devices) { return seconds(devices, 400) - seconds(devices, 200); };
    return 100 * an_iteration(1) / an_iteration(count) / static_cast<double>(count);
  };
  EXPECT_NEAR(efficiency("tvgd", 973, 2, 4), 90.79, 3);
  EXPECT_NEAR(efficiency("tvgd", 788, 2, 4), 85.51, 3);
  EXPECT_NEAR(efficiency("tvgd", 973, 2, 2), 99.98, 3);
  EXPECT_NEAR(efficiency("tvgd", 788, 2, 2), 99.52, 3);
  EXPECT_NEAR(efficiency("pdu in-place", 710, 5, 2), 92.92, 3);
  EXPECT_NEAR(efficiency("pdu in-place", 710, 5, 4), 66.57, 3);
}

}  // namespace
}  // namespace halocline::cost_test

// labels: unit
#include "scheduling/transport/ranks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "host/system/error.hpp"
#include "scheduling/planning/plan.hpp"
#include "scheduling/transport/halo_exchange.hpp"
#include "scheduling/transport/launch.hpp"
#include "scheduling/transport/rank_devices.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::ranks_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

// Sets variables of the environment during its lifetime.
class Environment {
 public:
  explicit Environment(const Variables& values) {
    for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK", "SLURM_STEP_NUM_TASKS", "HALOCLINE_MPI",
                             "PMI_FD", "PMIX_SERVER_TMPDIR", "PMIX_NAMESPACE"}) {
      if (const char* value = std::getenv(name)) before_[name] = value;
      ::unsetenv(name);
      names_.emplace_back(name);
    }
    for (const auto& [name, value] : values) ::setenv(name.c_str(), value.c_str(), 1);
  }
  ~Environment() {
    for (const auto& name : names_) ::unsetenv(name.c_str());
    for (const auto& [name, value] : before_) ::setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::vector<std::string> names_;
  std::map<std::string, std::string> before_;
};

// Ranks that give what the test says; this one is the first.
class Given : public Ranks {
 public:
  explicit Given(std::vector<std::string> others) : others_(std::move(others)) {}
  int size() const override { return 1 + static_cast<int>(others_.size()); }

 protected:
  std::vector<std::string> gather_bytes(const std::string& own) override {
    std::vector<std::string> all{own};
    all.insert(all.end(), others_.begin(), others_.end());
    return all;
  }

 private:
  std::vector<std::string> others_;
};

TEST(Ranks, OneRankHasItsOwnAlone) {
  EXPECT_EQ(ranks().size(), 1);
  EXPECT_FALSE(ranks().several());
  EXPECT_THAT(ranks().gather("a", "own"), ElementsAre("own"));
  EXPECT_EQ(ranks().of_first("a", 0.1), 0.1);
  EXPECT_TRUE(ranks().any("a", true));
  EXPECT_FALSE(ranks().any("a", false));
  EXPECT_THROW(ranks().send(1, 0, {}), std::logic_error);
  Message().wait();
}

TEST(Ranks, GatherByRankAndDetectOthersThatAreElsewhere) {
  Given same({"sums\n1\n2", "sums\n"});
  EXPECT_THAT(same.gather("sums", std::string("a\0b", 3)), ElementsAre(std::string("a\0b", 3), "1\n2", ""));
  EXPECT_TRUE(Given({"stop\n0", "stop\n1"}).any("stop", false));
  EXPECT_FALSE(Given({"stop\n0", "stop\n0"}).any("stop", false));
  const auto as_sent = [](double number) {
    return "rows\n" + std::string(reinterpret_cast<const char*>(&number), sizeof number);
  };
  EXPECT_EQ(Given({as_sent(64), as_sent(256)}).least("rows", 128), 64);
  EXPECT_EQ(Given({as_sent(64), as_sent(256)}).least("rows", 0.5), 0.5);
  EXPECT_THAT(refusal_of<Error>([] {
                Given({"sums\n", "the plan\nx"}).gather("sums", "");
              }),
              HasSubstr("rank 0 gathers sums while rank 2 gathers the plan"));
}

TEST(Ranks, LaunchersAreKnownByTheirEnvironment) {
  const auto processes_of = [](const Variables& variables) {
    const Environment environment(variables);
    const auto launch = current_launch();
    return launch ? launch->processes.value_or(-1) : 0;
  };
  EXPECT_EQ(processes_of({}), 0);
  EXPECT_EQ(processes_of({{"OMPI_COMM_WORLD_SIZE", "3"}}), 3);
  EXPECT_EQ(processes_of({{"PMI_SIZE", "5"}}), 5);
  EXPECT_EQ(processes_of({{"PMIX_RANK", "0"}}), -1);
  EXPECT_EQ(processes_of({{"PMIX_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "7"}}), 7);
  EXPECT_EQ(processes_of({{"PMIX_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "1"}}), 1);
}

TEST(Ranks, ABuildWithoutMpiRefusesSeveralProcesses) {
  if (!mpi_library().empty()) GTEST_SKIP() << "this build has MPI";
  for (const auto& [values, text] : {std::pair{Variables{{"PMI_SIZE", "3"}}, "3 processes, but this build"},
                                     std::pair{Variables{{"PMIX_RANK", "1"}}, "several processes, but this build"}}) {
    const Environment environment(values);
    EXPECT_THAT(refusal_of<InputError>([] { RanksInUse(); }), HasSubstr(text));
  }
  for (const auto& values : {Variables{}, Variables{{"PMI_SIZE", "1"}}, Variables{{"PMIX_RANK", "0"}},
                             Variables{{"OMPI_COMM_WORLD_SIZE", "3"}, {"HALOCLINE_MPI", "off"}}}) {
    const Environment environment(values);
    EXPECT_NO_THROW(RanksInUse());
  }
}

TEST(Ranks, OneCommandALaunch) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "launch";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto begin = [&](const char* rank) {
    const Environment environment(
        {{"PMIX_SERVER_TMPDIR", folder.string()}, {"PMIX_NAMESPACE", "17"}, {"PMIX_RANK", rank}});
    require_first_in_launch();
  };
  EXPECT_NO_THROW(begin("0"));
  EXPECT_NO_THROW(begin("1"));
  EXPECT_THAT(refusal_of<InputError>([&] { begin("1"); }), HasSubstr("give each command a launch of its own"));
}

TEST(Ranks, ALauncherThatClosedItsSocketHasHadItsCommand) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  const Environment environment({{"PMI_FD", std::to_string(ends[0])}});
  EXPECT_NO_THROW(require_first_in_launch());
  ::close(ends[1]);
  EXPECT_THAT(refusal_of<InputError>([] { require_first_in_launch(); }), HasSubstr("has run as this rank"));
  ::close(ends[0]);
}

Requirements back_projection(std::size_t slices) {
  Requirements r{.algorithm = "fdk", .form = ProgramForm::voxel_sums, .size = {9, 7, slices}, .stack = {9, 8, 7}};
  r.arrays = {{.name = "raw", .kind = ArrayKind::projections, .lifetime = Lifetime::input},
              {.name = "volume", .kind = ArrayKind::volume, .lifetime = Lifetime::output}};
  return r;
}

// So many ranks with a device each, the last of which is three times as fast.
PlanOptions options_of(int ranks, int rank) {
  PlanOptions options;
  options.rank = rank;
  for (int n = 0; n < ranks; ++n) {
    DeviceModel& model = options.all_devices.emplace_back();
    model.name = "device";
    model.rank = n;
    model.memory = model.max_allocation = std::size_t{1} << 30;
    model.memory_bandwidth = n + 1 == ranks ? 3e11 : 1e11;
    model.bus_bandwidth = n + 1 == ranks ? 3e10 : 1e10;
  }
  return options;
}

TEST(RankPlans, EachRankHasAPartOfTheSamePlan) {
  for (const int count : {2, 3, 5}) {
    std::string first;
    for (int rank = 0; rank < count; ++rank) {
      const PlanOptions options = options_of(count, rank);
      const Plan plan = make_plan(back_projection(93), {}, options);
      if (rank == 0) first = plan.text();
      EXPECT_EQ(plan.text(), first);
      EXPECT_TRUE(plan.several_ranks());
      std::int64_t at = 0, here = 0;
      for (const auto& slab : plan.slabs) {
        EXPECT_EQ(slab.interior.begin, at);
        at = slab.interior.end;
        if (!plan.is_here(slab.device)) continue;
        here += slab.interior.count();
        EXPECT_EQ(plan.number_on_rank(slab.device), 0u);
        EXPECT_THAT(plan.device_name(slab.device), HasSubstr("rank " + std::to_string(rank) + ": device"));
      }
      EXPECT_EQ(at, 93);
      EXPECT_GT(here, rank + 1 == count ? 93 / count : 0);
    }
  }
}

TEST(RankPlans, ARankWithoutSlicesIsNamed) {
  EXPECT_NO_THROW(make_plan(back_projection(4), {}, options_of(2, 0)));
  EXPECT_THAT(refusal_of<PlanError>([] { make_plan(back_projection(2), {}, options_of(5, 0)); }),
              HasSubstr("would have nothing to do, as there is too little for all: 2 slices; start fewer ranks"));
}

TEST(RankPlans, MoreDevicesOfARankThanHaveTagsAreRefused) {
  const auto exchange = [](int of_each) {
    Plan plan;
    plan.requirements.algorithm = "pdu";
    for (int device = 0; device < 2 * of_each; ++device) plan.devices.emplace_back().rank = device / of_each;
    BusTraffic traffic;
    HaloExchange(plan, {}, {"u"}, traffic);
  };
  EXPECT_NO_THROW(exchange(181));
  EXPECT_THAT(refusal_of<InputError>([&] { exchange(182); }),
              HasSubstr("pdu: rank 0 has more than 181 devices, and messages between ranks tell no more apart; choose "
                        "fewer for a rank with `device`"));
}

RankDevice device_with(int rank, const std::string& model, const Tuning& tuning) {
  RankDevice device;
  device.model.rank = rank;
  device.model.name = model;
  device.tuned_model = model + "\na platform";
  device.tuning = tuning;
  device.model.choices = tuning.choices;
  return device;
}

TEST(RankDevices, ArriveWithAllThatPlansAndFormsDependOn) {
  Tuning tuning;
  tuning.groups["joseph_project"] = {8, 4, 2};
  tuning.choices["stages of pdu"] = "2";
  tuning.classes = {"pdu"};
  const auto problem = *problem_class({300, 300, 1200}, {300, 1548, 3});
  tuning.problems[problem].choices["exact back-projection"] = "images";
  RankDevice sent = device_with(0, "card", tuning);
  sent.model.memory = std::size_t{3} << 40;
  sent.model.latency = 0.1 + 0.2;
  sent.model.rates["pdu"] = 1.0 / 3;
  sent.model.texel_pairs = true;
  sent.model.matrix_units = MatrixUnits::amd_32;
  sent.model.local_memory = 98304;
  sent.model.image_side = 16384;
  sent.model.image_layers = 2048;
  const auto arrived = unpacked(packed({sent, device_with(0, "other", {})}), 5);
  ASSERT_EQ(arrived.size(), 2u);
  const DeviceModel& model = arrived.front().model;
  EXPECT_EQ(model.rank, 5);
  EXPECT_EQ(model.name, "card");
  EXPECT_EQ(model.memory, sent.model.memory);
  EXPECT_EQ(model.latency, sent.model.latency);
  EXPECT_EQ(model.rates, sent.model.rates);
  EXPECT_TRUE(model.texel_pairs);
  EXPECT_EQ(model.matrix_units, MatrixUnits::amd_32);
  EXPECT_EQ(model.local_memory, 98304u);
  EXPECT_EQ(model.image_side, 16384u);
  EXPECT_EQ(model.image_layers, 2048u);
  EXPECT_EQ(model.choices, tuning.choices);
  EXPECT_EQ(model.problems, tuning.problems);
  EXPECT_EQ(arrived.front().tuned_model, sent.tuned_model);
  EXPECT_TRUE(arrived.front().tuning == tuning);
  EXPECT_EQ(arrived.back().model.name, "other");
  EXPECT_FALSE(arrived.back().model.texel_pairs);
}

TEST(RankDevices, OfAModelHaveTheTuningOfTheFirstThatIsTuned) {
  Tuning one, other, of_b;
  one.choices["stages of pdu"] = "1";
  other.choices["stages of pdu"] = "2";
  of_b.groups["pdu_dual"] = {64, 2, 1};
  std::vector<RankDevice> devices{device_with(0, "A", {}), device_with(1, "B", of_b), device_with(1, "A", one),
                                  device_with(2, "A", other), device_with(3, "C", {})};
  EXPECT_THAT(take_one_tuning(devices), ElementsAre("A: all ranks take the tuning of rank 1"));
  for (const int n : {0, 2, 3}) {
    EXPECT_TRUE(devices[static_cast<std::size_t>(n)].tuning == one) << n;
    EXPECT_EQ(devices[static_cast<std::size_t>(n)].model.choices, one.choices) << n;
  }
  EXPECT_TRUE(devices[1].tuning == of_b);
  EXPECT_TRUE(devices[4].tuning == Tuning{});
  EXPECT_TRUE(take_one_tuning(devices).empty()) << "they have it now";
}

TEST(RankPlans, TheTuningForMostKindsOfWorkCounts) {
  Tuning tried, whole;
  tried.choices["stages of pdu"] = "1";
  whole.choices["stages of pdu"] = "2";
  whole.classes = {"pdu"};
  std::vector<RankDevice> devices(3);
  for (int n = 0; n < 3; ++n) {
    RankDevice& device = devices[static_cast<std::size_t>(n)];
    device.tuned_model = "A\nplatform";
    device.model.rank = n;
    device.tuning = n == 1 ? whole : tried;
  }
  EXPECT_THAT(take_one_tuning(devices), ElementsAre("A: all ranks take the tuning of rank 1"));
  for (const RankDevice& device : devices) EXPECT_TRUE(device.tuning == whole) << device.model.rank;
}

TEST(RankPlans, PlansThatDifferAreRefused) {
  const Plan plan = make_plan(back_projection(9), {}, options_of(2, 0));
  Given same({"the plan\n" + plan.json().dump()}), other({"the plan\n{}"});
  EXPECT_NO_THROW(require_same_plan(plan, same));
  EXPECT_THAT(refusal_of<Error>([&] { require_same_plan(plan, other); }), HasSubstr("rank 1 made another plan"));
}

}  // namespace
}  // namespace halocline::ranks_test

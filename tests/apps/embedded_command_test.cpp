// labels: app device
// The command called by a program, with arrays in place of files: the same bits, the same errors, nothing on a
// terminal.
#include "apps/embedded_command.hpp"

#include <gtest/gtest.h>

#include <thread>

#include "apps/images/image_file.hpp"
#include "host/opencl/opencl.hpp"
#include "host/system/error.hpp"
#include "tests/reference/tv_reference.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::embedded_command_test {
namespace {

using Given = std::vector<GivenSetting>;

Given operator+(Given settings, const Given& more) {
  settings.insert(settings.end(), more.begin(), more.end());
  return settings;
}

class Embedded : public testing::Test {
 protected:
  static void SetUpTestSuite() { command_ = std::make_unique<EmbeddedCommand>(); }
  static void TearDownTestSuite() { command_.reset(); }
  void SetUp() override { images_.add("f", volume_.grid, Component::float32, volume_.voxels.data()); }

  Volume result(const std::string& name) { return to_volume(images_.take(name)); }
  EmbeddedResult run(const std::string& verb, const Given& settings, Cancellation* cancellation = nullptr,
                     const Progress& progress = {}) {
    return command().run({verb, settings, &images_, &geometries_, nullptr, progress, cancellation});
  }
  static EmbeddedCommand& command() { return *command_; }

  Folder f;
  Volume volume_ = reference::two_balls(20, 0.1);
  MemoryFiles images_;
  std::map<std::string, ScanFile> geometries_;

 private:
  static inline std::unique_ptr<EmbeddedCommand> command_;
};

const Given denoise{{"method", {"pdu"}}, {"alpha", {"8"}}, {"iterations", {"30"}}, {"gap", {"0"}}};
const Given from_f_to_u{{"input", {"mem:f"}}, {"output", {"mem:u"}}};

TEST_F(Embedded, GivesTheCommandsBitsAndReport) {
  write_image(volume_, f / "f.mha");
  const Ran ran = halocline::run({"denoise", "--method", "pdu", "--alpha", "8", "--iterations", "30", "--gap", "0",
                                  "-i", f / "f.mha", "-o", f / "u.mha"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const EmbeddedResult embedded = run("denoise", denoise + from_f_to_u);
  EXPECT_TRUE(result("u").voxels == read_image(f / "u.mha").voxels);
  EXPECT_EQ(embedded.report.at("results").at("iterations"), 30);
  EXPECT_NE(embedded.text.find("30 iterations"), std::string::npos) << embedded.text;
}

TEST_F(Embedded, CallsKnowNothingOfOtherCalls) {
  run("denoise", denoise + from_f_to_u);
  const Volume expected = result("u");
  run("denoise", Given{{"method", {"tvgd"}}, {"iterations", {"2"}}} + from_f_to_u);
  EXPECT_FALSE(result("u").voxels == expected.voxels);
  run("denoise", denoise + from_f_to_u);
  EXPECT_TRUE(result("u").voxels == expected.voxels);
  EXPECT_THROW(run("nonsense", {}), InputError);
}

TEST_F(Embedded, ReadsArraysOfAnyTypeAndWritesToTheCallersMemory) {
  std::vector<std::uint16_t> counts(volume_.grid.count());
  for (std::size_t n = 0; n < counts.size(); ++n) counts[n] = static_cast<std::uint16_t>(100 * volume_.voxels[n] + 50);
  images_.add("n", volume_.grid, Component::uint16, counts.data());
  std::vector<float> place(counts.size());
  images_.place("u", place.data(), place.size());
  run("denoise", denoise + Given{{"input", {"mem:n"}}, {"output", {"mem:u"}}});
  EXPECT_TRUE(images_.take("u").memory.empty()) << "it lies at its place";
  Volume same(volume_.grid);
  std::copy(counts.begin(), counts.end(), same.voxels.begin());
  images_.add("s", same.grid, Component::float32, same.voxels.data());
  run("denoise", denoise + Given{{"input", {"mem:s"}}, {"output", {"mem:v"}}});
  EXPECT_TRUE(result("v").voxels == Voxels(place));
}

// An array in a context of the caller's.
TEST_F(Embedded, WorksWhereAnArrayLies) {
  const Device there = open_devices({}).front();
  const std::size_t bytes = volume_.voxels.size() * sizeof(float);
  Device device = there;
  const Buffer memory = Buffer::for_others(there, "f", bytes);
  device.write(memory, 0, volume_.voxels.data(), bytes).wait();
  images_.add("host", volume_.grid, Component::float32, volume_.voxels.data());
  for (const Given& more : {Given{}, Given{{"device-memory", {"150K"}}}, Given{{"device", {"0"}}}}) {
    const EmbeddedResult of_host =
        run("denoise", denoise + more + Given{{"input", {"mem:host"}}, {"output", {"mem:expected"}}});
    EmbeddedRun wanted{"denoise", denoise + more + from_f_to_u, &images_, &geometries_};
    wanted.home = {there.state()->context(), there.state()->device(), [&](const Device& adopted) {
                     EXPECT_NE(adopted.state(), there.state());
                     images_.add("f", std::make_shared<DistributedArray>(volume_.grid, adopted,
                                                                         Buffer::adopt(adopted, "f", memory.handle())));
                     images_.place("u", adopted);
                   }};
    const EmbeddedResult ran_there = command().run(wanted);
    const auto u = images_.on_device("u");
    ASSERT_TRUE(u);
    const auto crossed = [](const EmbeddedResult& ran) {
      return ran.report.at("runs").at("denoise").at("actual").at("bus_bytes").get<std::size_t>();
    };
    if (!more.empty() && more[0].name == "device-memory")
      EXPECT_LE(crossed(ran_there) + 2 * bytes, crossed(of_host)) << "the state is with the host";
    else
      EXPECT_EQ(crossed(ran_there), 0u);
    EXPECT_EQ(u->bus_bytes(), 0u);
    EXPECT_TRUE(read_volume(*u).voxels == result("expected").voxels);
  }
}

TEST_F(Embedded, TakesGeometriesFromMemory) {
  CircularOptions circle{.projections = 24};
  ScanFile scan{.geometry = circular_geometry(circle)};
  geometries_["mem:g"] = scan;
  run("project", {{"input", {"mem:f"}},
                  {"geometry", {"mem:g"}},
                  {"detector", {"30", "24"}},
                  {"pixel", {"2", "2"}},
                  {"output", {"mem:p"}}});
  const Volume projections = result("p");
  EXPECT_EQ(projections.grid.size, (std::array<std::size_t, 3>{30, 24, 24}));
  images_.add("p", projections.grid, Component::float32, projections.voxels.data());
  run("fdk", {{"input", {"mem:p"}}, {"geometry", {"mem:g"}}, {"like", {"mem:f"}}, {"output", {"mem:x"}}});
  const Volume fdk = result("x");
  EXPECT_EQ(fdk.grid.size, volume_.grid.size);
  EXPECT_GT(fdk.at(10, 10, 10), 0.5 * volume_.at(10, 10, 10));
}

TEST_F(Embedded, RefusesAsTheCommandDoes) {
  const auto text = [&](const Given& settings, const std::string& verb = "denoise") -> std::string {
    return refusal_of([&] { run(verb, settings); });
  };
  const auto has = [](const std::string& found, const char* expected) {
    EXPECT_NE(found.find(expected), std::string::npos) << found;
  };
  has(text(Given{{"aplha", {"3"}}} + from_f_to_u), "--alpha");
  has(text(Given{{"method", {"pdu"}}, {"alpha", {"-3"}}} + from_f_to_u), "--alpha");
  has(text({{"method", {"pdu"}}, {"input", {"mem:g"}}, {"output", {"mem:u"}}}), "'g'");
  has(text(from_f_to_u), "--method is missing");
  has(text(denoise + Given{{"tv", {""}}} + from_f_to_u), "--tv has an empty value");
  has(text(from_f_to_u, "denose"), "no verb 'denose'");
  has(text(from_f_to_u, "geometry"), "there are geometry circular");
  has(text({{"file", {"projector.cl"}}}, "kernel check"), "run 'halocline kernel check' itself");
  has(text(denoise + Given{{"device", {"nosuch"}}} + from_f_to_u), "nosuch");
  images_.add("empty", volume_.grid, Component::float32, nullptr);
  has(text(denoise + Given{{"input", {"mem:empty"}}, {"output", {"mem:u"}}}), "no values");
  EXPECT_FALSE(images_.has("u"));
}

TEST_F(Embedded, KeepsDevicesOpen) {
  const auto first = command().devices({}), second = command().devices({});
  EXPECT_EQ(first.front().state(), second.front().state());
}

TEST_F(Embedded, CallsOfTwoThreadsEndByThemselves) {
  run("denoise", denoise + from_f_to_u);
  const Volume expected = result("u");
  Cancellation cancelled;
  bool interrupted = false;
  MemoryFiles others;
  others.add("f", volume_.grid, Component::float32, volume_.voxels.data());
  {
    std::jthread first([&] {
      try {
        run("denoise",
            Given{{"method", {"pdu"}}, {"alpha", {"8"}}, {"iterations", {"100000"}}, {"gap", {"0"}}} + from_f_to_u,
            &cancelled, [&](const ProgressState& state) {
              if (state.done > 0) cancelled.request();
            });
      } catch (const Interrupted&) {
        interrupted = true;
      }
    });
    std::jthread second([&] { command().run({"denoise", denoise + from_f_to_u, &others, &geometries_}); });
  }
  EXPECT_TRUE(interrupted);
  EXPECT_FALSE(images_.has("u"));
  EXPECT_TRUE(to_volume(others.take("u")).voxels == expected.voxels);
}

TEST(MemoryNames, MeanNothingWithoutMemoryFiles) {
  EXPECT_FALSE(is_in_memory("mem:f"));
  EXPECT_THROW(read_image("mem:f"), InputError);
}

}  // namespace
}  // namespace halocline::embedded_command_test

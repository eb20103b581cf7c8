// labels: app device nightly
// halocline bench: what it measures, says and refuses.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "algorithms/calibration/denoise_loop.hpp"
#include "algorithms/calibration/denoise_phantom.hpp"
#include "algorithms/denoisers/registry.hpp"
#include "apps/bench/denoise_bench.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/support/bench_times.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::bench_test {
namespace {

using nlohmann::json;

class Bench : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  }
};

TEST_F(Bench, MeasuresEveryFormOnEveryDevice) {
  const Folder f;
  const Ran ran =
      run({"bench", "denoise", "--size", "12", "--seconds", "0.01", "--json", "--report", f / "report.json"});
  ASSERT_EQ(ran.code, 0) << ran.err;
  const json results = json::parse(ran.out), report = json::parse(content(f / "report.json"));
  EXPECT_EQ(report["results"], results);
  const std::size_t devices = std::getenv("HALOCLINE_DEVICE") == nullptr ? list_devices().size() : 1;
  ASSERT_GE(results["benches"].size(), devices);
  for (const auto& bench : results["benches"]) {
    EXPECT_EQ(bench["size"], 12);
    EXPECT_GT(bench["copy_bytes_per_s"], 0);
    EXPECT_EQ(bench["forms"].size() + bench["left_out"].size(), 14u);  // 2 methods of 5 forms, 3 of tvgd, frames
    std::set<std::string> names;
    for (const auto& form : bench["forms"]) {
      const std::string name = form["method"].get<std::string>() + " " + form["form"].get<std::string>();
      names.insert(name);
      const double rate = form["voxel_iterations_per_s"], bytes = form["bytes_per_voxel_iteration"];
      EXPECT_GT(rate, 0) << name;
      expect_times(form);
      const double voxels = form["method"] == "pdu4d" ? 8 * 6 * 6 * 6 : 12 * 12 * 12;
      EXPECT_NEAR(rate * form["seconds"].get<double>(), voxels, 1e-6) << name;
      EXPECT_GT(bytes, 5) << name;
      EXPECT_GT(form["share_of_copy"].get<double>(), 0) << name;
      EXPECT_NEAR(form["bytes_per_s"].get<double>(), rate * bytes, 1e-9 * rate * bytes) << name;
      EXPECT_NEAR(form["share_of_copy"].get<double>() * form["copy_bytes_per_s"].get<double>(), rate * bytes,
                  1e-9 * rate * bytes)
          << name;
      EXPECT_NEAR(form["flops_per_s"].get<double>(), rate * form["flops_per_voxel_iteration"].get<double>(),
                  1e-9 * rate * bytes)
          << name;
    }
    EXPECT_EQ(names.size(), bench["forms"].size());
    for (const char* name :
         {"pdu in-place", "spdu in-place", "tvgd descent", "tvgd adaptive", "tvgd statistical", "pdu4d frames"})
      EXPECT_TRUE(names.contains(name)) << name;
    ASSERT_EQ(bench["time_to_gap"].size(), 9u);  // three gaps, pdu, spdu and pdu4d
    int before = 0;
    for (const auto& time : bench["time_to_gap"]) {
      EXPECT_TRUE(time["reached"].get<bool>()) << time;
      EXPECT_LE(time["relative_gap"].get<double>(), time["target"].get<double>());
      expect_times(time, "seconds_on_device");
      expect_times(time, "seconds_host_to_host");
      if (time["target"] == 1e-2) before = 0;
      EXPECT_GT(time["iterations"].get<int>(), before);
      before = time["iterations"];
    }
  }
}

// Other schedules and regularisers: a rate, and the time to every gap, in the form that they have.
TEST_F(Bench, MeasuresSchedulesAndTheFamily) {
  const std::set<std::string> forms{"chambolle-pock", "seed", "huber", "anisotropic", "non-negative", "reference"};
  const Ran ran = done({"bench", "denoise", "--size", "10", "--method", "pdu,spdu", "--forms",
                        fmt::format("{}", fmt::join(forms, ",")), "--seconds", "0.01", "--json"});
  for (const auto& bench : json(json::parse(ran.out)["benches"])) {
    for (const std::string method : {"pdu", "spdu"}) {
      std::set<std::string> rated;
      std::map<std::string, int> timed;
      for (const auto& each : bench["forms"])
        if (each["method"] == method) {
          rated.insert(each["form"]);
          EXPECT_GE(each["bytes_per_voxel_iteration"].get<double>(), 52) << each;
          EXPECT_GE(each["flops_per_voxel_iteration"].get<double>(), 30) << each;
        }
      for (const auto& each : bench["time_to_gap"])
        if (each["method"] == method) {
          ++timed[each["form"]];
          EXPECT_TRUE(each["reached"].get<bool>() || each["form"] == "seed") << each;
        }
      EXPECT_EQ(rated, forms) << method;
      for (const auto& form : forms) EXPECT_EQ(timed[form], 3) << method << " " << form;
    }
  }
}

TEST_F(Bench, AllFormsAreThoseOfEveryMethod) {
  const Ran ran = done({"bench", "denoise", "--size", "48", "--forms", "all", "--dry-run"});
  expect_contains(ran.out, {"pdu 2x16", "pdu reference", "spdu seed", "tvgd adaptive", "pdu4d frames"});
}

TEST_F(Bench, FormsAndMethodsCanBeChosen) {
  const Ran ran = done({"bench", "denoise", "--size", "8", "--method", "tvgd, pdu", "--forms", "1x16,in-place,descent",
                        "--seconds", "0.01", "--json"});
  for (const auto& bench : json(json::parse(ran.out)["benches"])) {
    ASSERT_EQ(bench["forms"].size(), 3u);
    EXPECT_EQ(bench["forms"][0]["form"], "in-place");
    EXPECT_EQ(bench["forms"][1]["form"], "1x16");
    EXPECT_EQ(bench["forms"][2]["method"], "tvgd");
    EXPECT_EQ(bench["forms"][2]["form"], "descent");
  }
}

// Methods that have such a form, if --method is not given.
TEST_F(Bench, FormsChooseTheMethods) {
  const Ran ran = done({"bench", "denoise", "--size", "8", "--forms", "2x32", "--dry-run"});
  EXPECT_NE(ran.out.find(": pdu 2x32, spdu 2x32\n"), std::string::npos) << ran.out;
}

TEST_F(Bench, PrintsTables) {
  const std::vector<std::string> words{"bench", "denoise", "--size",   "8",         "--method",
                                       "pdu",   "--forms", "in-place", "--seconds", "0.01"};
  const Ran table = done(words);
  EXPECT_NE(table.out.find("share of copy"), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("8^3 voxels"), std::string::npos) << table.out;
  auto more = words;
  more.push_back("--markdown");
  const Ran markdown = done(more);
  EXPECT_NE(markdown.out.find("\n| pdu | in-place | "), std::string::npos) << markdown.out;
}

TEST_F(Bench, TakesListsAndAnyVolume) {
  const Words words{"bench", "denoise", "--seconds", "0.001", "--json"};
  const json cubes = json::parse(done(words + Words{"--size", "7,12", "--forms", "in-place"}).out)["benches"];
  EXPECT_EQ(cubes[0]["volume"], (json{7, 7, 7}));
  EXPECT_EQ(cubes[1]["volume"], (json{12, 12, 12}));
  const json any =
      json::parse(done(words + Words{"--volume", "13,6,9", "--forms", "in-place,frames,statistical"}).out)["benches"];
  for (const auto& bench : any) {
    EXPECT_EQ(bench["volume"], (json{13, 6, 9}));
    EXPECT_EQ(bench["size"], 13);
    EXPECT_EQ(bench["forms"].size(), 4u);  // pdu, spdu, tvgd, pdu4d
    for (const auto& form : bench["forms"]) {
      const double voxels = form["method"] == "pdu4d" ? 8 * 6 * 3 * 4 : 13 * 6 * 9;
      EXPECT_NEAR(form["voxel_iterations_per_s"].get<double>() * form["seconds"].get<double>(), voxels, 1e-6) << form;
    }
    for (const auto& time : bench["time_to_gap"]) EXPECT_TRUE(time["reached"].get<bool>()) << time;
  }
}

TEST_F(Bench, MeasuresKernelsBesideTheLimits) {
  const Folder f;
  const Words words{"bench", "denoise", "--kernels", "--size", "24", "--seconds", "0.002"};
  const Ran ran = done(words + Words{"--forms", "all", "--json", "--svg", f / "roofline.svg"});
  const json benches = json::parse(ran.out)["benches"];
  for (const auto& bench : benches) {
    const double copy = bench["copy_bytes_per_s"], peak = bench["peak_flops_per_s"];
    EXPECT_GT(peak, 1e8);
    std::map<std::string, double> bytes;
    for (const auto& row : bench["kernels"]) {
      expect_times(row);
      const double voxels = row["method"] == "pdu4d" ? 8 * 12 * 12 * 12 : 24 * 24 * 24, seconds = row["seconds"],
                   flops = row["flops_per_voxel"], moved = row["bytes_per_voxel"];
      EXPECT_NEAR(row["flops_per_s"].get<double>() * seconds, voxels * flops, 1e-3) << row;
      EXPECT_NEAR(row["bytes_per_s"].get<double>() * seconds, voxels * moved, 1e-3) << row;
      EXPECT_NEAR(row["limit_flops_per_s"].get<double>(), std::min(peak, flops / moved * copy), 1e-6 * peak) << row;
      EXPECT_NEAR(row["share_of_limit"].get<double>() * row["limit_flops_per_s"].get<double>(),
                  row["flops_per_s"].get<double>(), 1e-6 * peak)
          << row;
      EXPECT_LE(row["flops_per_s"].get<double>(), 4 * peak) << row;  // the machine may be shared
      bytes[row["method"].get<std::string>() + " " + row["form"].get<std::string>()] += moved;
    }
    EXPECT_EQ(bytes.size() + bench["left_out"].size(), 26u);
    EXPECT_EQ(bytes["pdu in-place"], 52);
    EXPECT_EQ(bytes["spdu reference"], 68);
    EXPECT_EQ(bytes["pdu4d frames"], 68);
  }
  const std::string drawing = content(f / "roofline.svg");
  std::size_t dots = 0;
  for (auto at = drawing.find("<circle"); at != std::string::npos; at = drawing.find("<circle", at + 1)) ++dots;
  EXPECT_EQ(dots, benches[0]["kernels"].size());
  expect_contains(drawing, {"Gflop/s", "operations a byte", "pdu in-place, pdu_dual"});
  expect_contains(done(words + Words{"--forms", "in-place"}).out, {"of the limit", "\npdu     in-place  pdu_primal "});
  refused({"bench", "denoise", "--svg", f / "r.svg"}, {"--svg", "--kernels"});
  refused(words + Words{"--svg", f / "r.png"}, {"--svg", ".svg"});
  refused(words + Words{"--trace", f / "t.json"}, {"--trace"});
}

TEST_F(Bench, ADryRunMeasuresNothing) {
  const Folder f;
  const Ran ran = done({"bench", "denoise", "--size", "16", "--dry-run", "--report", f / "report.json"});
  EXPECT_NE(ran.out.find("pdu 2x16"), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("would measure"), std::string::npos) << ran.out;
  EXPECT_TRUE(f.files().empty());
}

TEST_F(Bench, RefusesWhatIsNotThere) {
  const auto refuses = [](const std::vector<std::string>& options, const std::string& part) {
    std::vector<std::string> words{"bench", "denoise"};
    words.insert(words.end(), options.begin(), options.end());
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2) << part;
    EXPECT_NE(ran.err.find(part), std::string::npos) << ran.err;
  };
  refuses({"--size", "0"}, "--size");
  refuses({"--size", "-3"}, "--size");
  refuses({"--size", "100000"}, "--size");
  refuses({"--method", "magic"}, "\"magic\"");
  refuses({"--method", "pdu,"}, "--method is \"\"");
  refuses({"--forms", "5x32"}, "\"5x32\"");
  refuses({"--forms", "2x64"}, "in-place, 1x32");
  refuses({"--seconds", "0"}, "--seconds");
  refuses({"--json", "--markdown"}, "--markdown");
  refuses({"--method", "tvgd", "--forms", "2x32"}, "--forms 2x32: tvgd has none of them; it has descent, adaptive");
  refuses({"--method", "pdu", "--forms", "adaptive"}, "--forms adaptive: pdu has none of them; it has in-place, 1x32");
  refuses({"--method", "pdu,tvgd", "--forms", "2x16"}, "tvgd has none of them");
  refuses({"--method", "pdu", "--forms", "2x16,adaptive"},
          "--forms has \"adaptive\"; expected all or some of: in-place");
  refuses({"--method", "median"}, "the bench has: pdu, spdu, tvgd, pdu4d");
  refuses({"--size", "256", "--device-memory", "1M"}, "--device-memory");
  EXPECT_EQ(run({"bench"}).code, 2);
}

TEST_F(Bench, FitsTheDevice) {
  DenoiseBenchOptions options;
  const auto devices = open_devices({.device_memory = std::size_t{64} << 20});
  const auto small = plan_denoise_bench(devices.front(), options);
  EXPECT_LT(small.volume[0], 192u);
  EXPECT_GT(small.volume[0], 64u);
  EXPECT_LE(small.bytes, std::size_t{64} << 20);
  options.volume = {128, 128, 128};  // one volume: 8 MiB; in place 5 of them, with 32 bits in one pass 9
  const auto given = plan_denoise_bench(devices.front(), options);
  EXPECT_EQ(given.volume[2], 128u);
  EXPECT_EQ(form_name(given.forms.front()), "in-place");
  EXPECT_FALSE(given.left_out.empty());
  EXPECT_LE(given.bytes, std::size_t{64} << 20);
}

// The loop that the bench times does what a run does.
TEST_F(Bench, TheLoopIsTheMethod) {
  const std::size_t n = 20;
  const Volume f = denoise_phantom(n, 0.1);
  const auto device = open_devices({}).front();
  MethodParameters parameters{.size = f.grid.size, .iterations = 300, .lambda = 1.0 / 15, .gap = 1e-3};
  for (const FusedForm form : {FusedForm{}, FusedForm{2, 32}}) {
    parameters.fused = form;
    DenoiseLoop loop(device, {"pdu", form}, parameters, {{"f", &f}});
    loop.warm_up();
    const auto looped = loop.run();
    const auto method = make_denoiser("pdu", parameters);
    const auto ran = run_program(method->program(), {{"f", &f}}, f.grid, {device});
    EXPECT_EQ(looped.iteration, ran.iterations);
    EXPECT_EQ(looped.relative_gap, method->history().back().relative_gap);
    Volume u(f.grid);
    loop.slab().download("u", loop.slab().interior(), u.voxels.data(), 0);
    loop.slab().wait();
    EXPECT_EQ(u.voxels, ran.output.voxels);
  }
}

TEST(IterationCost, IsThatOfTheKernels) {
  EXPECT_EQ(iteration_cost({"pdu", {}}, false).bytes, 52);
  EXPECT_EQ(iteration_cost({"spdu", {}}, true).bytes, 60);
  EXPECT_EQ(iteration_cost({"pdu", {1, 32}}, false).bytes, 36);
  EXPECT_EQ(iteration_cost({"pdu", {2, 16}}, false).bytes, 12);
  EXPECT_EQ(iteration_cost({"spdu", {2, 16}}, false).bytes, 14);
  EXPECT_EQ(iteration_cost({"tvgd", {}}, false).bytes, 12);
  EXPECT_EQ(iteration_cost({"tvgd", {}}, true).bytes, 20);
  EXPECT_EQ(iteration_cost({"tvgd", {}, true, false}, false).bytes, 16);
  EXPECT_EQ(iteration_cost({"tvgd", {}, true, false}, true).bytes, 24);
  EXPECT_EQ(iteration_cost({"tvgd", {}, false, true}, false).bytes, 24);
  EXPECT_EQ(iteration_cost({"tvgd", {}, false, true}, true).bytes, 28);
  EXPECT_EQ(iteration_cost({"pdu4d", {}}, false).bytes, 68);
  const auto scheduled = [](const char* method, Schedule schedule) {
    return iteration_cost({method, {}, false, false, schedule}, false).bytes;
  };
  EXPECT_EQ(scheduled("pdu", Schedule::seed), 52);
  EXPECT_EQ(scheduled("pdu", Schedule::chambolle_pock), 56);
  EXPECT_EQ(scheduled("spdu", Schedule::seed), 56);  // the dual step is the same everywhere: w is read once
  EXPECT_EQ(scheduled("spdu", Schedule::chambolle_pock), 60);
  Regulariser guided{.guided = true};
  EXPECT_EQ(iteration_cost({"pdu", {}, false, false, Schedule::standard, guided}, false).bytes, 60);
  EXPECT_EQ(iteration_cost({"spdu", {}, false, false, Schedule::standard, guided}, false).bytes, 68);
  EXPECT_GT(iteration_cost({"spdu", {}}, false).flops, iteration_cost({"pdu", {}}, false).flops);
}

}  // namespace
}  // namespace halocline::bench_test

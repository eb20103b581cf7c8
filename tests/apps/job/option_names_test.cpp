// labels: app error
// The library names parameters, the command names flags.
#include "apps/job/option_names.hpp"

#include <gmock/gmock.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <utility>

#include "algorithms/denoise/denoise.hpp"
#include "algorithms/geometry/geometry_text.hpp"
#include "apps/commands/command_line.hpp"
#include "apps/images/image_file.hpp"
#include "apps/job/common_options.hpp"
#include "apps/options/setting_options.hpp"
#include "host/opencl/select_devices.hpp"
#include "host/system/error.hpp"
#include "host/system/scratch_folder.hpp"
#include "host/volume/finite_source.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/source_text.hpp"

namespace halocline::option_names_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

namespace fs = std::filesystem;

// Names between backticks in the literals of sources below apps/, and in apps/images, apps/checkpoint and apps/bench,
// which know no command line.
std::map<std::string, std::string> names_in_sources() {
  const fs::path root = HALOCLINE_SOURCE_DIR;
  static const std::regex quoted("`([^`]*)`");
  std::map<std::string, std::string> result;
  for (const char* folder : {"cl", "host", "scheduling", "algorithms", "apps/images", "apps/checkpoint", "apps/bench"})
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const auto extension = entry.path().extension();
      if (extension != ".cpp" && extension != ".hpp") continue;
      if (entry.path().parent_path().filename() == "expressions") continue;  // for programs alone
      for (const auto& text : text_of_source(content(entry.path().string())).literals)
        for (std::sregex_iterator at(text.begin(), text.end(), quoted), end; at != end; ++at)
          result[(*at)[1]] = fs::relative(entry.path(), root).generic_string();
    }
  return result;
}

// The whole command line.
class Commands {
 public:
  Commands() {
    add_common_options(common_settings_, common_);
    add_settings(app_, common_settings_);
    for (const auto& each : commands_) add_command(app_, *each, chosen_);
    collect(app_, "");
  }
  /// True for flags of that subcommand ("": those of all), with those of every subcommand.
  bool has(const std::string& flag, const std::string& command) const {
    if (flags_.at("").contains(flag)) return true;
    if (!command.empty()) return flags_.contains(command) && flags_.at(command).contains(flag);
    return std::any_of(flags_.begin(), flags_.end(), [&](const auto& each) { return each.second.contains(flag); });
  }
  bool has_command(const std::string& command) const { return flags_.contains(command); }

 private:
  void collect(const CLI::App& app, const std::string& name) {
    auto& flags = flags_[name];
    for (const auto* option : app.get_options()) {
      for (const auto& each : option->get_lnames()) flags.insert("--" + each);
      for (const auto& each : option->get_snames()) flags.insert("-" + each);
    }
    for (const auto* sub : app.get_subcommands([](const CLI::App*) { return true; }))
      collect(*sub, (name.empty() ? "" : name + " ") + sub->get_name());
  }

  CLI::App app_{"", "halocline"};
  CommonOptions common_;
  Settings common_settings_;
  std::vector<std::unique_ptr<Command>> commands_ = make_commands();
  Command* chosen_ = nullptr;
  std::map<std::string, std::set<std::string>> flags_;
};

TEST(OptionNames, AllThatTheLibraryNamesHasAFlag) {
  const Commands commands;
  const auto found = names_in_sources();
  EXPECT_GT(found.size(), 70u);
  for (const auto& [name, file] : found) {
    const std::string words = in_options("`" + name + "`", "");
    EXPECT_NE(words, "`" + name + "`") << file << " names " << name;
    if (words.starts_with("--")) {
      EXPECT_TRUE(commands.has(words.substr(0, words.find(' ')), "")) << file << " names " << name;
    }
  }
}

TEST(OptionNames, AllFlagsOfTheTableAreThere) {
  const Commands commands;
  static const std::regex flag("(^|[ '])(--?[a-z][a-z-]*)"), command("halocline ((?:[a-z][a-z-]*)(?: [a-z][a-z-]*)?)");
  for (const auto& each : option_names()) {
    const std::string words(each.words);
    std::string of(each.command);
    std::smatch named;
    if (std::regex_search(words, named, command)) {
      of = named[1];
      EXPECT_TRUE(commands.has_command(of)) << words;
    }
    for (std::sregex_iterator at(words.begin(), words.end(), flag), end; at != end; ++at)
      EXPECT_TRUE(commands.has((*at)[2], of)) << each.name << " is " << words;
  }
}

TEST(OptionNames, NoNameStandsTwiceInTheTable) {
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const auto& each : option_names())
    EXPECT_TRUE(seen.insert({each.name, each.command}).second) << each.name << " of " << each.command;
}

TEST(OptionNames, TextsAreTranslated) {
  EXPECT_EQ(in_options("`device_memory` is 0; give `pad = 0.5`, `method = spdu` or `hardware_interpolation`", "fdk"),
            "--device-memory is 0; give --pad 0.5, --method spdu or --interpolation hardware");
  EXPECT_EQ(in_options("`alpha_sigma = 1.5` is 3e30, or `alpha_sigma`", "denoise"),
            "--alpha 1.5/sigma is 3e30, or A/sigma");
  EXPECT_EQ(in_options("`format = astra` or `format = matrices`", "geometry show"),
            "'halocline geometry convert' --from astra or --from matrices");
  EXPECT_EQ(in_options("", "denoise"), "");
}

TEST(OptionNames, ANameIsTheSubcommandsOwnFlagWhereItHasOne) {
  EXPECT_EQ(in_options("`counts`", "counts"), "-i");
  EXPECT_EQ(in_options("`counts`", "fdk"), "--counts");
  set_running_command("counts");
  EXPECT_EQ(in_options("`counts`"), "-i");
  set_running_command("");
  EXPECT_EQ(in_options("`counts`"), "--counts");
}

TEST(OptionNames, UnknownNamesAndTheUsersWordsStay) {
  for (const std::string text : {"`wavelet()` is new", "`Wavelet::size = 3`", "a ` alone", "``", "` `", "`alpha",
                                 "alpha`", "'`alpha`.mha' is no file", "-i 'it's `alpha`' holds no voxels"})
    EXPECT_EQ(in_options(text, "denoise"), text);
  EXPECT_EQ(in_options("the views' `alpha` and the object's `gap`", ""), "the views' --alpha and the object's --gap");
  EXPECT_EQ(in_options("`wavelet()` `alpha` `time_limit`", ""), "`wavelet()` --alpha --time-limit");
  nlohmann::json value{{"notes", {"leave `pad` out", 3}}, {"text", "`wavelet()`"}, {"none", nullptr}};
  put_in_options(value);
  EXPECT_EQ(value, (nlohmann::json{{"notes", {"leave --pad out", 3}}, {"text", "`wavelet()`"}, {"none", nullptr}}));
}

TEST(Errors, SayTheirPartsAndParameters) {
  const InputError error({.what = "`gap`", .found = "2", .expected = "a number below 1", .remedy = "see `iterations`"});
  EXPECT_STREQ(error.what(), "`gap` is 2; expected a number below 1; see `iterations`");
  EXPECT_EQ(error.problem().what, "`gap`");
  EXPECT_EQ(error.problem().found, "2");
  EXPECT_EQ(error.problem().expected, "a number below 1");
  EXPECT_EQ(error.problem().remedy, "see `iterations`");
  EXPECT_THAT(error.parameters(), ElementsAre("gap", "iterations"));
  const InputError copy = error;
  EXPECT_EQ(copy.problem().found, "2");

  const PlanError plain(
      "`method = spdu` needs `weights` (`noise_map()`, `Cutout`), not `half_a, half_b` or `time.weight`");
  EXPECT_TRUE(plain.problem().what.empty());
  EXPECT_THAT(plain.parameters(), ElementsAre("method", "weights", "half_a", "half_b", "time.weight"));
  EXPECT_THAT(InputError("'a.mha' is empty").parameters(), IsEmpty());
  EXPECT_THAT(InputError("`` and ` and `alpha").parameters(), IsEmpty());

  const auto text = [](const Problem& problem) { return problem.text(); };
  EXPECT_EQ(text({.what = "'a.mha' is no file"}), "'a.mha' is no file");
  EXPECT_EQ(text({.what = "'a.mha'", .found = "empty", .remedy = "give another"}), "'a.mha' is empty; give another");
  EXPECT_EQ(text({.what = "'a.mha' has 3 lines", .expected = "12"}), "'a.mha' has 3 lines; expected 12");
  EXPECT_EQ(text({.expected = "a file"}), "expected a file");
  EXPECT_EQ(text({.remedy = "give a file"}), "give a file");
  EXPECT_EQ(text({}), "");
}

// A library call and a command line that go wrong in the same way.
class SaidTwice : public testing::Test {
 protected:
  void SetUp() override {
    Volume volume(default_grid({12, 12, 12}, {4, 4, 4}));
    for (std::size_t n = 0; n < volume.voxels.size(); ++n)
      volume.voxels[n] = 0.02f + 0.001f * static_cast<float>(n * 7919 % 13);
    write_image(volume, f / "v.mha");
  }

  void expect(const std::function<void()>& call, const std::vector<std::string>& parameters, const std::string& said,
              const Words& words, const std::string& flags) const {
    try {
      call();
      ADD_FAILURE() << "nothing was wrong: " << said;
    } catch (const Error& error) {
      EXPECT_EQ(error.parameters(), parameters) << error.what();
      EXPECT_THAT(error.what(), AllOf(HasSubstr(said), Not(HasSubstr("--"))));
    }
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_THAT(ran.err, AllOf(HasSubstr(flags), Not(HasSubstr("`"))));
  }
  Words denoise_file(const Words& options, const std::string& method = "pdu") const {
    return Words{"denoise", "-i", f / "v.mha", "-o", f / "out.mha", "--method", method} + options;
  }

  Folder f;
};

TEST_F(SaidTwice, DenoiseParameters) {
  const auto with = [](auto&& change) {
    return [change] {
      DenoiseParameters parameters;
      change(parameters);
      check_denoise_parameters(parameters);
    };
  };
  expect(with([](auto& p) { p.gap = 1; }), {"gap", "iterations"}, "`gap` is 1; expected a number below 1",
         denoise_file({"--gap", "1"}), "error: --gap is 1; expected a number below 1, as the gap is relative");
  expect(with([](auto& p) { p.method = "tvgd", p.alpha_path = {3}; }), {"alpha_path"}, "`alpha_path` belongs to",
         denoise_file({"--alpha-path", "3"}, "tvgd"), "error: --alpha-path belongs to");
  expect(with([](auto& p) { p.method = "nlm", p.filter.radius = 1; }), {"radius"}, "`radius` belongs to the method",
         denoise_file({"--radius", "1"}, "nlm"), "error: --radius belongs to the method median");
  expect(with([](auto& p) { p.regulariser.huber_delta = 1; }), {"huber_delta", "variation"},
         "`huber_delta` belongs to `variation = huber`", denoise_file({"--huber-delta", "1"}),
         "error: --huber-delta belongs to --tv huber; leave it out");
  expect(
      [] {
        DenoiseParameters parameters{.method = "nlm"};
        check_use_of_weights(parameters, false);
      },
      {"weights"}, "`weights` belongs to the methods", denoise_file({"--weights", f / "v.mha"}, "nlm"),
      "error: --weights belongs to the methods");
}

TEST_F(SaidTwice, DeviceSelections) {
  if (!has_device()) GTEST_SKIP() << "no device";
  expect([] { open_devices({.device = "abacus"}); }, {"device"}, "`device` \"abacus\": no device matches",
         denoise_file({"--device", "abacus"}), "error: --device \"abacus\": no device matches");
  expect([] { open_devices({.sub_devices = 10000}); }, {"sub_devices"},
         "`sub_devices` 10000: ", denoise_file({"--sub-devices", "10000"}), "error: --sub-devices 10000: ");
}

TEST_F(SaidTwice, WarningsOfTheLogAndTheReport) {
  if (!has_device()) GTEST_SKIP() << "no device";
  EXPECT_THAT(repeated_devices("0,0"), ElementsAre("`device` names '0' twice; it is used once"));
  const Ran ran = done(denoise_file({"--alpha", "1e17", "--device", "0,0", "--report", f / "r.json"}));
  EXPECT_THAT(ran.err, HasSubstr("halocline: warning: --device names '0' twice; it is used once\n"));
  const std::string advice = "an --alpha below 1e+17 smooths more";
  EXPECT_THAT(ran.err, HasSubstr(advice));
  const auto report = nlohmann::json::parse(content(f / "r.json"));
  EXPECT_THAT(report.at("results").at("warnings").dump(), AllOf(HasSubstr(advice), Not(HasSubstr("`"))));
}

TEST_F(SaidTwice, PlansThatDoNotFit) {
  if (!has_device()) GTEST_SKIP() << "no device";
  DenoiseParameters parameters{.alpha = 1};
  expect(
      [&] {
        denoise(Volume(default_grid({12, 12, 12}, {4, 4, 4}), 0.02f), nullptr, parameters,
                open_devices({.device_memory = 1024}));
      },
      {"device_memory", "device"}, "Give more with `device_memory`",
      denoise_file({"--alpha", "1", "--device-memory", "1K"}),
      "Give more with --device-memory if the device has it, choose "
      "another --device, or fewer voxels.");
}

TEST_F(SaidTwice, ScratchFolders) {
  expect([&] { const ScratchFolder scratch(f / "none"); }, {"scratch"},
         "`scratch` '" + (f / "none") + "' does not exist",
         {"phantom", "--type", "two-balls", "--size", "12,12,12", "--spacing", "4,4,4", "--scratch", f / "none", "-o",
          f / "out.mha"},
         "error: --scratch '" + (f / "none") + "' does not exist; create the folder");
}

TEST_F(SaidTwice, Geometries) {
  write_text(f / "rows.txt", "0 -500 0 0 250 0 0.5 0 0 0 0 0.25\n");
  expect([] { read_geometry_text("0 -500 0 0 250 0 0.5 0 0 0 0 0.25\n", "rows.txt"); }, {"format", "format"},
         "give `format = astra` or `format = matrices`", {"geometry", "show", f / "rows.txt"},
         "give 'halocline geometry convert' --from astra or --from matrices");
}

TEST_F(SaidTwice, Inputs) {
  Volume volume(default_grid({12, 12, 12}, {4, 4, 4}), 0.02f);
  volume.voxels[7] = std::numeric_limits<float>::quiet_NaN();
  write_image(volume, f / "nan.mha");
  expect([&] { require_finite(MemorySource(volume), "the volume"); }, {"allow_nonfinite"},
         "give `allow_nonfinite` to set them to 0",
         {"denoise", "-i", f / "nan.mha", "--method", "pdu", "--alpha", "1", "-o", f / "out.mha"},
         "give --allow-nonfinite to set them to 0");
}

}  // namespace
}  // namespace halocline::option_names_test

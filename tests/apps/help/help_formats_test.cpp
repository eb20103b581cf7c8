// labels: app
// Every form of `halocline help --as`, read by its usual reader.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/support/command_runner.hpp"

namespace halocline::help_formats_test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

const std::vector<Words>& subcommands() {
  static const std::vector<Words> all = [] {
    std::vector<Words> paths;
    const auto table = json::parse(run({"help", "--as", "json"}).out);
    for (const auto& command : table.at("commands")) paths.push_back(command.at("path").get<Words>());
    return paths;
  }();
  return all;
}

bool installed(const std::string& program) {
  return std::system(("command -v " + program + " >/dev/null 2>&1").c_str()) == 0;
}

// Output of a shell command, on either stream, and whether it succeeded.
std::string output_of(const std::string& command, bool& good) {
  std::string text;
  std::array<char, 4096> part{};
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  while (pipe != nullptr && std::fgets(part.data(), part.size(), pipe) != nullptr) text += part.data();
  good = pipe != nullptr && ::pclose(pipe) == 0;
  return text;
}

void expect_silence(const std::string& command) {
  bool good = false;
  EXPECT_EQ(output_of(command, good), "") << command;
  EXPECT_TRUE(good) << command;
}

// Every option that the text of --help names at the beginning of a line, and every value that it lists.
std::set<std::string> options_in(const std::string& help) {
  static const std::regex line(R"((?:^|\n)  (-[-A-Za-z,]+))"), name("--?[A-Za-z][-A-Za-z]*");
  std::set<std::string> names;
  for (std::sregex_iterator at(help.begin(), help.end(), line), end; at != end; ++at) {
    const std::string words = (*at)[1];
    for (std::sregex_iterator each(words.begin(), words.end(), name); each != end; ++each) names.insert(each->str());
  }
  return names;
}

TEST(HelpJson, namesEveryOptionOfHelp) {
  const auto table = json::parse(run({"help", "--as", "json"}).out);
  EXPECT_GT(table.at("commands").size(), 25u);
  EXPECT_GT(table.at("common_options").size(), 10u);
  std::size_t options = 0;
  for (const auto& command : table.at("commands")) {
    const auto path = command.at("path").get<Words>();
    std::set<std::string> names;
    for (const auto& option : command.at("options"))
      if (!option.at("positional"))
        for (const auto& name : option.at("names")) names.insert(name.get<std::string>());
    options += names.size();
    EXPECT_EQ(names, options_in(run(path + Words{"--help"}).out)) << command.at("path");
    EXPECT_EQ(json::parse(run(Words{"help", "--as", "json"} + path).out).at("commands").at(0), command);
  }
  EXPECT_GT(options, 300u);
}

const json& option_of(const json& table, const Words& path, const std::string& name) {
  for (const auto& command : table.at("commands"))
    if (command.at("path") == json(path))
      for (const auto& option : command.at("options"))
        if (option.at("name") == name) return option;
  throw std::runtime_error("no option " + name);
}

TEST(HelpJson, knowsTypesOfValues) {
  const auto table = json::parse(run({"help", "--as", "json"}).out);
  const auto method = option_of(table, {"denoise"}, "--method");
  EXPECT_EQ(method.at("type"), "choice");
  EXPECT_TRUE(method.at("required"));
  EXPECT_THAT(method.at("choices").get<Words>(), testing::IsSupersetOf({"pdu", "spdu", "tvgd"}));
  const auto iterations = option_of(table, {"denoise"}, "--iterations");
  EXPECT_EQ(iterations.at("type"), "integer");
  EXPECT_EQ(iterations.at("default"), "500");
  EXPECT_THAT(iterations.at("expects").get<std::string>(), HasSubstr("a whole number from 1"));
  EXPECT_EQ(option_of(table, {"denoise"}, "--step").at("type"), "number");
  EXPECT_EQ(option_of(table, {"denoise"}, "--rescale").at("type"), "flag");
  EXPECT_EQ(option_of(table, {"denoise"}, "--weights").at("words"), json({"halves", "estimate"}));
  EXPECT_EQ(option_of(table, {"denoise"}, "--resume").at("needs"), json({"--checkpoint"}));
  EXPECT_EQ(option_of(table, {"fdk"}, "--size").at("excludes"), json({"--like"}));
  EXPECT_EQ(option_of(table, {"fdk"}, "--geometry").at("file").at("kind"), "geometry");
  EXPECT_TRUE(option_of(table, {}, "--device").at("common"));
  EXPECT_FALSE(option_of(table, {}, "--help").at("common"));
}

// The parser does not know which files are written; the subcommands do, where they check before the work.
TEST(HelpJson, filesThatAreWrittenAreThoseOfTheSubcommands) {
  static const std::regex call(R"re((?:job\.|\b)output(?:_image)?\("(-[-a-z]+)",)re");
  std::set<std::string> written;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(HALOCLINE_SOURCE_DIR) / "apps")) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = content(entry.path().string());
    for (std::sregex_iterator at(text.begin(), text.end(), call), end; at != end; ++at) written.insert((*at)[1]);
  }
  EXPECT_GT(written.size(), 5u);
  const auto table = json::parse(run({"help", "--as", "json"}).out);
  std::set<std::string> found, read;
  for (const auto& command : table.at("commands"))
    for (const auto& option : command.at("options"))
      if (option.contains("file"))
        for (const auto& name : option.at("names"))
          (option.at("file").at("access") == "write" ? found : read).insert(name.get<std::string>());
  EXPECT_THAT(found, testing::IsSupersetOf(written));
  for (const auto& name : written) EXPECT_FALSE(read.contains(name)) << name;
}

TEST(HelpMan, groffReadsEveryPage) {
  Folder folder;
  ASSERT_EQ(run({"help", "--as", "man", "-o", folder / "man1"}).code, 0);
  std::size_t pages = 0;
  const bool groff = installed("groff");
  for (const auto& path : subcommands()) {
    std::string name = "halocline";
    for (const auto& word : path) name += "-" + word;
    const std::string file = folder / ("man1/" + name + ".1"), page = content(file);
    EXPECT_THAT(page, HasSubstr(".SH NAME\n")) << file;
    EXPECT_EQ(page, run(Words{"help", "--as", "man"} + path).out);
    for (const auto& option : options_in(run(path + Words{"--help"}).out)) {
      const std::string written = std::regex_replace(option, std::regex("-"), "\\-");
      EXPECT_NE(page.find("\\fB" + written + "\\fR"), std::string::npos) << file << " lacks " << option;
    }
    ++pages;
    if (groff) expect_silence("groff -ww -man -Tutf8 -z '" + file + "'");
  }
  EXPECT_GT(pages, 25u);
  if (!groff) GTEST_SKIP() << "groff is not installed; the pages were not formatted";
}

std::string words_of_bash(const std::string& folder, const Words& words) {
  std::string array;
  for (const auto& word : words) array += " '" + word + "'";
  bool good = false;
  std::string text =
      output_of("cd '" + folder + "' && bash -c \"source ./halocline; COMP_WORDS=(" + array + "); COMP_CWORD=$((" +
                    std::to_string(words.size()) + " - 1)); _halocline; echo \\\" \\${COMPREPLY[*]} \\\"\"",
                good);
  EXPECT_TRUE(good) << text;
  return text;
}

TEST(HelpBash, completes) {
  if (!installed("bash")) GTEST_SKIP() << "bash is not installed";
  Folder folder;
  ASSERT_EQ(run({"help", "--as", "bash", "-o", folder.path()}).code, 0);
  expect_silence("bash -n '" + folder / "halocline" + "'");
  for (const char* name : {"volume.mha", "report.json", "scan.xml", "notes.txt"}) write_text(folder / name, "");
  const auto complete = [&](const Words& words) { return words_of_bash(folder.path(), words); };
  EXPECT_EQ(complete({"halocline", "den"}), " denoise \n");
  EXPECT_THAT(complete({"halocline", ""}), HasSubstr(" fdk reconstruct "));
  EXPECT_EQ(complete({"halocline", "--device", "gpu", "geometry", "ci"}), " circular \n");
  EXPECT_EQ(complete({"halocline", "denoise", "--method", "p"}), " pdu pdu4d \n");
  EXPECT_EQ(complete({"halocline", "denoise", "--method", "=", "spd"}), " spdu \n");
  EXPECT_EQ(complete({"halocline", "reconstruct", "-i", "a.mha", "--method", "os-s"}), " os-sart \n");
  EXPECT_EQ(complete({"halocline", "denoise", "--weight"}), " --weights \n");
  EXPECT_EQ(complete({"halocline", "fdk", "--device-"}), " --device-memory \n");
  EXPECT_EQ(complete({"halocline", "fdk", "--device", "cpu,g"}), " cpu,gpu \n");
  EXPECT_EQ(complete({"halocline", "denoise", "-i", ""}), " volume.mha \n");
  EXPECT_EQ(complete({"halocline", "denoise", "-i", "volume.mha", ""}), " volume.mha \n");
  EXPECT_EQ(complete({"halocline", "denoise", "--halves", "a.mha,vo"}), " a.mha,volume.mha \n");
  EXPECT_EQ(complete({"halocline", "denoise", "--weights", "hal"}), " halves \n");
  EXPECT_EQ(complete({"halocline", "fdk", "--report", "re"}), " report.json \n");
  EXPECT_EQ(complete({"halocline", "geometry", "show", "s"}), " scan.xml \n");
  EXPECT_EQ(complete({"halocline", "denoise", "--iterations", ""}), "  \n");
  EXPECT_EQ(complete({"halocline", "help", "--as", "js"}), " json \n");
  EXPECT_EQ(complete({"halocline", "help", "--as", "man", "den"}), " denoise \n");
}

TEST(HelpBash, namesEveryOptionOfEverySubcommand) {
  if (!installed("bash")) GTEST_SKIP() << "bash is not installed";
  Folder folder;
  ASSERT_EQ(run({"help", "--as", "bash", "-o", folder.path()}).code, 0);
  for (const auto& path : subcommands()) {
    const std::string found = words_of_bash(folder.path(), Words{"halocline"} + path + Words{"-"});
    for (const auto& option : options_in(run(path + Words{"--help"}).out))
      EXPECT_THAT(found, HasSubstr(" " + option + " "));
  }
}

TEST(HelpZsh, isRead) {
  Folder folder;
  ASSERT_EQ(run({"help", "--as", "zsh", "-o", folder.path()}).code, 0);
  const std::string text = content(folder / "_halocline");
  EXPECT_TRUE(text.starts_with("#compdef halocline\n"));
  EXPECT_THAT(text, HasSubstr("(pdu spdu tvgd"));
  if (!installed("zsh")) GTEST_SKIP() << "zsh is not installed";
  expect_silence("zsh -n '" + folder / "_halocline" + "'");
}

TEST(HelpRst, docutilsReadsEveryPage) {
  Folder folder;
  ASSERT_EQ(run({"help", "--as", "rst", "-o", folder.path()}).code, 0);
  EXPECT_EQ(folder.files().size(), subcommands().size());
  for (const auto& name : folder.files()) {
    const std::string page = content(folder / name);
    EXPECT_THAT(page, HasSubstr("\nOptions\n-------\n")) << name;
    static const std::regex two_ticks("``");
    const auto ticks = std::distance(std::sregex_iterator(page.begin(), page.end(), two_ticks), {});
    EXPECT_EQ(ticks % 2, 0) << name;
  }
  if (!installed("python3") || std::system("python3 -c 'import docutils' >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "docutils is not installed; the pages were not read by it";
  const std::string script =
      "import docutils.core, sys\n"
      "for path in sys.argv[1:]:\n"
      "    docutils.core.publish_file(source_path=path, writer_name='null', settings_overrides={'report_level': 2})\n";
  write_text(folder / "read.py", script);
  expect_silence("python3 '" + folder / "read.py" + "' '" + folder.path() + "'/*.rst");
}

TEST(Help, withoutAFormIsTheTextOfHelp) {
  EXPECT_EQ(run({"help"}).out, run({"--help"}).out);
  EXPECT_EQ(run({"help", "geometry", "convert"}).out, run({"geometry", "convert", "--help"}).out);
  EXPECT_EQ(run({"--quiet", "help", "metrics"}).out, run({"metrics", "--help"}).out);
  EXPECT_EQ(run({"help", "help"}).out, run({"help", "--help"}).out);
}

TEST(Help, errorsNameWhatThereIs) {
  const auto fails = [](const Words& words, const std::string& text) {
    const auto ran = run(words);
    EXPECT_EQ(ran.code, 2);
    EXPECT_EQ(ran.out, "");
    EXPECT_THAT(ran.err, HasSubstr(text));
  };
  fails({"help", "--as", "pdf"}, "man,bash,zsh,json,rst");
  fails({"help", "--as", "man", "fdkk"}, "there is no subcommand 'fdkk' of 'halocline'; the subcommands are: devices,");
  fails({"help", "--as", "rst", "geometry", "square"}, "the subcommands are: circular, convert, show");
  fails({"help", "--as", "man", "fdk", "denoise"}, "'halocline fdk' has no subcommands");
  fails({"help", "--as", "bash", "fdk"}, "leave 'fdk' out");
  fails({"help", "-o", "pages"}, "--as");
  fails({"help", "fdkk"}, "there is no subcommand 'fdkk'");
}

TEST(Help, dryRunWritesNothing) {
  Folder folder;
  const auto ran = run({"help", "--as", "man", "-o", folder / "man1", "fdk", "--dry-run"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("halocline-fdk.1"));
  EXPECT_TRUE(folder.files().empty());
}

}  // namespace
}  // namespace halocline::help_formats_test

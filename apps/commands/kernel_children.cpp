// The stages of `halocline kernel check` as child processes, and what comes of them.
#include <fmt/format.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/commands/child_process.hpp"
#include "apps/commands/kernel_commands.hpp"
#include "apps/job/job.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"
#include "host/system/temporary_folder.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;
using Verdict = ProjectorFinding::Verdict;

std::string text_of(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string last_line_of(const std::string& text) {
  std::istringstream in(text);
  std::string last;
  for (std::string line; std::getline(in, line);)
    if (!line.empty()) last = line;
  return last;
}

std::vector<std::string> words_for(const KernelCheck& check, const std::string& report) {
  std::vector<std::string> words{
      this_program(), "kernel",   "check", check.file, "--limit", std::to_string(check.limit),
      "--quiet",      "--report", report,  "--no-tune"};
  for (const std::string& table : check.tables) words.insert(words.end(), {"--table", table});
  if (!check.like.empty())
    words.insert(words.end(), {"--like", check.like, "--tolerance", fmt::format("{}", check.tolerance)});
  return words;
}

void add_device(std::vector<std::string>& words, const DeviceSelection& selection) {
  if (!selection.device.empty()) words.insert(words.end(), {"--device", selection.device});
  if (selection.sub_devices != 0) words.insert(words.end(), {"--sub-devices", std::to_string(selection.sub_devices)});
  if (selection.device_memory != 0)
    words.insert(words.end(), {"--device-memory", std::to_string(selection.device_memory)});
}

ProjectorFindings findings_of(const nlohmann::json& list) {
  ProjectorFindings findings;
  for (const auto& each : list) {
    const auto verdict = each.at("verdict").get<std::string>();
    findings.push_back({each.at("check"), each.at("scan"),
                        verdict == "pass"   ? Verdict::pass
                        : verdict == "fail" ? Verdict::fail
                                            : Verdict::skipped,
                        each.at("text")});
  }
  return findings;
}

// Findings of the stage, or that it ended otherwise.
ProjectorFindings outcome(const KernelCheck& check, const std::string& stage, const ChildEnd& end,
                          const TemporaryFolder& folder) {
  const auto failed = [&](const std::string& text) {
    return ProjectorFindings{{end.timed_out ? "hang" : stage, end.timed_out ? stage : "", Verdict::fail, text}};
  };
  if (end.timed_out)
    return failed(
        fmt::format("not done after {} s, so it was ended: a kernel hangs, or --limit is too short", check.limit));
  if (end.signal != 0) return failed(fmt::format("ended by signal {} ({})", end.signal, ::strsignal(end.signal)));
  if (end.code != 0) return failed(last_line_of(text_of(folder / "log")));
  const auto results = nlohmann::json::parse(text_of(folder / "report.json")).at("results");
  if (results.contains("refused")) throw InputError(results.at("refused").get<std::string>());
  return findings_of(results.at("checks"));
}

// The finding of Oclgrind: how many messages, and the words, kernel and line of the first.
ProjectorFindings oclgrind_findings(const std::string& log) {
  if (log.empty()) return {{"oclgrind", "", Verdict::pass, "no access out of bounds, race or divergent barrier"}};
  std::istringstream in(log);
  std::string message, kernel, place, line;
  std::size_t count = 0;
  while (std::getline(in, line)) {
    const auto begin = line.find_first_not_of("\t ");
    if (begin == std::string::npos) continue;
    const std::string words = line.substr(begin);
    if (line[0] != '\t') {  // a message begins; kernel and place follow, indented
      if (count++ == 0) message = words;
    } else if (words.starts_with("Kernel:") && kernel.empty()) {
      kernel = words.substr(words.find_last_of(" \t") + 1);
    } else if (words.starts_with("At line ") && place.empty()) {
      place = "l" + words.substr(4, words.find_last_of(':') - 4);
    }
  }
  return {{"oclgrind", "", Verdict::fail,
           fmt::format("{} in the kernel {}, {} ({})", message, kernel, place, plural(count, "finding", "findings"))}};
}

bool is_on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  std::error_code code;
  for (std::string folder; std::getline(folders, folder, ':');)
    if (fs::exists(fs::path(folder) / program, code)) return true;
  return false;
}

}  // namespace

ProjectorFindings stage_in_child(const Job& job, const KernelCheck& check, const KernelStage& stage) {
  const TemporaryFolder folder("kernel");
  auto words = words_for(check, folder / "report.json");
  add_device(words, job.common().devices);
  const ChildEnd end =
      run_child(words, {fmt::format("HALOCLINE_KERNEL_STAGE={}", stage.name)}, folder / "log", check.limit);
  return outcome(check, stage.name, end, folder);
}

ProjectorFindings oclgrind_in_child(const Job&, const KernelCheck& check) {
  if (!is_on_path("oclgrind"))
    return {
        {"oclgrind", "", Verdict::skipped,
         "Oclgrind is not installed (Debian package oclgrind), which finds accesses out of bounds, races and divergent "
         "barriers"}};
  const TemporaryFolder folder("kernel");
  const auto log = folder / "oclgrind";
  // Not --uninitialized, which takes what was written at an offset for unwritten (Oclgrind 21.10).
  std::vector<std::string> words{
      "oclgrind", "--data-races", "--build-options", "-cl-opt-disable -D WITHOUT_INLINING", "--log", log};
  const auto own = words_for(check, folder / "report.json");
  words.insert(words.end(), own.begin(), own.end());
  add_device(words, {.device = "oclgrind"});
  // A cache of its own: Oclgrind is to compile the text. Page-locked memory takes it long.
  const ChildEnd end = run_child(
      words,
      {"HALOCLINE_KERNEL_STAGE=oclgrind", "HALOCLINE_STAGE_TRANSFERS=0", "HALOCLINE_CACHE_DIR=" + (folder / "cache")},
      folder / "log", check.limit);
  ProjectorFindings findings = outcome(check, "oclgrind", end, folder);
  const std::string messages = text_of(log);
  if (findings.empty() || !messages.empty()) {
    const ProjectorFindings found = oclgrind_findings(messages);
    findings.insert(findings.begin(), found.begin(), found.end());
  }
  return findings;
}

}  // namespace halocline

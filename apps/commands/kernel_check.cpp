// halocline kernel check
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "algorithms/jobs/setting_values.hpp"
#include "algorithms/projectors/user_projector.hpp"
#include "apps/commands/kernel_commands.hpp"
#include "apps/job/job.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"

namespace halocline {
namespace {

using Verdict = ProjectorFinding::Verdict;

std::string line_of(const ProjectorFinding& finding) {
  const char* word = finding.verdict == Verdict::pass ? "pass" : finding.verdict == Verdict::fail ? "FAIL" : "skip";
  return fmt::format("{}  {}{}: {}", word, finding.check, finding.scan.empty() ? "" : " (" + finding.scan + ")",
                     finding.text);
}

// All findings, printed as they come. A projector that hangs would do so in every stage.
ProjectorFindings all_findings(Job& job, const KernelCheck& check) {
  ProjectorFindings all;
  bool hangs = false;
  const auto add = [&](const ProjectorFindings& findings) {
    for (const ProjectorFinding& each : findings) {
      job.print(line_of(each));
      hangs = hangs || each.check == "hang";
    }
    all.insert(all.end(), findings.begin(), findings.end());
  };
  const auto not_done = [](const std::string& stage) {
    return ProjectorFindings{{stage, "", Verdict::skipped, "not done, for the projector hangs"}};
  };
  for (const KernelStage& stage : kernel_stages())
    add(hangs ? not_done(stage.name) : stage_in_child(job, check, stage));
  add(hangs ? not_done("oclgrind") : oclgrind_in_child(job, check));
  return all;
}

void run_check(Job& job, const KernelCheck& check) {
  if (job.embedded())
    throw InputError("`kernel check` starts the command for each of its stages; run 'halocline kernel check' itself");
  job.input("file", check.file);
  if (!is_projector_file(check.file))
    throw InputError({.what = "the projector", .found = check.file, .expected = "a text whose name ends in .cl"});
  check.projector().on(tiny_projector_scan());  // refuses texts that are no projectors
  if (const KernelStage* stage = stage_of_process()) return run_stage(job, check, *stage);
  const auto& devices = job.devices();
  if (job.dry_run()) return job.print(fmt::format("would check {} on {}", check.file, devices.front().info().name));
  const ProjectorFindings findings = all_findings(job, check);
  job.results()["checks"] = findings_json(findings);
  std::size_t failed = 0;
  std::string which;
  for (const ProjectorFinding& each : findings) {
    if (each.verdict != Verdict::fail) continue;
    ++failed;
    if (which.find(each.check) == std::string::npos) which += (which.empty() ? "" : ", ") + each.check;
  }
  if (failed > 0) {
    job.keep_report();
    throw Error(fmt::format("{}: {} of {} checks failed: {}", check.file, failed, findings.size(), which));
  }
  job.say(fmt::format("{}: nothing was found to be wrong", check.file));
}

}  // namespace

CheckedProjector KernelCheck::projector() const {
  CheckedProjector result{file, {}};
  for (const std::string& table : tables) {
    const auto equals = table.find('=');
    if (equals == std::string::npos || equals == 0)
      throw InputError({.what = "`table`", .found = table, .expected = "NAME=VALUE, such as mu=0.02"});
    const auto colon = std::min(table.find(':', equals), table.size());
    const auto values = parse_numbers("`table`", {table.substr(equals + 1, colon - equals - 1)});
    if (values.size() != 1)
      throw InputError({.what = "`table`", .found = table, .expected = "one number, which fills the table"});
    CheckedTable& checked = result.tables[table.substr(0, equals)];
    checked.value = static_cast<float>(values.front());
    if (colon < table.size()) checked.size = table.substr(colon + 1);
  }
  return result;
}

std::unique_ptr<Command> kernel_check_command() {
  auto sub = std::make_unique<Command>(
      "check",
      "Check a projector of your own on small scans: its adjoint, the same bits however the work is split, its memory; "
      "exit code 1 if a check failed");
  auto command = std::make_shared<KernelCheck>();
  Settings& settings = sub->settings;
  settings.add("file", command->file, "The projector's OpenCL C (.cl)").positional().required().file(FileKind::text);
  settings
      .add(
          "table", command->tables,
          "A table that the text reads, with this value everywhere, such as mu=0.02; of the size of each volume, or of "
          "volume, views, columns, rows, pixels or so many numbers, such as gain=1:views")
      .unit("NAME=VALUE[:SIZE]");
  settings.add("like", command->like, "Compare A x with this projector's").one_of(projector_names());
  settings.add("tolerance", command->tolerance, "Largest difference from --like, relative to its largest value")
      .positive()
      .needs("like");
  settings.add("limit", command->limit, "Seconds after which a stage of the check is ended")
      .whole_from(1, 86400)
      .unit("S");
  sub->footer =
      "Examples:\n  halocline kernel check projector.cl\n  halocline kernel check projector.cl --like siddon --table "
      "mu=0";
  sub->run = [command](Job& job) { run_check(job, *command); };
  return sub;
}

}  // namespace halocline

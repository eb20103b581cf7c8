// `halocline kernel check` and its stages, which are child processes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/checks/projector_check.hpp"
#include "apps/commands/subcommands.hpp"

namespace halocline {

class Job;

struct KernelCheck {
  std::string file, like;
  std::vector<std::string> tables;
  double tolerance = 1e-3;
  int limit = 60;

  /// Throws InputError for a table that is not NAME=VALUE or NAME=VALUE:SIZE.
  CheckedProjector projector() const;
};

/// Checks that run in one process, so that a kernel that hangs or crashes ends only these.
struct KernelStage {
  const char* name;
  ProjectorFindings (*run)(Job& job, const KernelCheck& check);
};
const std::vector<KernelStage>& kernel_stages();
/// The stage that this process is to run, by its environment.
const KernelStage* stage_of_process();
/// Runs a stage; its findings, or the text of a projector that does not compile, are in the results of the report.
void run_stage(Job& job, const KernelCheck& check, const KernelStage& stage);
/// Runs a stage in a child process. Throws InputError for a projector that does not compile.
ProjectorFindings stage_in_child(const Job& job, const KernelCheck& check, const KernelStage& stage);
/// Runs the tiny scan under Oclgrind, where it is installed.
ProjectorFindings oclgrind_in_child(const Job& job, const KernelCheck& check);

/// Findings in the report.
nlohmann::json findings_json(const ProjectorFindings& findings);

std::unique_ptr<Command> kernel_check_command();

}  // namespace halocline

// The stages of `halocline kernel check`, as they run in child processes.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string_view>

#include "algorithms/projectors/user_projector.hpp"
#include "apps/commands/kernel_commands.hpp"
#include "apps/job/job.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

using Verdict = ProjectorFinding::Verdict;

ProjectorFindings adjoint_stage(Job& job, const KernelCheck& check) {
  return check_adjoint(check.projector(), job.devices());
}

ProjectorFindings split_stage(Job& job, const KernelCheck& check) {
  return check_splits(check.projector(), job.devices());
}

ProjectorFindings parts_stage(Job& job, const KernelCheck& check) {
  DeviceSelection selection = job.common().devices;
  if (job.devices().size() > 1) return {{"two sub-devices", "", Verdict::skipped, "several devices are chosen"}};
  selection.sub_devices = 2;
  std::vector<Device> parts;
  try {
    parts = open_devices(selection);
  } catch (const InputError& error) {
    return {{"two sub-devices", "", Verdict::skipped, error.what()}};
  }
  return check_parts(check.projector(), job.devices().front(), parts);
}

ProjectorFindings memory_stage(Job& job, const KernelCheck& check) {
  return check_memory(check.projector(), job.devices().front());
}

ProjectorFindings like_stage(Job& job, const KernelCheck& check) {
  if (check.like.empty()) return {};
  return compare_projectors(check.projector(), projector_from_name(check.like).named(), check.tolerance, job.devices());
}

ProjectorFindings tiny_stage(Job& job, const KernelCheck& check) {
  run_tiny_scan(check.projector(), job.devices());
  return {};
}

}  // namespace

const std::vector<KernelStage>& kernel_stages() {
  static const std::vector<KernelStage> stages{{"adjoint", adjoint_stage},
                                               {"split", split_stage},
                                               {"two sub-devices", parts_stage},
                                               {"memory", memory_stage},
                                               {"like", like_stage}};
  return stages;
}

const KernelStage* stage_of_process() {
  static const KernelStage oclgrind{"oclgrind", tiny_stage};
  const char* wanted = std::getenv("HALOCLINE_KERNEL_STAGE");
  if (wanted == nullptr) return nullptr;
  for (const KernelStage& each : kernel_stages())
    if (std::string_view(wanted) == each.name) return &each;
  return std::string_view(wanted) == oclgrind.name ? &oclgrind : nullptr;
}

nlohmann::json findings_json(const ProjectorFindings& findings) {
  static constexpr const char* words[] = {"pass", "fail", "skipped"};
  auto list = nlohmann::json::array();
  for (const ProjectorFinding& each : findings)
    list.push_back({{"check", each.check},
                    {"scan", each.scan},
                    {"verdict", words[static_cast<int>(each.verdict)]},
                    {"text", each.text}});
  return list;
}

void run_stage(Job& job, const KernelCheck& check, const KernelStage& stage) {
  ::alarm(static_cast<unsigned>(check.limit) + 5);  // ends it if its parent process has ended first
  ProjectorFindings findings;
  try {
    findings = stage.run(job, check);
  } catch (const TextError& error) {
    job.results()["refused"] = error.what();
  } catch (const PlanError& error) {
    job.results()["refused"] = error.what();
  } catch (const InputError& error) {  // of the toolkit's, about what the kernels do
    findings = {{stage.name, "", Verdict::fail, error.what()}};
  } catch (const DeviceError& error) {
    findings = {{stage.name, "", Verdict::fail, error.what()}};
  }
  job.results()["checks"] = findings_json(findings);
}

}  // namespace halocline

// halocline devices
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "algorithms/calibration/kernel_programs.hpp"
#include "algorithms/calibration/self_check.hpp"
#include "apps/commands/bench_commands.hpp"
#include "apps/commands/subcommands.hpp"
#include "apps/job/job.hpp"
#include "apps/job/report.hpp"
#include "host/opencl/kernel_resources.hpp"
#include "host/opencl/program_cache.hpp"
#include "host/opencl/quirks.hpp"
#include "host/opencl/select_devices.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "scheduling/planning/plan_text.hpp"

namespace halocline {
namespace {

std::string table(const std::vector<DeviceInfo>& devices, const std::vector<int>& chosen) {
  std::size_t name_width = 4, platform_width = 8;
  for (const auto& device : devices) {
    name_width = std::max(name_width, device.name.size());
    platform_width = std::max(platform_width, device.platform.size());
  }
  std::string text =
      fmt::format("     {:<{}}  {:<{}}  {:<11}  {:>5}  {:>10}  {:>10}  {:<6}  {:<4}  {}\n", "name", name_width,
                  "platform", platform_width, "type", "units", "memory", "one array", "images", "fp64", "driver");
  for (const auto& device : devices) {
    const bool is_chosen = std::find(chosen.begin(), chosen.end(), device.index) != chosen.end();
    text += fmt::format("{} {:>2} {:<{}}  {:<{}}  {:<11}  {:>5}  {:>10}  {:>10}  {:<6}  {:<4}  {}\n",
                        is_chosen ? '*' : ' ', device.index, device.name, name_width, device.platform, platform_width,
                        device.type, device.compute_units, bytes_text(static_cast<double>(device.global_memory)),
                        bytes_text(static_cast<double>(device.max_allocation)), device.images ? "yes" : "no",
                        device.fp64 ? "yes" : "no", device.driver);
  }
  text += "* used by the other subcommands with these options\n";
  for (const auto& device : devices)
    if (const std::string reason = refusal(device); !reason.empty())
      text += fmt::format("{} cannot be used: {}\n", device.index, reason);
  return text;
}

// A line for each file that HALOCLINE_CL_PATH replaces.
std::string replaced_text(Job& job) {
  std::string text;
  for (const auto& [file, path] : replaced_kernel_files()) {
    const bool compared = std::any_of(all_variants().begin(), all_variants().end(), [&f = file](const Variant& each) {
      return std::find(each.files.begin(), each.files.end(), f) != each.files.end();
    });
    const bool header = file.ends_with(".clh");  // which files include it is not known here
    text += fmt::format("{} is replaced by {}{}\n", file, path.string(),
                        compared || header ? "" : "; no kernel below is of this file");
    job.results()["replaced"][file] = path.string();
  }
  return text;
}

// Runs every kernel variant and its portable twin on the chosen devices; `list` gets the answers.
std::string check_table(Job& job, nlohmann::json& list) {
  std::string text = replaced_text(job);
  std::size_t width = 0;
  bool wrong = false, rounded = false;
  for (const auto& variant : all_variants()) width = std::max(width, variant.name.size());
  for (const auto& device : job.devices()) {
    const DeviceInfo& info = device.info();
    text += fmt::format("{}, driver {}\n", info.name, info.driver);
    for (const auto& variant : all_variants()) {
      check_interrupt();
      const Finding finding = finding_on(device, variant, true);
      wrong = wrong || finding.verdict == Verdict::wrong;
      rounded = rounded || finding.verdict == Verdict::last_bits;
      const std::string answer = finding.text();
      text += fmt::format("  {:<{}}  {}\n", variant.name, width, answer);
      list[static_cast<std::size_t>(info.index)]["check"][variant.name] = answer;
    }
  }
  if (rounded)
    text += "What differs in the last bits is as good; it is used where an option asks for it, never by itself.\n";
  return text + (wrong ? "What came out wrong is not used with this driver.\n" : "");
}

nlohmann::json resources_json(const KernelProgram& program, const KernelResources& each) {
  nlohmann::json result{{"kernel", each.kernel},
                        {"file", program.file},
                        {"options", program.options},
                        {"private_bytes", each.private_bytes},
                        {"local_bytes", each.local_bytes},
                        {"group_multiple", each.group_multiple},
                        {"largest_group", each.largest_group}};
  if (each.registers) result.update({{"registers", *each.registers}, {"spilled_bytes", *each.spilled_bytes}});
  return result;
}

// Resources of every kernel on a device; `list` gets them, too.
std::string kernels_of(const Device& device, nlohmann::json& list) {
  const auto known = [](const std::optional<std::size_t>& value) { return value ? fmt::to_string(*value) : "-"; };
  BenchTable table{
      {"kernel", "private bytes", "local bytes", "multiple", "largest group", "registers", "spilled bytes"}};
  std::string failures;
  list = nlohmann::json::array();
  for (const KernelProgram& program : kernel_programs(device.info())) {
    check_interrupt();
    try {
      for (const KernelResources& each : kernel_resources(device, program.file, program.options)) {
        table.push_back({each.kernel, fmt::to_string(each.private_bytes), fmt::to_string(each.local_bytes),
                         fmt::to_string(each.group_multiple), fmt::to_string(each.largest_group), known(each.registers),
                         known(each.spilled_bytes)});
        list.push_back(resources_json(program, each));
      }
    } catch (const BuildError& error) {
      const std::string text = error.what(), line = text.substr(0, text.find('\n'));
      failures += line + "\n";
      list.push_back({{"file", program.file}, {"options", program.options}, {"error", text}});
    }
  }
  return bench_table(table, false) + failures;
}

std::string kernels_table(Job& job, nlohmann::json& list) {
  std::string text = replaced_text(job);
  for (const auto& device : job.devices())
    text += fmt::format("{}, driver {}\n{}", device.info().name, device.info().driver,
                        kernels_of(device, list[static_cast<std::size_t>(device.info().index)]["kernels"]));
  return text;
}

}  // namespace

std::unique_ptr<Command> devices_command() {
  auto sub = std::make_unique<Command>("devices", "List the OpenCL devices, and which of them would be used");
  Settings& settings = sub->settings;
  auto json = std::make_shared<bool>(false);
  settings.add("json", *json, "Print a JSON list");
  auto check = std::make_shared<bool>(false);
  settings.add("check", *check,
               "Run the faster variants of the kernels and their portable twins on the chosen devices, and tell which "
               "results differ: wrong ones are not used with this driver from then on, those that differ in the last "
               "bits only where an option asks for them. Variants are also checked before "
               "their first use, so this is for after a repair of a driver, and for kernel files of your own: each one "
               "that HALOCLINE_CL_PATH replaces is named");
  auto kernels = std::make_shared<bool>(false);
  settings.add(
      "kernels", *kernels,
      "Compile every kernel for the chosen devices, with its macros as the file sets them, and list its private "
      "memory a work-item, its local memory, the preferred multiple and the most work-items of a group; on "
      "NVIDIA's GPUs also registers and what is spilled");
  sub->footer = "Example:\n  halocline devices --json\nWithout any OpenCL device the exit code is 2.";
  sub->run = [json, check, kernels](Job& job) {
    const auto devices = list_devices();
    if (*json && devices.empty()) job.print("[]");
    std::string wanted = job.common().devices.device;
    const char* environment = std::getenv("HALOCLINE_DEVICE");
    if (wanted.empty() && environment != nullptr) wanted = environment;
    const auto chosen = select_devices(devices, wanted);  // refuses an empty list
    if (!*check && !*kernels)                             // they open them, and warn then
      for (const auto& text : repeated_devices(wanted)) spdlog::warn("{}", text);
    auto list = nlohmann::json::array();
    for (const auto& device : devices) {
      list.push_back(device_json(device));
      list.back()["selected"] = std::find(chosen.begin(), chosen.end(), device.index) != chosen.end();
    }
    std::string more = *check ? "\n" + check_table(job, list) : "";
    if (*kernels) more += "\n" + kernels_table(job, list);
    job.results()["devices"] = list;
    job.print(*json ? json_text(list) : table(devices, chosen) + more);
  };
  return sub;
}

}  // namespace halocline

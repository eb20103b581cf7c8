#include "apps/job/job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "apps/images/atomic_file.hpp"
#include "apps/job/first_tuning.hpp"
#include "apps/job/option_names.hpp"
#include "apps/job/progress.hpp"
#include "apps/job/rank_checks.hpp"
#include "apps/job/rank_trace.hpp"
#include "apps/job/report.hpp"
#include "host/opencl/tuned_values.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/plural.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/profiling/rates.hpp"
#include "scheduling/transport/rank_devices.hpp"

namespace halocline {
Job::Job(std::string command, CommonOptions common, nlohmann::json options, JobOutlet outlet)
    : common_(std::move(common)),
      outlet_(std::move(outlet)),
      page_(command, common_),
      images_(times_, common_.allow_nonfinite),
      host_(common_.host_memory, common_.scratch) {
  report_ = {{"command", std::move(command)},
             {"options", std::move(options)},
             {"inputs", nlohmann::json::array()},
             {"outputs", nlohmann::json::array()},
             {"results", nlohmann::json::object()}};
  if (outlet_.embedded())
    progress_ = outlet_.progress;
  else if (!common_.quiet)
    progress_ = make_progress(stderr_is_terminal());
  output("--report", common_.report);
  output("--trace", common_.trace);
  output("--html", common_.html);
  if (!common_.trace.empty()) trace_ = std::make_shared<Trace>();
  if (trace_ && ranks().several()) ranks().record(trace_);
}

void Job::input(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  claims_.input(option, path);
  require_same_file(ranks(), option, path);
  add_file("inputs", option, path);
}

void Job::input_growing(const std::string& option, const std::string& path) {
  claims_.input_growing(option, path);
  add_file("inputs", option, path);
}

void Job::output(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  claims_.output(option, path);
  add_file("outputs", option, path);
}

void Job::output_image(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  claims_.output_image(option, path);
  add_file("outputs", option, path);
}

void Job::add_file(const char* list, const std::string& option, const std::string& path) {
  report_[list].push_back({{"option", option}, {"path", path}});
}

ImageInfo Job::input_image(const std::string& option, const std::string& path) {
  input(option, path);
  const auto info = read_image_info(path);
  check_grid(info.grid, "'" + path + "'");
  if (dry_run() && !path.empty()) check_image_file(path);
  auto& entry = report_["inputs"].back();
  entry["grid"] = grid_json(info.grid);
  entry["component"] = info.component;
  if (!info.scaling.identity()) entry["slope"] = info.scaling.slope, entry["offset"] = info.scaling.offset;
  entry["format"] = info.format;
  return info;
}

ImageInfo Job::input_volume(const std::string& option, const std::string& path) {
  const auto info = input_image(option, path);
  const auto& inputs = report_["inputs"];
  const auto claims =
      std::count_if(inputs.begin(), inputs.end(), [&](const auto& entry) { return entry["path"] == path; });
  if (claims == 1) warn_of_grid(info, "'" + path + "'", "if that is not so, give it as .mha, .nrrd or .nii");
  return info;
}

const std::vector<Device>& Job::devices(const std::string& otherwise) {
  if (devices_.empty()) {
    auto selection = common_.devices;
    if (selection.device.empty() && std::getenv("HALOCLINE_DEVICE") == nullptr) selection.device = otherwise;
    const bool shared = outlet_.devices && !trace_ && !common_.no_tune;
    devices_ = shared ? outlet_.devices(selection) : open_devices(selection);
    for (auto& device : devices_) {
      device_rates(device);  // before the trace begins
      report_["devices"].push_back(device_json(device.info()));
      report_["devices"].back()["budget_bytes"] = device.ledger().budget();
      trace(device);
      if (common_.no_tune) use_tuning(device, {});
    }
    plan_with_all(plan_options_, devices_, ranks());
  }
  return devices_;
}

void Job::trace(Device& device) const {
  if (trace_) device.record(trace_);
}

void Job::tune_first_run(const std::string& tune_class) {
  if (common_.no_tune || common_.dry_run) return;
  bool tuned = false;
  for (const auto& device : devices()) {
    tuned = halocline::tune_first_run(device, tune_class) || tuned;
    if (trace_) Device(device).record(trace_);
  }
  if (ranks().any("whether a device was tuned", tuned)) plan_with_all(plan_options_, devices_, ranks());
}

RunOptions Job::run_options(const WorkRate& rate) const {
  RunOptions options;
  options.plan = plan_options_;
  options.progress = progress_;
  options.host_memory = common_.host_memory;
  if (progress_ && !rate.unit.empty())
    options.progress = [show = progress_, rate](ProgressState state) {
      state.work = rate.each * state.done + (state.total > 0 ? rate.all * state.done / state.total : 0);
      state.unit = rate.unit;
      show(state);
    };
  return options;
}

void Job::forecast(const Plan& plan, double volumes, double pieces) {
  const auto need = host_.need_of(plan, volumes, pieces);
  if (dry_run()) print(plan.text() + host_text(need, host_.limit()));
  host_.require(plan, need);
}

void Job::record(const RunResult& result, const std::string& name) {
  auto& run = report_["runs"][name] = run_json(result);
  if (!ranks().several()) return;
  double sent = 0;
  for (const std::string& each : ranks().gather("sent bytes", fmt::format("{}", result.rank_bytes))) {
    run["sent_by_rank"].push_back(std::stod(each));
    sent += std::stod(each);
  }
  run["actual"]["rank_bytes"] = sent;
}

void Job::say(const std::string& line) const {
  if (!common_.quiet) print(line);
}

void Job::print(const std::string& text) const {
  if (outlet_.embedded()) return outlet_.print(text);
  std::fputs((in_options(text) + (text.ends_with('\n') ? "" : "\n")).c_str(), stdout);
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw FileError(fmt::format("the standard output could not be written: {}", std::strerror(errno)));
}

std::string Job::how(const RunResult& result) const {
  std::vector<std::string> names;
  for (const int d : used_devices(result.plan)) names.push_back(result.plan.device_name(d));
  std::string text = fmt::format("\n  on {}, {}", fmt::join(names, " + "), plan_summary(result.plan));
  for (const auto& note : result.plan.notes) text += "; " + note;
  std::vector<std::string> times;
  for (const auto& [stage, seconds] : times_.seconds())
    times.push_back(fmt::format("{} {}", stage, seconds_text(seconds)));
  return fmt::format("{}; {}", text, fmt::join(times, ", "));
}

void Job::warn_of_replaced_values() {
  for (const auto& [path, count] : images_.replaced()) {
    if (count == 0) continue;
    spdlog::warn("'{}': {} NaN or infinite and became 0", path, plural(count, "value was", "values were"));
    for (auto& input : report_["inputs"])
      if (input["path"] == path) input["nonfinite_set_to_0"] = count;
  }
}

void Job::finish(bool failed) {
  if (dry_run()) return;
  if (!failed) warn_of_replaced_values();
  try {
    // A job that failed before its first command may have been refused because of this very file.
    const bool several = trace_ && !failed && ranks().several();
    if (several) ranks().record(nullptr);
    const auto trace = several ? trace_of_all(*trace_, ranks()) : trace_;
    if (trace && ranks().first() && (!failed || !trace->entries().empty()))
      write_file_atomically(common_.trace, [&](std::ostream& out) { trace->write(out); });
  } catch (const std::exception& error) {
    if (!failed) throw;
    spdlog::warn("the trace was not written: {}", error.what());
  }
  if ((failed && !keep_report_) || (common_.report.empty() && !page_.wanted() && !outlet_.report)) return;
  complete_report();
  if (outlet_.report) outlet_.report(report_);
  if (!common_.report.empty())
    write_file_atomically(common_.report, [&](std::ostream& out) { out << json_text(report_) << '\n'; });
  try {
    const HeldInterrupts held(failed);  // a job that Ctrl-C ended has a page of what there is
    const std::string written = page_.write(report_);
    if (!written.empty()) say(written);
  } catch (const std::exception& error) {
    if (!failed) throw;
    spdlog::warn("the page was not written: {}", error.what());
  }
}

void Job::complete_report() {
  host_.add_to(report_);
  times_.stop();
  report_["seconds"] = times_.seconds();
  if (trace_)
    for (const auto& [name, total] : trace_->totals())
      report_["commands"][name] = {{"seconds", total.first}, {"calls", total.second}};
  for (const auto& [name, value] : report_.items())
    if (name != "options" && name != "inputs" && name != "outputs") put_in_options(value);  // those are the user's
}

}  // namespace halocline

// One run of a subcommand: its inputs and outputs, devices, progress, report and trace.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "apps/images/image_info.hpp"
#include "apps/job/common_options.hpp"
#include "apps/job/file_claims.hpp"
#include "apps/job/host_forecast.hpp"
#include "apps/job/job_images.hpp"
#include "apps/job/job_page.hpp"
#include "apps/job/stage_times.hpp"
#include "host/opencl/device.hpp"
#include "scheduling/execution/run.hpp"

namespace halocline {

/// The work that progress stands for: in each of its steps, or in all of them.
struct WorkRate {
  double each = 0, all = 0;
  std::string unit;
};

/// The surroundings of a job that is not the command's: its text, its progress, its devices.
struct JobOutlet {
  std::function<void(const std::string& text)> print = {};  ///< instead of stdout
  Progress progress = {};                                   ///< instead of lines on stderr
  /// Instead of open_devices(). Not for jobs with --trace or --no-tune, which change devices.
  std::function<std::vector<Device>(const DeviceSelection& selection)> devices = {};
  std::function<void(const nlohmann::json& report)> report = {};  ///< beside --report
  bool embedded() const { return static_cast<bool>(print); }
};

class Job {
 public:
  /// `options` as options_json() gives them. Checks that --report, --trace and --html can be written.
  Job(std::string command, CommonOptions common, nlohmann::json options, JobOutlet outlet = {});
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  const CommonOptions& common() const { return common_; }
  bool dry_run() const { return common_.dry_run; }
  /// True for a job of a program that embeds the command.
  bool embedded() const { return outlet_.embedded(); }

  /// FileClaims' functions, with the files in the report.
  void input(const std::string& option, const std::string& path);
  void input_growing(const std::string& option, const std::string& path);
  void output(const std::string& option, const std::string& path);
  void output_image(const std::string& option, const std::string& path);
  /// The header of an image that is an input, which must be right.
  ImageInfo input_image(const std::string& option, const std::string& path);
  /// An image that is placed by its own header alone; warns once a file if that format has no place in it.
  ImageInfo input_volume(const std::string& option, const std::string& path);
  const FileClaims& claims() const { return claims_; }

  /// finish() reports how many NaN and infinite values became 0.
  JobImages& images() { return images_; }
  /// StageTimes::timed().
  template <typename Work>
  auto timed(const std::string& stage, Work&& work) {
    return times_.timed(stage, std::forward<Work>(work));
  }

  /// The devices that the options choose, opened at the first call and recorded if there is a --trace. otherwise: what
  /// --device stands for if neither it nor the environment names any; empty: the usual default.
  const std::vector<Device>& devices(const std::string& otherwise = {});
  /// Records a device that was opened otherwise, too, if there is a --trace.
  void trace(Device& device) const;
  /// halocline::tune_first_run() on the devices of all ranks, unless --no-tune.
  void tune_first_run(const std::string& tune_class);
  /// Options of plans: the devices of all ranks. Opens those of this one.
  PlanOptions plan_options() { return devices(), plan_options_; }
  /// Options of runs: those of plans, progress on stderr unless --quiet, with the rate of the work if that is given.
  RunOptions run_options(const WorkRate& rate = {}) const;
  /// Prints the plan after --dry-run, and requires, before volumes are in memory, what it needs of the host
  /// (HostForecast::require()).
  void forecast(const Plan& plan, double volumes, double pieces = 0);
  HostForecast& host() { return host_; }
  /// Puts a run into the report under this name.
  void record(const RunResult& result, const std::string& name);
  /// The options of the command line by their names, values as they were given or by default.
  const nlohmann::json& options() const { return report_.at("options"); }
  /// Values for the report's "results".
  nlohmann::json& results() { return report_["results"]; }

  /// The images that --html shows; finish() writes the page.
  JobPage& page() { return page_; }

  /// Prints a line about what was done on stdout, unless --quiet.
  void say(const std::string& line) const;
  /// Prints what was asked for (a plan, a table) on stdout, also with --quiet.
  void print(const std::string& text) const;
  /// The end of a result: a line of its own with devices, plan and times.
  std::string how(const RunResult& result) const;

  /// Says that the job has results although it is about to fail: the report is to be written.
  void keep_report() { keep_report_ = true; }
  /// Writes the trace, then the report and the page unless the job failed without results; nothing after a dry run.
  /// After a failure nothing is thrown.
  void finish(bool failed);

 private:
  void add_file(const char* list, const std::string& option, const std::string& path);
  void warn_of_replaced_values();
  void complete_report();

  CommonOptions common_;
  JobOutlet outlet_;
  JobPage page_;
  StageTimes times_;
  FileClaims claims_;
  JobImages images_;
  HostForecast host_;
  nlohmann::json report_;
  std::vector<Device> devices_;
  PlanOptions plan_options_;
  std::shared_ptr<Trace> trace_;
  Progress progress_;
  bool keep_report_ = false;
};

}  // namespace halocline

// One run of a subcommand: its inputs and outputs, devices, progress, report and trace.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "apps/images/image_file.hpp"
#include "apps/images/image_info.hpp"
#include "apps/images/image_sink.hpp"
#include "apps/job/common_options.hpp"
#include "apps/job/job_page.hpp"
#include "host/opencl/device.hpp"
#include "host/system/process_memory.hpp"
#include "host/system/scratch_folder.hpp"
#include "host/volume/cutout.hpp"
#include "host/volume/volume.hpp"
#include "scheduling/execution/run.hpp"
#include "scheduling/planning/host_memory.hpp"

namespace halocline {

/// Job::require_host_memory()'s remedy for benches.
constexpr const char* smaller_size = "A smaller --size takes less.";

/// How much work progress stands for: in each of its steps, or in all of them.
struct WorkRate {
  double each = 0, all = 0;
  std::string unit;
};

/// Where a job tells what it does, and where it has its devices from, if not as the command does.
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

  const CommonOptions& common() const { return common_; }
  bool dry_run() const { return common_.dry_run; }

  /// Before the work, so that nothing is lost after hours. Both throw InputError if a path is an input and an output,
  /// or twice an output. An empty path is none. `input` wants an existing file, `output` one that can be written
  /// (FileError if not).
  void input(const std::string& option, const std::string& path);
  void output(const std::string& option, const std::string& path);
  /// The same for an image: its header, which must be right; what is written there must be an image format.
  ImageInfo input_image(const std::string& option, const std::string& path);
  /// An image that is placed by its own header alone; warns once a file if that format has no place in it.
  ImageInfo input_volume(const std::string& option, const std::string& path);
  void output_image(const std::string& option, const std::string& path);

  /// A series of image files that is still being written (see check_growing_series()): outputs and other inputs that it
  /// would take for files of its own are refused.
  void input_growing(const std::string& option, const std::string& path);
  /// Throws InputError if such a series would take a file that another input names. input() does the same; this is for
  /// inputs whose turn comes only with the series' first file.
  void check_beside_growing(const std::string& option, const std::string& path) const;

  /// The voxels, with the time taken for the report. NaN and infinite values as --allow-nonfinite says; finish() tells
  /// how many became 0.
  Volume read(const std::string& path);
  /// Only a box of it.
  Volume read(const std::string& path, const Cutout& part);
  /// The same of projections, flats and darks (open_rays()): NaN and infinite values that are allowed stay.
  Volume read_rays(const std::string& path);
  std::unique_ptr<VolumeSource> open_rays(const std::string& path);
  /// notes: of the image that it was made of.
  void write(const Volume& volume, const std::string& path, const HeaderNotes& notes = {});
  /// To the place that was kept for it; returns what ReservedImage::write() does.
  std::size_t write(const Volume& volume, ReservedImage& image);
  /// The same in pieces, as far as the format lets (see open_image and create_image): nothing holds the whole volume as
  /// float32. create() takes the room on the disk; what is written is there after commit().
  std::unique_ptr<VolumeSource> open(const std::string& path);
  /// What a run reads: left where it is on a device, else read to host memory. grid: of as many voxels, on which they
  /// lie; nullptr: the image's.
  std::unique_ptr<VolumeSource> take(const std::string& path, const Grid* grid = nullptr);
  std::unique_ptr<ImageSink> create(const std::string& path, const Grid& grid, const ImageStorage& storage);
  void commit(ImageSink& image);
  /// Runs `work` and books its seconds under `stage`.
  template <typename Work>
  auto timed(const std::string& stage, Work&& work) {
    const Stopwatch stopwatch{*this, stage};
    return work();
  }

  /// The devices that the options choose, opened at the first call and recorded if there is a --trace. otherwise: what
  /// --device stands for if neither it nor the environment names any; empty: the usual default.
  const std::vector<Device>& devices(const std::string& otherwise = {});
  /// Has a device that was opened otherwise recorded, too, if there is a --trace.
  void trace(Device& device) const;
  /// Measures for two seconds what is fastest for such work (tune_classes()) on devices whose defaults nobody has
  /// measured and for which that was not done before, unless --no-tune; and keeps it.
  void tune_first_run(const std::string& tune_class);
  /// For runs: progress on stderr unless --quiet, with the rate of the work if it is told.
  RunOptions run_options(const WorkRate& rate = {}) const;
  /// Before the volumes are in memory: prints the plan after --dry-run, and keeps what it predicts for the report.
  /// volumes: bytes of the inputs and results that will lie whole on the host; pieces: of what others pass through.
  /// Throws PlanError if the host has less memory than all of it needs, InputError if the folder of --scratch has no
  /// room for what is to lie there.
  void forecast(const Plan& plan, double volumes, double pieces = 0);
  /// The same of a job without a plan. remedy: a sentence on what takes less, if the job knows; work: bytes of other
  /// arrays, which are never in the folder of --scratch.
  void require_host_memory(double volumes, const std::string& remedy = {}, double work = 0);
  /// Bytes that the job may take: --host-memory, else what the computer has.
  std::size_t host_memory() const;
  /// Plan, iterations, memory and traffic of a run, predicted and as they were, for the report.
  void record(const RunResult& result, const std::string& name);
  /// The options of the command line by their names, values as they were given or by default.
  const nlohmann::json& options() const { return report_.at("options"); }
  /// Values for the report's "results".
  nlohmann::json& results() { return report_["results"]; }

  /// What --html shows of the job; finish() writes it.
  JobPage& page() { return page_; }

  /// A line about what was done, on stdout; none with --quiet.
  void say(const std::string& line) const;
  /// What was asked for (a plan, a table), on stdout, also with --quiet.
  void print(const std::string& text) const;
  /// The end of a result: a line of its own with devices, plan and times.
  std::string how(const RunResult& result) const;

  /// The job has results although it is about to fail: the report is to be written.
  void keep_report() { keep_report_ = true; }
  /// Writes the trace, then the report and the page unless the job failed without results; nothing after a dry run.
  /// After a failure nothing is thrown.
  void finish(bool failed);

 private:
  using Clock = std::chrono::steady_clock;
  struct Stopwatch {
    Job& job;
    std::string stage;
    Clock::time_point start = Clock::now();
    ~Stopwatch() { job.seconds_[stage] += std::chrono::duration<double>(Clock::now() - start).count(); }
  };
  struct Claim;
  void claim(const std::string& option, const std::string& path, bool output);
  static bool share_a_file(const Claim& a, const Claim& b);
  void complete_report();
  void tell_of_nonfinite();
  void prepare_host(const HostMemoryEstimate& need);
  std::size_t peak_bytes() const;

  CommonOptions common_;
  JobOutlet outlet_;
  JobPage page_;
  nlohmann::json report_;
  std::map<std::string, double> seconds_;
  struct Claim {
    std::string option;
    std::vector<std::filesystem::path> files;
    bool output;
    std::string growing = {};  // name of the series
    std::string slices = {};   // pattern of the files that will be written, one a slice
  };
  std::vector<Claim> claims_;
  std::map<std::string, std::shared_ptr<const std::atomic<std::size_t>>> nonfinite_;  // of a path: what became 0
  std::vector<Device> devices_;
  std::shared_ptr<Trace> trace_;
  Progress progress_;
  bool keep_report_ = false;
  double host_estimate_ = 0, scratch_estimate_ = 0;  // bytes, the largest forecast
  std::optional<ScratchFolder> scratch_;
  std::optional<MemoryWatch> watch_;  // with it
  Clock::time_point start_ = Clock::now();
};

}  // namespace halocline

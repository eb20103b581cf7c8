#include "apps/job/job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "algorithms/calibration/tune.hpp"
#include "apps/images/atomic_file.hpp"
#include "apps/images/image_file.hpp"
#include "apps/images/image_series.hpp"
#include "apps/images/memory_files.hpp"
#include "apps/images/meta_image.hpp"
#include "apps/images/slice_files.hpp"
#include "apps/job/option_names.hpp"
#include "apps/job/progress.hpp"
#include "apps/job/report.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/plural.hpp"
#include "host/system/process_memory.hpp"
#include "host/volume/typed_volume.hpp"
#include "scheduling/execution/rate_validation.hpp"
#include "scheduling/planning/cost.hpp"
#include "scheduling/planning/host_memory.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

constexpr const char* host_memory_option = "--host-memory sets what a job may take.";

// The same for every spelling of a name; that of a file which is not there yet stays relative in weakly_canonical().
fs::path one_spelling(const fs::path& path) {
  std::error_code code;
  const auto whole = fs::absolute(path, code);
  const auto resolved = code ? path : fs::weakly_canonical(whole, code);
  return code ? path : resolved;
}

// The file and those that belong to it: a MetaImage header may have its voxels in a file beside it, and each of the two
// can be named.
std::vector<fs::path> files_of(const std::string& path) {
  if (is_in_memory(path)) return {path};
  std::vector<fs::path> files{path};
  const auto extension = fs::path(path).extension();
  if (extension == ".mhd" || extension == ".raw" || extension == ".zraw")
    for (const char* other : {".mhd", ".raw", ".zraw"}) files.push_back(fs::path(path).replace_extension(other));
  if (extension == ".mhd" && fs::exists(path)) files.emplace_back(meta_image_data_path(path));
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(path, code)) files.push_back(entry.path());  // a series in a folder
  for (auto& file : files) file = one_spelling(file);
  return files;
}

bool share_a_file(const std::vector<fs::path>& a, const std::vector<fs::path>& b) {
  std::error_code code;  // equivalent() finds hard links, and fails where there is no file
  for (const auto& one : a)
    for (const auto& other : b)
      if (one == other || fs::equivalent(one, other, code)) return true;
  return false;
}

std::string would_be_taken(const std::string& option, const std::string& path, const std::string& input,
                           const std::string& series) {
  return fmt::format(
      "{} '{}' would be taken for a file of the series that grows, {} '{}'; give it another name or folder", option,
      path, input, series);
}

std::size_t largest_slab(const Plan& plan) {
  std::size_t bytes = 0;
  for (const auto& slab : plan.slabs) bytes = std::max(bytes, slab.bytes);
  return bytes;
}

}  // namespace

Job::Job(std::string command, CommonOptions common, nlohmann::json options, JobOutlet outlet)
    : common_(std::move(common)), outlet_(std::move(outlet)), page_(command, common_) {
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
}

// Of files that a series of slices will have only the names are known.
bool Job::share_a_file(const Claim& a, const Claim& b) {
  const auto would_have = [](const std::string& slices, const Claim& other) {
    return !slices.empty() && std::any_of(other.files.begin(), other.files.end(), [&](const fs::path& file) {
      return series_would_hold(slices, file.string());
    });
  };
  return halocline::share_a_file(a.files, b.files) || would_have(a.slices, b) || would_have(b.slices, a);
}

void Job::claim(const std::string& option, const std::string& path, bool output) {
  Claim claim{option, files_of(path), output};
  if (!output) check_beside_growing(option, path);
  if (!output && !is_in_memory(path))
    for (const auto& file : series_files(path)) claim.files.push_back(one_spelling(file));
  if (output && names_slice_files(path)) {
    claim.slices = path;
    for (const auto& [number, file] : numbered_files(path, number_place(path)))
      claim.files.push_back(one_spelling(file));
  }
  const std::string file = claim.slices.empty() ? path : slice_file(path, 0);
  for (const auto& other : claims_) {
    if (output && !other.growing.empty() && series_would_hold(other.growing, file))
      throw InputError(would_be_taken(option, path, other.option, other.growing));
    if ((!output && !other.output) || !share_a_file(claim, other)) continue;
    if (output && other.output)
      throw InputError(
          fmt::format("{} and {} both name '{}'; give each output a name of its own", other.option, option, path));
    throw InputError(fmt::format("{} '{}' is the input of {}; inputs are never replaced, give the output another name",
                                 output ? option : other.option, path, output ? other.option : option));
  }
  claims_.push_back(std::move(claim));
  report_[output ? "outputs" : "inputs"].push_back({{"option", option}, {"path", path}});
}

void Job::input(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  if (!is_in_memory(path) && series_files(path).empty()) check_input(path, fmt::format("{} '{}'", option, path));
  claim(option, path, false);
}

void Job::output(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  check_output_path(path);
  claim(option, path, true);
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

void Job::input_growing(const std::string& option, const std::string& path) {
  check_growing_series(path);
  std::error_code code;
  for (const auto& other : claims_)
    for (const auto& file : other.files)
      if (series_would_hold(path, file.string()) && (other.output || fs::is_regular_file(file, code)))
        throw InputError(would_be_taken(other.option, file.string(), option, path));
  claims_.push_back({option, {}, false, path});
  report_["inputs"].push_back({{"option", option}, {"path", path}});
}

void Job::check_beside_growing(const std::string& option, const std::string& path) const {
  const auto grows = [](const Claim& other) { return !other.growing.empty(); };
  if (path.empty() || std::none_of(claims_.begin(), claims_.end(), grows)) return;
  std::vector<fs::path> files{path};  // as it is spelled, too: what a link names need not lie where the link does
  for (const auto& file : series_files(path)) files.emplace_back(file);
  for (auto& file : files_of(path)) files.push_back(std::move(file));
  std::error_code code;
  for (const auto& series : claims_)
    for (const auto& file : files)
      if (grows(series) && fs::is_regular_file(file, code) && series_would_hold(series.growing, file.string()))
        throw InputError(would_be_taken(option, file.string(), series.option, series.growing));
}

ImageInfo Job::input_volume(const std::string& option, const std::string& path) {
  const auto info = input_image(option, path);
  const auto& inputs = report_["inputs"];
  const auto claims =
      std::count_if(inputs.begin(), inputs.end(), [&](const auto& entry) { return entry["path"] == path; });
  if (claims == 1) warn_of_grid(info, "'" + path + "'", "if that is not so, give it as .mha, .nrrd or .nii");
  return info;
}

void Job::output_image(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  check_writable(path);
  claim(option, path, true);
}

Volume Job::read(const std::string& path) {
  std::size_t replaced = 0;
  Volume volume = timed("read", [&] { return read_image(path, common_.allow_nonfinite, &replaced); });
  nonfinite_[path] = std::make_shared<const std::atomic<std::size_t>>(replaced);
  return volume;
}

Volume Job::read(const std::string& path, const Cutout& part) {
  std::size_t replaced = 0;
  Volume volume = timed("read", [&] { return read_image_part(path, part, common_.allow_nonfinite, &replaced); });
  nonfinite_[path] = std::make_shared<const std::atomic<std::size_t>>(replaced);
  return volume;
}

Volume Job::read_rays(const std::string& path) {
  return timed("read", [&] { return halocline::read_rays(path, common_.allow_nonfinite); });
}

std::unique_ptr<VolumeSource> Job::open_rays(const std::string& path) {
  return timed("read", [&] { return halocline::open_rays(path, common_.allow_nonfinite); });
}

void Job::write(const Volume& volume, const std::string& path, const HeaderNotes& notes) {
  check_interrupt();
  timed("write", [&] { write_image(volume, path, false, notes); });
}

std::size_t Job::write(const Volume& volume, ReservedImage& image) {
  check_interrupt();
  return timed("write", [&] { return image.write(volume); });
}

std::unique_ptr<VolumeSource> Job::open(const std::string& path) {
  auto image = timed("read", [&] { return open_image(path, common_.allow_nonfinite); });
  nonfinite_[path] = image->replaced();
  return image;
}

std::unique_ptr<VolumeSource> Job::take(const std::string& path, const Grid* grid) {
  std::unique_ptr<VolumeSource> source =
      is_on_device(path) ? open(path) : std::make_unique<TypedSource>(to_typed(read(path)));
  return grid == nullptr ? std::move(source) : std::make_unique<PlacedSource>(std::move(source), *grid);
}

std::unique_ptr<ImageSink> Job::create(const std::string& path, const Grid& grid, const ImageStorage& storage) {
  auto image = create_image(path, grid, storage);
  image->reserve();
  return image;
}

void Job::commit(ImageSink& image) {
  check_interrupt();
  timed("write", [&] { image.commit(); });
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
  }
  return devices_;
}

void Job::trace(Device& device) const {
  if (trace_) device.record(trace_);
}

void Job::tune_first_run(const std::string& tune_class) {
  if (common_.no_tune || common_.dry_run) return;
  for (const auto& device : devices()) {
    if (has_measured_defaults(device.info()) || tuning_of(device).classes.contains(tune_class)) continue;
    spdlog::info(
        "the first run on {}: measuring what is fastest there for about 2 s (--no-tune skips that, 'halocline tune' "
        "takes longer)",
        device.info().name);
    TuneOptions options;
    options.classes = {tune_class};
    options.seconds = 2;
    try {
      auto found = tune(device, options);
      if (found.left_out.empty()) found.tuning.classes.insert(tune_class);  // or it would be tried at every start
      store_tuning(device.info(), found.tuning);
      use_tuning(device, std::move(found.tuning));
    } catch (const Interrupted&) {
      throw;
    } catch (const Error& error) {  // the run itself may do without what failed here
      spdlog::warn("{} was not tuned: {}", device.info().name, error.what());
    }
    if (trace_) Device(device).record(trace_);
  }
}

RunOptions Job::run_options(const WorkRate& rate) const {
  RunOptions options;
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
  const HostMemoryEstimate need{static_cast<double>(process_bytes()),
                                volumes + pieces,
                                plan.host_bytes,
                                volumes,
                                host_state_bytes(plan),
                                !common_.scratch.empty()};
  if (dry_run()) print(plan.text() + host_text(need, host_memory()));
  halocline::require_host_memory(plan, need, host_memory(), host_memory_option);
  prepare_host(need);
}

void Job::require_host_memory(double volumes, const std::string& remedy, double work) {
  const HostMemoryEstimate need{
      static_cast<double>(process_bytes()), volumes, work, volumes, 0, !common_.scratch.empty()};
  halocline::require_host_memory(need, host_memory(), (remedy.empty() ? remedy : remedy + " ") + host_memory_option);
  prepare_host(need);
}

// All that a host will be asked for is seen to be there before the volumes are read.
void Job::prepare_host(const HostMemoryEstimate& need) {
  // Devices whose rates were measured, or kernels compiled, may have taken more before.
  host_estimate_ = std::max({host_estimate_, need.peak(), static_cast<double>(peak_bytes())});
  scratch_estimate_ = std::max(scratch_estimate_, need.on_scratch());
  if (!need.scratch) return;
  if (!scratch_) {
    scratch_.emplace(common_.scratch);
    watch_.emplace();
    if (scratch_->in_memory())
      spdlog::warn("--scratch '{}' is a folder in memory (tmpfs): nothing is gained; give one on a disk",
                   common_.scratch);
  }
  scratch_->reserve(static_cast<std::size_t>(need.on_scratch()));
}

// Without the mapped files of --scratch, whose pages the system can take at any time.
std::size_t Job::peak_bytes() const {
  return watch_ ? watch_->peak() : process_peak_bytes();
}

std::size_t Job::host_memory() const {
  return common_.host_memory > 0 ? common_.host_memory : host_memory_bytes();
}

void Job::record(const RunResult& result, const std::string& name) {
  const Plan done = plan_of_completed_work(result);
  report_["runs"][name] = {
      {"plan", result.plan.json()},
      {"iterations", result.iterations},
      {"seconds", result.seconds},
      {"peak_bytes", result.peak_bytes},
      {"bus_bytes", result.bus_bytes},
      {"predicted",
       {{"seconds", done.seconds}, {"device_peak_bytes", largest_slab(result.plan)}, {"bus_bytes", done.bus_bytes}}},
      {"actual",
       {{"seconds", result.seconds}, {"device_peak_bytes", result.peak_bytes}, {"bus_bytes", result.bus_bytes}}}};
  if (!result.taken_by.empty()) report_["runs"][name]["slabs_taken_by"] = result.taken_by;
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
  for (const int d : used_devices(result.plan)) names.push_back(result.plan.devices[static_cast<std::size_t>(d)].name);
  std::string text = fmt::format("\n  on {}, {}", fmt::join(names, " + "), plan_summary(result.plan));
  for (const auto& note : result.plan.notes) text += "; " + note;
  std::vector<std::string> times;
  for (const auto& [stage, seconds] : seconds_) times.push_back(fmt::format("{} {}", stage, seconds_text(seconds)));
  return fmt::format("{}; {}", text, fmt::join(times, ", "));
}

void Job::tell_of_nonfinite() {
  for (const auto& [path, replaced] : nonfinite_) {
    const std::size_t count = *replaced;
    if (count == 0) continue;
    spdlog::warn("'{}': {} NaN or infinite and became 0", path, plural(count, "value was", "values were"));
    for (auto& input : report_["inputs"])
      if (input["path"] == path) input["nonfinite_set_to_0"] = count;
  }
}

void Job::finish(bool failed) {
  if (dry_run()) return;
  if (!failed) tell_of_nonfinite();
  try {
    // A job that failed before its first command may have been refused because of this very file.
    if (trace_ && (!failed || !trace_->entries().empty()))
      write_file_atomically(common_.trace, [&](std::ostream& out) { trace_->write(out); });
  } catch (const std::exception& error) {
    if (!failed) throw;
    spdlog::warn("the trace was not written: {}", error.what());
  }
  if ((failed && !keep_report_) || (common_.report.empty() && !page_.wanted() && !outlet_.report)) return;
  complete_report();
  if (outlet_.report) outlet_.report(report_);
  if (!common_.report.empty())
    write_file_atomically(common_.report, [&](std::ostream& out) {
      out << report_.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    });
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
  const std::size_t peak = peak_bytes();
  report_["host_peak_bytes"] = peak;
  if (host_estimate_ > 0)
    report_["host_memory"] = {{"predicted_peak_bytes", host_estimate_}, {"actual_peak_bytes", peak}};
  if (scratch_)
    report_["scratch"] = {{"folder", common_.scratch},
                          {"predicted_peak_bytes", scratch_estimate_},
                          {"actual_peak_bytes", scratch_->peak()},
                          {"resident_peak_bytes", process_peak_bytes()}};
  seconds_["total"] = std::chrono::duration<double>(Clock::now() - start_).count();
  report_["seconds"] = seconds_;
  if (trace_)
    for (const auto& [name, total] : trace_->totals())
      report_["commands"][name] = {{"seconds", total.first}, {"calls", total.second}};
  for (const auto& [name, value] : report_.items())
    if (name != "options" && name != "inputs" && name != "outputs") put_in_options(value);  // those are the user's
}

}  // namespace halocline

#include "algorithms/calibration/tune.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>

#include "algorithms/calibration/denoise_loop.hpp"
#include "algorithms/calibration/scan_loop.hpp"
#include "algorithms/calibration/tune_forms.hpp"
#include "algorithms/calibration/tune_time.hpp"
#include "algorithms/projectors/tunables.hpp"
#include "host/opencl/quirks.hpp"
#include "host/opencl/trace.hpp"
#include "host/opencl/work_groups.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

using Shape = std::array<std::size_t, 3>;
using Clock = std::chrono::steady_clock;

// Runs along x for stencils, squares for texture units, some depth for rays that diverge.
constexpr Shape shapes[] = {{64, 4, 1}, {128, 2, 1}, {256, 1, 1}, {32, 8, 1}, {16, 16, 1}, {8, 16, 1},
                            {16, 8, 1}, {8, 32, 1},  {16, 4, 1},  {32, 4, 1}, {64, 2, 1},  {32, 1, 1},
                            {64, 1, 1}, {32, 2, 4},  {16, 4, 4},  {16, 8, 4}, {8, 8, 4},   {128, 4, 1}};

constexpr double clear_gain = 29.0 / 30;
constexpr std::size_t repeats = 3, turns = 5;
constexpr const char* group_tunable = "group";

struct OutOfTime {};

std::size_t edge(const DeviceInfo& device, const TuneOptions& options) {
  if (options.size > 0) return options.size;
  return device.cpu() ? 96 : 320;
}

Scan scan_of(const DeviceInfo& device, const TuneOptions& options) {
  if (options.problem) return bench_scan(options.problem->volume, options.problem->detector, options.problem->views);
  const std::size_t n = edge(device, options);
  return bench_scan(n, n);
}

// A value of a tunable of a kernel.
struct Value {
  std::string tunable, text;
  Shape group{};  // of group_tunable

  void set(TunedValues& values, const std::string& kernel) const {
    if (tunable == group_tunable)
      values.groups[kernel] = group;
    else
      values.choices[kernel + " " + tunable] = text;
  }
};

std::string text_of(const Shape& shape) {
  return fmt::format("{}", fmt::join(shape, " x "));
}

// Values by kernel, of one tunable.
using Round = std::map<std::string, std::vector<Value>>;

// The values of all kernels that are tried one after the other, tunable by tunable; the shapes of groups last. slices:
// those of the volume.
std::vector<Round> rounds_of(const std::set<std::string>& kernels, const std::set<std::string>& shaped,
                             std::size_t slices, const DeviceInfo& device) {
  std::vector<std::string> names;
  for (const Tunable& tunable : tunables())
    if (std::find(names.begin(), names.end(), tunable.name) == names.end()) names.push_back(tunable.name);
  std::vector<Round> rounds;
  for (const auto& name : names) {
    auto& round = rounds.emplace_back();
    for (const Tunable& tunable : tunables())
      if (tunable.name == name && kernels.contains(tunable.kernel))
        for (const int candidate : tunable.candidates)
          if (name != slices_tunable || candidate == filled_slices(candidate, slices))
            round[tunable.kernel].push_back({name, std::to_string(candidate)});
  }
  auto& groups = rounds.emplace_back();
  for (const auto& kernel : shaped)
    for (const Shape& shape : shapes)
      if (shape[0] * shape[1] * shape[2] <= device.max_work_group)
        groups[kernel].push_back({group_tunable, text_of(shape), shape});
  return rounds;
}

using KernelTimes = std::map<std::string, std::vector<double>>;

double least_of(const KernelTimes& times, const std::string& kernel) {
  return RunTimes(times.at(kernel)).least;
}

void append(KernelTimes& to, const KernelTimes& times) {
  for (const auto& [kernel, seconds] : times) to[kernel].insert(to[kernel].end(), seconds.begin(), seconds.end());
}

class Tuner {
 public:
  Tuner(Device device, const TuneOptions& options, const Progress& progress)
      : device_(std::move(device)),
        options_(options),
        progress_(progress),
        scan_(scan_of(device_.info(), options)),
        before_(tuning_of(device_)),
        time_(options.seconds, [] { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }) {
    if (options.problem) problem_ = options.problem->problem();
    result_.tuning = before_;
  }
  ~Tuner() {
    use_tuning(device_, before_);
    device_.record(nullptr);  // if a workload failed
  }

  TuneResult run() {
    const auto classes = classes_of(options_);
    for (const auto& name : classes) {
      if (!time_.begin(static_cast<std::size_t>(&classes.back() - &name + 1))) {
        result_.left_out.push_back(fmt::format("{}: no time was left (`seconds`)", name));
        continue;
      }
      try {
        tune_class(name);
      } catch (const PlanError& error) {
        device_.record(nullptr);
        result_.left_out.push_back(fmt::format("{}: {}", name, error.what()));
      } catch (const OutOfTime&) {
        device_.record(nullptr);
        result_.left_out.push_back(
            fmt::format("{}: no time was left to compile its kernels and to measure them (`seconds`)", name));
      }
    }
    result_.seconds = seconds();
    return std::move(result_);
  }

 private:
  double seconds() const { return time_.spent(); }

  // True if the time is over; at least one class is measured, and a class that was begun is finished.
  bool out_of_time() const { return measured_ && !measuring_ && seconds() > options_.seconds; }

  std::size_t size() const { return edge(device_.info(), options_); }

  // Values that are looked for: those of the class of problem, or those for all problems.
  TunedValues& values_of(Tuning& tuning) const { return problem_ ? tuning.problems[*problem_] : tuning; }

  void report(const std::string& note) const {
    if (progress_) progress_({"tune", std::min(seconds(), options_.seconds), options_.seconds, note});
  }

  // Seconds of every kernel, added up over the workload, in each of `times` runs, or of as many as there is time for.
  KernelTimes measure(const Workload& work, const Tuning& tuning, std::size_t times) {
    use_tuning(device_, tuning);
    KernelTimes result;
    for (std::size_t n = 0; n < times && (n == 0 || time_.fits(run_seconds_)); ++n) {
      check_interrupt();
      const double begin = seconds();
      const auto trace = std::make_shared<Trace>();
      device_.record(trace);
      work([&] {
        check_interrupt();
        if (out_of_time()) throw OutOfTime{};
      });
      device_.finish();
      device_.record(nullptr);
      run_seconds_ = seconds() - begin;
      for (const auto& [name, total] : trace->totals()) result[name].push_back(total.first);
    }
    return result;
  }

  void take(std::vector<FormFound> forms) {
    for (FormFound& found : forms) {
      values_of(result_.tuning).choices[found.name] = found.value;
      result_.items.push_back(std::move(found.item));
    }
  }

  void tune_class(const std::string& name) {
    report(name);
    measuring_ = false;
    if (name == "pdu" || name == "spdu")
      take(tuned_passes(device_, name, size()));
    else
      take(tuned_forms(device_, name, scan_, size(), problem_.has_value(),
                       [&, half = seconds() + 0.5 * time_.left()] { return seconds() <= half; }));
    const double begin = seconds();
    const Workload work = workload_of(device_, name, scan_, size());
    // the default, or for a class of problems what was found for all of them
    Tuning standard = result_.tuning;
    standard.problems.clear();
    if (problem_) {
      values_of(standard).choices = result_.tuning.problems[*problem_].choices;
    } else {
      standard.groups.clear();
    }
    for (const Tunable& tunable : tunables()) values_of(standard).choices.erase(tunable.key());
    const auto first = measure(work, standard, 1);  // compiles
    const double taken = seconds() - begin;
    if (kernels_of(first).empty()) {
      if (!problem_) result_.tuning.classes.insert(name);
      return;
    }
    if (out_of_time()) throw OutOfTime{};
    measuring_ = true;
    time_.must_take(taken);
    search(name, work, standard);
    if (!problem_) result_.tuning.classes.insert(name);
    measured_ = true;
  }

  std::set<std::string> kernels_of(const KernelTimes& times) const {
    std::set<std::string> kernels;
    for (const auto& [kernel, seconds] : times)
      if (is_shaped(kernel) || has_tunable(kernel)) kernels.insert(kernel);
    return kernels;
  }

  // Tries every value of every kernel, and keeps those that win once more, in turns with the standard. Kernels are
  // those of a second run: the first also checks variants, whose references may run kernels that the workload does not.
  void search(const std::string& name, const Workload& work, const Tuning& standard) {
    KernelTimes old = measure(work, standard, repeats);
    const std::set<std::string> kernels = kernels_of(old);
    const double once = run_seconds_;
    std::map<std::string, TunedItem> items;
    for (const auto& kernel : kernels) {
      TunedItem& item = items[kernel];
      item.tune_class = name;
      item.name = kernel;
      item.before = shape_text(standard, kernel);
      item.seconds_before = least_of(old, kernel);
      item.trials.push_back({"", item.before, RunTimes(old.at(kernel)), TuneTrial::Mark::before});
    }
    Round winners;
    Tuning found = standard;
    const double for_turns = std::min(2.0 * turns * once, time_.left() / 3);
    std::set<std::string> shaped;
    std::copy_if(kernels.begin(), kernels.end(), std::inserter(shaped, shaped.end()),
                 [&](const auto& kernel) { return is_shaped(kernel); });
    for (const auto& round : rounds_of(kernels, shaped, scan_.volume.size[2], device_.info()))
      try_values(round, work, once, for_turns, found, items, winners);
    measure_in_turns(work, standard, found, once, items, winners);
    TunedValues& values = values_of(result_.tuning);
    for (const auto& kernel : kernels) {
      forget(values, kernel);
      for (const Value& winner : winners[kernel]) winner.set(values, kernel);
      result_.items.push_back(items[kernel]);
    }
  }

  bool is_shaped(const std::string& kernel) const { return shaped_kernels(device_).contains(kernel); }

  static bool has_tunable(const std::string& kernel) {
    return std::any_of(tunables().begin(), tunables().end(),
                       [&](const Tunable& tunable) { return tunable.kernel == kernel; });
  }

  std::string shape_text(const Tuning& tuning, const std::string& kernel) const {
    constexpr std::size_t many = 1 << 16;
    if (!is_shaped(kernel)) return "default";
    return text_of(work_group_shape(device_.info(), kernel, {many, many, many}, tuning.group(kernel, problem_)));
  }

  static void forget(TunedValues& values, const std::string& kernel) {
    values.groups.erase(kernel);
    for (const Tunable& tunable : tunables())
      if (tunable.kernel == kernel) values.choices.erase(tunable.key());
  }

  // "group 64 x 4 x 1", of the first kernel that has so many values.
  static std::string name_of(const Round& round, std::size_t n) {
    for (const auto& [kernel, values] : round)
      if (n < values.size()) return values[n].tunable + " " + values[n].text;
    return {};
  }

  // Measures the values of one tunable, those of all kernels together. Clear winners go to `found`.
  void try_values(const Round& round, const Workload& work, double once, double for_turns, Tuning& found,
                  std::map<std::string, TunedItem>& items, Round& winners) {
    std::size_t most = 0;
    for (const auto& [kernel, values] : round) most = std::max(most, values.size());
    const double left =
        (time_.left() - for_turns) / std::max(once, 1e-9) / static_cast<double>(std::max<std::size_t>(1, most));
    const auto times = static_cast<std::size_t>(std::clamp(left, 1.0, static_cast<double>(repeats)));
    std::map<std::string, std::vector<std::pair<double, Value>>> tried;
    for (std::size_t n = 0; n < most; ++n) {
      if (!time_.fits(run_seconds_ + for_turns)) break;  // by what the last one took, its compiling included
      Tuning tuning = found;
      for (const auto& [kernel, values] : round)
        if (n < values.size()) values[n].set(values_of(tuning), kernel);
      report(name_of(round, n));
      try {
        const auto now = measure(work, tuning, times);
        for (const auto& [kernel, values] : round) {
          if (n >= values.size() || !now.contains(kernel)) continue;
          const RunTimes measured(now.at(kernel));
          items[kernel].trials.push_back({values[n].tunable, values[n].text, measured});
          tried[kernel].emplace_back(measured.least, values[n]);
        }
      } catch (const ClError&) {  // a group that is too large for a kernel's registers
        device_.record(nullptr);
      }
    }
    for (const auto& [kernel, values] : tried) {
      std::vector<double> seconds;
      for (const auto& [least, value] : values) seconds.push_back(least);
      if (const auto best = clearly_fastest(seconds, items[kernel].seconds_before)) {
        values[*best].second.set(values_of(found), kernel);
        winners[kernel].push_back(values[*best].second);
        items[kernel].seconds_before = seconds[*best];
      }
    }
  }

  // Measures the standard and what was found again, one after the other, and drops winners that were not faster.
  void measure_in_turns(const Workload& work, const Tuning& standard, const Tuning& found, double once,
                        std::map<std::string, TunedItem>& items, Round& winners) {
    KernelTimes old, now;
    for (std::size_t n = 0; n < turns && !winners.empty() && (n == 0 || time_.fits(2 * once)); ++n) {
      append(old, measure(work, standard, 1));
      append(now, measure(work, found, 1));
    }
    for (auto& [kernel, item] : items) {
      item.seconds_before = item.seconds_after = item.trials.front().times.least;
      item.after = item.before;
      const auto won = winners.find(kernel);
      if (won == winners.end()) continue;
      if (!old.contains(kernel) || !now.contains(kernel)) {  // a value decides which kernels run
        winners.erase(won);
        continue;
      }
      std::vector<double> gains;
      for (std::size_t n = 0; n < std::min(old.at(kernel).size(), now.at(kernel).size()); ++n)
        gains.push_back(old.at(kernel)[n] / now.at(kernel)[n]);
      std::sort(gains.begin(), gains.end());
      const double again[] = {least_of(now, kernel)};
      if (!clearly_fastest(again, least_of(old, kernel)) || gains[gains.size() / 2] * clear_gain < 1) {
        winners.erase(won);
        continue;
      }
      item.after = shape_text(found, kernel);
      for (const Value& value : won->second)
        if (value.tunable != group_tunable) item.after += fmt::format(", {} {}", value.tunable, value.text);
      item.seconds_before = least_of(old, kernel);
      item.seconds_after = again[0];
      item.trials.front().times = RunTimes(old.at(kernel));
      item.trials.push_back({"", item.after, RunTimes(now.at(kernel)), TuneTrial::Mark::after});
      item.least_gain = gains.front();
      item.largest_gain = gains.back();
    }
  }

  Device device_;
  TuneOptions options_;
  const Progress& progress_;
  Scan scan_;
  std::optional<ProblemClass> problem_;
  Tuning before_;
  TuneResult result_;
  TuneTime time_;
  double run_seconds_ = 0;  // of the last run of a workload
  bool measured_ = false;   // shapes of groups, of any class
  bool measuring_ = false;  // of this one, whose kernels are compiled
};

void check(const TuneOptions& options) {
  for (const auto& name : options.classes)
    if (std::find(tune_classes().begin(), tune_classes().end(), name) == tune_classes().end())
      throw InputError(
          fmt::format("`classes` '{}' is unknown; give some of {}", name, fmt::join(tune_classes(), ", ")));
  if (options.size > most_bench_size)
    throw InputError(fmt::format("`size` {} is too large; give at most {}", options.size, most_bench_size));
  if (!options.problem) {
    if (std::find(options.classes.begin(), options.classes.end(), "patches") != options.classes.end())
      throw InputError(
          "`classes` 'patches' depends on sizes: give `volume`, which are the voxels of a patch, `detector` and "
          "`views`");
    return;
  }
  for (const auto& name : options.classes)
    if (name == "pdu" || name == "spdu")
      throw InputError(
          fmt::format("`classes` '{}' has no views: with `volume`, `detector` and `views` give some of "
                      "fdk, project, patches, or leave those three out",
                      name));
  const auto in_range = [](const char* what, std::size_t size, std::size_t most) {
    if (size < 1 || size > most)
      throw InputError({.what = what, .found = std::to_string(size), .expected = fmt::format("1 to {}", most)});
  };
  for (const std::size_t size : options.problem->volume) in_range("`volume`", size, most_bench_size);
  for (const std::size_t size : options.problem->detector) in_range("`detector`", size, most_bench_size);
  in_range("`views`", options.problem->views, 65536);
}

}  // namespace

const std::vector<std::string>& tune_classes() {
  static const std::vector<std::string> classes{"pdu", "spdu", "fdk", "project", "patches"};
  return classes;
}

std::vector<std::string> classes_of(const TuneOptions& options) {
  if (!options.classes.empty()) return options.classes;
  if (options.problem) return {"fdk", "project"};
  return {"pdu", "spdu", "fdk", "project"};
}

double tune_host_bytes(const DeviceInfo& device, const TuneOptions& options) {
  constexpr double volumes = 3;  // two inputs, or projections and a volume, and what becomes of them
  const Scan scan = scan_of(device, options);
  const auto largest = static_cast<double>(std::max(scan.volume.count(), scan.stack.count()));
  return volumes * sizeof(float) * largest;
}

TuneResult tune(Device device, const TuneOptions& options, const Progress& progress) {
  check(options);
  return Tuner(std::move(device), options, progress).run();
}

namespace {

// choices_of(device): TunedValues::choices.
template <class AnyDevice, class ChoicesOf>
std::optional<int> least_stages(std::span<const AnyDevice> devices, const std::string& method,
                                const ChoicesOf& choices_of) {
  std::optional<int> least;
  for (const auto& device : devices) {
    const auto& choices = choices_of(device);
    const auto found = choices.find("stages of " + method);
    if (found == choices.end() || found->second.size() != 1 || found->second[0] < '0' ||
        found->second[0] > '0' + most_stages)
      return std::nullopt;
    const int stages = found->second[0] - '0';
    least = least ? std::min(*least, stages) : stages;
  }
  return least;
}

}  // namespace

std::optional<int> tuned_stages(std::span<const DeviceModel> devices, const std::string& method) {
  return least_stages(
      devices, method, [](const DeviceModel& device) -> const auto& { return device.choices; });
}

std::optional<int> tuned_stages(std::span<const Device> devices, const std::string& method) {
  return least_stages(devices, method, [](const Device& device) { return tuning_of(device).choices; });
}

int tuned_or_tried_stages(std::span<const Device> devices, const std::string& method,
                          const std::function<int(const Device&)>& trial) {
  std::map<std::string, int> tried;
  for (const auto& device : devices) {
    if (tuned_stages({&device, 1}, method)) continue;
    const auto [found, is_new] = tried.try_emplace(model_of(device.info()));
    if (is_new) found->second = trial(device);
    keep_stages(device, method, found->second);
  }
  return tuned_stages(devices, method).value();
}

void keep_stages(const Device& device, const std::string& method, int stages) {
  // Both are checked: the choice in use may be less than the one kept, as use_tuning() does not change the disk.
  for (const bool kept : {true, false}) {
    Tuning tuning = kept ? stored_tuning(device.info()).value_or(Tuning{}) : tuning_of(device);
    tuning.choices["stages of " + method] = std::to_string(stages);
    if (kept)
      store_tuning(device.info(), tuning);
    else
      use_tuning(device, std::move(tuning));
  }
}

bool has_measured_defaults(const DeviceInfo& device) {
  return device.cpu() || is_hopper(device.platform, device.name);
}

std::optional<std::size_t> clearly_fastest(std::span<const double> candidates, double standard) {
  const auto best = std::min_element(candidates.begin(), candidates.end());
  if (best == candidates.end() || !(*best < clear_gain * standard)) return std::nullopt;
  return static_cast<std::size_t>(best - candidates.begin());
}

}  // namespace halocline

#include "algorithms/calibration/tune.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>

#include "algorithms/calibration/denoise_loop.hpp"
#include "algorithms/calibration/denoise_phantom.hpp"
#include "algorithms/calibration/form_trial.hpp"
#include "algorithms/calibration/scan_loop.hpp"
#include "algorithms/calibration/tune_time.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "algorithms/projectors/scan_forms.hpp"
#include "host/opencl/quirks.hpp"
#include "host/opencl/trace.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

using Shape = std::array<std::size_t, 3>;
using Clock = std::chrono::steady_clock;

// Runs along x for stencils, squares for texture units, some depth for rays that diverge.
constexpr Shape candidates[] = {{64, 4, 1}, {128, 2, 1}, {256, 1, 1}, {32, 8, 1}, {16, 16, 1}, {8, 16, 1},
                                {8, 32, 1}, {32, 4, 1},  {64, 2, 1},  {32, 1, 1}, {64, 1, 1},  {32, 2, 4},
                                {16, 4, 4}, {16, 8, 4},  {8, 8, 4},   {128, 4, 1}};

constexpr double clear_gain = 29.0 / 30;
constexpr int repeats = 3;

// Something that launches the kernels of a class, from an idle device to an idle one. `between`: called between parts
// whose kernels may have to be compiled.
struct Workload {
  std::function<void(const std::function<void()>& between)> run;
};

struct OutOfTime {};

Volume ones(const Grid& grid) {
  Volume volume(grid);
  std::fill(volume.voxels.begin(), volume.voxels.end(), 1.0f);
  return volume;
}

Workload iterations(const Device& device, const std::string& method, std::size_t n) {
  MethodParameters parameters;
  parameters.size = {n, n, n};
  parameters.iterations = 1 << 20;
  parameters.lambda = 1.0 / 15;
  parameters.largest_weight = 1;
  const auto f = std::make_shared<Volume>(denoise_phantom(n, 0.1));
  const auto w = std::make_shared<Volume>(ones(f->grid));
  std::map<std::string, const Volume*> inputs{{"f", f.get()}};
  if (method == "spdu") inputs["w"] = w.get();
  const auto loop = std::make_shared<DenoiseLoop>(device, BenchForm{method, {}}, parameters, inputs);
  return {[loop, f, w](const auto&) { seconds_of(loop->slab(), [&] { loop->iterate(4); }); }};
}

Workload reconstructions(const Device& device, std::size_t n) {
  const auto scan = std::make_shared<Scan>(bench_scan(n, n));
  const auto views = std::make_shared<Volume>(ones(scan->stack));
  return {[=](const auto& between) {
    FdkParameters parameters;
    fdk(*views, scan->geometry, scan->volume, parameters, {device});
    if (!device.info().images || device.info().cpu()) return;
    between();
    parameters.hardware_interpolation = true;
    fdk(*views, scan->geometry, scan->volume, parameters, {device});
    between();
    parameters.half_texels = true;
    if (device.info().texel_pairs) fdk(*views, scan->geometry, scan->volume, parameters, {device});
  }};
}

Workload projections(const Device& device, std::size_t n) {
  const auto scan = std::make_shared<Scan>(bench_scan(n, n));
  const auto volume = std::make_shared<Volume>(ones(scan->volume)), views = std::make_shared<Volume>(ones(scan->stack));
  return {[=](const auto& between) {
    ProjectionParameters parameters;
    for (const auto projector : {Projector::joseph, Projector::siddon}) {
      parameters.projector = projector;
      project(*volume, scan->geometry, scan->stack, parameters, {device});
      between();
      backproject(*views, scan->geometry, scan->volume, projector, {device});
      between();
    }
    if (!device.info().images || device.info().cpu()) return;
    parameters.projector = Projector::joseph;
    parameters.hardware_interpolation = true;
    project(*volume, scan->geometry, scan->stack, parameters, {device});
  }};
}

Workload workload_of(const Device& device, const std::string& name, std::size_t n) {
  if (name == "fdk") return reconstructions(device, n);
  if (name == "project") return projections(device, n);
  return iterations(device, name, n);
}

std::size_t edge(const DeviceInfo& device, const TuneOptions& options) {
  if (options.size > 0) return options.size;
  return device.cpu() ? 96 : 320;
}

std::string text_of(const Shape& shape) {
  return fmt::format("{}", fmt::join(shape, " x "));
}

std::string form_text(int stages) {
  return stages == 0 ? "in place" : fmt::format("{} iteration{} a pass", stages, stages > 1 ? "s" : "");
}

// A form, and what Tuning::choices keeps of it.
struct Candidate {
  std::string value, mode;
};
struct Choice {
  const char *tune_class, *name;
  Candidate standard;
  std::vector<Candidate> others;
  bool within_slices = false;  // measured on a parallel beam
};

std::vector<Choice> choices() {
  Choice exact{"fdk", exact_form_choice, {quads_form, "exact"}, {}};
  for (const ScanForm& form : scan_forms())
    if (form.tile != nullptr) exact.others.push_back({form.tile->text(), form.mode});
  exact.others.push_back({images_form, "images"});
  return {exact,
          {"project", siddon_form_choice, {buffers_form, "siddon"}, {{images_form, "siddon-images"}}},
          {"project", slice_form_choice, {rays_form, "joseph"}, {{innermost_form, "joseph-slices"}}, true}};
}

class Tuner {
 public:
  Tuner(Device device, const TuneOptions& options, const Progress& progress)
      : device_(std::move(device)),
        options_(options),
        progress_(progress),
        before_(tuning_of(device_)),
        time_(options.seconds, [] { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }) {
    result_.tuning = before_;
  }
  ~Tuner() {
    use_tuning(device_, before_);
    device_.record(nullptr);  // if a workload failed
  }

  TuneResult run() {
    const auto classes = options_.classes.empty() ? tune_classes() : options_.classes;
    for (const auto& name : classes) {
      if (!time_.begin(static_cast<std::size_t>(&classes.back() - &name + 1))) {
        result_.left_out.push_back(fmt::format("{}: no time was left (`seconds`)", name));
        continue;
      }
      try {
        tune_class(name);
      } catch (const PlanError& error) {
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

  void report(const std::string& note) const {
    if (progress_) progress_({"tune", std::min(seconds(), options_.seconds), options_.seconds, note});
  }

  // Seconds of every kernel, added up over the workload: the least of `times` runs, or of as many as there is time for.
  std::map<std::string, double> measure(const Workload& work, const Tuning& tuning, int times) {
    use_tuning(device_, tuning);
    std::map<std::string, double> least;
    for (int n = 0; n < times && (n == 0 || time_.fits(run_seconds_)); ++n) {
      check_interrupt();
      const double begin = seconds();
      const auto trace = std::make_shared<Trace>();
      device_.record(trace);
      work.run([&] {
        check_interrupt();
        if (out_of_time()) throw OutOfTime{};
      });
      device_.finish();
      device_.record(nullptr);
      run_seconds_ = seconds() - begin;
      for (const auto& [name, total] : trace->totals()) {
        const auto at = least.emplace(name, total.first).first;
        at->second = std::min(at->second, total.first);
      }
    }
    return least;
  }

  Tuning with_all(const Shape& shape, const std::set<std::string>& kernels) const {
    Tuning tuning = result_.tuning;
    for (const auto& kernel : kernels) tuning.groups[kernel] = shape;
    return tuning;
  }

  void tune_class(const std::string& name) {
    report(name);
    measuring_ = false;
    if (name == "pdu" || name == "spdu") tune_form(name);
    for (const Choice& choice : choices())
      if (name == choice.tune_class) tune_choice(choice);
    const double begin = seconds();
    const Workload work = workload_of(device_, name, size());
    Tuning standard = result_.tuning;
    standard.groups.clear();
    const auto first = measure(work, standard, 1);  // compiles
    const double taken = seconds() - begin;
    std::set<std::string> kernels;
    for (const auto& kernel : shaped_kernels(device_))
      if (first.contains(kernel)) kernels.insert(kernel);
    if (kernels.empty()) {
      result_.tuning.classes.insert(name);
      return;
    }
    if (out_of_time()) throw OutOfTime{};
    measuring_ = true;
    time_.must_take(taken);
    const auto before = measure(work, standard, repeats);
    const double once = run_seconds_, in_turns = std::min(2 * repeats * once, time_.left() / 3);  // of those that win
    std::map<std::string, std::vector<double>> trials;
    std::vector<Shape> tried;
    for (const Shape& shape : candidates) {
      if (!time_.fits(run_seconds_ + in_turns)) break;  // by what the last one took, its compiling included
      if (shape[0] * shape[1] * shape[2] > device_.info().max_work_group) continue;
      report(fmt::format("{}, groups of {}", name, text_of(shape)));
      try {
        const auto now = measure(work, with_all(shape, kernels), 1);
        tried.push_back(shape);
        for (const auto& kernel : kernels) trials[kernel].push_back(now.at(kernel));
      } catch (const ClError&) {  // a group that is too large for a kernel's registers
      }
    }
    // Candidates that won, and the standard again, in turns.
    Tuning found = result_.tuning;
    std::map<std::string, Shape> winners;
    for (const auto& kernel : kernels) {
      found.groups.erase(kernel);
      if (const auto best = clearly_fastest(trials[kernel], before.at(kernel)))
        found.groups[kernel] = winners[kernel] = tried[*best];
    }
    std::map<std::string, double> old = before, now;
    for (int n = 0; n < repeats && !winners.empty() && (n == 0 || time_.fits(2 * once)); ++n) {
      for (const auto& [kernel, time] : measure(work, standard, 1))
        old[kernel] = n == 0 ? time : std::min(old[kernel], time);
      for (const auto& [kernel, time] : measure(work, found, 1))
        now[kernel] = n == 0 ? time : std::min(now[kernel], time);
    }
    for (const auto& kernel : kernels) {
      TunedItem item{name, kernel, "default", "default", before.at(kernel), before.at(kernel)};
      if (const auto winner = winners.find(kernel); winner != winners.end()) {
        const double again[] = {now.at(kernel)};
        if (clearly_fastest(again, old.at(kernel))) {
          item.after = text_of(winner->second);
          item.seconds_before = old.at(kernel);
          item.seconds_after = now.at(kernel);
        } else {
          found.groups.erase(kernel);
        }
      }
      result_.items.push_back(item);
    }
    result_.tuning = found;
    result_.tuning.classes.insert(name);
    measured_ = true;
  }

  void tune_form(const std::string& name) {
    if (device_.info().cpu()) return;  // barriers in a loop: in place is faster by far
    const std::array<std::size_t, 3> grid{size(), size(), size()};
    const auto trials = form_trials({device_}, name == "spdu", grid);
    if (trials.empty()) return;
    const auto best = std::min_element(trials.begin(), trials.end(),
                                       [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
    result_.tuning.choices["stages of " + name] = std::to_string(best->form.stages);
    result_.items.push_back({name, "form of " + name, form_text(trials.front().form.stages),
                             form_text(best->form.stages), trials.front().seconds, best->seconds});
  }

  static constexpr double spent = 0.02;  // seconds on a form at least, of several runs the best

  // Chooses among forms with the same bits: another than the standard where it is clearly faster, and right.
  void tune_choice(const Choice& choice) {
    if (device_.info().cpu()) return;
    std::vector<Candidate> tried;
    for (const Candidate& other : choice.others)
      if (lack_of(scan_form(other.mode), device_.info()).empty()) tried.push_back(other);
    if (tried.empty()) return;
    report(fmt::format("{}, {}", choice.tune_class, choice.name));
    const double half = seconds() + 0.5 * time_.left();  // the rest is for the shapes of groups
    const Scan scan =
        choice.within_slices ? parallel_bench_scan(size(), size(), size(), size()) : bench_scan(size(), size());
    const auto seconds_of = [&](const Candidate& form) {
      return seconds_of_form(device_, scan_form(form.mode), scan, true, spent);
    };
    const double standard = seconds_of(choice.standard);
    std::vector<double> trials;
    for (const Candidate& other : tried) {
      double& taken = trials.emplace_back(std::numeric_limits<double>::infinity());
      if (seconds() > half) continue;
      check_interrupt();
      try {
        taken = seconds_of(other);
      } catch (const PlanError&) {   // it takes more memory
      } catch (const BuildError&) {  // a compiler that does not take it
      } catch (const ClError&) {     // a group that is too large for its registers
      }
    }
    const auto best = clearly_fastest(trials, standard);
    const bool better = best && check_variant(variant_of(tried[*best].mode), device_).verdict == Verdict::right;
    const std::string form = better ? tried[*best].value : choice.standard.value;
    result_.tuning.choices[choice.name] = form;
    result_.items.push_back(
        {choice.tune_class, choice.name, choice.standard.value, form, standard, better ? trials[*best] : standard});
  }

  Device device_;
  TuneOptions options_;
  const Progress& progress_;
  Tuning before_;
  TuneResult result_;
  TuneTime time_;
  double run_seconds_ = 0;  // of the last run of a workload
  bool measured_ = false;   // shapes of groups, of any class
  bool measuring_ = false;  // of this one, whose kernels are compiled
};

}  // namespace

const std::vector<std::string>& tune_classes() {
  static const std::vector<std::string> classes{"pdu", "spdu", "fdk", "project"};
  return classes;
}

double tune_host_bytes(const DeviceInfo& device, const TuneOptions& options) {
  constexpr double volumes = 3;  // two inputs, or projections and a volume, and what becomes of them
  const auto n = static_cast<double>(edge(device, options));
  return volumes * sizeof(float) * n * n * n;
}

TuneResult tune(Device device, const TuneOptions& options, const Progress& progress) {
  for (const auto& name : options.classes)
    if (std::find(tune_classes().begin(), tune_classes().end(), name) == tune_classes().end())
      throw InputError(
          fmt::format("`classes` '{}' is unknown; give some of {}", name, fmt::join(tune_classes(), ", ")));
  if (options.size > most_bench_size)
    throw InputError(fmt::format("`size` {} is too large; give at most {}", options.size, most_bench_size));
  return Tuner(std::move(device), options, progress).run();
}

std::optional<int> tuned_stages(std::span<const Device> devices, const std::string& method) {
  std::optional<int> least;
  for (const auto& device : devices) {
    const auto& choices = tuning_of(device).choices;
    const auto found = choices.find("stages of " + method);
    if (found == choices.end() || found->second.size() != 1 || found->second[0] < '0' ||
        found->second[0] > '0' + most_stages)
      return std::nullopt;
    const int stages = found->second[0] - '0';
    least = least ? std::min(*least, stages) : stages;
  }
  return least;
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

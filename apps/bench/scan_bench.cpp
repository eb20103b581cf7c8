#include "apps/bench/scan_bench.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "algorithms/calibration/scan_loop.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "algorithms/fdk/slices.hpp"
#include "algorithms/geometry/slice_planes.hpp"
#include "algorithms/projectors/coordinate_error.hpp"
#include "algorithms/projectors/scan_forms.hpp"
#include "apps/bench/device_forms.hpp"
#include "apps/bench/exact_places.hpp"
#include "apps/bench/left_out.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/plural.hpp"
#include "scheduling/execution/program_run.hpp"
#include "scheduling/profiling/measure.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

constexpr std::size_t smallest_scan = 8;  // least value of a missing `size`
constexpr std::size_t most_size = 8192, most_views = 65536;
constexpr int most_runs = 5;  // from host to host

const char* const scan_names[] = {"project", "backproject", "fdk", "slices"};

std::vector<ScanForm> all_forms(ScanBench bench) {
  if (bench == ScanBench::fdk)
    return {scan_form("exact"), scan_form("texture"), scan_form("half"), {.mode = gridding_mode}};
  if (bench == ScanBench::slices) return {scan_form("exact"), scan_form("texture")};
  std::vector<ScanForm> forms;
  for (const ScanForm& form : scan_forms())
    if (form.adjoint == (bench == ScanBench::backproject)) forms.push_back(form);
  return forms;
}

// Planes through the middle of the volume, of so many pixels in the middle of each.
std::vector<Grid> three_planes(const Scan& scan, const std::array<std::size_t, 2>& pixels) {
  std::vector<Grid> planes;
  for (int axis = 0; axis < 3; ++axis) {
    Grid plane = plane_across(scan.volume, axis, centre_of(scan.volume));
    plane.origin = plane.world(static_cast<double>((plane.size[0] - pixels[0]) / 2),
                               static_cast<double>((plane.size[1] - pixels[1]) / 2), 0);
    plane.size = {pixels[0], pixels[1], 1};
    planes.push_back(plane);
  }
  return planes;
}

std::size_t pixels_of(const std::vector<Grid>& planes) {
  std::size_t pixels = 0;
  for (const Grid& plane : planes) pixels += plane.count();
  return pixels;
}

// Device memory of a form; throws an Error that says why the device does not take it.
std::size_t bytes_of(ScanBench bench, const ScanForm& form, const Scan& scan, const std::array<std::size_t, 2>& slice,
                     const Device& device) {
  if (const std::string lack = lack_of(form, scan, device.info()); !lack.empty()) throw InputError(lack);
  const auto resident = [&](const Requirements& need) {
    if (form.pack > 1 && need.batch_step != form.pack)
      throw InputError(fmt::format("{} of {} x {} pixels do not lie in {}s a turn apart",
                                   views_text(scan.stack.size[2]), scan.stack.size[0], scan.stack.size[1],
                                   form.pack == 2 ? "pair" : "quartet"));
    const auto plan = resident_plan(device, need);
    if (!plan) throw PlanError("does not fit the device's memory as one slab");
    return plan->slabs[0].bytes;
  };
  const auto model = device_models({device});
  switch (bench) {
    case ScanBench::backproject:
      return resident(backprojection_on(device, form, scan)->requirements());
    case ScanBench::project:
      return resident(projection_on(device, form, scan)->requirements());
    case ScanBench::fdk: {
      const Plan plan = plan_fdk(scan.geometry, scan.stack, scan.volume, fdk_parameters(form), model);
      return plan.slabs[0].bytes;
    }
    case ScanBench::slices: {
      const Plan plan =
          plan_slices(scan.geometry, scan.stack, scan.volume, fdk_parameters(form), 3 * slice[0] * slice[1], model[0]);
      return plan.slabs[0].bytes;
    }
  }
  return 0;
}

std::vector<ScanForm> wanted_modes(ScanBench bench, const ScanBenchOptions& options) {
  const auto known = scan_bench_modes(bench);
  for (const auto& name : options.modes)
    if (std::find(known.begin(), known.end(), name) == known.end())
      throw InputError(fmt::format("`modes` has \"{}\"; expected some of: {}", name, fmt::join(known, ", ")));
  std::vector<ScanForm> wanted;
  for (auto& form : all_forms(bench))
    if (options.modes.empty() ||
        std::find(options.modes.begin(), options.modes.end(), form.mode) != options.modes.end())
      wanted.push_back(std::move(form));
  return wanted;
}

std::array<double, 3> as_doubles(const Index3& index) {
  return {static_cast<double>(index[0]), static_cast<double>(index[1]), static_cast<double>(index[2])};
}

// All the modes of a bench on a device, with what they share.
class Runner {
 public:
  Runner(ScanBench bench, const Device& device, const ScanBenchPlan& plan, double seconds)
      : bench_(bench),
        device_(device),
        seconds_(seconds),
        slice_(plan.slice),
        scan_(scan_of(plan)),
        exact_scan_{scan_.geometry, scan_.volume, scan_.stack} {}

  const Scan& scan() const { return scan_; }

  ScanRate run(const ScanForm& form) {
    ScanRate rate;
    rate.mode = form.mode;
    rate.updates = static_cast<double>(scan_.volume.count()) * static_cast<double>(scan_.stack.size[2]);
    rate.rays = static_cast<double>(scan_.stack.count());
    switch (bench_) {
      case ScanBench::backproject:
        backproject(form, rate);
        break;
      case ScanBench::project:
        project(form, rate);
        break;
      case ScanBench::fdk:
        reconstruct(form, rate);
        return rate;
      case ScanBench::slices:
        slice(form, rate);
        break;
    }
    auto found = limit_of(rate.fetch);
    if (found == limits_.end()) found = limits_.insert(limits_.end(), {rate.fetch, 0});
    found->second = std::max(found->second, fetch_rate(device_, rate.fetch, seconds_));
    // volumes that no cache holds
    rate.copy_limit = copy_bandwidth(device_, std::clamp<std::size_t>(sizeof(float) * scan_.volume.count(),
                                                                      std::size_t{32} << 20, std::size_t{1} << 30));
    return rate;
  }

  /// Fetches a second: the best of those measured beside each form, for a machine with other users may be slow in
  /// between.
  void set_limit(ScanRate& rate) {
    if (const auto found = limit_of(rate.fetch); found != limits_.end()) rate.fetch_limit = found->second;
  }

 private:
  std::vector<std::pair<Fetch, double>>::iterator limit_of(const Fetch& fetch) {
    return std::find_if(limits_.begin(), limits_.end(), [&](const auto& each) { return each.first == fetch; });
  }

  const ExactValues& exact(const std::string& key, const std::function<ExactSum(std::size_t)>& sum) {
    if (!exact_.contains(key)) exact_[key] = exact_values(sum);
    return exact_[key];
  }

  void backproject(const ScanForm& form, ScanRate& rate) {
    const auto voxels = places_of(scan_.volume.size);
    const auto value = bench_values(scan_.stack);
    const ExactValues& expected =
        exact(form.projector ? projector_name(*form.projector) : "", [&](std::size_t n) -> ExactSum {
          if (form.projector) return exact_adjoint(exact_scan_, *form.projector, voxels[n], value);
          return {exact_backprojection(exact_scan_, as_doubles(voxels[n]), value), 0};
        });
    BackprojectionLoop loop(device_, backprojection_on(device_, form, scan_), form.projector.has_value());
    rate.relative_rmse = expected.relative_rmse(loop.of_numbers(voxels));
    rate.times = repeat(
        loop.slab(), [&] { loop.run(); }, seconds_);
    rate.bytes = loop.bytes();
    rate.host_to_host = host_to_host(*backprojection_on(device_, form, scan_), "raw", projections(), scan_.volume);
    if (form.brick != nullptr) {  // a row's value serves two voxels
      rate.fetch = {.channels = 1};
      rate.fetches = expected.terms * static_cast<double>(scan_.volume.count()) / 2;
    } else if (form.innermost) {
      rate.fetches = expected.terms * static_cast<double>(scan_.volume.count());
    } else if (form.projector) {  // 16 bytes at a time of a pixel's lines and value, which serve 8, 4 and 4 slices
      constexpr double reads[] = {1.0 / 8, 3.0 / 4, 4.0 / 4};
      rate.fetch = {.channels = 4};
      rate.fetches = expected.terms * static_cast<double>(scan_.volume.count()) * reads[form.projector->named()];
    } else if (form.images) {
      rate.fetch = {.image = true, .channels = form.pack, .half = form.half, .nearest = !form.hardware};
      rate.fetches = rate.updates / form.pack * (form.hardware ? 1 : 4);
    } else {
      const bool columns = form.devices == ScanForm::For::cpus;
      rate.fetch = {.channels = columns ? 1 : 4};
      rate.fetches = rate.updates * (columns ? 2 : 1);
    }
  }

  void project(const ScanForm& form, ScanRate& rate) {
    const auto pixels = places_of(scan_.stack.size);
    const auto value = bench_values(scan_.volume);
    const ExactValues& expected = exact(projector_name(*form.projector), [&](std::size_t n) {
      return exact_projection(exact_scan_, *form.projector, pixels[n], value);
    });
    ProjectionLoop loop(device_, projection_on(device_, form, scan_));
    rate.relative_rmse = expected.relative_rmse(loop.of_numbers(pixels));
    rate.times = repeat(
        loop.slab(), [&] { loop.run(); }, seconds_);
    rate.bytes = loop.bytes();
    rate.host_to_host = host_to_host(*projection_on(device_, form, scan_), "volume", volume(), scan_.stack);
    rate.fetch = {
        .image = form.images, .channels = form.pack, .half = form.half, .nearest = form.images && !form.hardware};
    // the sampler reads four voxels at a time
    rate.fetches = expected.terms * rate.rays / (form.hardware ? 4.0 * form.pack : 1.0);
  }

  const Volume& projections() {
    if (projections_.voxels.empty()) projections_ = bench_numbers(scan_.stack);
    return projections_;
  }

  const Volume& volume() {
    if (volume_.voxels.empty()) volume_ = bench_numbers(scan_.volume);
    return volume_;
  }

  // Seconds from `input` in host memory to a result there.
  RunTimes host_to_host(const auto& method, const char* name, const Volume& input, const Grid& result) {
    const auto run = [&] { return run_program(program_of(method), {{name, &input}}, result, {device_}).seconds; };
    run();  // compiles
    return repeat(run, most_runs, seconds_);
  }

  void reconstruct(const ScanForm& form, ScanRate& rate) {
    const auto voxels = places_of(scan_.volume.size);
    const auto run = [&] { return fdk(projections(), scan_.geometry, scan_.volume, fdk_parameters(form), {device_}); };
    const RunResult first = run();  // compiles
    std::vector<float> found;
    for (const auto& [i, j, k] : voxels) found.push_back(first.output.at(i, j, k));
    double best = std::numeric_limits<double>::infinity();
    const auto recorded = [&] {
      const auto trace = std::make_shared<Trace>();
      device_.record(trace);
      const double seconds = run().seconds;
      device_.record(nullptr);
      if (seconds < best) rate.host = commands(*trace);
      best = std::min(best, seconds);
      return seconds;
    };
    rate.times = repeat(recorded, most_runs, seconds_);
    const auto value = bench_values(scan_.stack);
    rate.relative_rmse = exact("", [&](std::size_t n) -> ExactSum {
                           return {exact_fdk(exact_scan_, as_doubles(voxels[n]), value), 0};
                         }).relative_rmse(found);
  }

  static HostToHost commands(const Trace& trace) {
    HostToHost result;
    std::uint64_t start = UINT64_MAX, end = 0;
    for (const TraceEntry& each : trace.entries()) {
      const double seconds = 1e-9 * static_cast<double>(each.end_ns - each.start_ns);
      (each.queue == "upload"     ? result.upload_seconds
       : each.queue == "download" ? result.download_seconds
                                  : result.kernel_seconds) += seconds;
      start = std::min(start, each.start_ns);
      end = std::max(end, each.end_ns);
    }
    if (end > start) result.device_seconds = 1e-9 * static_cast<double>(end - start);
    return result;
  }

  void slice(const ScanForm& form, ScanRate& rate) {
    const auto planes = three_planes(scan_, slice_);
    const std::size_t pixels = pixels_of(planes);
    rate.updates = static_cast<double>(pixels) * static_cast<double>(scan_.stack.size[2]);
    Slices resident(device_, projections(), scan_.geometry, scan_.volume, fdk_parameters(form), pixels);
    const auto images = resident.reconstruct(planes);
    const auto elements = places_of({planes[0].size[0], planes[0].size[1], planes.size()});
    std::vector<float> found;
    for (const auto& [i, j, plane] : elements) found.push_back(images[plane].at(i, j, 0));
    const auto value = bench_values(scan_.stack);
    rate.relative_rmse = exact("", [&](std::size_t n) -> ExactSum {
                           const auto& [i, j, plane] = elements[n];
                           const auto x = planes[plane].world(static_cast<double>(i), static_cast<double>(j), 0);
                           return {exact_fdk(exact_scan_, scan_.volume.index(x[0], x[1], x[2]), value), 0};
                         }).relative_rmse(found);
    rate.times = repeat(
        resident.slab(), [&] { resident.enqueue(planes); }, seconds_);
    rate.fetch = {.image = form.images, .channels = form.images ? 1 : 4};
    rate.fetches = rate.updates;
    rate.bytes = sizeof(float) * (rate.rays * (form.images ? 1 : 4) + static_cast<double>(pixels));
  }

  ScanBench bench_;
  Device device_;
  double seconds_;
  std::array<std::size_t, 2> slice_;
  Scan scan_;
  ExactScan exact_scan_;  // refers to scan_
  std::map<std::string, ExactValues> exact_;
  std::vector<std::pair<Fetch, double>> limits_;
  Volume projections_, volume_;
};

}  // namespace

Scan scan_of(const ScanBenchPlan& plan) {
  if (plan.slices > 0) return sliced_bench_scan(plan.size, plan.slices, plan.rows, plan.views, plan.fan_stack);
  return bench_scan(plan.volume, plan.detector, plan.views);
}

std::string scan_bench_name(ScanBench bench) {
  return scan_names[static_cast<int>(bench)];
}

std::vector<std::string> scan_bench_modes(ScanBench bench) {
  std::vector<std::string> result;
  for (const auto& form : all_forms(bench)) result.push_back(form.mode);
  return result;
}

namespace {

void check_size(const char* name, std::size_t size, std::size_t least, std::size_t most) {
  if (size < least || size > most)
    throw InputError({.what = name, .found = fmt::to_string(size), .expected = fmt::format("{} to {}", least, most)});
}

void check(ScanBench bench, const ScanBenchOptions& options) {
  if (options.size) check_size("`size`", *options.size, 2, most_size);
  if (options.views) check_size("`views`", *options.views, least_bench_views(bench), most_views);
  if (options.slices) check_size("`slices`", *options.slices, 1, most_size);
  if (options.rows) check_size("`rows`", *options.rows, 1, most_size);
  if ((options.rows || options.fan_stack) && !options.slices)
    throw InputError("`rows` and `fan_stack` are those of a beam within slices: give `slices`, their number");
  for (const std::size_t size : options.volume.value_or(std::array<std::size_t, 3>{1, 1, 1}))
    check_size("`volume`", size, 1, most_size);
  for (const std::size_t size : options.slice.value_or(std::array<std::size_t, 2>{2, 2}))
    check_size("`slice`", size, 2, most_size);
  for (const std::size_t size : options.detector.value_or(std::array<std::size_t, 2>{2, 2}))
    check_size("`detector`", size, options.volume ? 1 : 2, most_size);
  if (options.size && options.detector && options.slice)
    throw InputError("`size` has no use where `detector` and `slice` are given; leave it out");
  if (options.volume && (options.size || options.slices))
    throw InputError("`volume` says how many voxels there are; leave `size` and `slices` out");
  if (bench != ScanBench::slices && options.volume.has_value() != options.detector.has_value())
    throw InputError("`volume` and `detector` go together: give both, or `size` alone");
}

ScanBenchPlan sizes_of(ScanBench bench, const ScanBenchOptions& options, std::size_t size) {
  ScanBenchPlan plan;
  plan.size = size;
  plan.volume = options.volume.value_or(std::array{size, size, size});
  plan.detector = options.detector.value_or(std::array{size, size});
  plan.views = options.views.value_or(bench == ScanBench::slices ? 128 : std::max<std::size_t>(size, 12));
  if (bench == ScanBench::slices) {  // a cube as wide as the slices
    plan.slice = options.slice.value_or(std::array{size, size});
    plan.size = std::max(plan.slice[0], plan.slice[1]);
    plan.volume = {plan.size, plan.size, plan.size};
  }
  if (options.volume) plan.size = std::max(plan.volume[0], plan.volume[1]);
  if (options.slices) {
    plan.slices = plan.volume[2] = *options.slices;
    plan.rows = plan.detector[1] = options.rows.value_or(plan.slices);
    plan.fan_stack = options.fan_stack;
  }
  return plan;
}

}  // namespace

ScanBenchPlan plan_scan_bench(ScanBench bench, const Device& device, const ScanBenchOptions& options) {
  const auto wanted = wanted_modes(bench, options);
  check(bench, options);
  const bool fixed = options.size || options.volume || (options.detector && options.slice);
  const bool cpu = device.info().cpu();
  ScanBenchPlan plan;
  for (std::size_t size = options.size.value_or(cpu                          ? 128
                                                : bench == ScanBench::slices ? 1024
                                                                             : 512);
       ; size = size * 3 / 4 / 4 * 4) {
    plan = sizes_of(bench, options, size);
    const Scan scan = scan_of(plan);
    bool all_fit = true;
    for (const ScanForm& form : wanted) {
      try {
        if (form.mode == gridding_mode && plan.slices == 0) throw InputError("it takes parallel beams: give `slices`");
        plan.bytes = std::max(plan.bytes, bytes_of(bench, form, scan, plan.slice, device));
        plan.modes.push_back(form.mode);
      } catch (const PlanError& error) {
        all_fit = false;
        plan.left_out.push_back(left_out(form.mode, error.what()));
      } catch (const InputError& error) {
        plan.left_out.push_back(left_out(form.mode, error.what()));
      }
    }
    if (all_fit || fixed || size <= smallest_scan) break;
  }
  if (plan.modes.empty())
    throw PlanError(
        fmt::format("bench {}: nothing of what was asked for runs on {} with {} voxels and {} views:\n  "
                    "{}\nGive a smaller {} or `views`, more `device_memory`, or other `modes`.",
                    scan_bench_name(bench), device.info().name, fmt::join(plan.volume, " x "), plan.views,
                    fmt::join(plan.left_out, "\n  "),
                    options.volume     ? "`volume`"
                    : options.detector ? "`detector`"
                                       : "`size`"));
  return plan;
}

ScanBenchResult run_scan_bench(ScanBench bench, const Device& device, const ScanBenchOptions& options,
                               const Progress& progress) {
  ScanBenchResult result;
  result.device = device.info();
  result.plan = plan_scan_bench(bench, device, options);
  Runner runner(bench, device, result.plan, options.seconds);
  if (bench == ScanBench::backproject) {
    const auto& scan = runner.scan();
    const auto worst = worst_coordinate_error(scan.geometry, scan.volume, scan.stack);
    result.coordinate_error = worst.error;
    result.coordinate_bound = worst.bound;
  }
  const auto modes = all_forms(bench);
  double done = 0;
  for (const auto& name : result.plan.modes) {
    check_interrupt();
    if (progress) progress({"bench", done++, static_cast<double>(result.plan.modes.size()), name});
    result.rates.push_back(
        runner.run(*std::find_if(modes.begin(), modes.end(), [&](const ScanForm& form) { return form.mode == name; })));
  }
  for (ScanRate& rate : result.rates) runner.set_limit(rate);
  return result;
}

}  // namespace halocline

#include "apps/bench/group_bench.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <chrono>
#include <memory>
#include <utility>

#include "algorithms/calibration/scan_loop.hpp"
#include "host/opencl/trace.hpp"
#include "host/opencl/tuned_values.hpp"
#include "host/opencl/work_groups.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

constexpr std::size_t least_runs = 3;

// "16x4"; throws InputError.
GroupShape group_of(const std::string& word) {
  GroupShape group{0, 1, 1};
  const char *at = word.data(), *end = word.data() + word.size();
  bool good = true;
  for (std::size_t axis = 0; axis < 2 && good; ++axis) {
    const auto [next, error] = std::from_chars(at, end, group[axis]);
    good = error == std::errc() && group[axis] > 0 && (next == end) == (axis == 1) && (axis == 1 || *next == 'x');
    at = next + 1;
  }
  if (!good)
    throw InputError({.what = "`groups`",
                      .found = fmt::format("\"{}\"", word),
                      .expected = "all, or a comma list such as 16x4,152x1"});
  return group;
}

// Sets the shape of a kernel's groups, and what was there again at its end.
class ShapedKernel {
 public:
  ShapedKernel(Device device, std::string kernel, std::optional<ProblemClass> problem)
      : device_(std::move(device)), kernel_(std::move(kernel)), problem_(problem), before_(tuning_of(device_)) {}
  ~ShapedKernel() {
    use_tuning(device_, before_);
    device_.record(nullptr);
  }
  ShapedKernel(const ShapedKernel&) = delete;
  ShapedKernel& operator=(const ShapedKernel&) = delete;

  void set(const GroupShape& group) {
    Tuning tuning = before_;
    (problem_ ? tuning.problems[*problem_] : tuning).groups[kernel_] = group;
    use_tuning(device_, tuning);
  }
  GroupShape in_use(const std::array<std::size_t, 3>& global) const {
    return work_group_shape(device_.info(), kernel_, global, before_.group(kernel_, problem_));
  }
  // Seconds of the kernel in a run.
  double seconds(BackprojectionLoop& loop) {
    const auto trace = std::make_shared<Trace>();
    device_.record(trace);
    loop.run();
    device_.finish();
    device_.record(nullptr);
    return trace->totals().at(kernel_).first;
  }

 private:
  Device device_;
  std::string kernel_;
  std::optional<ProblemClass> problem_;
  Tuning before_;
};

RunTimes times_of(ShapedKernel& kernel, BackprojectionLoop& loop, double seconds) {
  using Clock = std::chrono::steady_clock;
  kernel.seconds(loop);  // compiles
  std::vector<double> runs;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);  // a kernel of a few voxels may take no time
  while (runs.size() < least_runs || Clock::now() < end) {
    check_interrupt();
    runs.push_back(kernel.seconds(loop));
  }
  return RunTimes(std::move(runs));
}

}  // namespace

std::vector<GroupShape> groups_of(const std::string& list, std::size_t most, std::size_t nx, std::size_t ny) {
  constexpr std::size_t fewest = 32;
  std::vector<GroupShape> groups;
  if (list == "all") {
    const std::size_t widest = std::bit_ceil(nx), highest = std::bit_ceil(ny),
                      least = std::min({fewest, most, widest * highest});
    for (std::size_t width = 1; width <= std::min(most, widest); width *= 2)
      for (std::size_t height = 1; width * height <= most && height <= highest; height *= 2)
        if (width * height >= least) groups.push_back({width, height, 1});
    return groups;
  }
  for (std::size_t at = 0; at <= list.size();) {
    const auto end = std::min(list.find(',', at), list.size());
    const GroupShape group = group_of(list.substr(at, end - at));
    if (std::find(groups.begin(), groups.end(), group) == groups.end()) groups.push_back(group);
    at = end + 1;
  }
  return groups;
}

const GroupTime& ModeGroups::fastest() const {
  return *std::min_element(times.begin(), times.end(),
                           [](const auto& a, const auto& b) { return a.times.least < b.times.least; });
}

ModeGroups bench_groups(const Device& device, const ScanForm& form, const Scan& scan,
                        const std::vector<GroupShape>& groups, double seconds, const Progress& progress) {
  if (const std::string lack = lack_of(form, scan, device.info()); !lack.empty()) throw InputError(lack);
  auto method = make_backprojection(form, scan, !device.info().cpu());
  ModeGroups result{form.mode, method->requirements().kernels.back(), {}, {}};
  BackprojectionLoop loop(device, std::move(method), form.projector.has_value());
  loop.run();
  Device(device).finish();
  if (!shaped_kernels(device).contains(result.kernel)) throw InputError("its work-groups have a shape of their own");
  ShapedKernel kernel(device, result.kernel, problem_class(scan.volume.size, scan.stack.size));
  const GroupShape in_use = kernel.in_use(scan.volume.size);
  std::vector<GroupShape> all = groups;
  if (std::find(all.begin(), all.end(), in_use) == all.end()) all.insert(all.begin(), in_use);
  for (const GroupShape& group : all) {
    const std::string text = fmt::format("{} x {}", group[0], group[1]);
    if (progress)
      progress({"bench", static_cast<double>(&group - all.data()), static_cast<double>(all.size()),
                form.mode + ", groups of " + text});
    const auto& size = scan.volume.size;
    if (group != in_use && (group[0] > std::bit_ceil(size[0]) || group[1] > std::bit_ceil(size[1]))) {
      result.left_out.push_back(text + ": wider than the volume");
      continue;
    }
    try {
      kernel.set(group);
      result.times.push_back({group, times_of(kernel, loop, seconds), group == in_use});
    } catch (const ClError& error) {
      result.left_out.push_back(fmt::format("{}: {}", text, error.what()));
    }
  }
  return result;
}

}  // namespace halocline

#include "apps/bench/patch_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "algorithms/geometry/slice_planes.hpp"
#include "algorithms/projectors/patches.hpp"
#include "scheduling/profiling/measure.hpp"

namespace halocline {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

RunTimes latency_of(int runs, const std::function<void()>& call) {
  constexpr int warm_up = 3;
  for (int n = 0; n < warm_up; ++n) call();
  const auto timed = [&] {
    const auto begin = Clock::now();
    call();
    return seconds_since(begin);
  };
  return repeat(timed, runs);
}

// Boxes side by side in the middle of the volume, in rows of eight.
std::vector<Grid> boxes_of(const PatchProblem& problem, const Grid& volume) {
  std::vector<Grid> boxes;
  for (int axis = 0; problem.planes && axis < 3; ++axis) boxes.push_back(plane_across(volume, axis, centre_of(volume)));
  for (std::size_t n = 0; !problem.planes && n < problem.boxes; ++n) {
    Grid box = volume;
    box.size = problem.patch;
    std::array<double, 3> first{};
    for (int axis = 0; axis < 3; ++axis)
      first[axis] = 0.5 * (static_cast<double>(volume.size[axis]) - static_cast<double>(box.size[axis]));
    first[0] += (static_cast<double>(n % 8) - 3.5) * static_cast<double>(box.size[0]) * (problem.boxes > 1 ? 1 : 0);
    first[1] += (static_cast<double>(n / 8) - 3.5) * static_cast<double>(box.size[1]) * (problem.boxes > 8 ? 1 : 0);
    const auto origin = volume.world(first[0], first[1], first[2]);
    std::copy(origin.begin(), origin.end(), box.origin.begin());
    boxes.push_back(box);
  }
  return boxes;
}

}  // namespace

std::string PatchProblem::text() const {
  return fmt::format("{} views of {} x {}, {}{} x {} x {}", views, detector[0], detector[1],
                     planes      ? "three planes of "
                     : boxes > 1 ? fmt::format("{} of ", boxes)
                                 : "",
                     patch[0], patch[1], patch[2]);
}

std::vector<PatchProblem> patch_problems() {
  return {{{50, 1}, 1000, {50, 50, 1}},
          {{100, 1}, 1000, {100, 100, 1}},
          {{250, 1}, 1000, {250, 250, 1}},
          {{500, 1}, 1000, {500, 500, 1}},
          {{512, 1}, 1000, {50, 50, 1}, 64},
          {{20, 20}, 1000, {20, 20, 20}},
          {{80, 80}, 1000, {80, 80, 80}},
          {{400, 600}, 75, {400, 400, 400}, 1, true},
          {{1024, 1024}, 128, {1024, 1024, 1024}, 1, true},
          {{2016, 1800}, 300, {2016, 2016, 2016}, 1, true}};
}

PatchLatency bench_patches(const Device& device, const PatchProblem& problem, int runs) {
  CircularOptions circle;
  circle.sid = 600;
  circle.sdd = 900;
  circle.projections = problem.views;
  const std::size_t width = problem.detector[0];
  const double pixel = 1.0;
  Grid stack;
  stack.size = {width, problem.detector[1], problem.views};
  stack.spacing = {pixel, pixel, 1};
  stack.origin = {-0.5 * pixel * (static_cast<double>(width) - 1),
                  -0.5 * pixel * (static_cast<double>(problem.detector[1]) - 1), 0};
  const Grid volume = default_grid(problem.patch, {pixel * 2 / 3, pixel * 2 / 3, pixel * 2 / 3});
  Patches patches(device, circular_geometry(circle), volume, stack);
  patches.set_boxes(boxes_of(problem, volume));
  Device used = device;
  const Buffer projections = used.buffer("bench: projections", 4 * patches.pixels());
  const Buffer boxes = used.buffer("bench: boxes", 4 * patches.voxels());
  used.fill(projections, 1, 0, projections.bytes()).wait();
  used.fill(boxes, 1, 0, boxes.bytes()).wait();
  PatchLatency result;
  result.problem = problem;
  result.updates = static_cast<double>(patches.voxels()) * static_cast<double>(problem.views);
  result.enqueue = 1e9;
  result.backproject = latency_of(runs, [&] {
    const auto begin = Clock::now();
    const Event done = patches.backproject(projections, boxes);
    result.enqueue = std::min(result.enqueue, seconds_since(begin));
    done.wait();
  });
  result.adjoint = latency_of(runs, [&] { patches.project(boxes, projections).wait(); });
  return result;
}

}  // namespace halocline

// Jobs of expressions, stated each time and replayed (Context::record): the host's time until the call returns, and the
// time to the end of the kernels. Volumes of n voxels, n views of 2n pixels, by edge. The host's time from one
// statement or launch to the next.
#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "algorithms/expressions/context.hpp"
#include "algorithms/expressions/expression.hpp"
#include "algorithms/geometry/geometry.hpp"
#include "algorithms/solvers/projector_operator.hpp"
#include "benchmarks/bench.hpp"
#include "host/opencl/program_cache.hpp"

namespace halocline {
namespace {

namespace hx = expressions;
using Seconds = std::chrono::duration<double>;

hx::LinearOperator projector_of(const hx::Context& on, int n) {
  CircularOptions options;
  options.sid = 10 * n;
  options.sdd = 15 * n;
  options.projections = static_cast<std::size_t>(n);
  const auto edge = static_cast<std::size_t>(n);
  const double middle = -0.5 * (n - 1), corner = -0.5 * (2 * n - 1);
  return hx::projector(on, circular_geometry(options), {.size = {edge, edge, edge}, .origin = {middle, middle, middle}},
                       {.size = {2 * edge, 2 * edge, edge}, .origin = {corner, corner, 0}});
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// Times `job` from an idle device: least and median.
void time_job(benchmark::State& state, const hx::Context& on, const std::function<void()>& job) {
  std::vector<double> host, all;
  job();
  on.wait();
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    job();
    const auto returned = std::chrono::steady_clock::now();
    on.wait();
    const auto end = std::chrono::steady_clock::now();
    host.push_back(1e6 * Seconds(returned - begin).count());
    all.push_back(1e6 * Seconds(end - begin).count());
    state.SetIterationTime(Seconds(end - begin).count());
  }
  state.counters["host_least_us"] = *std::min_element(host.begin(), host.end());
  state.counters["host_us"] = median(host);
  state.counters["end_least_us"] = *std::min_element(all.begin(), all.end());
  state.counters["end_us"] = median(all);
}

// State of a bench: arrays over both spaces.
struct Job {
  explicit Job(int n) : on({bench_device()}), A(projector_of(on, n)) {
    x = hx::uniform(A.domain(), 1);
    z = hx::uniform(A.domain(), 2);
    b = hx::uniform(A.range(), 3);
  }
  hx::Context on;
  hx::LinearOperator A;
  hx::Array x, z, b, volume, rays;
};

void formula(Job& job) {
  job.volume = job.x + 0.5 * job.z;
}
void projection(Job& job) {
  job.rays = job.A * job.x;
}
void both(Job& job) {
  job.rays = job.A * job.x;
  job.volume = adjoint(job.A) * job.rays;
}

void stated(benchmark::State& state, void (*statements)(Job&)) {
  Job job(static_cast<int>(state.range(0)));
  time_job(state, job.on, [&] {
    statements(job);
    job.on.flush();
  });
}

void replayed(benchmark::State& state, void (*statements)(Job&)) {
  Job job(static_cast<int>(state.range(0)));
  const hx::Prepared prepared = job.on.record([&] { statements(job); });
  time_job(state, job.on, [&] { prepared.replay(); });
}

// An iteration of conjugate gradients, whose three sums and what follows a prepared job computes on the device.
void cgls(Job& job) {
  const hx::Array s = adjoint(job.A) * job.b;
  const hx::Scalar gamma = dot(s, s);
  const hx::Array q = job.A * job.z;
  const hx::Scalar alpha = ratio(gamma, dot(q, q));
  job.x += alpha * job.z;
  job.b -= alpha * q;
  const hx::Array next = adjoint(job.A) * job.b;
  job.z = next + ratio(dot(next, next), gamma) * job.z;
}

constexpr int repeats = 20;

// Time of the host from one statement to the next: arrays are so small that kernels take no time.
void overhead(benchmark::State& state) {
  const hx::Context on({bench_device()});
  const hx::Space space = on.volume({.size = {8, 8, 8}});
  hx::Array x = hx::constant(space, 0);
  const hx::Array y = hx::constant(space, 0.5);
  on.wait();
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    for (int n = 0; n < repeats; ++n) {
      x = x * y;
      on.flush();
    }
    state.SetIterationTime(Seconds(std::chrono::steady_clock::now() - begin).count() / repeats);
    on.wait();
  }
}

// Time of the host for a kernel that is launched without anything around it.
void launch(benchmark::State& state) {
  Device& device = bench_device();
  const Buffer x = device.buffer("x", 2048);
  const std::string file = keep_kernel_text("empty", "__kernel void empty(__global float* x) {}\n");
  const std::vector<KernelArgument> arguments{&x};
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    for (int n = 0; n < repeats; ++n) device.launch({file, "empty", ""}, {512, 1, 1}, arguments);
    state.SetIterationTime(Seconds(std::chrono::steady_clock::now() - begin).count() / repeats);
    device.finish();
  }
}

BENCHMARK(overhead)->UseManualTime()->MinTime(0.02)->Unit(benchmark::kMicrosecond);
BENCHMARK(launch)->UseManualTime()->MinTime(0.02)->Unit(benchmark::kMicrosecond);

#define JOB(NAME)                                                                                                  \
  BENCHMARK_CAPTURE(stated, NAME, NAME)->Arg(8)->Arg(16)->Arg(64)->UseManualTime()->Unit(benchmark::kMicrosecond); \
  BENCHMARK_CAPTURE(replayed, NAME, NAME)->Arg(8)->Arg(16)->Arg(64)->UseManualTime()->Unit(benchmark::kMicrosecond)

JOB(formula);
JOB(projection);
JOB(both);
JOB(cgls);

}  // namespace
}  // namespace halocline

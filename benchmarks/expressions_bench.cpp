// Expressions over whole arrays (algorithms/expressions): the five statements of x = x*y ... x = x*y + y/z + x*z beside
// hand-written kernels and a plain copy, sums in the pass that writes what they are of, and the host's time a
// statement.
#include <chrono>

#include "algorithms/expressions/context.hpp"
#include "algorithms/expressions/expression.hpp"
#include "benchmarks/bench.hpp"
#include "host/opencl/program_cache.hpp"

// A library for linear algebra on OpenCL devices, where it is installed (Debian: libviennacl-dev).
#if __has_include(<viennacl/vector.hpp>)
#define HALOCLINE_BENCH_VIENNACL
#define VIENNACL_WITH_OPENCL
#include <viennacl/linalg/inner_prod.hpp>
#include <viennacl/vector.hpp>
#endif

namespace halocline {
namespace {

namespace hx = expressions;

constexpr int repeats = 20;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Values that stay finite, whatever is repeated.
struct Arrays {
  explicit Arrays(std::size_t n) : on({bench_device()}), space(on.volume({.size = {n, n, n}})) {
    x = hx::constant(space, 0);
    y = hx::constant(space, 0.5);
    z = hx::constant(space, 0.25);
    on.wait();
  }
  hx::Context on;
  hx::Space space;
  hx::Array x, y, z;
};

void report(benchmark::State& state, double bytes) {
  const double n = static_cast<double>(bench_size());
  state.counters["share_of_copy"] =
      benchmark::Counter(bytes * n * n * n / bench_copy_bandwidth(), benchmark::Counter::kIsIterationInvariantRate);
}

// Statements, each a pass of its own; `bytes` a voxel.
template <class Statement>
void expression(benchmark::State& state, double bytes, Statement&& statement) {
  Arrays arrays(bench_size());
  const auto run = [&] {
    statement(arrays);
    arrays.on.flush();
  };
  run();
  arrays.on.wait();
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    for (int n = 0; n < repeats; ++n) run();
    arrays.on.wait();
    state.SetIterationTime(seconds_since(begin) / repeats);
  }
  report(state, bytes);
}

void by_hand(benchmark::State& state, double bytes, const std::string& formula) {
  Device& device = bench_device();
  const std::size_t n = bench_size(), count = n * n * n;
  const std::string file = keep_kernel_text(
      "by hand",
      "#pragma OPENCL FP_CONTRACT OFF\n__kernel void by_hand(__global float* restrict x, __global const float* "
      "restrict y, __global const float* restrict z, ulong count) {\n  const size_t i = get_global_id(0);\n  if (i < "
      "count) x[i] = " +
          formula + ";\n}\n");
  const Buffer x = device.buffer("x", 4 * count), y = device.buffer("y", 4 * count), z = device.buffer("z", 4 * count);
  device.fill(x, 0, 0, 4 * count);
  device.fill(y, 0.5f, 0, 4 * count);
  device.fill(z, 0.25f, 0, 4 * count);
  const std::vector<KernelArgument> arguments{&x, &y, &z, std::uint64_t{count}};
  const std::array<std::size_t, 3> group{device.info().cpu() ? 1024u : 256u, 1, 1};
  const auto run = [&] { device.launch({file, "by_hand", ""}, {count, 1, 1}, arguments, {}, group); };
  run();
  device.finish();
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < repeats; ++k) run();
    device.finish();
    state.SetIterationTime(seconds_since(begin) / repeats);
  }
  report(state, bytes);
}

// Time of the host from one statement to the next: arrays are so small that kernels take no time.
void overhead(benchmark::State& state) {
  Arrays arrays(8);
  const auto run = [&] {
    arrays.x = arrays.x * arrays.y;
    arrays.on.flush();
  };
  run();
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    for (int n = 0; n < repeats; ++n) run();
    state.SetIterationTime(seconds_since(begin) / repeats);
    arrays.on.wait();
  }
}

// Time of the host for a kernel that is launched without anything around it.
void launch(benchmark::State& state) {
  Device& device = bench_device();
  const Buffer x = device.buffer("x", 2048), y = device.buffer("y", 2048), z = device.buffer("z", 2048);
  const std::string file = keep_kernel_text("empty", "__kernel void empty(__global float* x) {}\n");
  const std::vector<KernelArgument> arguments{&x};
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    for (int n = 0; n < repeats; ++n) device.launch({file, "empty", ""}, {512, 1, 1}, arguments);
    state.SetIterationTime(seconds_since(begin) / repeats);
    device.finish();
  }
}

#define EXPRESSION(NAME, BYTES, ...) \
  BENCHMARK_CAPTURE(expression, NAME, BYTES, __VA_ARGS__)->UseManualTime()->MinTime(0.02)->Unit(benchmark::kMillisecond)
#define BY_HAND(NAME, BYTES, FORMULA) \
  BENCHMARK_CAPTURE(by_hand, NAME, BYTES, FORMULA)->UseManualTime()->MinTime(0.02)->Unit(benchmark::kMillisecond)

EXPRESSION(saxpy, 12, [](Arrays& a) { a.x += 1.5 * a.y; });
BY_HAND(saxpy, 12, "x[i] + 1.5f * y[i]");
EXPRESSION(xy, 12, [](Arrays& a) { a.x = a.x * a.y; });
BY_HAND(xy, 12, "x[i] * y[i]");
EXPRESSION(xy_y, 12, [](Arrays& a) { a.x = a.x * a.y + a.y; });
BY_HAND(xy_y, 12, "x[i] * y[i] + y[i]");
EXPRESSION(xy_yz, 16, [](Arrays& a) { a.x = a.x * a.y + a.y / a.z; });
BY_HAND(xy_yz, 16, "x[i] * y[i] + y[i] / z[i]");
EXPRESSION(xy_yz_x, 16, [](Arrays& a) { a.x = a.x * a.y + a.y / a.z + a.x; });
BY_HAND(xy_yz_x, 16, "x[i] * y[i] + y[i] / z[i] + x[i]");
EXPRESSION(xy_yz_xz, 16, [](Arrays& a) { a.x = a.x * a.y + a.y / a.z + a.x * a.z; });
BY_HAND(xy_yz_xz, 16, "x[i] * y[i] + y[i] / z[i] + x[i] * z[i]");
// sums in the pass that writes
EXPRESSION(norm, 8, [](Arrays& a) { value(norm(1.2 * a.x + a.y)); });
EXPRESSION(saxpy_dot, 12, [](Arrays& a) {
  a.x += 0.5 * a.y;
  value(dot(a.x, a.x));
});
EXPRESSION(gradient_x, 8, [](Arrays& a) { a.x = gradient(a.y, 0); });
EXPRESSION(gradient_z, 8, [](Arrays& a) { a.x = gradient(a.y, 2); });
BENCHMARK(overhead)->UseManualTime()->MinTime(0.02)->Unit(benchmark::kMicrosecond);
BENCHMARK(launch)->UseManualTime()->MinTime(0.02)->Unit(benchmark::kMicrosecond);

#ifdef HALOCLINE_BENCH_VIENNACL
template <class Statement>
void vienna(benchmark::State& state, double bytes, Statement&& statement) {
  const std::size_t n = bench_size(), count = n * n * n;
  viennacl::vector<float> x(count), y(count), z(count);
  x = viennacl::scalar_vector<float>(count, 0.0f);
  y = viennacl::scalar_vector<float>(count, 0.5f);
  z = viennacl::scalar_vector<float>(count, 0.25f);
  statement(x, y, z);
  viennacl::backend::finish();
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    for (int k = 0; k < repeats; ++k) statement(x, y, z);
    viennacl::backend::finish();
    state.SetIterationTime(seconds_since(begin) / repeats);
  }
  report(state, bytes);
}
#define VIENNA(NAME, BYTES, ...) \
  BENCHMARK_CAPTURE(vienna, NAME, BYTES, __VA_ARGS__)->UseManualTime()->MinTime(0.02)->Unit(benchmark::kMillisecond)
using viennacl::linalg::element_div;
using viennacl::linalg::element_prod;
VIENNA(saxpy, 12, [](auto& x, auto& y, auto&) { x += 1.5f * y; });
VIENNA(xy, 12, [](auto& x, auto& y, auto&) { x = element_prod(x, y); });
VIENNA(xy_y, 12, [](auto& x, auto& y, auto&) { x = element_prod(x, y) + y; });
VIENNA(xy_yz, 16, [](auto& x, auto& y, auto& z) { x = element_prod(x, y) + element_div(y, z); });
VIENNA(xy_yz_x, 16, [](auto& x, auto& y, auto& z) { x = element_prod(x, y) + element_div(y, z) + x; });
VIENNA(xy_yz_xz, 16,
       [](auto& x, auto& y, auto& z) { x = element_prod(x, y) + element_div(y, z) + element_prod(x, z); });
#endif

}  // namespace
}  // namespace halocline

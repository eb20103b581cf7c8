// Statements over whole arrays by other libraries on OpenCL devices, where they are installed (Debian: libviennacl-dev,
// libclblast-dev), for the rows of `halocline bench expressions`.
#if __has_include(<viennacl/vector.hpp>)
#define HALOCLINE_BENCH_VIENNACL
#define VIENNACL_WITH_OPENCL
#include <viennacl/linalg/inner_prod.hpp>
#include <viennacl/linalg/norm_2.hpp>
#include <viennacl/vector.hpp>
#endif
#ifdef HALOCLINE_BENCH_CLBLAST
#include <clblast.h>
#endif

#include <chrono>
#include <functional>
#include <stdexcept>

#include "benchmarks/bench.hpp"

namespace halocline {
namespace {

// From an idle device to an idle device; `bytes` of an element.
[[maybe_unused]] void time_statement(benchmark::State& state, double bytes, const std::function<void()>& run) {
  run();
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    run();
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  const double n = static_cast<double>(bench_size());
  state.counters["share_of_copy"] =
      benchmark::Counter(bytes * n * n * n / bench_copy_bandwidth(), benchmark::Counter::kIsIterationInvariantRate);
}

#define LIBRARY(CASE, NAME, BYTES, ...) \
  BENCHMARK_CAPTURE(CASE, NAME, BYTES, __VA_ARGS__)->UseManualTime()->MinTime(0.02)->Unit(benchmark::kMillisecond)

#ifdef HALOCLINE_BENCH_VIENNACL
template <class Statement>
void vienna(benchmark::State& state, double bytes, Statement&& statement) {
  const std::size_t n = bench_size(), count = n * n * n;
  viennacl::vector<float> x(count), y(count), z(count);
  x = viennacl::scalar_vector<float>(count, 0.0f);
  y = viennacl::scalar_vector<float>(count, 0.5f);
  z = viennacl::scalar_vector<float>(count, 0.25f);
  time_statement(state, bytes, [&] {
    statement(x, y, z);
    viennacl::backend::finish();
  });
}

using viennacl::linalg::element_div;
using viennacl::linalg::element_prod;
LIBRARY(vienna, saxpy, 12, [](auto& x, auto& y, auto&) { x += 1.5f * y; });
LIBRARY(vienna, xy, 12, [](auto& x, auto& y, auto&) { x = element_prod(x, y); });
LIBRARY(vienna, xy_y, 12, [](auto& x, auto& y, auto&) { x = element_prod(x, y) + y; });
LIBRARY(vienna, xy_yz, 16, [](auto& x, auto& y, auto& z) { x = element_prod(x, y) + element_div(y, z); });
LIBRARY(vienna, xy_yz_x, 16, [](auto& x, auto& y, auto& z) { x = element_prod(x, y) + element_div(y, z) + x; });
LIBRARY(vienna, xy_yz_xz, 16,
        [](auto& x, auto& y, auto& z) { x = element_prod(x, y) + element_div(y, z) + element_prod(x, z); });
LIBRARY(vienna, dot, 8, [](auto& x, auto& y, auto&) {
  [[maybe_unused]] const volatile float sum = viennacl::linalg::inner_prod(x, y);
});
LIBRARY(vienna, norm, 4,
        [](auto& x, auto&, auto&) { [[maybe_unused]] const volatile float norm = viennacl::linalg::norm_2(x); });
#endif

#ifdef HALOCLINE_BENCH_CLBLAST
// A queue of the device that a buffer lies on.
class BlasQueue {
 public:
  explicit BlasQueue(const Buffer& buffer) {
    cl_context context = nullptr;
    cl_device_id device = nullptr;
    clGetMemObjectInfo(static_cast<cl_mem>(buffer.handle()), CL_MEM_CONTEXT, sizeof context, &context, nullptr);
    clGetContextInfo(context, CL_CONTEXT_DEVICES, sizeof device, &device, nullptr);
    cl_int error = CL_SUCCESS;
    queue_ = clCreateCommandQueue(context, device, 0, &error);
    if (error != CL_SUCCESS) throw std::runtime_error("no queue for CLBlast");
  }
  ~BlasQueue() { clReleaseCommandQueue(queue_); }
  BlasQueue(const BlasQueue&) = delete;
  BlasQueue& operator=(const BlasQueue&) = delete;

  cl_command_queue* get() { return &queue_; }
  void finish() { clFinish(queue_); }

 private:
  cl_command_queue queue_ = nullptr;
};

cl_mem memory_of(const Buffer& buffer) {
  return static_cast<cl_mem>(buffer.handle());
}

struct BlasArrays {
  Device& device = bench_device();
  std::size_t count = bench_size() * bench_size() * bench_size();
  Buffer x = device.buffer("x", 4 * count), y = device.buffer("y", 4 * count), sum = device.buffer("sum", 4);
  BlasQueue queue{x};

  BlasArrays() {
    device.fill(x, 0, 0, x.bytes()).wait();
    device.fill(y, 0.5f, 0, y.bytes()).wait();
  }
};

template <class Statement>
void clblast_call(benchmark::State& state, double bytes, Statement&& statement) {
  BlasArrays arrays;
  time_statement(state, bytes, [&] {
    if (statement(arrays) != clblast::StatusCode::kSuccess) throw std::runtime_error("CLBlast failed");
    arrays.queue.finish();
  });
}

LIBRARY(clblast_call, saxpy, 12, [](BlasArrays& a) {
  return clblast::Axpy<float>(a.count, 1.5f, memory_of(a.y), 0, 1, memory_of(a.x), 0, 1, a.queue.get());
});
LIBRARY(clblast_call, dot, 8, [](BlasArrays& a) {
  return clblast::Dot<float>(a.count, memory_of(a.sum), 0, memory_of(a.x), 0, 1, memory_of(a.y), 0, 1, a.queue.get());
});
LIBRARY(clblast_call, norm, 4, [](BlasArrays& a) {
  return clblast::Nrm2<float>(a.count, memory_of(a.sum), 0, memory_of(a.x), 0, 1, a.queue.get());
});
#endif

}  // namespace
}  // namespace halocline

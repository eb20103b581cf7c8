// halocline_bench [--benchmark_filter=...] [--benchmark_format=json]: kernels on the device that HALOCLINE_DEVICE
// names.
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "benchmarks/bench.hpp"
#include "host/error.hpp"

namespace halocline {

Device& bench_device() {
  static Device device = open_devices({}).front();
  return device;
}

std::size_t bench_size() {
  const char* size = std::getenv("HALOCLINE_BENCH_SIZE");
  return size != nullptr ? std::stoul(size) : bench_device().info().cpu() ? 256 : 512;
}

Plan whole_plan(const Requirements& requirements, int batch) {
  Plan plan;
  plan.requirements = requirements;
  plan.batch = batch;
  const auto slices = static_cast<std::int64_t>(requirements.size[2]);
  const auto rows = static_cast<std::int64_t>(requirements.stack[1]);
  plan.slabs.push_back({.device = 0, .interior = {0, slices}, .extended = {0, slices}, .rows = {0, rows}});
  return plan;
}

void measure(benchmark::State& state, Slab& slab, const std::function<void()>& work) {
  work();
  slab.wait();
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    work();
    slab.wait();
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
}

}  // namespace halocline

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  try {
    const auto& info = halocline::bench_device().info();
    benchmark::AddCustomContext("device", info.name);
    benchmark::AddCustomContext("platform", info.platform);
    benchmark::AddCustomContext("driver", info.driver);
    benchmark::AddCustomContext("copy_GB_per_s", fmt::format("{:.1f}", 1e-9 * halocline::copy_bandwidth()));
    const auto trace = std::make_shared<halocline::Trace>();
    const bool traced = std::getenv("HALOCLINE_BENCH_TRACE") != nullptr;
    if (traced) halocline::bench_device().record(trace);
    benchmark::RunSpecifiedBenchmarks();
    if (traced) {
      halocline::bench_device().record(nullptr);
      for (const auto& [name, total] : trace->totals())
        fmt::print(stderr, "{:30} {:8} calls, {:.4f} ms each\n", name, total.second,
                   1e3 * total.first / static_cast<double>(total.second));
    }
  } catch (const halocline::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

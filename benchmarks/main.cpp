// halocline_bench [--benchmark_filter=...] [--benchmark_format=json]: kernels on the device that HALOCLINE_DEVICE
// names.
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "benchmarks/bench.hpp"
#include "host/system/error.hpp"

namespace halocline {

Device& bench_device() {
  static Device device = open_devices({}).front();
  return device;
}

std::size_t bench_size() {
  const char* size = std::getenv("HALOCLINE_BENCH_SIZE");
  return size != nullptr ? std::stoul(size) : bench_device().info().cpu() ? 256 : 512;
}

double bench_copy_bandwidth() {
  static const double bandwidth =
      copy_bandwidth(bench_device(), sizeof(float) * bench_size() * bench_size() * bench_size());
  return bandwidth;
}

void measure(benchmark::State& state, DeviceSlab& slab, const std::function<void()>& work) {
  work();
  slab.wait();
  for (auto _ : state) state.SetIterationTime(seconds_of(slab, work));
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
    benchmark::AddCustomContext("copy_GB_per_s", fmt::format("{:.1f}", 1e-9 * halocline::bench_copy_bandwidth()));
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

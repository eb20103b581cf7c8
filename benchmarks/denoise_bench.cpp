// Iterations of the denoisers on a volume that lies on the device: voxel updates a second, and what share of the copy
// bandwidth their traffic is.
#include "algorithms/registry.hpp"
#include "benchmarks/bench.hpp"

namespace halocline {
namespace {

// `bytes`: what an iteration must read and write a voxel in the form that the kernels have.
void iterate(benchmark::State& state, const std::string& name, double bytes) {
  const std::size_t n = bench_size();
  MethodParameters parameters;
  parameters.size = {n, n, n};
  parameters.iterations = 1000000;
  parameters.lambda = 0.1;
  parameters.step = 1e-3;
  parameters.epsilon = 1e-3;
  const auto method = make_method(name, parameters);
  Slab slab(bench_device(), whole_plan(method->requirements()), 0);
  std::vector<float> noise(n * n);
  for (const auto& need : method->requirements().arrays) {
    if (need.lifetime != Lifetime::input) continue;
    for (std::size_t z = 0; z < n; ++z) {
      for (std::size_t at = 0; at < noise.size(); ++at)
        noise[at] = 1.0f + 1e-3f * static_cast<float>((at * 2654435761u + z * 40503u) % 997);
      slab.upload(need.name, {static_cast<std::int64_t>(z), static_cast<std::int64_t>(z) + 1}, noise.data(),
                  static_cast<std::int64_t>(z));
      slab.wait();
    }
  }
  method->begin();
  method->start(slab);
  slab.wait();
  constexpr int iterations = 10;
  int done = 0;
  measure(state, slab, [&] {
    for (int k = 0; k < iterations; ++k) {
      method->iterate(slab, done++, slab.interior());
      if (method->requirements().reduction_every_iteration) {
        method->reduce(slab, done, slab.interior());
        if (method->steered(slab) > 0) method->steer(slab, done);
      }
    }
  });
  const double voxels = static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n) * iterations;
  state.counters["voxel_iterations_per_s"] = benchmark::Counter(voxels, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["share_of_copy"] =
      benchmark::Counter(voxels * bytes / copy_bandwidth(), benchmark::Counter::kIsIterationInvariantRate);
}

BENCHMARK_CAPTURE(iterate, pdu, "pdu", 52)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(iterate, spdu, "spdu", 60)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(iterate, tvgd, "tvgd", 16)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace halocline

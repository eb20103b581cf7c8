// Iterations of the denoisers on a volume that lies on the device: voxel updates a second, and what share of the copy
// bandwidth their traffic is.
#include "algorithms/registry.hpp"
#include "benchmarks/bench.hpp"

namespace halocline {
namespace {

// `bytes`: what an iteration must read and write a voxel in the form that the kernels have.
void iterate(benchmark::State& state, const std::string& name, double bytes, FusedForm fused = {}) {
  const std::size_t n = bench_size();
  if (name == "tvgd" && bench_device().info().cpu()) bytes = 20;  // a CPU keeps the gradient
  MethodParameters parameters;
  parameters.size = {n, n, n};
  parameters.iterations = 1000000;
  parameters.lambda = 0.1;
  parameters.step = 1e-3;
  parameters.epsilon = 1e-3;
  parameters.fused = fused;
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
  constexpr int iterations = 12;
  int done = 0;
  measure(state, slab, [&] {
    for (int k = 0; k < iterations; k += method->together()) {
      method->iterate_together(slab, done, method->together(), slab.interior());
      done += method->together();
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

// The duality gap, which a run needs a few times.
void gap(benchmark::State& state, FusedForm fused) {
  const std::size_t n = bench_size();
  MethodParameters parameters;
  parameters.size = {n, n, n};
  parameters.lambda = 0.1;
  parameters.fused = fused;
  const auto method = make_method("pdu", parameters);
  Slab slab(bench_device(), whole_plan(method->requirements()), 0);
  slab.fill("f", 1);
  method->start(slab);
  slab.wait();
  measure(state, slab, [&] { method->reduce(slab, 1, slab.interior()); });
}

#define ITERATE(CASE, ...) BENCHMARK_CAPTURE(iterate, CASE, __VA_ARGS__)->UseManualTime()->Unit(benchmark::kMillisecond)

ITERATE(pdu, "pdu", 52);
ITERATE(spdu, "spdu", 60);
ITERATE(tvgd, "tvgd", 12);
// one pass of so many iterations, duals of so many bits
ITERATE(pdu_1_32, "pdu", 36, FusedForm{1, 32});
ITERATE(pdu_2_32, "pdu", 18, FusedForm{2, 32});
ITERATE(pdu_3_32, "pdu", 12, FusedForm{3, 32});
ITERATE(pdu_1_16, "pdu", 24, FusedForm{1, 16});
ITERATE(pdu_2_16, "pdu", 12, FusedForm{2, 16});
ITERATE(pdu_3_16, "pdu", 8, FusedForm{3, 16});
ITERATE(pdu_2_8, "pdu", 9, FusedForm{2, 8});
ITERATE(spdu_1_32, "spdu", 40, FusedForm{1, 32});
ITERATE(spdu_2_32, "spdu", 20, FusedForm{2, 32});
ITERATE(spdu_1_16, "spdu", 28, FusedForm{1, 16});
ITERATE(spdu_2_16, "spdu", 14, FusedForm{2, 16});
BENCHMARK_CAPTURE(gap, in_place, FusedForm{})->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gap, stored_16, FusedForm{2, 16})->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace halocline

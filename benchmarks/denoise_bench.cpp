// Iterations of the denoisers on a volume that lies on the device: voxel updates a second, and what share of the copy
// bandwidth their traffic is.
#include "algorithms/calibration/denoise_loop.hpp"
#include "algorithms/calibration/denoise_phantom.hpp"
#include "benchmarks/bench.hpp"

namespace halocline {
namespace {

DenoiseLoop make_loop(const BenchForm& form) {
  const std::size_t n = bench_size();
  static const Volume f = denoise_phantom(n, 0.1), w = ramp_weights(n);
  MethodParameters parameters;
  parameters.size = {n, n, n};
  parameters.iterations = 1000000;
  parameters.lambda = 0.1;
  parameters.step = 1e-3;
  parameters.epsilon = 1e-3;
  parameters.fused = form.fused;
  std::map<std::string, const Volume*> inputs{{"f", &f}};
  if (form.method == "spdu") inputs["w"] = &w;
  return {bench_device(), form, parameters, inputs};
}

void iterate(benchmark::State& state, const std::string& name, FusedForm fused = {}) {
  const BenchForm form{name, fused};
  DenoiseLoop loop = make_loop(form);
  constexpr int iterations = 12;
  measure(state, loop.slab(), [&] { loop.iterate(iterations); });
  const double n = static_cast<double>(bench_size()), voxels = n * n * n * iterations;
  const double bytes = iteration_cost(form, bench_device().info().cpu()).bytes;
  state.counters["voxel_iterations_per_s"] = benchmark::Counter(voxels, benchmark::Counter::kIsIterationInvariantRate);
  state.counters["share_of_copy"] =
      benchmark::Counter(voxels * bytes / bench_copy_bandwidth(), benchmark::Counter::kIsIterationInvariantRate);
}

// The duality gap, which a run needs a few times.
void gap(benchmark::State& state, FusedForm fused) {
  DenoiseLoop loop = make_loop({"pdu", fused});
  measure(state, loop.slab(), [&] { loop.reduce(); });
}

#define ITERATE(CASE, ...) BENCHMARK_CAPTURE(iterate, CASE, __VA_ARGS__)->UseManualTime()->Unit(benchmark::kMillisecond)

ITERATE(pdu, "pdu");
ITERATE(spdu, "spdu");
ITERATE(tvgd, "tvgd");
// one pass of so many iterations, duals of so many bits
ITERATE(pdu_1_32, "pdu", FusedForm{1, 32});
ITERATE(pdu_2_32, "pdu", FusedForm{2, 32});
ITERATE(pdu_1_16, "pdu", FusedForm{1, 16});
ITERATE(pdu_2_16, "pdu", FusedForm{2, 16});
ITERATE(spdu_1_32, "spdu", FusedForm{1, 32});
ITERATE(spdu_2_32, "spdu", FusedForm{2, 32});
ITERATE(spdu_1_16, "spdu", FusedForm{1, 16});
ITERATE(spdu_2_16, "spdu", FusedForm{2, 16});
BENCHMARK_CAPTURE(gap, in_place, FusedForm{})->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(gap, stored_16, FusedForm{2, 16})->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace halocline

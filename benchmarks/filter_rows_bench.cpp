// The row filter of FDK without what comes after it, for rows of 256 to 8192 pixels, in every form: the pixels that go
// in and come out a second as a share of a plain copy, and the time of the first run, with an empty
// HALOCLINE_CACHE_DIR that of building the kernels.
#include "algorithms/calibration/scan_loop.hpp"
#include "algorithms/fdk/fdk.hpp"
#include "algorithms/fdk/row_filter.hpp"
#include "benchmarks/bench.hpp"
#include "host/opencl/fft_library.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

enum class Form { local, clfft, vkfft };

Scan scan_of(std::size_t columns) {
  Scan scan = bench_scan(columns, 64);
  scan.stack.size[1] = 256;
  scan.stack.origin[1] = -0.5 * 255 * scan.stack.spacing[1];
  return scan;
}

void filter_rows(benchmark::State& state, Form form, std::size_t columns) {
  const Device& device = bench_device();
  const Scan scan = scan_of(columns);
  FdkParameters parameters;
  parameters.longest_local_rows = form == Form::local ? longest_rows_in(device.info()) : 0;
  const FdkFilter filter(scan.geometry, scan.stack, parameters);
  if (form == Form::local && filter.rows().length > *parameters.longest_local_rows)
    return state.SkipWithError("too little local memory");
  const FftLibrary before = fft_library(device);
  if (form == Form::clfft && !fft_fault(device, FftLibrary::clfft).empty())
    return state.SkipWithError("clFFT does not work here");
  use_fft_library(device, form == Form::clfft ? FftLibrary::clfft : FftLibrary::vkfft);
  Requirements requirements;
  requirements.size = {1, 1, 1};
  requirements.stack = scan.stack.size;
  filter.declare(requirements);
  const int batch = requirements.preferred_batch;
  DeviceSlab slab(bench_device(), whole_plan(requirements, batch), 0);
  filter.start(slab);
  slab.fill("raw", 1);
  const auto run = [&] { filter.run(slab, {0, batch}); };
  state.counters["first_ms"] = 1e3 * seconds_of(slab, run);
  measure(state, slab, run);
  use_fft_library(device, before);
  const double pixels = static_cast<double>(columns * scan.stack.size[1]) * batch, bytes = 2 * sizeof(float) * pixels;
  const auto rate = [](double value) {
    return benchmark::Counter(value, benchmark::Counter::kIsIterationInvariantRate);
  };
  state.counters["pixels_per_s"] = rate(pixels);
  state.counters["bytes_per_s"] = rate(bytes);
  state.counters["share_of_copy"] = rate(bytes / bench_copy_bandwidth());
}

const bool registered = [] {
  const std::pair<Form, const char*> forms[] = {{Form::local, "local"}, {Form::clfft, "clfft"}, {Form::vkfft, "vkfft"}};
  for (const auto& [form, name] : forms)
    for (std::size_t columns = 256; columns <= 8192; columns *= 2)
      benchmark::RegisterBenchmark(
          ("filter_rows/" + std::string(name) + "/" + std::to_string(columns)).c_str(),
          [form = form, columns](benchmark::State& state) { filter_rows(state, form, columns); })
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace halocline

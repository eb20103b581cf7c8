// Options of all benchmarks: the device under test and the size. For developers; `halocline bench` measures the same
// for users.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>

#include "scheduling/profiling/measure.hpp"

namespace halocline {

/// The device that HALOCLINE_DEVICE names, opened once.
Device& bench_device();
/// Edge of the volume: HALOCLINE_BENCH_SIZE, else 512 on a GPU and 256 on a CPU.
std::size_t bench_size();
/// copy_bandwidth() of volumes of bench_size(), measured once.
double bench_copy_bandwidth();
/// Seconds by the wall of work() from an idle device to an idle device; the first call, which compiles, is not counted.
void measure(benchmark::State& state, DeviceSlab& slab, const std::function<void()>& work);

}  // namespace halocline

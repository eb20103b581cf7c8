// What the benchmarks share: the device under test, and the bandwidth of a plain copy on it, the limit that others are
// set against.
#pragma once

#include <benchmark/benchmark.h>

#include <functional>

#include "scheduling/slab.hpp"

namespace halocline {

/// The device that HALOCLINE_DEVICE names, opened once.
Device& bench_device();
/// Edge of the volume: HALOCLINE_BENCH_SIZE, else 512 on a GPU and 256 on a CPU.
std::size_t bench_size();
/// Bytes read and written by a copy kernel in a second, measured once on volumes of bench_size().
double copy_bandwidth();
/// A plan with the whole job in one slab on the bench's device.
Plan whole_plan(const Requirements& requirements, int batch = 0);
/// Seconds by the wall of work() from an idle device to an idle device; the first call, which compiles, is not counted.
void measure(benchmark::State& state, Slab& slab, const std::function<void()>& work);

}  // namespace halocline

// The few threads that fill and drain the memory between files, volumes and devices.
#pragma once

#include <cstddef>
#include <functional>

namespace halocline {

/// Calls `work(n)` once for every n in [0, parts), from the calling thread and a pool that is started at the first
/// call: together three quarters as many threads as the host has, at least two where it has two, at most 32. The order
/// is not fixed: results must depend on n only. Thread-safe. Throws the first exception when all parts that had begun
/// have ended.
void parallel_parts(std::size_t parts, const std::function<void(std::size_t)>& work);

/// Calls work for the ranges [first, first + count) of `total`, of `part` each except for the last.
void parallel_ranges(std::size_t total, std::size_t part,
                     const std::function<void(std::size_t first, std::size_t count)>& work);

/// Threads that do so, with the calling one.
std::size_t parallel_threads();

}  // namespace halocline

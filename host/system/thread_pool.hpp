// The few threads that fill and drain the memory between files, volumes and devices.
#pragma once

#include <cstddef>
#include <functional>

namespace halocline {

/// Calls `work(n)` once for every n in [0, parts), from the calling thread and from those of a pool that is started at
/// the first call and lives as long as the process: with the calling thread three quarters as many threads as the
/// host has, at least two where it has two, at most 32. In no certain order: results must depend on n only. May be
/// called from several threads at a time. The first exception is thrown again here when all parts that had begun have
/// ended.
void parallel_parts(std::size_t parts, const std::function<void(std::size_t)>& work);

/// The same for the ranges [first, first + count) that `total` falls into, of `part` each but for the last.
void parallel_ranges(std::size_t total, std::size_t part,
                     const std::function<void(std::size_t first, std::size_t count)>& work);

/// Threads that do so, with the calling one.
std::size_t parallel_threads();

}  // namespace halocline

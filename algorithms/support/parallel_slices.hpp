// Work on the host that falls apart into slices.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "host/system/interrupt.hpp"

namespace halocline {

/// Calls `work(n)` once for every n in [0, count), from all the host's threads, in no certain order; a result must
/// depend on n only. The first exception is thrown again here, when all threads have ended.
template <typename Work>
void parallel_slices(std::size_t count, const Work& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr first;
  std::mutex mutex;
  const auto run = [&] {
    try {
      for (std::size_t n = next++; n < count; n = next++) work(n);
    } catch (...) {
      next = count;
      const std::lock_guard lock(mutex);
      if (!first) first = std::current_exception();
    }
  };
  const std::size_t wanted = std::min<std::size_t>(count, std::max(1U, std::thread::hardware_concurrency()));
  {
    std::vector<std::jthread> threads;
    const auto help = [&run, cancellation = current_cancellation()] {
      const CancellationScope scope(cancellation);
      run();
    };
    for (std::size_t n = 1; n < wanted; ++n) threads.emplace_back(help);
    run();
  }
  if (first) std::rethrow_exception(first);
}

}  // namespace halocline

// Pages of memory that a run will write, made beside its kernels: the system clears each page at its first access,
// which takes longer than the bus to a GPU.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace halocline {

/// Makes the pages of [memory, memory + bytes) in ascending order, in a few threads of its own, during its lifetime.
/// Contents do not change, also where others write there meanwhile. Does nothing for little memory, and for arrays of a
/// ScratchFolder, which may be larger than the host's memory. Pages of a file that a caller has mapped are made, too.
class PagePopulation {
 public:
  PagePopulation(void* memory, std::size_t bytes);
  ~PagePopulation();
  PagePopulation(const PagePopulation&) = delete;
  PagePopulation& operator=(const PagePopulation&) = delete;

  /// Waits until all pages are there.
  void wait();

 private:
  void work();

  std::byte* memory_;
  std::size_t bytes_;
  std::atomic<std::size_t> next_{0};  // the first byte that no thread has taken
  std::vector<std::thread> threads_;
};

}  // namespace halocline

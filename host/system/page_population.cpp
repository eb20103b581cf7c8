#include "host/system/page_population.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <system_error>

#include "host/system/scratch_folder.hpp"
#include "host/system/thread_pool.hpp"

namespace halocline {
namespace {

constexpr std::size_t piece = std::size_t{8} << 20, worth_threads = std::size_t{64} << 20;

// Writes to each page what is there, in one step. (madvise() would do the same, but holds a lock that drivers wait
// for.) What the run writes meanwhile is never lost: processors let no store fall into the exchange. By the rules of
// C++ it is a race, which tests/sanitizers/races.txt passes over.
void make_pages(std::byte* begin, std::size_t bytes) {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto touch = [](std::byte* at) {  // not fetch_or(0), which compilers leave out
    const std::atomic_ref byte(*reinterpret_cast<unsigned char*>(at));
    unsigned char value = byte.load(std::memory_order_relaxed);
    byte.compare_exchange_strong(value, value, std::memory_order_relaxed);
  };
  touch(begin);
  for (std::byte* at = begin + page - reinterpret_cast<std::uintptr_t>(begin) % page; at < begin + bytes; at += page)
    touch(at);
}

}  // namespace

PagePopulation::PagePopulation(void* memory, std::size_t bytes)
    : memory_(static_cast<std::byte*>(memory)), bytes_(bytes) {
  if (memory == nullptr || bytes < worth_threads || lies_in_scratch(memory)) return;
  // A third of the threads: the others fill and drain what moves to and from devices.
  const std::size_t threads = std::max<std::size_t>(1, parallel_threads() / 3);
  threads_.reserve(threads);
  try {
    for (std::size_t n = 0; n < threads; ++n) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {  // no more threads are allowed: pages are made when they are written
  }
}

PagePopulation::~PagePopulation() {
  next_ = bytes_;
  wait();
}

void PagePopulation::wait() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void PagePopulation::work() {
  for (std::size_t at = next_.fetch_add(piece); at < bytes_; at = next_.fetch_add(piece))
    make_pages(memory_ + at, std::min(piece, bytes_ - at));
}

}  // namespace halocline

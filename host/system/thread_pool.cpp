#include "host/system/thread_pool.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

// One call of parallel_parts().
struct Job {
  const std::function<void(std::size_t)>* work;
  std::size_t parts;
  Cancellation* cancellation = current_cancellation();
  std::size_t next = 0, running = 0;  // under the pool's mutex
  std::exception_ptr error = nullptr;
  std::condition_variable ended = {};
};

class Pool {
 public:
  explicit Pool(std::size_t threads) {
    for (std::size_t n = 0; n < threads; ++n) std::thread([this] { serve(); }).detach();
  }

  void run(Job& job) {
    std::unique_lock lock(mutex_);
    jobs_.push_back(&job);
    wake_.notify_all();
    while (job.next < job.parts) take_part(job, lock);
    // Whoever takes the last part also takes the job off the list, so that no thread finds it after its end.
    job.ended.wait(lock, [&] { return job.running == 0; });
    if (job.error) std::rethrow_exception(job.error);
  }

 private:
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return !jobs_.empty(); });
      Job& job = *jobs_.front();  // all in turn, so that the work of two devices continues together
      std::rotate(jobs_.begin(), jobs_.begin() + 1, jobs_.end());
      take_part(job, lock);
    }
  }

  // Does one part without the lock. There must be one left.
  void take_part(Job& job, std::unique_lock<std::mutex>& lock) {
    const std::size_t part = job.next++;
    if (job.next == job.parts) std::erase(jobs_, &job);
    ++job.running;
    lock.unlock();
    std::exception_ptr error;
    try {
      const CancellationScope scope(job.cancellation);
      (*job.work)(part);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error) {
      if (!job.error) job.error = error;
      if (job.next < job.parts) std::erase(jobs_, &job);
      job.next = job.parts;  // the others need not begin
    }
    if (--job.running == 0) job.ended.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<Job*> jobs_;
};

}  // namespace

std::size_t parallel_threads() {
  const std::size_t threads = std::max(1U, std::thread::hardware_concurrency());
  return std::clamp<std::size_t>(threads * 3 / 4, std::min<std::size_t>(threads, 2), 32);
}

void parallel_parts(std::size_t parts, const std::function<void(std::size_t)>& work) {
  if (parts == 0) return;
  if (parts == 1) return work(0);
  // Never destroyed: its threads sleep until the process ends, and a child of fork() has none to wait for.
  static Pool& pool = *new Pool(parallel_threads() - 1);
  Job job{&work, parts};
  pool.run(job);
}

void parallel_ranges(std::size_t total, std::size_t part,
                     const std::function<void(std::size_t first, std::size_t count)>& work) {
  parallel_parts((total + part - 1) / part, [&](std::size_t n) { work(n * part, std::min(part, total - n * part)); });
}

}  // namespace halocline

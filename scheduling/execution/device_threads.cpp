#include "scheduling/execution/device_threads.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "scheduling/transport/transport.hpp"

namespace halocline {
namespace {

// Polls for a while before a thread sleeps, because waking takes 50 microseconds.
template <class Condition>
bool seen_soon(const Condition& condition) {
  constexpr std::chrono::microseconds a_while{200};
  for (const auto end = std::chrono::steady_clock::now() + a_while; std::chrono::steady_clock::now() < end;) {
    if (condition()) return true;
    std::this_thread::yield();
  }
  return condition();
}

std::exception_ptr error_of(const std::function<void(int)>& work, int device) {
  try {
    work(device);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

// True for the error of a command that waited for one that failed, perhaps in another thread.
bool follows_from_another(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const ClError& failed) {
    return failed.code() == failed_before;
  } catch (...) {
    return false;
  }
}

}  // namespace

class DeviceThreads::Worker {
 public:
  explicit Worker(int device) : device_(device), thread_([this] { serve(); }) {}
  ~Worker() {
    over_ = true;
    notify();
  }

  void start(const std::function<void(int)>& work) {
    cancellation_ = current_cancellation();
    work_ = &work;
    notify();
  }
  std::exception_ptr wait() {
    const auto ended = [this] { return work_ == nullptr; };
    if (!seen_soon(ended)) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, ended);
    }
    return error_;
  }

 private:
  void notify() {
    { const std::lock_guard lock(mutex_); }  // other threads have seen the change or sleep
    changed_.notify_all();
  }
  void serve() {
    const auto called = [this] { return work_ != nullptr || over_; };
    while (true) {
      if (!seen_soon(called)) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, called);
      }
      if (over_) return;
      {
        const CancellationScope scope(cancellation_);
        error_ = error_of(*work_, device_);
      }
      work_ = nullptr;
      notify();
    }
  }

  const int device_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Cancellation* cancellation_ = nullptr;  // of the caller of start(); written before work_
  std::atomic<const std::function<void(int)>*> work_{nullptr};
  std::atomic<bool> over_{false};
  std::exception_ptr error_;
  std::jthread thread_;  // the last: it uses the others
};

DeviceThreads::DeviceThreads() = default;
DeviceThreads::~DeviceThreads() = default;

void DeviceThreads::each(const Plan& plan, const std::function<void(int)>& work) {
  std::set<int> used;
  for (const auto& slab : plan.slabs)
    if (plan.is_here(slab.device)) used.insert(slab.device);
  if (used.empty()) return;
  const int last = *used.rbegin();
  used.erase(last);
  for (const int device : used) {
    auto& worker = workers_[device];
    if (!worker) worker = std::make_unique<Worker>(device);
  }
  for (const int device : used) workers_.at(device)->start(work);
  const std::exception_ptr last_error = error_of(work, last);
  std::vector<std::exception_ptr> errors;
  for (const int device : used) errors.push_back(workers_.at(device)->wait());
  errors.push_back(last_error);
  std::erase(errors, nullptr);
  if (errors.empty()) return;
  const auto cause = std::find_if_not(errors.begin(), errors.end(), follows_from_another);
  std::rethrow_exception(cause != errors.end() ? *cause : errors.front());
}

}  // namespace halocline

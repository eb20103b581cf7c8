#include "host/system/interrupt.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <mutex>
#include <thread>

#include "host/system/error.hpp"

namespace halocline {
namespace {

// Set by a signal's handler and by other threads than those that look at it.
std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal's handler may set lock-free atomics only");
std::atomic<int> holders{0};
thread_local Cancellation* current = nullptr;

extern "C" void on_signal(int signal) {
  if (requested.exchange(true)) {  // the user means it
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, signal);
  return set;
}

void take_signals() {
  const sigset_t set = handled_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  for (;;) ::pause();
}

}  // namespace

InterruptHandler::InterruptHandler() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  if (std::signal(SIGHUP, on_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
  static std::once_flag started;
  const sigset_t set = handled_signals();
  pthread_sigmask(SIG_BLOCK, &set, &before_);
  std::call_once(started, [] { std::thread(take_signals).detach(); });  // lives as long as the process
}

InterruptHandler::~InterruptHandler() {
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

CancellationScope::CancellationScope(Cancellation* cancellation) : before_(current) {
  current = cancellation;
}
CancellationScope::~CancellationScope() {
  current = before_;
}

Cancellation* current_cancellation() {
  return current;
}

bool interrupt_requested() {
  return requested || (current != nullptr && current->requested());
}

void throw_interrupted() {
  throw Interrupted("interrupted: nothing was written, the input files are untouched");
}

void check_interrupt() {
  const bool cancelled = current != nullptr && current->requested() && current->holders_ == 0;
  if (cancelled || (requested && holders == 0)) throw_interrupted();
}

HeldInterrupts::HeldInterrupts(bool hold) : hold_(hold), cancellation_(current) {
  if (!hold_) return;
  ++holders;
  if (cancellation_ != nullptr) ++cancellation_->holders_;
}
HeldInterrupts::~HeldInterrupts() {
  if (!hold_) return;
  --holders;
  if (cancellation_ != nullptr) --cancellation_->holders_;
}

bool take_interrupt() {
  const bool was = interrupt_requested();
  requested = false;
  if (current != nullptr) current->requested_ = false;
  return was;
}

void give_back_interrupt() {
  if (current != nullptr)
    current->request();
  else
    requested = true;
}

void request_interrupt(bool value) {
  requested = value;
}

}  // namespace halocline

// Ctrl-C, which ends all runs of the process, and the cancellation of one run: flags that are looked at between
// iterations, slabs and batches.
#pragma once

#include <atomic>
#include <csignal>

namespace halocline {

/// A flag that ends the runs that look at it, and no others: those of a thread with a CancellationScope.
class Cancellation {
 public:
  /// By any thread, also one that runs nothing.
  void request() { requested_ = true; }
  bool requested() const { return requested_; }

 private:
  friend class HeldInterrupts;
  friend void check_interrupt();
  friend bool take_interrupt();
  std::atomic<bool> requested_{false};
  std::atomic<int> holders_{0};
};

/// While one of these lives, this thread, and those that runs begin in it, end at `cancellation` as they do at Ctrl-C.
/// Its owner keeps that alive. nullptr: they look at Ctrl-C alone.
class CancellationScope {
 public:
  explicit CancellationScope(Cancellation* cancellation);
  CancellationScope(const CancellationScope&) = delete;
  CancellationScope& operator=(const CancellationScope&) = delete;
  ~CancellationScope();

 private:
  Cancellation* before_;
};
/// That of this thread, to be handed on to threads that work for it; nullptr: none.
Cancellation* current_cancellation();

/// From now on SIGINT, SIGTERM and SIGHUP (unless nohup had it ignored) set the flag; a second one ends the process at
/// once. While one of these lives, a thread of their own takes them. Threads begun meanwhile and the commands that
/// these run never see them: a terminal sends Ctrl-C to the linker of a driver's compiler, too, and some drivers abort
/// when it dies.
class InterruptHandler {
 public:
  InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;
  ~InterruptHandler();

 private:
  sigset_t before_{};
};
/// Ctrl-C was pressed since the program began, or this thread's run was cancelled.
bool interrupt_requested();
/// Throws Interrupted if so.
void check_interrupt();
/// The same whether or not somebody holds interrupts.
[[noreturn]] void throw_interrupted();
/// While one of these lives, check_interrupt() lets the work go on: its owner looks at interrupt_requested() and brings
/// it to an end itself.
class HeldInterrupts {
 public:
  explicit HeldInterrupts(bool hold);
  HeldInterrupts(const HeldInterrupts&) = delete;
  HeldInterrupts& operator=(const HeldInterrupts&) = delete;
  ~HeldInterrupts();

 private:
  bool hold_;
  Cancellation* cancellation_;
};
/// interrupt_requested(), which it answers, so that the work can be brought to an end. The next one counts again.
bool take_interrupt();
/// For tests.
void request_interrupt(bool value);

}  // namespace halocline

// Ctrl-C, which ends all runs of the process, and the cancellation of one run: flags that are looked at between
// iterations, slabs and batches.
#pragma once

#include <atomic>
#include <csignal>

namespace halocline {

/// A flag that ends the runs that look at it, and no others: those of a thread with a CancellationScope.
class Cancellation {
 public:
  /// Cancels. Called by any thread.
  void request() { requested_ = true; }
  bool requested() const { return requested_; }

 private:
  friend class HeldInterrupts;
  friend void check_interrupt();
  friend bool take_interrupt();
  std::atomic<bool> requested_{false};
  std::atomic<int> holders_{0};
};

/// Ends this thread, and those that runs begin in it, at `cancellation` as at Ctrl-C during its lifetime. The owner
/// keeps `cancellation` alive. nullptr: Ctrl-C alone.
class CancellationScope {
 public:
  explicit CancellationScope(Cancellation* cancellation);
  CancellationScope(const CancellationScope&) = delete;
  CancellationScope& operator=(const CancellationScope&) = delete;
  ~CancellationScope();

 private:
  Cancellation* before_;
};
/// Cancellation of this thread, for threads that work for it; nullptr: none.
Cancellation* current_cancellation();

/// Makes SIGINT, SIGTERM and SIGHUP (unless nohup had it ignored) set the flag; a second one ends the process at once.
/// A thread takes them during its lifetime. Threads begun meanwhile and their child processes never see them: a
/// terminal also sends Ctrl-C to the linker of a driver's compiler, and some drivers abort when it ends.
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
/// Throws Interrupted, even where interrupts are held.
[[noreturn]] void throw_interrupted();
/// Makes check_interrupt() do nothing during its lifetime: its owner checks interrupt_requested() and ends the work
/// itself.
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
/// Undoes take_interrupt(): the work could not be brought to an end.
void give_back_interrupt();
/// Presses Ctrl-C in tests.
void request_interrupt(bool value);

}  // namespace halocline

// Ctrl-C: a flag set by the signal handler and looked at between iterations, slabs and batches.
#pragma once

#include <csignal>

namespace halocline {

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
bool interrupt_requested();
/// Throws Interrupted if Ctrl-C was pressed since the program began.
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
};
/// Whether Ctrl-C was pressed; answers it, so that the work can be brought to an end. The next one counts again.
bool take_interrupt();
/// For tests.
void request_interrupt(bool value);

}  // namespace halocline

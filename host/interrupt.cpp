#include "host/interrupt.hpp"

#include <atomic>
#include <csignal>

#include "host/error.hpp"

namespace halocline {
namespace {

volatile std::sig_atomic_t requested = 0;
std::atomic<int> holders{0};

extern "C" void on_signal(int signal) {
  if (requested != 0) {  // the user means it
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
  requested = 1;
}

}  // namespace

void install_interrupt_handler() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  if (std::signal(SIGHUP, on_signal) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

bool interrupt_requested() {
  return requested != 0;
}

void throw_interrupted() {
  throw Interrupted("interrupted: nothing was written, the input files are untouched");
}

void check_interrupt() {
  if (requested != 0 && holders == 0) throw_interrupted();
}

HeldInterrupts::HeldInterrupts(bool hold) : hold_(hold) {
  if (hold_) ++holders;
}
HeldInterrupts::~HeldInterrupts() {
  if (hold_) --holders;
}

bool take_interrupt() {
  const bool was = requested != 0;
  requested = 0;
  return was;
}

void request_interrupt(bool value) {
  requested = value ? 1 : 0;
}

}  // namespace halocline

#include "apps/job/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "apps/job/option_names.hpp"
#include "host/system/captured_stderr.hpp"

namespace halocline {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string time_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.0f} s", seconds);
  const auto whole = static_cast<long>(seconds + 0.5);
  return whole < 3600 ? fmt::format("{}:{:02} min", whole / 60, whole % 60)
                      : fmt::format("{}:{:02} h", whole / 3600, whole / 60 % 60);
}

class Printer {
 public:
  explicit Printer(bool terminal) : terminal_(terminal) {}
  // A line that was being written over must not be continued by what comes next.
  ~Printer() { clear(); }

  void operator()(const ProgressState& state) {
    if (state.stage != stage_ || state.done < done_) begin(state);
    done_ = state.done;
    const double fraction = state.total > 0 ? std::clamp(state.done / state.total, 0.0, 1.0) : 0;
    const bool finished = fraction >= 1;
    if (terminal_ ? due_on_terminal(finished) : due_in_file(fraction)) print(state, fraction);
    if (finished) clear();
  }

 private:
  void begin(const ProgressState& state) {
    clear();
    stage_ = state.stage;
    start_ = last_ = Clock::now();
    last_fraction_ = 0;
    up_ = state.up, down_ = state.down;
  }
  // The rate since the last line; a moment after it, pieces would be counted instead of a rate.
  std::string transfers(const ProgressState& state) {
    constexpr double long_enough = 0.05;
    const double seconds = seconds_since(last_), up = state.up - up_, down = state.down - down_;
    up_ = state.up, down_ = state.down;
    if (seconds < long_enough || !(up > 0 || down > 0)) return {};
    return fmt::format(", up {:.3g} GB/s, down {:.3g} GB/s", 1e-9 * up / seconds, 1e-9 * down / seconds);
  }
  bool due_on_terminal(bool finished) const { return !finished && (!shown_ || seconds_since(last_) >= 0.1); }
  bool due_in_file(double fraction) const {
    const double waited = seconds_since(last_);
    return (waited >= 2 && fraction >= last_fraction_ + 0.1) || waited >= 60;
  }
  void print(const ProgressState& state, double fraction) {
    std::string line = fmt::format("{}: {:3.0f} %", state.stage, 100 * fraction);
    const double elapsed = seconds_since(start_);
    if (fraction > 0 && fraction < 1 && elapsed > 0.5)
      line += fmt::format(", {} left", time_text(elapsed * (1 - fraction) / fraction));
    if (state.work > 0 && elapsed > 0.5) line += fmt::format(", {:.3g} G{}/s", 1e-9 * state.work / elapsed, state.unit);
    line += transfers(state);
    if (!state.note.empty()) line += ", " + in_options(state.note);
    write_stderr(terminal_ ? fmt::format("\r{}\x1b[K", line) : line + "\n");
    shown_ = terminal_;
    last_ = Clock::now();
    last_fraction_ = fraction;
  }
  void clear() {
    if (!shown_) return;
    write_stderr("\r\x1b[K");
    shown_ = false;
  }

  bool terminal_, shown_ = false;
  std::string stage_;
  double done_ = 0, last_fraction_ = 0, up_ = 0, down_ = 0;
  Clock::time_point start_ = Clock::now(), last_ = Clock::now();
};

}  // namespace

Progress make_progress(bool terminal) {
  auto printer = std::make_shared<Printer>(terminal);
  return [printer](const ProgressState& state) { (*printer)(state); };
}

bool stderr_is_terminal() {
  return ::isatty(STDERR_FILENO) == 1;
}

}  // namespace halocline

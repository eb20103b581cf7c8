#include "host/system/captured_stderr.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>

#include "host/system/log.hpp"

namespace halocline {
namespace {

constexpr int closed = -1;

constexpr std::array fatal{SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};

thread_local const std::string* last_words = nullptr;

// All of it under the mutex, but for what a signal needs: the two descriptors and the actions.
struct Capture {
  std::mutex mutex;
  int users = 0;
  volatile int kept = closed;      // the file in memory
  volatile int terminal = closed;  // the standard error output itself, while it is captured
  off_t reported = 0;              // bytes of `kept`
  std::array<struct sigaction, fatal.size()> before{};
};

Capture& capture() {
  static auto& only = *new Capture;  // alive in the threads of drivers that outlive main()
  return only;
}

void write_all(int descriptor, const char* from, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t done = ::write(descriptor, from, bytes);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return;
    from += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

// The captured text, and the last words; false: there are none.
bool print_all() {
  const auto& c = capture();
  const int kept = c.kept, terminal = c.terminal;
  char piece[4096];
  off_t at = 0;
  for (ssize_t got; (got = ::pread(kept, piece, sizeof piece, at)) > 0; at += got)
    write_all(terminal, piece, static_cast<std::size_t>(got));
  if (last_words == nullptr || last_words->empty()) return false;
  write_all(terminal, last_words->data(), last_words->size());
  return true;
}

// The signal is raised again without last words, a fault by itself, for the handler before.
extern "C" void print_kept(int signal) {
  const auto& c = capture();
  if (print_all()) ::_exit(2);
  const auto n = static_cast<std::size_t>(std::find(fatal.begin(), fatal.end(), signal) - fatal.begin());
  ::sigaction(signal, &c.before[n], nullptr);
  if (signal == SIGABRT) ::raise(signal);
}

// At exit() during a capture, which a library has called: LLVM does over files that it cannot write.
extern "C" void print_kept_at_exit() {
  if (capture().terminal == closed) return;
  if (print_all()) ::_exit(2);
  constexpr std::string_view words =
      "halocline: error: a library, the OpenCL driver or its compiler, ended the process. Among the reasons are a full "
      "disk and a limit on files (ulimit -f) where it keeps its own, such as ~/.cache\n";
  write_all(capture().terminal, words.data(), words.size());
}

// The stack itself may have failed, which deeply nested data fill.
void give_handlers_a_stack() {
  thread_local std::array<char, 1 << 16> stack;
  stack_t own{};
  if (::sigaltstack(nullptr, &own) != 0 || (own.ss_flags & SS_DISABLE) == 0) return;
  own.ss_sp = stack.data();
  own.ss_size = stack.size();
  own.ss_flags = 0;
  ::sigaltstack(&own, nullptr);
}

int file_in_memory() {
#ifdef MFD_CLOEXEC
  const int file = ::memfd_create("stderr", MFD_CLOEXEC);
#else
  std::FILE* temporary = std::tmpfile();
  const int file = temporary == nullptr ? closed : ::dup(::fileno(temporary));
  if (temporary != nullptr) std::fclose(temporary);
#endif
  if (file >= 0) ::fcntl(file, F_SETFL, O_APPEND);
  return file;
}

// Begins the capture, unless there is no standard error output.
void begin(Capture& c) {
  const int terminal = ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (terminal < 0) return;
  c.kept = file_in_memory();
  if (c.kept == closed) {
    ::close(terminal);
    return;
  }
  static const int registered = std::atexit(print_kept_at_exit);
  static_cast<void>(registered);
  std::fflush(stderr);
  c.terminal = terminal;
  struct sigaction action {};
  action.sa_handler = print_kept;
  action.sa_flags = SA_ONSTACK;
  for (std::size_t n = 0; n < fatal.size(); ++n) ::sigaction(fatal[n], &action, &c.before[n]);
  ::dup2(c.kept, STDERR_FILENO);
}

void end(Capture& c) {
  if (c.terminal == closed) return;
  const int terminal = c.terminal;
  ::dup2(terminal, STDERR_FILENO);
  for (std::size_t n = 0; n < fatal.size(); ++n) {
    struct sigaction now {};
    ::sigaction(fatal[n], nullptr, &now);  // handlers that drivers have set remain
    if (now.sa_handler == print_kept) ::sigaction(fatal[n], &c.before[n], nullptr);
  }
  ::close(terminal);
  ::close(c.kept);
  c.terminal = closed;
  c.kept = closed;
  c.reported = 0;
}

// Logs the text since the last time, if the level is enabled.
std::string untold(Capture& c) {
  struct stat status {};
  if (c.terminal == closed || ::fstat(c.kept, &status) != 0 || !library_log()->should_log(spdlog::level::debug))
    return {};
  constexpr off_t most = off_t{1} << 20;
  std::string text(static_cast<std::size_t>(std::clamp<off_t>(status.st_size - c.reported, 0, most)), '\0');
  const ssize_t got = ::pread(c.kept, text.data(), text.size(), c.reported);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  c.reported = status.st_size;
  return text;
}

}  // namespace

CapturedStderr::CapturedStderr(const char* library, std::string words)
    : library_(library), last_words_(std::move(words)), before_(last_words) {
  auto& c = capture();
  const std::lock_guard lock(c.mutex);
  if (c.users++ == 0) begin(c);
  if (last_words_.empty()) return;
  give_handlers_a_stack();
  last_words = &last_words_;
}

CapturedStderr::~CapturedStderr() {
  last_words = before_;
  auto& c = capture();
  std::string text;
  {
    const std::lock_guard lock(c.mutex);
    std::fflush(stderr);
    text = untold(c);
    if (--c.users == 0) end(c);
  }
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (!line.empty()) library_log()->debug("{}: {}", library_, line);
}

void write_stderr(std::string_view text) {
  auto& c = capture();
  const std::lock_guard lock(c.mutex);
  write_all(c.terminal == closed ? STDERR_FILENO : c.terminal, text.data(), text.size());
}

}  // namespace halocline

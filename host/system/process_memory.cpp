#include "host/system/process_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>

namespace halocline {
namespace {

// "VmHWM:   1234 kB" of Linux; 0 elsewhere.
std::size_t status_bytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (std::size_t kibibytes = 0; word == key + ":" && status >> kibibytes) return kibibytes * 1024;
  return 0;
}

// Memory of the process alone, and pages of files that it has mapped.
struct Resident {
  std::size_t own = 0, files = 0;
};

Resident resident() {
  Resident result;
  std::ifstream status("/proc/self/status");
  std::size_t kibibytes = 0;
  for (std::string word; status >> word;) {
    if ((word == "RssAnon:" || word == "RssShmem:") && status >> kibibytes) result.own += kibibytes * 1024;
    if (word == "RssFile:" && status >> kibibytes) result.files = kibibytes * 1024;
  }
  return result;
}

// A limit of a control group: a number, or "max".
std::size_t limit_in(const char* path) {
  std::size_t bytes = 0;
  std::ifstream file(path);
  return file >> bytes ? bytes : 0;
}

// Bytes that a soft limit of address space (ulimit -v, -d) leaves; nothing if there is none.
std::optional<std::size_t> left_of(int resource, const char* key, std::size_t reserved) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const std::size_t used = status_bytes(key) + reserved;
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

}  // namespace

// Reads statm, which is ten times as fast as status: every job asks.
std::size_t process_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t size = 0, resident = 0;
  const long page = sysconf(_SC_PAGE_SIZE);
  return statm >> size >> resident && page > 0 ? resident * static_cast<std::size_t>(page) : 0;
}

std::size_t process_peak_bytes() {
  if (const auto peak = status_bytes("VmHWM"); peak > 0) return peak;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

MemoryWatch::MemoryWatch() : files_(resident().files), peak_(process_peak_bytes()) {
  watcher_ = std::jthread([this](const std::stop_token& stop) {
    for (; !stop.stop_requested(); std::this_thread::sleep_for(std::chrono::milliseconds(20))) look();
  });
}

void MemoryWatch::look() {
  const auto [own, files] = resident();
  peak_ = std::max<std::size_t>(peak_, own + std::min(files, files_));
}

namespace {

std::size_t lesser(std::size_t a, std::size_t b) {
  return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b);
}

// Memory of the host or its container; 0: not known.
std::size_t installed_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  std::size_t result = pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : 0;
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"})
    result = lesser(result, limit_in(path));
  return result;
}

// Drivers hold much more address space than memory: what the process has already, and what it may still add to that.
// Threads that are yet to begin reserve some of it that they never use. 0: no limit.
std::size_t ulimit_bytes() {
  constexpr std::size_t reserved = std::size_t{128} << 20;
  std::size_t result = 0;
  for (const auto& left : {left_of(RLIMIT_AS, "VmSize", reserved), left_of(RLIMIT_DATA, "VmData", 0)})
    if (left) result = lesser(result, process_bytes() + *left);
  return result;
}

}  // namespace

std::size_t host_memory_bytes() {
  return lesser(installed_bytes(), ulimit_bytes());
}

bool limited_by_ulimit() {
  const std::size_t limit = ulimit_bytes(), installed = installed_bytes();
  return limit > 0 && (installed == 0 || limit < installed);
}

}  // namespace halocline

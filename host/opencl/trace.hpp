// The times of every command from OpenCL's profiling events, and of messages between processes, written as a Chrome
// trace (chrome://tracing, Perfetto).
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <ostream>
#include <string>
#include <vector>

namespace halocline {

struct TraceEntry {
  std::string name, device, queue;
  std::uint64_t start_ns = 0, end_ns = 0;  // trace_clock()
  std::size_t bytes = 0;                   // moved over the bus, or of a message; 0 for kernels
  bool crosses = false;                    // may begin in another one of its queue and end after it
};

/// Nanoseconds of the host's steady clock.
std::uint64_t trace_clock();

/// Collects entries of all devices. Entries are added when a command has finished.
class Trace {
 public:
  void add(TraceEntry entry);
  std::vector<TraceEntry> entries() const;
  /// Chrome's JSON: one process a device, one thread a queue; time starts at the first entry.
  void write(std::ostream& out) const;
  /// Seconds and number of calls by name, for reports, of those that do not cross.
  std::map<std::string, std::pair<double, std::size_t>> totals() const;

 private:
  mutable std::mutex mutex_;
  std::vector<TraceEntry> entries_;
};

}  // namespace halocline

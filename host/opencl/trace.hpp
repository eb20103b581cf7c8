// The times of every command from OpenCL's profiling events, written as a Chrome trace (chrome://tracing, Perfetto).
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
  std::uint64_t start_ns = 0, end_ns = 0;  // device clock
  std::size_t bytes = 0;                   // moved over the bus; 0 for kernels
};

/// Collects entries of all devices. Entries are added when a command has finished.
class Trace {
 public:
  void add(TraceEntry entry);
  std::vector<TraceEntry> entries() const;
  /// Chrome's JSON: one process a device, one thread a queue; each device's clock starts at its first command.
  void write(std::ostream& out) const;
  /// Seconds and number of calls by name, for reports.
  std::map<std::string, std::pair<double, std::size_t>> totals() const;

 private:
  mutable std::mutex mutex_;
  std::vector<TraceEntry> entries_;
};

}  // namespace halocline

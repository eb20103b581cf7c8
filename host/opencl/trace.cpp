#include "host/opencl/trace.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace halocline {
namespace {

double microseconds(std::uint64_t nanoseconds) {
  return 1e-3 * static_cast<double>(nanoseconds);
}

}  // namespace

void Trace::add(TraceEntry entry) {
  std::lock_guard lock(mutex_);
  entries_.push_back(std::move(entry));
}

std::vector<TraceEntry> Trace::entries() const {
  std::lock_guard lock(mutex_);
  return entries_;
}

// The format is described in Google's "Trace Event Format" (complete events "X", metadata events "M"; times in
// microseconds).
void Trace::write(std::ostream& out) const {
  const auto all = entries();
  std::map<std::string, int> processes;
  std::map<std::string, std::uint64_t> first;  // each device has its own clock
  std::map<std::pair<std::string, std::string>, int> threads;
  auto events = nlohmann::json::array();
  const auto name_it = [&](const char* kind, int process, int thread, const std::string& name) {
    events.push_back({{"ph", "M"}, {"name", kind}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}});
  };
  for (const auto& entry : all) {
    const auto [clock, clock_is_new] = first.emplace(entry.device, entry.start_ns);
    clock->second = std::min(clock->second, entry.start_ns);
    const auto [process, is_new] = processes.emplace(entry.device, static_cast<int>(processes.size()) + 1);
    if (is_new) name_it("process_name", process->second, 0, entry.device);
    const auto [thread, thread_is_new] =
        threads.emplace(std::pair(entry.device, entry.queue), static_cast<int>(threads.size()) + 1);
    if (thread_is_new) name_it("thread_name", process->second, thread->second, entry.queue);
  }
  for (const auto& entry : all) {
    nlohmann::json event{{"ph", "X"},
                         {"name", entry.name},
                         {"cat", entry.queue},
                         {"pid", processes.at(entry.device)},
                         {"tid", threads.at({entry.device, entry.queue})},
                         {"ts", microseconds(entry.start_ns - first.at(entry.device))},
                         {"dur", microseconds(std::max(entry.start_ns, entry.end_ns) - entry.start_ns)}};
    if (entry.bytes > 0) event["args"] = {{"bytes", entry.bytes}};
    events.push_back(std::move(event));
  }
  const nlohmann::json document{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}};
  // Drivers put what they like into a device's name: bytes that are not UTF-8 must not end the program here.
  out << document.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

std::map<std::string, std::pair<double, std::size_t>> Trace::totals() const {
  std::lock_guard lock(mutex_);
  std::map<std::string, std::pair<double, std::size_t>> result;
  for (const auto& entry : entries_) {
    auto& [seconds, calls] = result[entry.name];
    seconds += 1e-9 * static_cast<double>(std::max(entry.start_ns, entry.end_ns) - entry.start_ns);
    ++calls;
  }
  return result;
}

}  // namespace halocline

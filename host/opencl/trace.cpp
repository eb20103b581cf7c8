#include "host/opencl/trace.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

namespace halocline {
namespace {

double microseconds(std::uint64_t nanoseconds) {
  return 1e-3 * static_cast<double>(nanoseconds);
}

}  // namespace

std::uint64_t trace_clock() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

void Trace::add(TraceEntry entry) {
  std::lock_guard lock(mutex_);
  entries_.push_back(std::move(entry));
}

std::vector<TraceEntry> Trace::entries() const {
  std::lock_guard lock(mutex_);
  return entries_;
}

// The format is described in Google's "Trace Event Format" (complete events "X", asynchronous events "b" and "e",
// metadata events "M"; times in microseconds).
void Trace::write(std::ostream& out) const {
  const auto all = entries();
  std::map<std::string, int> processes;
  std::uint64_t first = all.empty() ? 0 : all.front().start_ns;
  std::map<std::pair<std::string, std::string>, int> threads;
  auto events = nlohmann::json::array();
  const auto name_it = [&](const char* kind, int process, int thread, const std::string& name) {
    events.push_back({{"ph", "M"}, {"name", kind}, {"pid", process}, {"tid", thread}, {"args", {{"name", name}}}});
  };
  for (const auto& entry : all) {
    first = std::min(first, entry.start_ns);
    const auto [process, is_new] = processes.emplace(entry.device, static_cast<int>(processes.size()) + 1);
    if (is_new) name_it("process_name", process->second, 0, entry.device);
    const auto [thread, thread_is_new] =
        threads.emplace(std::pair(entry.device, entry.queue), static_cast<int>(threads.size()) + 1);
    if (thread_is_new) name_it("thread_name", process->second, thread->second, entry.queue);
  }
  for (const auto& entry : all) {
    const double begin = microseconds(entry.start_ns - first);
    const double duration = microseconds(std::max(entry.start_ns, entry.end_ns) - entry.start_ns);
    nlohmann::json event{{"name", entry.name},
                         {"cat", entry.queue},
                         {"pid", processes.at(entry.device)},
                         {"tid", threads.at({entry.device, entry.queue})},
                         {"ts", begin}};
    if (entry.bytes > 0) event["args"] = {{"bytes", entry.bytes}};
    if (entry.crosses) {
      event.update({{"ph", "b"}, {"id", events.size()}});
      events.push_back(event);
      event.update({{"ph", "e"}, {"ts", begin + duration}});
    } else {
      event.update({{"ph", "X"}, {"dur", duration}});
    }
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
    if (entry.crosses) continue;
    auto& [seconds, calls] = result[entry.name];
    seconds += 1e-9 * static_cast<double>(std::max(entry.start_ns, entry.end_ns) - entry.start_ns);
    ++calls;
  }
  return result;
}

}  // namespace halocline

#include "apps/job/rank_trace.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>

namespace halocline {
namespace {

// The clock of the first rank less that of each one, modulo 2^64: ranks read their clocks at the end of the same
// exchange. Those of one node, by the name of its start, have the same one.
std::vector<std::uint64_t> clock_shifts(Ranks& ranks) {
  std::string start;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> start;
  const auto starts = ranks.gather("starts of nodes", start);
  const auto clocks = ranks.gather("clocks", std::to_string(trace_clock()));
  std::vector<std::uint64_t> shifts;
  for (std::size_t rank = 0; rank < clocks.size(); ++rank) {
    const bool same = !start.empty() && starts[rank] == starts.front();
    shifts.push_back(same ? 0 : std::stoull(clocks.front()) - std::stoull(clocks[rank]));
  }
  return shifts;
}

}  // namespace

std::shared_ptr<Trace> trace_of_all(const Trace& own, Ranks& ranks) {
  auto entries = nlohmann::json::array();
  for (const TraceEntry& entry : own.entries())
    entries.push_back(
        {entry.name, entry.device, entry.queue, entry.start_ns, entry.end_ns, entry.bytes, entry.crosses});
  const auto packed = nlohmann::json::to_cbor(entries);
  const auto all = ranks.gather("the trace", {packed.begin(), packed.end()});
  const auto shifts = clock_shifts(ranks);
  if (!ranks.first()) return nullptr;
  auto trace = std::make_shared<Trace>();
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    for (const auto& entry : nlohmann::json::from_cbor(all[rank]))
      trace->add({entry[0], fmt::format("rank {}: {}", rank, entry[1].get<std::string>()), entry[2],
                  entry[3].get<std::uint64_t>() + shifts[rank], entry[4].get<std::uint64_t>() + shifts[rank], entry[5],
                  entry[6]});
  return trace;
}

}  // namespace halocline

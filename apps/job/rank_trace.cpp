#include "apps/job/rank_trace.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

namespace halocline {
namespace {

// The clock of the first rank less that of each one, modulo 2^64: ranks read their clocks at the end of the same
// exchange. Nodes have clocks of their own; the same one differs by less than the exchange takes.
std::vector<std::uint64_t> clock_shifts(Ranks& ranks) {
  constexpr std::int64_t same_clock = 10'000'000;
  ranks.meet("reading clocks");
  std::vector<std::uint64_t> shifts;
  for (const auto& text : ranks.gather("clocks", std::to_string(trace_clock()))) shifts.push_back(std::stoull(text));
  const std::uint64_t first = shifts.front();
  for (auto& shift : shifts) {
    shift = first - shift;
    if (std::abs(static_cast<std::int64_t>(shift)) < same_clock) shift = 0;
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

#include "apps/job/rank_trace.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace halocline {

std::shared_ptr<Trace> trace_of_all(const Trace& own, Ranks& ranks) {
  auto entries = nlohmann::json::array();
  for (const TraceEntry& entry : own.entries())
    entries.push_back({entry.name, entry.device, entry.queue, entry.start_ns, entry.end_ns, entry.bytes});
  const auto packed = nlohmann::json::to_cbor(entries);
  const auto all = ranks.gather("the trace", {packed.begin(), packed.end()});
  if (!ranks.first()) return nullptr;
  auto trace = std::make_shared<Trace>();
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    for (const auto& entry : nlohmann::json::from_cbor(all[rank]))
      trace->add({entry[0], fmt::format("rank {}: {}", rank, entry[1].get<std::string>()), entry[2], entry[3], entry[4],
                  entry[5]});
  return trace;
}

}  // namespace halocline

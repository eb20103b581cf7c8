#include "scheduling/profiling/rates_text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace halocline {
namespace {

using Doubts = std::map<std::string, std::int64_t>;

// Times that are no whole numbers, or too large, are left out.
Doubts doubts_of(const nlohmann::json& entry) {
  if (!entry.is_object() || !entry.contains("doubted") || !entry["doubted"].is_object()) return {};
  Doubts doubts;
  for (const auto& [reason, time] : entry["doubted"].items())
    if (time.is_number_unsigned() && time.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max())
      doubts[reason] = time.get<std::int64_t>();
  return doubts;
}

}  // namespace

std::string rates_text(const DeviceRates& rates) {
  return nlohmann::json{{"version", rates_version},   {"copy", rates.copy},       {"upload", rates.upload},
                        {"download", rates.download}, {"latency", rates.latency}, {"kernels", rates.kernels},
                        {"doubted", rates.doubted}}
      .dump();
}

std::optional<DeviceRates> rates_from_text(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("version") || json["version"] != rates_version) return std::nullopt;
  DeviceRates rates;
  try {
    rates = {json.at("copy"),    json.at("upload"),  json.at("download"),
             json.at("latency"), json.at("kernels"), doubts_of(json)};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
  const auto good = [](double rate) { return rate > 0 && std::isfinite(rate); };
  if (!good(rates.copy) || !good(rates.upload) || !good(rates.download) || !good(rates.latency)) return std::nullopt;
  if (!std::all_of(rates.kernels.begin(), rates.kernels.end(), [&](const auto& each) { return good(each.second); }))
    return std::nullopt;
  return rates;
}

std::string forgotten_text(const Doubts& doubted) {
  return nlohmann::json{{"version", rates_version}, {"doubted", doubted}}.dump();
}

Doubts doubts_from_text(const std::string& text) {
  return doubts_of(nlohmann::json::parse(text, nullptr, false));
}

}  // namespace halocline

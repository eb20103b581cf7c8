// Rates as texts in the cache folder.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "scheduling/profiling/rates.hpp"

namespace halocline {

/// Version of the stored format and of the measurement.
inline constexpr int rates_version = 2;

/// Stored text of rates, and back; nothing if it is damaged or of another version.
std::string rates_text(const DeviceRates& rates);
std::optional<DeviceRates> rates_from_text(const std::string& text);

/// Stored text of forgotten rates: the doubts alone, and those of any such text; none if it is damaged.
std::string forgotten_text(const std::map<std::string, std::int64_t>& doubted);
std::map<std::string, std::int64_t> doubts_from_text(const std::string& text);

}  // namespace halocline

// --output-type, --hu: volumes written in another type than float32 or another unit than 1/mm.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "apps/job/job.hpp"

namespace halocline {

/// --hu: water's attenuation, if volumes are written in Hounsfield units.
void add_water_option(Settings& settings, std::optional<double>& water);

/// Puts type, scaling and the number of clamped values into the report; if there are any, warns, and says that `remedy`
/// helps.
void report_clamping(Job& job, const ImageStorage& storage, std::size_t clamped, const std::string& remedy);

}  // namespace halocline

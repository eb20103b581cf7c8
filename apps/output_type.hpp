// --output-type, --hu: volumes written in another type than float32 or another unit than 1/mm.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "apps/job.hpp"

namespace CLI {
class App;
}

namespace halocline {

/// --hu: water's attenuation, if volumes are written in Hounsfield units.
void add_water_option(CLI::App& app, std::optional<double>& water);

/// Writes a volume and returns how many values lay beyond what the type can hold, and became the nearest that it can.
std::size_t write_stored(Job& job, const Volume& volume, const std::string& path, const ImageStorage& storage);

/// Puts type, scaling and the number of clamped values into the report; if there are any, warns, and says that `remedy`
/// helps.
void tell_of_clamping(Job& job, const ImageStorage& storage, std::size_t clamped, const std::string& remedy);

}  // namespace halocline

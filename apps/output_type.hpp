// --output-type: volumes written in another type than float32.
#pragma once

#include <cstddef>
#include <string>

#include "apps/job.hpp"

namespace halocline {

/// Writes a volume and returns how many values lay beyond what the type can hold, and became the nearest that it can.
std::size_t write_stored(Job& job, const Volume& volume, const std::string& path, const ImageStorage& storage);

/// Puts type, scaling and the number of clamped values into the report; if there are any, warns, and says that `remedy`
/// helps.
void tell_of_clamping(Job& job, const ImageStorage& storage, std::size_t clamped, const std::string& remedy);

}  // namespace halocline

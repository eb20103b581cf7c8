// Tuning as a text in the cache folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/opencl/tuning.hpp"

namespace halocline {

/// Tuning as a text, and back: none where the text is damaged, of another layout, or of shapes and classes that no
/// device and no problem has.
std::string tuning_text(const Tuning& tuning);
std::optional<Tuning> parse_tuning(std::string_view text);

}  // namespace halocline

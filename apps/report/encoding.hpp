// Bytes as text that a page can hold.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace halocline {

/// Compressed as in a .gz file.
std::string gzip(std::span<const std::uint8_t> bytes);

std::string base64(std::string_view bytes);

/// Escapes text of an element or of a quoted attribute: & < > " ' become entities.
std::string html_escaped(std::string_view text);

}  // namespace halocline

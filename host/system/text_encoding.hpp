// Texts as editors of any system save them.
#pragma once

#include <string>

namespace halocline {

/// True if a text begins as UTF-16 does: with its byte order mark, or with two characters of ASCII in it.
bool begins_as_utf16(const std::string& text);

/// The text as UTF-8 without a byte order mark, with a line feed at the end of a line: from UTF-8, UTF-16 of either
/// byte order, and any encoding of single bytes, which is unchanged. `what` is for messages. Throws InputError for
/// UTF-16 that is cut or damaged.
std::string decoded_text(std::string text, const std::string& what);

}  // namespace halocline

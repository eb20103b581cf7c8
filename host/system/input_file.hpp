// Files that a user names, judged before they are read: by their kind, by the permission to read them, by their size
// and by their first bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace halocline {

/// Throws InputError that begins with `what` (such as "the volume 'scan.mha'") unless `path` leads to a regular file
/// that this user may read: a pipe blocks its reader, and a device may never end. Reads nothing, and does not block.
void check_input_file(const std::string& path, const std::string& what);

/// Does the same, but `path` may also lead to a folder.
void check_input(const std::string& path, const std::string& what);

/// The whole of a text file of at most `most` bytes, as decoded_text() gives it. Throws InputError as
/// check_input_file() does, for one that is larger, for damaged UTF-16, and for other texts with a zero byte, which are
/// none: as soon as it is met, in large files after the first piece.
std::string read_text_file(const std::string& path, const std::string& what, std::uint64_t most);

/// Quotation of a file for messages: its first 100 bytes, without the control characters that a terminal would obey.
std::string excerpt(std::string_view text);

}  // namespace halocline

// Files that a user names, judged before they are read: by their kind, by the permission to read them, by their size
// and by their first bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace halocline {

/// Throws InputError that begins with `what` (such as "the volume 'scan.mha'") unless `path` leads to a regular file
/// that this user may read: a pipe keeps its reader waiting, and a device may never end. Nothing is read, and nothing
/// waits.
void check_input_file(const std::string& path, const std::string& what);

/// The same, but `path` may lead to a folder, too.
void check_input(const std::string& path, const std::string& what);

/// The whole of a text file of at most `most` bytes, as decoded_text() gives it. Throws InputError as
/// check_input_file() does, for one that is larger, for damaged UTF-16, and for other texts with a zero byte, which are
/// none: as soon as it is met, in large files after the first piece.
std::string read_text_file(const std::string& path, const std::string& what, std::uint64_t most);

/// What messages quote of a file: its first 100 bytes, without the control characters that a terminal would obey.
std::string excerpt(std::string_view text);

}  // namespace halocline

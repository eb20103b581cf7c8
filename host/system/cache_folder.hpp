// Folder for caches, even where the user's own cannot be written.
#pragma once

#include <filesystem>
#include <string>

namespace halocline {

/// $XDG_CACHE_HOME, else ~/.cache, made if it is not there; empty if no files can be made there.
std::filesystem::path user_cache_folder();

/// Why other users can change the file or folder: "it belongs to another user", "other users may write to it". Empty if
/// they cannot, or nothing is there. Those of root count as one's own, and the group of a user alone as the user.
std::string changeable_by_others(const std::filesystem::path& path);

/// Folder for users without one (in a container, say): halocline-UID in the temporary folder, created if it does not
/// exist, writable by this user alone; empty if the name is taken or nothing can be created there.
std::filesystem::path temporary_cache_folder();

}  // namespace halocline

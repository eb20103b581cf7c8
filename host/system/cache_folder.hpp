// Folder for caches, even where the user's own cannot be written.
#pragma once

#include <filesystem>

namespace halocline {

/// $XDG_CACHE_HOME, else ~/.cache, made if it is not there; empty if no files can be made there.
std::filesystem::path user_cache_folder();

/// Folder for users without one (in a container, say): halocline-UID in the temporary folder, created if it does not
/// exist, writable by this user alone; empty if the name is taken or nothing can be created there.
std::filesystem::path temporary_cache_folder();

}  // namespace halocline

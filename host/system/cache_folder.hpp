// Where caches go, when the user's own folder cannot be written as well.
#pragma once

#include <filesystem>

namespace halocline {

/// $XDG_CACHE_HOME, else ~/.cache, made if it is not there; empty if no files can be made there.
std::filesystem::path user_cache_folder();

/// For users without one (in a container, say): halocline-UID in the temporary folder, made if it is not there, which
/// nobody else can write; empty if somebody else has that name or nothing can be made there.
std::filesystem::path temporary_cache_folder();

}  // namespace halocline

#include "host/system/temporary_folder.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <cstring>

#include "host/system/error.hpp"

namespace halocline {

namespace fs = std::filesystem;

std::string make_temporary_folder(const std::string& kind) {
  std::string folder = (fs::temp_directory_path() / ("halocline-" + kind + "-XXXXXX")).string();
  if (::mkdtemp(folder.data()) == nullptr)
    throw FileError(
        fmt::format("the folder '{}' cannot be made: {}; let TMPDIR name one with room that this user may write",
                    folder, std::strerror(errno)));
  return folder;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace halocline

// New folders for temporary files.
#pragma once

#include <filesystem>
#include <string>

namespace halocline {

/// Makes a folder "halocline-<kind>-..." where the system has temporary files (TMPDIR), for this user alone. Throws
/// FileError that names it, if it cannot be made.
std::string make_temporary_folder(const std::string& kind);

/// Such a folder, which is removed with all that it holds at the end of its lifetime.
class TemporaryFolder {
 public:
  explicit TemporaryFolder(const std::string& kind) : path_(make_temporary_folder(kind)) {}
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  /// The path of a file in it.
  std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace halocline

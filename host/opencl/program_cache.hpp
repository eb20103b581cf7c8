// Compiled kernels on disk: built once per source, options, device and driver.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace halocline {

/// A folder of compiled programs. Entries are written to a temporary name and renamed, so processes that run at once
/// never see half a file; each carries its key and a checksum, and one that does not match is as if it were not there.
/// A folder that cannot be written only costs time; one that other users can write to is not used, with a warning.
/// `folder` empty: HALOCLINE_CACHE_DIR, else $XDG_CACHE_HOME/halocline, else ~/.cache/halocline, else (it cannot be
/// written) temporary_cache_folder().
class ProgramCache {
 public:
  explicit ProgramCache(std::filesystem::path folder = {});
  std::optional<std::vector<unsigned char>> load(const std::string& key) const;
  void store(const std::string& key, const std::vector<unsigned char>& binary) const;
  std::filesystem::path path_of(const std::string& key) const;

 private:
  std::filesystem::path folder_;
};

/// Version of the kernels' interface: their names, arguments and macros. It grows when one of them changes.
inline constexpr int kernels_version = 1;

/// The text of a kernel file with its #include "x.clh" lines replaced by those files, from HALOCLINE_CL_PATH if it is
/// set and has the file, else as embedded. Throws InputError that names the file if there is none, or if it replaces
/// one of the library without `#define KERNELS_VERSION n` of this version.
std::string kernel_source(const std::string& file);

/// The names of the library's files that those in HALOCLINE_CL_PATH replace, and their paths. Throws InputError as
/// kernel_source() does.
std::map<std::string, std::filesystem::path> replaced_kernel_files();

/// Registers a text that is no file of the library, for KernelSpec::file, and returns its name "name (hash)", the same
/// for the same text. It may include the library's files. `#line 1` before a part of it makes error messages count from
/// there.
std::string keep_kernel_text(const std::string& name, const std::string& text);

}  // namespace halocline

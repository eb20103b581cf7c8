#include "apps/job/file_claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>

#include "apps/images/atomic_file.hpp"
#include "apps/images/image_file.hpp"
#include "apps/images/image_series.hpp"
#include "apps/images/memory_files.hpp"
#include "apps/images/meta_image.hpp"
#include "apps/images/nrrd_header.hpp"
#include "apps/images/slice_files.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

// One path for every spelling of a name; weakly_canonical() leaves that of a file which is not there yet relative.
fs::path one_spelling(const fs::path& path) {
  std::error_code code;
  const auto whole = fs::absolute(path, code);
  const auto resolved = code ? path : fs::weakly_canonical(whole, code);
  return code ? path : resolved;
}

// Files of voxels that an NRRD header names; none where it cannot be read, which readers say.
std::vector<fs::path> nrrd_files(const std::string& path) {
  std::vector<fs::path> files;
  try {
    if (const auto header = read_nrrd_header(path))
      for (const auto& part : header->parts) files.emplace_back(part.file);
  } catch (const Error&) {
  }
  return files;
}

// The file and those that belong to it: a header may have its voxels in a file beside it, and each of the two can be
// named.
std::vector<fs::path> files_of(const std::string& path) {
  if (is_in_memory(path)) return {path};
  std::vector<fs::path> files{path};
  const auto extension = fs::path(path).extension();
  if (extension == ".mhd" || extension == ".raw" || extension == ".zraw")
    for (const char* other : {".mhd", ".raw", ".zraw"}) files.push_back(fs::path(path).replace_extension(other));
  if (extension == ".mhd" && fs::exists(path)) files.emplace_back(meta_image_data_path(path));
  if (extension == ".nhdr" && fs::exists(path))
    for (auto& file : nrrd_files(path)) files.push_back(std::move(file));
  if (extension == ".hdr" || extension == ".img")
    for (const char* other : {".hdr", ".img"}) files.push_back(fs::path(path).replace_extension(other));
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(path, code)) files.push_back(entry.path());  // a series in a folder
  for (auto& file : files) file = one_spelling(file);
  return files;
}

bool share_a_file(const std::vector<fs::path>& a, const std::vector<fs::path>& b) {
  std::error_code code;  // equivalent() finds hard links, and fails where there is no file
  for (const auto& one : a)
    for (const auto& other : b)
      if (one == other || fs::equivalent(one, other, code)) return true;
  return false;
}

std::string would_be_taken(const std::string& option, const std::string& path, const std::string& input,
                           const std::string& series) {
  return fmt::format(
      "{} '{}' would be taken for a file of the series that grows, {} '{}'; give it another name or folder", option,
      path, input, series);
}

}  // namespace

std::vector<fs::path> files_of_input(const std::string& path) {
  std::vector<fs::path> files = files_of(path);
  if (!is_in_memory(path))
    for (const auto& file : series_files(path)) files.push_back(one_spelling(file));
  std::error_code code;
  std::erase_if(files, [&](const fs::path& file) { return !fs::is_regular_file(file, code); });
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

// Files that a series of slices will have are known by their names alone.
bool FileClaims::share_a_file(const Claim& a, const Claim& b) {
  const auto would_have = [](const std::string& slices, const Claim& other) {
    return !slices.empty() && std::any_of(other.files.begin(), other.files.end(), [&](const fs::path& file) {
      return series_would_hold(slices, file.string());
    });
  };
  return halocline::share_a_file(a.files, b.files) || would_have(a.slices, b) || would_have(b.slices, a);
}

void FileClaims::claim(const std::string& option, const std::string& path, bool output) {
  Claim claim{option, files_of(path), output};
  if (!output) check_beside_growing(option, path);
  if (!output && !is_in_memory(path))
    for (const auto& file : series_files(path)) claim.files.push_back(one_spelling(file));
  if (output && names_slice_files(path)) {
    claim.slices = path;
    for (const auto& [number, file] : numbered_files(path, number_place(path)))
      claim.files.push_back(one_spelling(file));
  }
  const std::string file = claim.slices.empty() ? path : slice_file(path, 0);
  for (const auto& other : claims_) {
    if (output && !other.growing.empty() && series_would_hold(other.growing, file))
      throw InputError(would_be_taken(option, path, other.option, other.growing));
    if ((!output && !other.output) || !share_a_file(claim, other)) continue;
    if (output && other.output)
      throw InputError(
          fmt::format("{} and {} both name '{}'; give each output a name of its own", other.option, option, path));
    throw InputError(fmt::format("{} '{}' is the input of {}; inputs are never replaced, give the output another name",
                                 output ? option : other.option, path, output ? other.option : option));
  }
  claims_.push_back(std::move(claim));
}

void FileClaims::input(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  if (!is_in_memory(path) && series_files(path).empty()) check_input(path, fmt::format("{} '{}'", option, path));
  claim(option, path, false);
}

void FileClaims::output(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  check_output_path(path);
  claim(option, path, true);
}

void FileClaims::output_image(const std::string& option, const std::string& path) {
  if (path.empty()) return;
  check_writable(path);
  claim(option, path, true);
}

void FileClaims::input_growing(const std::string& option, const std::string& path) {
  check_growing_series(path);
  std::error_code code;
  for (const auto& other : claims_)
    for (const auto& file : other.files)
      if (series_would_hold(path, file.string()) && (other.output || fs::is_regular_file(file, code)))
        throw InputError(would_be_taken(other.option, file.string(), option, path));
  claims_.push_back({option, {}, false, path});
}

void FileClaims::check_beside_growing(const std::string& option, const std::string& path) const {
  const auto grows = [](const Claim& other) { return !other.growing.empty(); };
  if (path.empty() || std::none_of(claims_.begin(), claims_.end(), grows)) return;
  std::vector<fs::path> files{path};  // as it is spelled, too: what a link names need not lie where the link does
  for (const auto& file : series_files(path)) files.emplace_back(file);
  for (auto& file : files_of(path)) files.push_back(std::move(file));
  std::error_code code;
  for (const auto& series : claims_)
    for (const auto& file : files)
      if (grows(series) && fs::is_regular_file(file, code) && series_would_hold(series.growing, file.string()))
        throw InputError(would_be_taken(option, file.string(), series.option, series.growing));
}

}  // namespace halocline

#include "apps/images/slice_files.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <deque>
#include <filesystem>
#include <regex>

#include "apps/images/atomic_file.hpp"
#include "apps/images/formats_of_itk.hpp"
#include "apps/images/image_series.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/plural.hpp"
#ifdef HALOCLINE_WITH_ITK
#include "apps/images/itk_image.hpp"
#endif

namespace halocline {
namespace {

namespace fs = std::filesystem;

#ifdef HALOCLINE_WITH_ITK
void warn_of_older_files(const std::string& path, std::size_t slices) {
  const auto files = numbered_files(path, number_place(path));
  const auto older = files.lower_bound(slices);
  if (older == files.end()) return;
  spdlog::warn("'{}': {} left of a longer series, '{}' to '{}', and would be read with the {} of this one; remove {}",
               path, plural(static_cast<double>(std::distance(older, files.end())), "file is", "files are"),
               older->second, files.rbegin()->second, slices, std::next(older) == files.end() ? "it" : "them");
}
#endif

}  // namespace

bool names_slice_files(const std::string& path) {
  return is_tiff_name(path) && number_place(path).in_name();
}

std::string slice_file(const std::string& path, std::size_t number) {
  return number_place(path).with(number);
}

void check_slice_files(const std::string& path, std::size_t slices) {
  std::error_code code;
  if (fs::exists(path, code))
    throw InputError(fmt::format(
        "output '{}' names a series, a file a slice, but there is a file of that very name; move it away", path));
  for (std::size_t n = 0; n < slices; ++n) check_output_path(slice_file(path, n));
}

void refuse_number_place(const std::string& path) {
  static const std::regex other("%[0-9]*[dius]");
  const std::string name = fs::path(path).filename().string();
  if (std::smatch place; is_tiff_name(path) && !number_place(path).in_name() && std::regex_search(name, place, other))
    throw InputError(fmt::format("'{}': '{}' is no place for a number that is known here; give %d, or %04d with zeros",
                                 path, place.str()));
  if (names_slice_files(path) || !number_place(path).in_name()) return;
  throw InputError(
      fmt::format("'{}' has a place for a number, but there is one volume, and one file of this format holds it; leave "
                  "the place out, or give .tif to write a file for each slice",
                  path));
}

#ifdef HALOCLINE_WITH_ITK
void write_slice_files(const Grid& grid, const ImageStorage& storage, const void* voxels, const std::string& path) {
  Grid slice = grid;
  slice.size[2] = 1;
  const std::size_t bytes = slice.count() * component_bytes(storage.component);
  std::deque<TemporaryFile> files;
  for (std::size_t n = 0; n < grid.size[2]; ++n) {
    check_interrupt();
    const std::byte* from = static_cast<const std::byte*>(voxels) + n * bytes;
    TemporaryFile& file = files.emplace_back(slice_file(path, n));
    try {
      write_itk_image(slice, storage, from, file.temporary_path(), false);
      verify_itk_image(slice, storage, from, file.temporary_path());
    } catch (const FileError& error) {
      fail_unwritten(slice_file(path, n), bytes, error.what());
    }
    file.reopen();
    file.close();
  }
  for (TemporaryFile& file : files) file.rename();
  files.back().sync_folder();
  warn_of_older_files(path, grid.size[2]);
}
#endif

}  // namespace halocline

#include "apps/images/image_series.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <glob.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <optional>
#include <regex>

#include "apps/images/formats_of_itk.hpp"
#include "apps/images/new_warning.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

bool digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// The digits at `at`, from which `at` moves on, without leading zeros.
std::string digits(const std::string& text, std::size_t& at) {
  std::string found;
  for (; at < text.size() && digit(text[at]); ++at)
    if (!found.empty() || text[at] != '0') found.push_back(text[at]);
  return found;
}

void sort_naturally(std::vector<std::string>& files) {
  std::sort(files.begin(), files.end(), natural_less);
}

// The pattern of a path for glob() and fnmatch(): folders that are there by their very name, such as 'scan [2]', are no
// patterns.
std::string with_literal_folders(const fs::path& path) {
  fs::path plain, pattern;
  std::error_code code;
  for (const fs::path& part : path) {
    plain /= part;
    if (!fs::is_directory(plain, code)) {
      pattern /= part;
      continue;
    }
    std::string literal;
    for (const char c : part.string()) {
      if (std::string("*?[\\").find(c) != std::string::npos) literal.push_back('\\');
      literal.push_back(c);
    }
    pattern /= literal;
  }
  return pattern.string();
}

std::vector<std::string> files_by_wildcards(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> files;
  std::error_code code;
  if (glob(with_literal_folders(pattern).c_str(), 0, nullptr, &found) == 0)
    for (std::size_t n = 0; n < found.gl_pathc; ++n)
      if (!fs::is_directory(found.gl_pathv[n], code)) files.emplace_back(found.gl_pathv[n]);
  globfree(&found);
  sort_naturally(files);
  return files;
}

std::vector<std::string> files_by_number(const std::string& pattern, const NumberPlace& place) {
  const auto files = numbered_files(pattern, place);
  std::vector<std::string> sorted;
  for (const auto& [number, name] : files) {
    if (const std::size_t expected = files.begin()->first + sorted.size(); number != expected)
      throw InputError(fmt::format(
          "'{}' is missing: '{}' has the numbers {} to {}, of which none may be left out; give a pattern with * for a "
          "series whose numbers do not follow each other",
          place.with(expected), pattern, files.begin()->first, files.rbegin()->first));
    sorted.push_back(name);
  }
  return sorted;
}

bool has_wildcards(const std::string& path) {
  return path.find_first_of("*?[") != std::string::npos;
}

// The files of a folder's series.
bool is_slice_of_folder(const fs::path& file) {
  return is_tiff_name(file.string()) && file.filename().string()[0] != '.';
}

fs::path folder_to_look_in(const fs::path& path) {
  return path.parent_path().empty() ? fs::path(".") : path.parent_path();
}

// `code`: why there may be more.
std::vector<std::string> tiff_files(const std::string& folder, std::error_code& code) {
  std::vector<std::string> files;
  for (fs::directory_iterator at(folder, code), end; !code && at != end; at.increment(code)) {
    std::error_code gone;
    if (is_slice_of_folder(at->path()) && !at->is_directory(gone)) files.push_back(at->path().string());
  }
  sort_naturally(files);
  return files;
}

[[noreturn]] void refuse_folder(const fs::path& folder, const std::error_code& code) {
  throw InputError(fmt::format(
      "the folder '{}' cannot be read: {}; {}", folder.string(), code.message(),
      code == std::errc::permission_denied ? "allow it (chmod +rx), or give another" : "check the path and the disk"));
}

}  // namespace

bool natural_less(const std::string& a, const std::string& b) {
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (digit(a[i]) && digit(b[j])) {
      const std::string one = digits(a, i), other = digits(b, j);
      if (one != other) return one.size() != other.size() ? one.size() < other.size() : one < other;
    } else {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i, ++j;
    }
  }
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

std::string NumberPlace::with(std::size_t number) const {
  return fmt::format("{}{:0{}}{}", before, number, width, after);
}

std::optional<std::size_t> NumberPlace::number_in(const std::string& name) const {
  if (!found || !name.starts_with(before) || !name.ends_with(after)) return {};
  const std::size_t around = before.size() + after.size();
  if (name.size() <= around || name.size() > around + 18) return {};
  const std::string number = name.substr(before.size(), name.size() - around);
  if (!std::all_of(number.begin(), number.end(), digit) || with(std::stoull(number)) != name) return {};
  return std::stoull(number);
}

NumberPlace number_place(const std::string& path) {
  static const std::regex place("%(0([1-9]))?d");
  NumberPlace out;
  for (std::sregex_iterator at(path.begin(), path.end(), place), end; at != end; ++at) {
    out.found = true;
    out.before = path.substr(0, static_cast<std::size_t>(at->position()));
    out.after = at->suffix();
    out.width = (*at)[2].matched ? std::stoi((*at)[2]) : 1;
  }
  return out;
}

bool NumberPlace::in_name() const {
  return found && after.find('/') == std::string::npos;
}

std::map<std::size_t, std::string> numbered_files(const std::string& pattern, const NumberPlace& place) {
  const fs::path folder = fs::path(pattern).parent_path();
  std::map<std::size_t, std::string> files;
  std::error_code code;
  for (fs::directory_iterator at(folder.empty() ? "." : folder, code), end; !code && at != end; at.increment(code)) {
    const std::string name = (folder / at->path().filename()).string();
    if (const auto number = place.number_in(name)) files.emplace(*number, name);
  }
  return files;
}

std::vector<std::string> series_files(const std::string& path) {
  std::error_code code;
  if (path.empty() || fs::exists(path, code)) return {};
  const NumberPlace place = number_place(path);
  if (!place.in_name() && !has_wildcards(path)) return {};
  auto files = place.in_name() ? files_by_number(path, place) : files_by_wildcards(path);
  if (files.empty() && fs::directory_iterator(folder_to_look_in(path), code) == fs::directory_iterator() &&
      code == std::errc::permission_denied)
    refuse_folder(folder_to_look_in(path), code);
  if (files.empty())
    throw InputError(
        fmt::format("'{}' names no file; give a pattern such as 'scan/proj*.tif' or 'scan/proj_%04d.tif'", path));
  return files;
}

std::vector<std::string> tiff_files(const std::string& path) {
  std::error_code code;
  if (!fs::is_directory(path, code)) return {};
  auto files = tiff_files(path, code);
  if (code) refuse_folder(path, code);
  return files;
}

void check_growing_series(const std::string& path) {
  const auto require_readable = [](const fs::path& folder) {
    std::error_code code;
    const fs::directory_iterator files(folder, code);
    if (code) refuse_folder(folder, code);
  };
  if (fs::is_directory(path)) return require_readable(path);
  const NumberPlace place = number_place(path);
  if (fs::exists(path) || (!place.in_name() && !has_wildcards(path)))
    throw InputError(
        fmt::format("'{}' {}; a series that grows is named by a folder that is there or by a pattern such as "
                    "'scan/proj*.tif' or 'scan/proj_%04d.tif'",
                    path, fs::exists(path) ? "is one file" : "does not exist"));
  const fs::path folder = folder_to_look_in(path);
  const bool many_folders = has_wildcards(folder.string()) && !fs::is_directory(folder);
  if (place.in_name() && (many_folders || fs::path(path).filename().string().find_first_of("*?") != std::string::npos))
    throw InputError(fmt::format(
        "'{}' has wildcards beside a place for the number, which would never match; give one or the other", path));
  if (many_folders) return;
  if (!fs::is_directory(folder))
    throw InputError(
        fmt::format("'{}': there is no folder '{}'; make it before, or give another pattern", path, folder.string()));
  require_readable(folder);
}

std::vector<std::string> files_so_far(const std::string& path) {
  std::error_code code;
  if (fs::is_directory(path, code)) return tiff_files(path, code);
  const NumberPlace place = number_place(path);
  if (!place.in_name()) return files_by_wildcards(path);
  std::vector<std::string> files;
  for (const auto& [number, name] : numbered_files(path, place)) files.push_back(name);
  return files;
}

bool series_would_hold(const std::string& path, const std::string& file) {
  std::error_code code;
  const auto same_folder = [&](const fs::path& folder) {
    return fs::weakly_canonical(folder, code) == fs::weakly_canonical(folder_to_look_in(file), code);
  };
  if (fs::is_directory(path)) return same_folder(path) && is_slice_of_folder(file);
  const fs::path folder = folder_to_look_in(path), name = fs::path(file).filename();
  if (const NumberPlace place = number_place(fs::path(path).filename().string()); place.found)
    return same_folder(folder) && place.number_in(name.string()).has_value();
  const auto matches = [](const fs::path& pattern, const fs::path& text) {
    return fnmatch(pattern.c_str(), text.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0;
  };
  if (!has_wildcards(folder.string()) || fs::is_directory(folder, code))
    return same_folder(folder) && matches(fs::path(path).filename(), name);
  return matches(with_literal_folders(fs::absolute(path).lexically_normal()), fs::absolute(file).lexically_normal());
}

void require_same_images(const Grid& grid, const std::string& file, const Grid& first, const std::string& first_file,
                         const std::string& series) {
  if (grid.size[2] != 1)
    throw InputError(fmt::format("'{}' of the series '{}' has {} slices, one is expected; give it alone", file, series,
                                 grid.size[2]));
  if (grid.size[0] != first.size[0] || grid.size[1] != first.size[1])
    throw InputError(fmt::format(
        "'{}' has {} pixels, but the series '{}' begins with '{}', which has {}; a series must have one size", file,
        fmt::join(grid.size.begin(), grid.size.begin() + 2, " x "), series, first_file,
        fmt::join(first.size.begin(), first.size.begin() + 2, " x ")));
  const auto differs = [&](std::size_t axis) {
    constexpr double rounding = 1e-4;
    return std::abs(grid.spacing[axis] - first.spacing[axis]) > rounding * first.spacing[axis];
  };
  const auto shown = [](const Grid& of) {
    const bool unstated = of.spacing[0] == 1 && of.spacing[1] == 1;
    return fmt::format("{:.6g} x {:.6g} mm{}", of.spacing[0], of.spacing[1],
                       unstated ? " (taken where a file says none)" : "");
  };
  if ((differs(0) || differs(1)) && is_new_warning("pixels of " + series))
    spdlog::warn(
        "'{}' has pixels of {}, but the series '{}' begins with '{}' and pixels of {}, which all are taken to have",
        file, shown(grid), series, first_file, shown(first));
}

}  // namespace halocline

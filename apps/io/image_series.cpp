#include "apps/io/image_series.hpp"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <regex>

#include "host/error.hpp"

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

std::vector<std::string> files_by_wildcards(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> files;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (std::size_t n = 0; n < found.gl_pathc; ++n)
      if (!fs::is_directory(found.gl_pathv[n])) files.emplace_back(found.gl_pathv[n]);
  globfree(&found);
  sort_naturally(files);
  return files;
}

std::vector<std::string> files_by_number(const std::string& pattern, const NumberPlace& place) {
  const fs::path folder = fs::path(pattern).parent_path();
  std::map<std::size_t, std::string> files;
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(folder.empty() ? "." : folder, code)) {
    const std::string name = (folder / entry.path().filename()).string();
    if (!name.starts_with(place.before) || !name.ends_with(place.after)) continue;
    const std::size_t around = place.before.size() + place.after.size();
    if (name.size() <= around || name.size() > around + 18) continue;
    const std::string number = name.substr(place.before.size(), name.size() - around);
    if (!std::all_of(number.begin(), number.end(), digit) || place.with(std::stoull(number)) != name) continue;
    files.emplace(std::stoull(number), name);
  }
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

std::vector<std::string> series_files(const std::string& path) {
  if (path.empty() || fs::exists(path)) return {};
  const NumberPlace place = number_place(path);
  const bool numbered = place.found && place.after.find('/') == std::string::npos;
  if (!numbered && path.find_first_of("*?[") == std::string::npos) return {};
  auto files = numbered ? files_by_number(path, place) : files_by_wildcards(path);
  if (files.empty())
    throw InputError(
        fmt::format("'{}' names no file; give a pattern such as 'scan/proj*.tif' or 'scan/proj_%04d.tif'", path));
  return files;
}

std::vector<std::string> tiff_files(const std::string& path) {
  std::vector<std::string> files;
  if (!fs::is_directory(path)) return files;
  for (const auto& entry : fs::directory_iterator(path)) {
    std::string end = entry.path().extension().string();
    std::transform(end.begin(), end.end(), end.begin(), [](unsigned char c) { return std::tolower(c); });
    if (!entry.is_directory() && (end == ".tif" || end == ".tiff") && entry.path().filename().string()[0] != '.')
      files.push_back(entry.path().string());
  }
  sort_naturally(files);
  return files;
}

}  // namespace halocline

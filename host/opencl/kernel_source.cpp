#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <utility>

#include "cl/sources.hpp"
#include "host/opencl/program_cache.hpp"
#include "host/system/error.hpp"
#include "host/system/file_bytes.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Texts of this process, by the names that they got.
struct KeptTexts {
  std::mutex mutex;
  std::map<std::string, std::string> texts;
};
KeptTexts& kept_texts() {
  static KeptTexts kept;
  return kept;
}

std::optional<std::string> kept_text(const std::string& name) {
  auto& kept = kept_texts();
  const std::lock_guard lock(kept.mutex);
  const auto found = kept.texts.find(name);
  return found == kept.texts.end() ? std::nullopt : std::optional(found->second);
}

// Value of `#define KERNELS_VERSION value`.
std::optional<std::string> version_in(const std::string& text) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string directive, name, value;
    if (words >> directive >> name >> value && directive == "#define" && name == "KERNELS_VERSION") return value;
  }
  return std::nullopt;
}

// The text of a file in HALOCLINE_CL_PATH, which has to be of this version where it replaces one of the library.
std::optional<std::string> own_source(const std::string& file) {
  const fs::path folder = environment("HALOCLINE_CL_PATH");
  if (folder.empty()) return std::nullopt;
  auto text = file_bytes(folder / file);
  if (!text || !embedded_sources().contains(file)) return text;
  if (const auto version = version_in(*text); version != std::to_string(kernels_version))
    throw InputError(
        {.what = fmt::format("the kernel file {} of HALOCLINE_CL_PATH", (folder / file).string()),
         .found = version ? "one with KERNELS_VERSION " + *version : "one without KERNELS_VERSION",
         .expected = fmt::format("\"#define KERNELS_VERSION {}\"", kernels_version),
         .remedy = fmt::format("compare its kernels' arguments and macros with the library's {}, listed in "
                               "docs/kernels.md, and then write that line",
                               file)});
  return text;
}

std::string raw_source(const std::string& file) {
  if (auto text = kept_text(file)) return *std::move(text);
  if (auto text = own_source(file)) return *std::move(text);
  const auto folder = environment("HALOCLINE_CL_PATH");
  const auto& embedded = embedded_sources();
  if (const auto found = embedded.find(file); found != embedded.end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [name, text] : embedded) names.push_back(name);
  throw InputError(
      fmt::format("there is no kernel file {}: {}, and the library holds {}", file,
                  folder.empty() ? "HALOCLINE_CL_PATH is not set" : "it is not in HALOCLINE_CL_PATH=" + folder,
                  fmt::join(names, ", ")));
}

std::string stripped(const std::string& line) {
  const auto begin = line.find_first_not_of(" \t"), end = line.find_last_not_of(" \t\r");
  return begin == std::string::npos ? "" : line.substr(begin, end - begin + 1);
}

// The file that an `#include "..."` line names, else "".
std::string included_file(const std::string& line) {
  if (!line.starts_with('#')) return {};
  const auto directive = stripped(line.substr(1));
  if (!directive.starts_with("include")) return {};
  const auto open = directive.find('"');
  const auto close = open == std::string::npos ? open : directive.find('"', open + 1);
  if (close == std::string::npos || !stripped(directive.substr(7, open - 7)).empty()) return {};
  auto name = directive.substr(open + 1, close - open - 1);
  if (name.starts_with("cl/")) name.erase(0, 3);  // as C++ has to write it
  return name;
}

void resolve(const std::string& file, std::vector<std::string>& open, std::set<std::string>& once,
             std::string& result) {
  if (once.contains(file)) return;
  if (std::find(open.begin(), open.end(), file) != open.end())
    throw InputError(fmt::format("kernel file {} includes itself: {} -> {}", file, fmt::join(open, " -> "), file));
  open.push_back(file);
  std::istringstream in(raw_source(file));
  std::string line;
  while (std::getline(in, line)) {
    const auto bare = stripped(line);
    const auto included = included_file(bare);
    if (!included.empty())
      resolve(included, open, once, result);
    else if (bare == "#pragma once")  // means nothing in the text that the compiler sees
      once.insert(file);
    else
      result += line + '\n';
  }
  open.pop_back();
}

}  // namespace

std::string kernel_source(const std::string& file) {
  std::string result;
  std::vector<std::string> open;
  std::set<std::string> once;
  resolve(file, open, once, result);
  return result;
}

std::map<std::string, fs::path> replaced_kernel_files() {
  std::map<std::string, fs::path> result;
  for (const auto& [file, text] : embedded_sources())
    if (own_source(file)) result[file] = fs::path(environment("HALOCLINE_CL_PATH")) / file;
  return result;
}

std::string keep_kernel_text(const std::string& name, const std::string& text) {
  auto& kept = kept_texts();
  std::string file = fmt::format("{} ({:016x})", name, fnv1a(text));
  const std::lock_guard lock(kept.mutex);
  kept.texts.emplace(file, text);
  return file;
}

}  // namespace halocline

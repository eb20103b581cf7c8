#include "apps/io/itk_nrrd_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <vector>

#include "host/error.hpp"
#include "host/input_file.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

std::string trimmed(const std::string& text) {
  const char* blanks = " \t\r\n";
  const auto first = text.find_first_not_of(blanks);
  return first == std::string::npos ? "" : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

// Lines of a header up to the empty one before the voxels, or the end of the file.
class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path), in_(path, std::ios::binary) {}
  std::optional<std::string> next() {
    constexpr std::size_t longest = 65536, most = 100000;
    std::string line;
    char c = 0;
    while (in_.get(c) && c != '\n') {
      line.push_back(c);
      if (line.size() > longest) refuse();
    }
    line = trimmed(line);
    if (line.empty()) return {};
    if (++count_ > most) refuse();
    return line;
  }

 private:
  [[noreturn]] void refuse() const {
    throw InputError(fmt::format("the NRRD header of '{}' never ends: it is damaged, or another format", path_));
  }
  std::string path_;
  std::ifstream in_;
  std::size_t count_ = 0;
};

// What follows "data file:", or nothing.
std::optional<std::string> data_file(const std::string& line) {
  const auto colon = line.find(':');
  if (colon == std::string::npos || line.compare(colon, 2, ":=") == 0) return {};
  std::string field = trimmed(line.substr(0, colon));
  std::transform(field.begin(), field.end(), field.begin(), [](unsigned char c) { return std::tolower(c); });
  if (field != "data file" && field != "datafile") return {};
  return trimmed(line.substr(colon + 1));
}

// "slice%03d.raw 1 20 1": a pattern of printf() for a whole number, its first, its last and its step.
std::vector<std::string> numbered_names(const std::string& text) {
  constexpr std::size_t most = 1000000;
  std::istringstream words(text);
  std::string pattern;
  long first = 0, last = 0, step = 0;
  if (!(words >> pattern >> first >> last >> step) || step == 0 || (last - first) / step < 0) return {};
  const auto percent = pattern.find('%'), end = pattern.find_first_not_of("0123456789", percent + 1);
  if (percent == std::string::npos || end == std::string::npos || pattern[end] != 'd') return {};
  const std::string width = pattern.substr(percent + 1, end - percent - 1);
  if (width.size() > 2) return {};
  std::vector<std::string> names;
  for (long n = first; (step > 0 ? n <= last : n >= last) && names.size() < most; n += step)
    names.push_back(pattern.substr(0, percent) + fmt::format(fmt::runtime("{:" + width + "}"), n) +
                    pattern.substr(end + 1));
  return names;
}

}  // namespace

void check_nrrd_header(const std::string& path) {
  Lines lines(path);
  const auto require = [&](const std::string& name) {
    const std::string file = name == "-" ? "/dev/stdin" : (fs::path(path).parent_path() / name).string();
    check_input_file(file, fmt::format("NRRD '{}': its data file '{}'", path, file));
  };
  {
    std::string magic(4, '\0');
    std::ifstream(path, std::ios::binary).read(magic.data(), 4);
    if (magic != "NRRD") return;
  }
  while (const auto line = lines.next()) {
    const auto named = data_file(*line);
    if (!named) continue;
    if (named->starts_with("LIST")) {
      while (const auto name = lines.next()) require(*name);
      return;
    }
    const auto names = numbered_names(*named);
    for (const auto& name : names) require(name);
    if (names.empty()) require(*named);
  }
}

}  // namespace halocline

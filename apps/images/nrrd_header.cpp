#include "apps/images/nrrd_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "apps/images/nrrd_data.hpp"
#include "apps/images/nrrd_fields.hpp"
#include "apps/images/trimmed.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/lower_case.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

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
      if (c == '\0' || (c == '\r' && in_.peek() != '\n' && !in_.eof())) refuse_binary();
    }
    bytes_ += static_cast<double>(line.size() + 1);
    line = trimmed(line);
    if (line.empty()) return {};
    if (++count_ > most) refuse();
    return line;
  }

  /// The number of bytes that have been read.
  double bytes() const { return bytes_; }

 private:
  [[noreturn]] void refuse() const {
    throw InputError(fmt::format("the NRRD header of '{}' never ends: it is damaged, or another format", path_));
  }
  // Zeros, and carriage returns within a line: ITK ends the header at lines that begin with one.
  [[noreturn]] void refuse_binary() const {
    throw InputError(
        fmt::format("the NRRD header of '{}' has binary data in line {}: it is damaged, or lacks the empty "
                    "line before the values",
                    path_, count_ + 1));
  }
  std::string path_;
  std::ifstream in_;
  std::size_t count_ = 0;
  double bytes_ = 0;
};

// "field: value"; nothing for comments and for "key:=value", which mean nothing here.
std::optional<NrrdField> field_of(const std::string& line) {
  const auto colon = line.find(':');
  if (line.front() == '#' || colon == std::string::npos || line.compare(colon, 2, ":=") == 0) return {};
  return NrrdField{lower_case(trimmed(line.substr(0, colon))), trimmed(line.substr(colon + 1))};
}

// "slice%03d.raw 1 20 1": a pattern of printf() for a whole number, its first, its last and its step; nothing for other
// names.
std::vector<std::string> numbered_names(const std::string& text) {
  constexpr std::size_t most = 1000000;
  std::istringstream words(text);
  std::string pattern;
  std::int32_t first = 0, last = 0, step = 0;
  if (!(words >> pattern >> first >> last >> step) || step == 0) return {};
  const auto percent = pattern.find('%'), end = pattern.find_first_not_of("0123456789", percent + 1);
  if (percent == std::string::npos || end == std::string::npos || pattern[end] != 'd') return {};
  const std::string width = pattern.substr(percent + 1, end - percent - 1);
  if (width.size() > 2) return {};
  std::vector<std::string> names;
  for (std::int64_t n = first; (step > 0 ? n <= last : n >= last) && names.size() < most; n += step)
    names.push_back(pattern.substr(0, percent) + fmt::format(fmt::runtime("{:" + width + "}"), n) +
                    pattern.substr(end + 1));
  return names;
}

double product_of(const std::string& numbers) {
  std::istringstream words(numbers);
  double product = 1;
  for (double number; words >> number;) product *= number;
  return product;
}

// 0 for names that are not known, about which ITK complains itself. "long long int", "uint16_t" and others contain
// those of shorter names: the order counts.
double bytes_of(const std::string& type) {
  static const std::vector<std::pair<std::string, double>> names{{"long", 8},  {"int64", 8}, {"double", 8},
                                                                 {"short", 2}, {"int16", 2}, {"char", 1},
                                                                 {"int8", 1},  {"int", 4},   {"float", 4}};
  const auto found = std::find_if(names.begin(), names.end(),
                                  [&](const auto& name) { return type.find(name.first) != std::string::npos; });
  return found == names.end() ? 0 : found->second;
}

bool one_of(const std::string& text, std::initializer_list<const char*> names) {
  return std::find(names.begin(), names.end(), text) != names.end();
}

// Types and encodings that ITK has: nrrd/format.html of Teem, without "block" and bzip2.
void require_known(const std::string& path, const std::string& type, const std::string& encoding, bool has_endian) {
  const auto refuse = [&](const char* field, const std::string& found, const char* known) {
    throw InputError(
        fmt::format("NRRD '{}': {} is '{}'; {} can be read: convert it (unu convert, unu save) or store it as "
                    ".mha",
                    path, field, found, known));
  };
  const bool byte = one_of(type, {"signed char", "int8", "int8_t", "uchar", "unsigned char", "uint8", "uint8_t"});
  if (!byte && !one_of(type, {"short",
                              "short int",
                              "signed short",
                              "signed short int",
                              "int16",
                              "int16_t",
                              "ushort",
                              "unsigned short",
                              "unsigned short int",
                              "uint16",
                              "uint16_t",
                              "int",
                              "signed int",
                              "int32",
                              "int32_t",
                              "uint",
                              "unsigned int",
                              "uint32",
                              "uint32_t",
                              "longlong",
                              "long long",
                              "long long int",
                              "signed long long",
                              "signed long long int",
                              "int64",
                              "int64_t",
                              "ulonglong",
                              "unsigned long long",
                              "unsigned long long int",
                              "uint64",
                              "uint64_t",
                              "float",
                              "double"}))
    refuse("type", type, "int8, uint8, int16, uint16, int32, uint32, int64, uint64, float and double");
  if (!one_of(encoding, {"raw", "txt", "text", "ascii", "hex", "gz", "gzip"}))
    refuse("encoding", encoding, "raw, gzip, ascii and hex");
  if (!byte && !has_endian && one_of(encoding, {"raw", "hex", "gz", "gzip"}))
    throw InputError(
        fmt::format("NRRD '{}' says no byte order of its {} values; add a line 'endian: little' or 'endian: "
                    "big'",
                    path, type));
}

// Deflate cannot gain more than a factor of 1032.
void require_packed_bytes(const NrrdData& data, double stored) {
  if ((data.encoding == "gz" || data.encoding == "gzip") && stored < data.count * data.value_bytes / 1040 - 64)
    throw InputError(
        fmt::format("'{}' is truncated or its header is wrong: {:.0f} bytes of {} data cannot hold {:.6g} voxels",
                    data.path, std::max(0.0, stored), data.encoding, data.count));
}

// A number of lines or of bytes.
double skip_of(const std::string& path, const NrrdField& field) {
  std::int64_t skip = 0;
  const auto [end, error] = std::from_chars(field.value.data(), field.value.data() + field.value.size(), skip);
  constexpr std::int64_t most = std::int64_t{1} << 50;
  if (error != std::errc() || end != field.value.data() + field.value.size() || std::abs(skip) > most)
    throw InputError(fmt::format("the NRRD header of '{}' has the {} '{}'; a whole number is expected: correct it",
                                 path, field.name, excerpt(field.value)));
  return static_cast<double>(skip);
}

// Keys and values have \\n for the end of a line and \\\\ for a backslash.
std::string unescaped(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool escape = text[at] == '\\' && at + 1 < text.size() && (text[at + 1] == 'n' || text[at + 1] == '\\');
    if (escape) ++at;
    out.push_back(escape && text[at] == 'n' ? '\n' : text[at]);
  }
  return out;
}

bool is_nrrd(const std::string& path) {
  std::string magic(4, '\0');
  std::ifstream(path, std::ios::binary).read(magic.data(), 4);
  return magic == "NRRD";
}

}  // namespace

std::map<std::string, std::string> nrrd_fields(const std::string& path) {
  std::map<std::string, std::string> out;
  if (!is_nrrd(path)) return out;
  Lines lines(path);
  while (const auto line = lines.next())
    if (auto field = field_of(*line)) {
      std::erase(field->name, ' ');
      out[field->name] = field->value;
      if (field->name == "datafile" && field->value.starts_with("LIST")) break;
    }
  return out;
}

std::optional<NrrdData> read_nrrd_header(const std::string& path) {
  if (!is_nrrd(path)) return {};
  Lines lines(path);
  double stored = 0;  // bytes of the files that hold the values
  NrrdData data;
  data.path = path;
  const auto take_file = [&](const std::string& name) {
    const std::string file = name == "-" ? "/dev/stdin" : (fs::path(path).parent_path() / name).string();
    check_input_file(file, fmt::format("NRRD '{}': its data file '{}'", path, file));
    stored += static_cast<double>(fs::file_size(file));
    data.parts.push_back({file, 0});
  };
  bool detached = false;
  const std::string magic = lines.next().value_or("");
  std::vector<NrrdField> fields;
  while (const auto line = lines.next()) {
    const auto field = field_of(*line);
    if (!field) continue;
    fields.push_back(*field);
    if (field->name == "type") data.type = lower_case(field->value);
    if (field->name == "encoding") data.encoding = lower_case(field->value);
    if (field->name == "line skip" || field->name == "lineskip") data.line_skip = skip_of(path, *field);
    if (field->name == "byte skip" || field->name == "byteskip") data.byte_skip = skip_of(path, *field);
    if (field->name == "endian") data.endian = lower_case(field->value);
    if (field->name == "sizes") data.count = product_of(field->value);
    if (field->name != "data file" && field->name != "datafile") continue;
    detached = true;
    if (field->value.starts_with("LIST")) {
      while (const auto name = lines.next()) take_file(*name);
      break;
    }
    const auto names = numbered_names(field->value);
    for (const auto& name : names) take_file(name);
    if (names.empty()) take_file(field->value);
  }
  check_nrrd_fields(path, magic, fields);
  require_known(path, data.type, data.encoding, !data.endian.empty());
  data.value_bytes = bytes_of(data.type);
  if (!detached) {
    stored = static_cast<double>(fs::file_size(path)) - lines.bytes();
    data.parts.push_back({path, lines.bytes()});
  }
  require_packed_bytes(data, stored);
  check_nrrd_data(data);
  return data;
}

HeaderNotes read_nrrd_notes(const std::string& path) {
  HeaderNotes notes;
  if (!is_nrrd(path)) return notes;
  notes.format = "NRRD";
  Lines lines(path);
  while (const auto line = lines.next()) {
    const auto field = field_of(*line);
    if (field && (field->name == "data file" || field->name == "datafile") && field->value.starts_with("LIST")) break;
    if (field && field->name == "content" && !field->value.empty()) notes.entries["NRRD_content"] = field->value;
    const auto colon = line->find(":=");
    if (field || line->front() == '#' || colon == std::string::npos) continue;
    const std::string key = unescaped(line->substr(0, colon));
    if (key.starts_with("NRRD_") || key.starts_with("ITK_")) continue;
    notes.entries[key] = unescaped(line->substr(colon + 2));
  }
  return notes;
}

}  // namespace halocline

#include "apps/images/nrrd_data.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <string_view>

#include "apps/images/new_warning.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/lower_case.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_data(const NrrdData& data, const std::string& what) {
  throw InputError(fmt::format("NRRD '{}': {}", data.path, what));
}

// The name of a part for messages; a file of its own is named with its header.
std::string name_of(const NrrdData& data, const NrrdData::Part& part) {
  return part.file == data.path ? fmt::format("'{}'", data.path)
                                : fmt::format("NRRD '{}': its data file '{}'", data.path, part.file);
}

// Opens a part behind the bytes that are skipped.
std::ifstream open_part(const NrrdData& data, const NrrdData::Part& part) {
  std::ifstream in(part.file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(part.from));
  for (double line = 0; line < data.line_skip && in; ++line)
    in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  if (data.byte_skip > 0 && data.encoding != "gzip" && data.encoding != "gz")  // there it is of the unpacked bytes
    in.ignore(static_cast<std::streamsize>(data.byte_skip));
  return in;
}

enum class Fit { good, no_number, too_large };

template <typename Whole>
Fit whole_number(std::string_view word) {
  const bool negative = word.starts_with('-');
  if (negative && std::is_unsigned_v<Whole>) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error == std::errc::invalid_argument || end != word.data() + word.size()) return Fit::no_number;
    return error == std::errc() && value == 0 ? Fit::good : Fit::too_large;
  }
  Whole value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc::invalid_argument || end != word.data() + word.size()) return Fit::no_number;
  return error == std::errc() ? Fit::good : Fit::too_large;
}

// NaN and infinities by their names, which are judged where volumes are read.
Fit floating_number(std::string_view word, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc::invalid_argument || end != word.data() + word.size()) return Fit::no_number;
  if (error != std::errc()) value = std::strtod(std::string(word).c_str(), nullptr);  // 0, or too large
  const bool named = word.find_first_of("0123456789") == std::string_view::npos;
  return named || std::abs(value) <= most ? Fit::good : Fit::too_large;
}

Fit fit_of(const NrrdData& data, std::string_view word) {
  if (word.starts_with('+')) word.remove_prefix(1);
  if (word.starts_with('+') || word.starts_with("-+")) return Fit::no_number;
  if (data.type == "float") return floating_number(word, std::numeric_limits<float>::max());
  if (data.type == "double") return floating_number(word, std::numeric_limits<double>::max());
  const bool has_sign = !data.type.starts_with('u');
  switch (static_cast<int>(data.value_bytes)) {
    case 1:
      return has_sign ? whole_number<std::int8_t>(word) : whole_number<std::uint8_t>(word);
    case 2:
      return has_sign ? whole_number<std::int16_t>(word) : whole_number<std::uint16_t>(word);
    case 4:
      return has_sign ? whole_number<std::int32_t>(word) : whole_number<std::uint32_t>(word);
    default:
      return has_sign ? whole_number<std::int64_t>(word) : whole_number<std::uint64_t>(word);
  }
}

// A word that may have commas before and behind it, as ITK reads them.
void require_number(const NrrdData& data, const std::string& word, double number) {
  const auto first = word.find_first_not_of(','), last = word.find_last_not_of(',');
  const auto fit = fit_of(data, std::string_view(word).substr(first, last + 1 - first));
  const bool real = data.type == "float" || data.type == "double";
  if (fit == Fit::no_number)
    refuse_data(data, fmt::format("value {:.0f} of its text is '{}', which is no {}number of type {}; write {}numbers "
                                  "with blanks between them, or correct the type",
                                  number, excerpt(word), real ? "" : "whole ", data.type, real ? "" : "whole "));
  if (fit == Fit::too_large)
    refuse_data(data,
                fmt::format("value {:.0f} of its text is '{}', which does not fit its type, {}; take a larger type "
                            "in the header, or correct the value",
                            number, excerpt(word), data.type));
}

void check_text(const NrrdData& data, const NrrdData::Part& part, double expected) {
  std::ifstream in = open_part(data, part);
  std::string word, piece(std::size_t{1} << 20, '\0');
  double found = 0;
  const auto take = [&] {
    if (word.find_first_not_of(',') != std::string::npos) {
      if (++found > expected)
        refuse_data(data, fmt::format("its text holds more than the {:.0f} values of its sizes ('{}' follows); correct "
                                      "the sizes, or take the rest away",
                                      expected, excerpt(word)));
      require_number(data, word, found);
    }
    word.clear();
  };
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())), in.gcount() > 0) {
    check_interrupt();
    for (const char c : std::string_view(piece).substr(0, static_cast<std::size_t>(in.gcount()))) {
      constexpr std::size_t longest = 1000;
      if (c != ' ' && (c < '\t' || c > '\r') && word.size() < longest)
        word.push_back(c);
      else if (!word.empty())
        take();
    }
  }
  take();
  if (found < expected)
    throw InputError(fmt::format("{} is truncated: its text holds {:.0f} values, expected {:.0f}", name_of(data, part),
                                 found, expected));
}

void check_hex(const NrrdData& data, const NrrdData::Part& part, double expected) {
  std::ifstream in = open_part(data, part);
  std::string piece(std::size_t{1} << 20, '\0');
  double found = 0;
  while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())), in.gcount() > 0) {
    check_interrupt();
    for (const char c : std::string_view(piece).substr(0, static_cast<std::size_t>(in.gcount()))) {
      if (c == ' ' || (c >= '\t' && c <= '\r')) continue;
      if (std::isxdigit(static_cast<unsigned char>(c)) == 0)
        refuse_data(data, fmt::format("its encoding is hex, but '{}' stands among the digits of byte {:.0f}; it is "
                                      "damaged, or of another encoding",
                                      excerpt(std::string(1, c)), std::floor(found / 2) + 1));
      ++found;
    }
  }
  if (found != 2 * expected)
    throw InputError(fmt::format("{} {}: found {:.0f} digits of hex, expected {:.0f}; {}", name_of(data, part),
                                 found < 2 * expected ? "is truncated" : "is too long", found, 2 * expected,
                                 found < 2 * expected ? "copy or make it again" : "correct the sizes or the type"));
}

// Requires so many unpacked bytes in gzip streams, one after the other.
void require_unpacked_bytes(std::ifstream& in, const std::string& name, double expected) {
  z_stream z{};
  if (inflateInit2(&z, 15 + 16) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&z, inflateEnd);
  std::string packed(std::size_t{1} << 18, '\0'), unpacked(std::size_t{1} << 20, '\0');
  double found = 0;
  int code = Z_OK;
  while (in.read(packed.data(), static_cast<std::streamsize>(packed.size())), in.gcount() > 0) {
    check_interrupt();
    z.next_in = reinterpret_cast<Bytef*>(packed.data());
    z.avail_in = static_cast<uInt>(in.gcount());
    while (z.avail_in > 0) {
      if (code == Z_STREAM_END && *z.next_in != 0x1f) break;  // padding
      if (code == Z_STREAM_END) inflateReset(&z);             // another stream follows
      z.next_out = reinterpret_cast<Bytef*>(unpacked.data());
      z.avail_out = static_cast<uInt>(unpacked.size());
      code = inflate(&z, Z_NO_FLUSH);
      found += static_cast<double>(unpacked.size() - z.avail_out);
      if (code != Z_OK && code != Z_STREAM_END && code != Z_BUF_ERROR)
        throw InputError(
            fmt::format("{} is damaged: its gzip stream breaks after {:.0f} unpacked bytes, or has a "
                        "wrong checksum; copy or make it again",
                        name, found));
    }
  }
  if (code != Z_STREAM_END)
    throw InputError(
        fmt::format("{} is truncated: its gzip stream ends after {:.0f} unpacked bytes of {:.0f}; copy or "
                    "make it again",
                    name, found, expected));
  if (found != expected)
    throw InputError(
        fmt::format("{} {}: its gzip stream holds {:.0f} bytes of values, expected {:.0f}; correct the "
                    "sizes or the type, or make it again",
                    name, found < expected ? "is too short" : "is too long", found, expected));
}

// The header is followed by gzip's own: its first bytes, and at the end of the file the bytes of the last stream, of
// which there is one in most files. Those with another number are unpacked for it.
void check_gzip(const NrrdData& data, const NrrdData::Part& part, double expected) {
  std::ifstream in = open_part(data, part);
  std::array<unsigned char, 4> bytes{};
  const auto read = [&](std::streamsize count) { in.read(reinterpret_cast<char*>(bytes.data()), count); };
  const auto start = in.tellg();
  read(2);
  if (!in || bytes[0] != 0x1f || bytes[1] != 0x8b)
    refuse_data(data, fmt::format("its encoding is gzip, but the values in '{}' are not gzipped; correct the encoding, "
                                  "or make it again",
                                  part.file));
  in.seekg(-4, std::ios::end);
  read(4);
  in.seekg(start);
  const double last = bytes[0] + 256.0 * bytes[1] + 65536.0 * bytes[2] + 16777216.0 * bytes[3];
  if (last == std::fmod(expected, 4294967296.0)) return;
  require_unpacked_bytes(in, name_of(data, part), expected);
}

// Warns once of each file: headers are read again and again.
void warn_of_more(const std::string& file, double more, double expected) {
  if (is_new_warning("bytes after the values of " + file))
    spdlog::warn(
        "'{}': {:.0f} bytes follow the {:.0f} of the values that the header describes; are its sizes and its "
        "type right?",
        file, more, expected);
}

// A negative skip counts from the end of the file, where -1 leaves nothing behind the values.
void check_raw(const NrrdData& data, const NrrdData::Part& part, double expected) {
  std::ifstream in = open_part(data, part);
  const double start = static_cast<double>(in.tellg()), size = static_cast<double>(fs::file_size(part.file));
  const double left = in ? size - start : 0, behind = data.byte_skip < 0 ? -data.byte_skip - 1 : 0;
  if (left < expected + behind)
    throw InputError(
        fmt::format("{} is truncated, or its header is wrong: found {:.0f} bytes of values, expected "
                    "{:.0f}{}",
                    name_of(data, part), std::max(0.0, left), expected,
                    behind > 0 ? fmt::format(" and {:.0f} behind them (byte skip)", behind) : ""));
  if (data.byte_skip >= 0 && left > expected) warn_of_more(part.file, left - expected, expected);
}

}  // namespace

void check_nrrd_data(const NrrdData& data) {
  const auto is = [&](std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), data.encoding) != names.end();
  };
  if (data.byte_skip < 0 && !is({"raw"}))
    refuse_data(data,
                fmt::format("its byte skip is {:.0f}; below 0 it is of raw values only: correct it", data.byte_skip));
  if (data.line_skip < 0)
    refuse_data(data, fmt::format("its line skip is {:.0f}; 0 or more is expected", data.line_skip));
  const double each = data.count / static_cast<double>(std::max<std::size_t>(data.parts.size(), 1));
  if (each != std::floor(each))
    refuse_data(data, fmt::format("{:.0f} values cannot be dealt to {} files; correct the sizes or the list of files",
                                  data.count, data.parts.size()));
  for (const auto& part : data.parts) {
    if (is({"txt", "text", "ascii"})) check_text(data, part, each);
    if (is({"hex"})) check_hex(data, part, each * data.value_bytes);
    if (is({"raw"})) check_raw(data, part, each * data.value_bytes);
    if (is({"gz", "gzip"})) check_gzip(data, part, each * data.value_bytes + data.byte_skip);
  }
}

}  // namespace halocline

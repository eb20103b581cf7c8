#include "host/system/text_encoding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "host/system/error.hpp"

namespace halocline {
namespace {

bool is_ascii(unsigned char c) {
  return (c >= ' ' && c < 127) || c == '\t' || c == '\r' || c == '\n';
}

bool is_mark(const std::string& text, unsigned char first, unsigned char second) {
  return text.size() >= 2 && static_cast<unsigned char>(text[0]) == first &&
         static_cast<unsigned char>(text[1]) == second;
}

// Two characters of ASCII, whose zeros are at these places.
bool has_zeros(const std::string& text, std::size_t first) {
  if (text.size() < 4) return false;
  const auto at = [&](std::size_t n) { return static_cast<unsigned char>(text[n]); };
  return at(first) == 0 && at(first + 2) == 0 && is_ascii(at(1 - first)) && is_ascii(at(3 - first));
}

bool is_big_endian(const std::string& text) {
  return is_mark(text, 0xfe, 0xff) || has_zeros(text, 0);
}

void append_utf8(std::uint32_t code, std::string& to) {
  const auto put = [&](std::uint32_t byte) { to.push_back(static_cast<char>(byte)); };
  const auto rest = [&](int bits) { put(0x80 | (code >> bits & 0x3f)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    rest(6);
  } else {
    put(0xf0 | code >> 18);
    rest(12);
    rest(6);
  }
  rest(0);
}

std::string from_utf16(const std::string& text, const std::string& what) {
  const bool big = is_big_endian(text);
  const auto damaged = [&](const char* why) {
    throw InputError(fmt::format("{} is UTF-16 that {}; save it again, as UTF-8", what, why));
  };
  if (text.size() % 2 != 0) damaged("ends within a character");
  const auto unit = [&](std::size_t n) {
    const auto a = static_cast<unsigned char>(text[n]), b = static_cast<unsigned char>(text[n + 1]);
    return static_cast<std::uint32_t>(big ? a << 8 | b : b << 8 | a);
  };
  std::string out;
  out.reserve(text.size() / 2);
  const bool marked = is_mark(text, 0xfe, 0xff) || is_mark(text, 0xff, 0xfe);
  for (std::size_t n = marked ? 2 : 0; n < text.size(); n += 2) {
    std::uint32_t code = unit(n);
    if (code == 0) damaged("holds zeros, as UTF-32 and binary data do");
    if (code >= 0xd800 && code < 0xe000) {  // the first of two that make one character
      const std::uint32_t second = n + 2 < text.size() ? unit(n + 2) : 0;
      if (code >= 0xdc00 || second < 0xdc00 || second >= 0xe000) damaged("holds half of a character");
      code = 0x10000 + ((code - 0xd800) << 10) + (second - 0xdc00);
      n += 2;
    }
    append_utf8(code, out);
  }
  return out;
}

}  // namespace

bool begins_as_utf16(const std::string& text) {
  return is_mark(text, 0xff, 0xfe) || is_mark(text, 0xfe, 0xff) || has_zeros(text, 0) || has_zeros(text, 1);
}

std::string decoded_text(std::string text, const std::string& what) {
  if (begins_as_utf16(text)) text = from_utf16(text, what);
  if (text.starts_with("\xef\xbb\xbf")) text.erase(0, 3);
  // old systems end lines with a carriage return alone
  if (text.find('\n') == std::string::npos) std::replace(text.begin(), text.end(), '\r', '\n');
  return text;
}

}  // namespace halocline

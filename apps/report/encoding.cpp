#include "apps/report/encoding.hpp"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "host/system/error.hpp"

namespace halocline {

std::string gzip(std::span<const std::uint8_t> bytes) {
  constexpr int gzip_header = 16, window_bits = 15, memory_level = 9;
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, window_bits + gzip_header, memory_level,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    throw Error("zlib could not begin to compress the volumes of a page");
  std::string out;
  std::string piece(std::size_t{1} << 16, '\0');
  std::size_t given = 0;
  int state = Z_OK;
  while (state == Z_OK) {
    if (stream.avail_in == 0) {
      const std::size_t now = std::min<std::size_t>(bytes.size() - given, std::numeric_limits<uInt>::max() / 2);
      stream.next_in = const_cast<Bytef*>(bytes.data() + given);  // zlib does not write there
      stream.avail_in = static_cast<uInt>(now);
      given += now;
    }
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    state = deflate(&stream, given == bytes.size() ? Z_FINISH : Z_NO_FLUSH);
    out.append(piece, 0, piece.size() - stream.avail_out);
  }
  deflateEnd(&stream);
  if (state != Z_STREAM_END) throw Error("zlib could not compress the volumes of a page");
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t n = 0; n < 3; ++n)
      group = group << 8 | (n < left ? static_cast<unsigned char>(bytes[at + n]) : 0U);
    for (std::size_t n = 0; n < 4; ++n) out += n <= left ? digits[group >> (18 - 6 * n) & 63] : '=';
  }
  return out;
}

std::string html_escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  return out;
}

}  // namespace halocline

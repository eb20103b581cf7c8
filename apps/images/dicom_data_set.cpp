#include "apps/images/dicom_data_set.hpp"

#include <zlib.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>

namespace halocline {
namespace {

constexpr std::uint32_t undefined_length = 0xffffffff;
constexpr DicomTag item_tag = 0xfffee000, end_of_item = 0xfffee00d, end_of_sequence = 0xfffee0dd;
constexpr DicomTag transfer_syntax = 0x00020010, pixel_data = 0x7fe00010;
constexpr int deepest_sequence = 16;

struct Malformed {};

struct Encoding {
  bool explicit_types = true, big_endian = false;
};

// Sequences that a geometry is in. Where types are implicit, nothing but the tag says that a value is one.
bool is_known_sequence(DicomTag tag) {
  static constexpr DicomTag known[] = {0x00209111, 0x00209113, 0x00209116, 0x0020930e, 0x0020930f, 0x00283000,
                                       0x00289110, 0x00289145, 0x00540022, 0x52009229, 0x52009230};
  return std::find(std::begin(known), std::end(known), tag) != std::end(known);
}

class Parser {
 public:
  /// more: the bytes that follow those of the stream are not known.
  Parser(std::istream& in, std::uint64_t bytes, bool more = false) : in_(in), end_(bytes), more_(more) {}

  void use(const Encoding& encoding) { encoding_ = encoding; }
  std::uint64_t position() { return static_cast<std::uint64_t>(in_.tellg()); }
  std::uint64_t end() const { return end_; }

  // Attributes up to `end`, to the end of an item, or, at the top, to the pixel data or a group above `last_group`.
  DicomDataSet data_set(std::uint64_t end, int depth, std::uint32_t last_group = 0xffff) {
    if (depth > deepest_sequence) throw Malformed();
    DicomDataSet out;
    if (encoding_.big_endian) out.set_big_endian();
    while (position() + 8 <= end) {
      const auto start = position();
      const DicomTag tag = read_tag();
      if (tag == end_of_item) {
        whole(4);
        break;
      }
      if (tag >> 16 > last_group) {
        in_.seekg(static_cast<std::streamoff>(start));
        break;
      }
      if (depth == 0 && tag >> 16 == pixel_data >> 16) {
        try {
          read_pixel_group(tag, end, out);
        } catch (const Malformed&) {  // attributes before it are valid
        }
        break;
      }
      read_value(tag, end, depth, out);
    }
    return out;
  }

 private:
  std::uint32_t whole(int bytes) {
    unsigned char read[4] = {};
    if (!in_.read(reinterpret_cast<char*>(read), bytes)) throw Malformed();
    std::uint32_t value = 0;
    for (int n = 0; n < bytes; ++n) value |= std::uint32_t{read[encoding_.big_endian ? bytes - 1 - n : n]} << (8 * n);
    return value;
  }
  DicomTag read_tag() {
    const std::uint32_t group = whole(2);
    return group << 16 | whole(2);
  }

  struct ValueHeader {
    std::string type;  // empty where types are implicit
    std::uint32_t length = 0;
  };
  ValueHeader read_header(DicomTag tag) {
    if (!encoding_.explicit_types || tag >> 16 == 0xfffe) return {{}, whole(4)};
    std::string type(2, '\0');
    if (!in_.read(type.data(), 2) || type[0] < 'A' || type[0] > 'Z') throw Malformed();
    static constexpr std::string_view with_long_length = "OB OD OF OL OV OW SQ UC UN UR UT SV UV";
    if (with_long_length.find(type) == std::string_view::npos) return {type, whole(2)};
    whole(2);
    return {type, whole(4)};
  }

  // The length of the pixel data is noted, their values are passed over.
  void read_pixel_group(DicomTag tag, std::uint64_t end, DicomDataSet& out) {
    while (tag >> 16 == pixel_data >> 16) {
      const std::uint32_t length = read_header(tag).length;
      if (length == undefined_length) return;
      if (tag == pixel_data) {
        const std::uint64_t there = end - std::min(position(), end);
        return out.set_pixel_bytes(more_ ? length : std::min<std::uint64_t>(length, there));
      }
      in_.seekg(length, std::ios::cur);
      if (position() + 8 > end) return;
      tag = read_tag();
    }
  }

  void read_value(DicomTag tag, std::uint64_t end, int depth, DicomDataSet& out) {
    const auto [type, length] = read_header(tag);
    const bool sequence = type == "SQ" || length == undefined_length || (type.empty() && is_known_sequence(tag));
    if (length != undefined_length && position() + length > end) throw Malformed();
    if (sequence) {
      // unknown types of undefined length hold implicit ones
      const Encoding outer = encoding_;
      if (type == "UN") encoding_ = {false, false};
      read_items(length == undefined_length ? end : position() + length, depth, out[tag].items);
      encoding_ = outer;
    } else if (constexpr std::uint32_t longest = 1 << 20; length > longest) {
      in_.seekg(length, std::ios::cur);
    } else {
      std::string& bytes = out[tag].bytes;
      bytes.resize(length);
      if (!in_.read(bytes.data(), length)) throw Malformed();
    }
  }

  void read_items(std::uint64_t end, int depth, std::vector<DicomDataSet>& items) {
    while (position() + 8 <= end) {
      const DicomTag tag = read_tag();
      const std::uint32_t length = whole(4);
      if (tag == end_of_sequence) return;
      if (tag != item_tag || (length != undefined_length && position() + length > end)) throw Malformed();
      items.push_back(data_set(length == undefined_length ? end : position() + length, depth + 1));
    }
  }

  std::istream& in_;
  std::uint64_t end_;
  bool more_;
  Encoding encoding_;
};

constexpr std::size_t most_inflated = std::size_t{1} << 26;  // attributes before the pixel data take less

// The rest of a stream, whose deflated bytes have no header (PS3.5 A.5).
std::string inflated(std::istream& in) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw Malformed();
  const std::string packed(std::istreambuf_iterator<char>(in), {});
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  std::string out;
  std::string piece(1 << 18, '\0');
  int code = Z_OK;
  while (code == Z_OK && out.size() < most_inflated) {
    stream.next_out = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_out = static_cast<uInt>(piece.size());
    code = inflate(&stream, Z_NO_FLUSH);
    out.append(piece, 0, piece.size() - stream.avail_out);
  }
  inflateEnd(&stream);
  return out;
}

DicomDataSet after_meta(const std::string& syntax, Parser& parser, std::istream& in) {
  if (syntax == "1.2.840.10008.1.2.1.99") {
    const std::string bytes = inflated(in);
    std::istringstream unpacked(bytes);
    return Parser(unpacked, bytes.size(), bytes.size() >= most_inflated).data_set(bytes.size(), 0);
  }
  parser.use({syntax != "1.2.840.10008.1.2", syntax == "1.2.840.10008.1.2.2"});
  return parser.data_set(parser.end(), 0);
}

// The types of a data set without a header before it: two capitals behind the first tag, or none.
Encoding guessed(std::istream& in) {
  char first[6] = {};
  in.read(first, sizeof first);
  in.seekg(0);
  const auto capital = [](char c) { return c >= 'A' && c <= 'Z'; };
  return {capital(first[4]) && capital(first[5]), false};
}

}  // namespace

std::string DicomDataSet::text(DicomTag tag) const {
  const auto found = values_.find(tag);
  if (found == values_.end()) return {};
  static constexpr std::string_view blanks(" \t\r\n\0", 5);
  const std::string& bytes = found->second.bytes;
  const auto first = bytes.find_first_not_of(blanks);
  return first == std::string::npos ? "" : bytes.substr(first, bytes.find_last_not_of(blanks) - first + 1);
}

std::vector<double> DicomDataSet::numbers(DicomTag tag) const {
  const std::string list = text(tag);
  std::vector<double> out;
  for (std::size_t at = 0; !list.empty() && at <= list.size();) {
    const std::size_t end = std::min(list.find('\\', at), list.size());
    std::string_view word = std::string_view(list).substr(at, end - at);
    while (!word.empty() && (word.front() == ' ' || word.front() == '+')) word.remove_prefix(1);
    while (!word.empty() && word.back() == ' ') word.remove_suffix(1);
    double value = 0;
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    const bool good = error == std::errc() && stop == word.data() + word.size();
    out.push_back(good ? value : std::numeric_limits<double>::quiet_NaN());
    at = end + 1;
  }
  return out;
}

template <typename Stored>
std::vector<Stored> DicomDataSet::stored(DicomTag tag) const {
  const auto found = values_.find(tag);
  if (found == values_.end()) return {};
  const std::string& bytes = found->second.bytes;
  std::vector<Stored> out(bytes.size() / sizeof(Stored));
  for (std::size_t n = 0; n < out.size(); ++n) {
    char one[sizeof(Stored)];
    std::memcpy(one, bytes.data() + n * sizeof(Stored), sizeof(Stored));
    if (big_endian_ == (std::endian::native == std::endian::little)) std::reverse(one, one + sizeof(Stored));
    std::memcpy(&out[n], one, sizeof(Stored));
  }
  return out;
}

std::vector<double> DicomDataSet::doubles(DicomTag tag) const {
  return stored<double>(tag);
}

std::optional<std::uint32_t> DicomDataSet::whole(DicomTag tag) const {
  const auto found = values_.find(tag);
  if (found == values_.end()) return {};
  if (found->second.bytes.size() == 2) return stored<std::uint16_t>(tag).front();
  if (found->second.bytes.size() == 4) return stored<std::uint32_t>(tag).front();
  return {};
}

const std::vector<DicomDataSet>& DicomDataSet::items(DicomTag tag) const {
  static const std::vector<DicomDataSet> none;
  const auto found = values_.find(tag);
  return found == values_.end() ? none : found->second.items;
}

std::optional<DicomDataSet> read_dicom_data_set(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  char preamble[132] = {};
  in.read(preamble, sizeof preamble);
  const bool whole = in.gcount() == sizeof preamble && std::memcmp(preamble + 128, "DICM", 4) == 0;
  const bool bare = (preamble[0] == 2 || preamble[0] == 8) && preamble[1] == 0 && preamble[3] == 0;
  if (!whole && !bare) return {};
  in.clear();
  in.seekg(0, std::ios::end);
  Parser parser(in, static_cast<std::uint64_t>(in.tellg()));
  in.seekg(whole ? 132 : 0);
  try {
    if (!whole && preamble[0] == 8) {
      parser.use(guessed(in));
      return parser.data_set(parser.end(), 0);
    }
    const DicomDataSet meta = parser.data_set(parser.end(), 0, 2);
    return after_meta(meta.text(transfer_syntax), parser, in);
  } catch (const Malformed&) {
    return {};
  }
}

}  // namespace halocline

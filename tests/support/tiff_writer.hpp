// TIFF files byte by byte (TIFF 6.0, and BigTIFF): in both byte orders, with any tags.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace halocline {

/// A value in the byte order of a file.
template <typename T>
std::string ordered_bytes(T value, bool msb_first) {
  std::array<char, sizeof(T)> bytes;
  std::memcpy(bytes.data(), &value, sizeof(T));
  if (msb_first != (std::endian::native == std::endian::big)) std::reverse(bytes.begin(), bytes.end());
  return {bytes.data(), bytes.size()};
}

class TiffWriter {
 public:
  explicit TiffWriter(bool msb_first_in_file = false, bool bigtiff = false)
      : msb_first_(msb_first_in_file), big_(bigtiff) {}

  /// Tags of a page with whole numbers, of type LONG, or SHORT where TIFF requires it; resolutions are quotients of
  /// two.
  using Tags = std::map<std::uint16_t, std::vector<std::uint64_t>>;

  /// A page of strips, or of tiles if there is a tag 322, and a text as its description (tag 270). The pieces follow
  /// each other, the first of the first page at byte 8; tags may say other places and sizes.
  void page(Tags tags, const std::vector<std::string>& pieces, const std::string& description = "") {
    std::vector<std::uint64_t> places, sizes;
    for (const std::string& piece : pieces) {
      places.push_back(begin() + body_.size());
      sizes.push_back(piece.size());
      body_ += piece;
    }
    const bool tiled = tags.contains(322);
    tags.try_emplace(tiled ? 324 : 273, places);
    tags.try_emplace(tiled ? 325 : 279, sizes);
    std::map<std::uint16_t, std::pair<std::uint16_t, std::string>> entries;  // type and bytes
    std::map<std::uint16_t, std::uint64_t> counts;
    for (const auto& [tag, values] : tags) {
      const bool is_long = std::set<int>{254, 256, 257, 273, 278, 279, 322, 323, 324, 325, 32997}.contains(tag);
      auto& [type, bytes] = entries[tag];
      const bool is_quotient = tag == 282 || tag == 283;
      type = is_quotient ? 5 : !is_long ? 3 : big_ ? 16 : 4;
      for (const std::uint64_t value : values) bytes += number(value, type == 3 ? 2 : type == 16 ? 8 : 4);
      counts[tag] = is_quotient ? values.size() / 2 : values.size();
    }
    if (!description.empty()) {
      entries[270] = {2, description + '\0'};
      counts[270] = description.size() + 1;
    }
    const std::size_t word = big_ ? 8 : 4;
    for (auto& [tag, entry] : entries)
      if (entry.second.size() > word) {
        pad();
        const std::uint64_t place = begin() + body_.size();
        body_ += entry.second;
        entry.second = number(place, word);
      }
    pad();
    link(begin() + body_.size());
    body_ += number(entries.size(), big_ ? 8 : 2);
    for (auto& [tag, entry] : entries) {
      entry.second.resize(word, '\0');
      body_ += number(tag, 2) + number(entry.first, 2) + number(counts[tag], word) + entry.second;
    }
    next_ = body_.size();
    body_ += number(0, word);
  }

  std::string file() const {
    const std::string start = msb_first_ ? "MM" : "II";
    return big_ ? start + number(43, 2) + number(8, 2) + number(0, 2) + number(first_, 8) + body_
                : start + number(42, 2) + number(first_, 4) + body_;
  }

  std::string number(std::uint64_t value, std::size_t bytes) const {
    switch (bytes) {
      case 2:
        return ordered_bytes(static_cast<std::uint16_t>(value), msb_first_);
      case 4:
        return ordered_bytes(static_cast<std::uint32_t>(value), msb_first_);
      default:
        return ordered_bytes(value, msb_first_);
    }
  }

 private:
  std::uint64_t begin() const { return big_ ? 16 : 8; }
  void pad() {
    if (body_.size() % 2 == 1) body_.push_back('\0');
  }
  void link(std::uint64_t place) {
    if (first_ == 0)
      first_ = place;
    else
      body_.replace(next_, big_ ? 8 : 4, number(place, big_ ? 8 : 4));
  }
  bool msb_first_, big_;
  std::string body_;
  std::uint64_t first_ = 0;
  std::size_t next_ = 0;
};

}  // namespace halocline

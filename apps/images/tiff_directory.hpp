// The directory of a TIFF page as it is in the file, without the repairs of libtiff.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace halocline {

class TiffDirectory {
 public:
  /// at: place of the directory; big: of a BigTIFF; msb_first: the most significant bytes come first.
  TiffDirectory(const std::string& path, std::uint64_t at, bool big, bool msb_first);

  /// The byte behind its last. Past the end of the file, or 0 if its length is not there, entries are missing.
  std::uint64_t end() const { return end_; }
  bool has(std::uint16_t tag) const { return entries_.contains(tag); }
  /// The place of the next directory; 0: there is none.
  std::uint64_t next();
  /// The text of a tag up to its first 0; nothing if the tag is missing, not of that type or not whole.
  std::optional<std::string> text(std::uint16_t tag);
  /// The quotient of a tag of one rational number, 0 where its second number is; nothing as for text().
  std::optional<double> ratio(std::uint16_t tag);
  /// The whole numbers of a tag; empty if the tag is missing, not of such a type or not whole.
  std::optional<std::vector<std::uint64_t>> numbers(std::uint16_t tag);

 private:
  struct Entry {
    std::uint16_t type = 0;
    std::uint64_t count = 0;
    std::uint64_t at = 0;  // place of its value, or of the place of its value
  };
  std::string read(std::uint64_t at, std::uint64_t bytes);
  std::string value_of(const Entry& entry, std::uint64_t value_bytes);
  std::uint64_t number(const std::string& bytes, std::size_t at, std::size_t count) const;

  std::ifstream in_;
  std::uint64_t file_bytes_ = 0, end_ = 0;
  std::size_t word_;
  bool msb_first_;
  std::map<std::uint16_t, Entry> entries_;
};

}  // namespace halocline

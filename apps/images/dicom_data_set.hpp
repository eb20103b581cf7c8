// The attributes of a DICOM file (PS3.5 and PS3.10) up to its pixel data, sequences included.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace halocline {

/// Group in the upper 16 bits, element in the lower ones.
using DicomTag = std::uint32_t;

/// Attributes by their tags. Values are bytes as they stand in the file; of a sequence the items.
class DicomDataSet {
 public:
  struct Value {
    std::string bytes;
    std::vector<DicomDataSet> items;
  };

  bool has(DicomTag tag) const { return values_.contains(tag); }
  /// The text without the blanks and zeros around it; empty where there is none.
  std::string text(DicomTag tag) const;
  /// Numbers of a list in text (DS, IS), with backslashes between. Nothing where the attribute is absent or
  /// empty; NaN for what is no number.
  std::vector<double> numbers(DicomTag tag) const;
  /// Numbers of a list of binary doubles (FD), integers of 4 bytes (UL) or of 2 (US).
  std::vector<double> doubles(DicomTag tag) const;
  std::optional<std::uint32_t> whole(DicomTag tag) const;
  /// The items of a sequence; none where it is absent.
  const std::vector<DicomDataSet>& items(DicomTag tag) const;

  Value& operator[](DicomTag tag) { return values_[tag]; }
  void set_big_endian() { big_endian_ = true; }
  /// Bytes of the pixel data (7FE0,0010) that are in the file; nothing where there are none, or in pieces of their own
  /// (encapsulated).
  const std::optional<std::uint64_t>& pixel_bytes() const { return pixel_bytes_; }
  void set_pixel_bytes(std::uint64_t bytes) { pixel_bytes_ = bytes; }

 private:
  template <typename Stored>
  std::vector<Stored> stored(DicomTag tag) const;

  std::map<DicomTag, Value> values_;
  bool big_endian_ = false;
  std::optional<std::uint64_t> pixel_bytes_;
};

/// Reads a file; nothing if it is not DICOM, or violates the standard. Values of more than a MiB are skipped.
std::optional<DicomDataSet> read_dicom_data_set(const std::string& path);

}  // namespace halocline

// Writes DICOM files.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace halocline {

// The least that makes a DICOM file: explicit little-endian CT slices.
class DicomWriter {
 public:
  /// Values that files get instead, by name: "spacing", "position", "orientation", "intercept", "slope", "rows",
  /// "columns", "bits", "stored", "high", "samples", "photometric"; "imager" (spacing) is absent otherwise.
  std::map<std::string, std::string> instead;

  void write(const std::string& file, const std::string& series, int number, double z,
             const std::vector<std::int16_t>& pixels) {
    const std::string sop = "1.2.3.4." + series + "." + std::to_string(number + 1);
    body_.clear();
    text(2, 2, "UI", "1.2.840.10008.5.1.4.1.1.2");
    text(2, 3, "UI", sop);
    text(2, 16, "UI", "1.2.840.10008.1.2.1");
    const std::string meta = body_;
    body_.clear();
    text(8, 0x16, "UI", "1.2.840.10008.5.1.4.1.1.2");
    text(8, 0x18, "UI", sop);
    text(8, 0x60, "CS", "CT");
    if (instead.contains("imager")) text(0x18, 0x1164, "DS", instead.at("imager"));
    text(0x20, 0xd, "UI", "1.2.3.4.1");
    text(0x20, 0xe, "UI", "1.2.3.4." + series);
    text(0x20, 0x13, "IS", std::to_string(number));
    text(0x20, 0x32, "DS", or_instead("position", "10\\20\\" + std::to_string(z)));
    text(0x20, 0x37, "DS", or_instead("orientation", "0\\1\\0\\-1\\0\\0"));
    word(0x28, 2, whole_or_instead("samples", 1));
    text(0x28, 4, "CS", or_instead("photometric", "MONOCHROME2"));
    word(0x28, 0x10, whole_or_instead("rows", 2));
    word(0x28, 0x11, whole_or_instead("columns", 3));
    text(0x28, 0x30, "DS", or_instead("spacing", "0.5\\0.25"));  // row spacing first
    word(0x28, 0x100, whole_or_instead("bits", 16));
    word(0x28, 0x101, whole_or_instead("stored", 16));
    word(0x28, 0x102, whole_or_instead("high", 15));
    word(0x28, 0x103, 1);
    text(0x28, 0x1052, "DS", or_instead("intercept", "-1024"));
    text(0x28, 0x1053, "DS", or_instead("slope", "2"));
    std::string raw(reinterpret_cast<const char*>(pixels.data()), pixels.size() * 2);
    element(0x7fe0, 0x10, "OW", raw);
    std::string out(128, '\0');
    out += "DICM";
    const std::string data = body_;
    body_.clear();
    const auto length = static_cast<std::uint32_t>(meta.size());
    element(2, 0, "UL", std::string(reinterpret_cast<const char*>(&length), 4));
    std::ofstream(file, std::ios::binary) << out << body_ << meta << data;
  }

 private:
  std::string or_instead(const char* name, const std::string& otherwise) const {
    const auto found = instead.find(name);
    return found == instead.end() ? otherwise : found->second;
  }
  std::uint16_t whole_or_instead(const char* name, int otherwise) const {
    return static_cast<std::uint16_t>(std::stoi(or_instead(name, std::to_string(otherwise))));
  }
  void number(std::uint32_t value, int bytes) {
    for (int n = 0; n < bytes; ++n) body_.push_back(static_cast<char>(value >> (8 * n)));
  }
  void element(std::uint16_t group, std::uint16_t tag, const std::string& type, std::string value) {
    if (value.size() % 2 == 1) value.push_back(type == "UI" ? '\0' : ' ');
    number(group, 2);
    number(tag, 2);
    body_ += type;
    if (type == "OW") number(0, 2);
    number(static_cast<std::uint32_t>(value.size()), type == "OW" ? 4 : 2);
    body_ += value;
  }
  void text(std::uint16_t group, std::uint16_t tag, const std::string& type, const std::string& value) {
    element(group, tag, type, value);
  }
  void word(std::uint16_t group, std::uint16_t tag, std::uint16_t value) {
    element(group, tag, "US", std::string(reinterpret_cast<const char*>(&value), 2));
  }
  std::string body_;
};

}  // namespace halocline

// Writes DICOM files of several frames, byte by byte: enhanced CT with functional groups, and frames without them.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace halocline {

enum class DicomSyntax { explicit_little, implicit_little, explicit_big };

/// A data set in one of the encodings.
class DicomBytes {
 public:
  explicit DicomBytes(DicomSyntax syntax) : syntax_(syntax) {}

  void element(std::uint32_t tag, const std::string& type, std::string value) {
    if (value.size() % 2 == 1) value.push_back(type == "UI" ? '\0' : ' ');
    header(tag, type, static_cast<std::uint32_t>(value.size()));
    bytes_ += value;
  }
  void word(std::uint32_t tag, std::uint16_t value) { element(tag, "US", number(value, 2)); }
  void long_word(std::uint32_t tag, std::uint32_t value) { element(tag, "UL", number(value, 4)); }
  /// A sequence of items; of undefined length where `open`.
  void sequence(std::uint32_t tag, const std::vector<DicomBytes>& items, bool open = false) {
    DicomBytes inside(syntax_);
    for (const DicomBytes& item : items) {
      inside.tag(0xfffee000);
      inside.bytes_ += number(open ? 0xffffffff : static_cast<std::uint32_t>(item.bytes_.size()), 4) + item.bytes_;
      if (open) inside.delimiter(0xfffee00d);
    }
    if (open) inside.delimiter(0xfffee0dd);
    header(tag, "SQ", open ? 0xffffffff : static_cast<std::uint32_t>(inside.bytes_.size()));
    bytes_ += inside.bytes_;
  }
  DicomBytes inner() const { return DicomBytes(syntax_); }
  void pixels(const std::vector<std::int16_t>& values) {
    std::string raw;
    for (const std::int16_t value : values) raw += number(static_cast<std::uint16_t>(value), 2);
    element(0x7fe00010, "OW", raw);
  }

  void write(const std::string& path, const std::string& sop_class) const {
    static const char* const names[] = {"1.2.840.10008.1.2.1", "1.2.840.10008.1.2", "1.2.840.10008.1.2.2"};
    DicomBytes meta(DicomSyntax::explicit_little), length(DicomSyntax::explicit_little);
    meta.element(0x00020002, "UI", sop_class);
    meta.element(0x00020003, "UI", "1.2.3.4.5");
    meta.element(0x00020010, "UI", names[static_cast<int>(syntax_)]);
    length.long_word(0x00020000, static_cast<std::uint32_t>(meta.bytes_.size()));
    std::ofstream(path, std::ios::binary) << std::string(128, '\0') << "DICM" << length.bytes_ << meta.bytes_ << bytes_;
  }

 private:
  std::string number(std::uint32_t value, int bytes) const {
    std::string out;
    for (int n = 0; n < bytes; ++n) out.push_back(static_cast<char>(value >> (8 * n)));
    if (syntax_ == DicomSyntax::explicit_big) std::reverse(out.begin(), out.end());
    return out;
  }
  void tag(std::uint32_t tag) { bytes_ += number(tag >> 16, 2) + number(tag & 0xffff, 2); }
  void delimiter(std::uint32_t value) {
    tag(value);
    bytes_ += number(0, 4);
  }
  void header(std::uint32_t value, const std::string& type, std::uint32_t length) {
    tag(value);
    if (syntax_ == DicomSyntax::implicit_little) {
      bytes_ += number(length, 4);
      return;
    }
    bytes_ += type;
    const bool wide = type == "OW" || type == "SQ";
    bytes_ += wide ? number(0, 2) + number(length, 4) : number(length, 2);
  }

  DicomSyntax syntax_;
  std::string bytes_;
};

/// Frames of 3 x 2 pixels of 0.5 x 0.25 mm. Frame n holds 100 marks[n] + its pixel's number.
struct EnhancedDicom {
  struct Frame {
    std::string position, orientation = "1\\0\\0\\0\\1\\0", slope, intercept, stack;
    int mark = 0, time = 0;
    std::string spacing = "0.25\\0.5";  // row spacing first
  };
  std::vector<Frame> frames;
  DicomSyntax syntax = DicomSyntax::explicit_little;
  bool shared = true;  // common values of all frames are written once
  bool open = false;   // sequences of undefined length
  std::uint16_t bits = 16;
  std::size_t missing = 0;  // pixels at the end of the last frame
  std::string sop_class = "1.2.840.10008.5.1.4.1.1.2.1";
  std::function<void(DicomBytes&)> early = nullptr,
                                   late = nullptr;  // further attributes, of group 0x0018; above 0x0028

  void write(const std::string& path, bool with_groups = true) const {
    DicomBytes file(syntax);
    file.element(0x00080016, "UI", sop_class);
    file.element(0x00080018, "UI", "1.2.3.4.5");
    file.element(0x00080060, "CS", "CT");
    if (early) early(file);
    file.element(0x0020000d, "UI", "1.2.3.4");
    file.element(0x0020000e, "UI", "1.2.3.4.7");
    if (!with_groups && !frames.front().position.empty()) {
      file.element(0x00200032, "DS", frames.front().position);
      file.element(0x00200037, "DS", frames.front().orientation);
    }
    file.word(0x00280002, 1);
    file.element(0x00280004, "CS", "MONOCHROME2");
    file.element(0x00280008, "IS", std::to_string(frames.size()));
    file.word(0x00280010, 2);
    file.word(0x00280011, 3);
    if (!with_groups && !frames.front().spacing.empty()) file.element(0x00280030, "DS", frames.front().spacing);
    file.word(0x00280100, bits);
    file.word(0x00280101, bits);
    file.word(0x00280102, static_cast<std::uint16_t>(bits - 1));
    file.word(0x00280103, bits > 1 ? 1 : 0);
    if (late) late(file);
    if (with_groups) groups(file);
    std::vector<std::int16_t> values;
    for (const Frame& frame : frames)
      for (int n = 0; n < 6; ++n) values.push_back(static_cast<std::int16_t>(100 * frame.mark + n));
    values.resize(values.size() - missing);
    file.pixels(values);
    file.write(path, sop_class);
  }

 private:
  void common(const DicomBytes& file, const Frame& frame, DicomBytes& to) const {
    DicomBytes plane = file.inner(), measures = file.inner();
    plane.element(0x00200037, "DS", frame.orientation);
    to.sequence(0x00209116, {plane}, open);
    measures.element(0x00280030, "DS", frame.spacing);
    to.sequence(0x00289110, {measures}, open);
  }
  void groups(DicomBytes& file) const {
    DicomBytes all = file.inner();
    if (shared) common(file, frames.front(), all);
    file.sequence(0x52009229, {all}, open);
    std::vector<DicomBytes> own;
    for (const Frame& frame : frames) {
      DicomBytes item = file.inner(), content = file.inner(), place = file.inner(), values = file.inner();
      if (!frame.stack.empty()) content.element(0x00209056, "SH", frame.stack);
      if (frame.time > 0) content.long_word(0x00209128, static_cast<std::uint32_t>(frame.time));
      item.sequence(0x00209111, {content}, open);
      if (!frame.position.empty()) {
        place.element(0x00200032, "DS", frame.position);
        item.sequence(0x00209113, {place}, open);
      }
      if (!shared) common(file, frame, item);
      if (!frame.slope.empty()) {
        values.element(0x00281052, "DS", frame.intercept);
        values.element(0x00281053, "DS", frame.slope);
        item.sequence(0x00289145, {values}, open);
      }
      own.push_back(item);
    }
    file.sequence(0x52009230, own, open);
  }
};

}  // namespace halocline

// Writes HDF5 files of lists of numbers or texts, byte by byte (HDF5 File Format Specification 2.0: superblock and
// object headers of version 0 and 1, links in the headers of their groups).
#pragma once

#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace halocline {

class Hdf5Writer {
 public:
  struct List {
    std::vector<double> values;
    std::vector<std::uint64_t> size = {};   // that of `values` where it is empty
    std::optional<std::string> units = {};  // an attribute
    std::vector<std::string> texts = {};    // of up to 8 bytes each, in place of `values`
  };

  /// "/exchange/theta": groups are made when needed.
  void add(const std::string& path, const List& list) {
    Group* group = &root_;
    std::size_t at = 1;
    for (auto end = path.find('/', at); end != std::string::npos; at = end + 1, end = path.find('/', at))
      group = &group->groups[path.substr(at, end - at)];
    group->lists[path.substr(at)] = list;
  }

  void write(const std::string& path) {
    bytes_ = std::string("\x89HDF\r\n\x1a\n", 8) + std::string(5, '\0') + "\x08\x08" + std::string(1, '\0');
    bytes_ += whole(4, 2) + whole(16, 2) + whole(0, 4) + whole(0, 8) + undefined();
    const std::size_t end_of_file = bytes_.size();
    bytes_ += whole(0, 8) + undefined() + whole(0, 8);
    const std::size_t root = bytes_.size();
    bytes_ += whole(0, 8) + std::string(24, '\0');
    bytes_.replace(root, 8, whole(write_group(root_), 8));
    bytes_.replace(end_of_file, 8, whole(bytes_.size(), 8));
    std::ofstream(path, std::ios::binary) << bytes_;
  }

 private:
  struct Group {
    std::map<std::string, Group> groups;
    std::map<std::string, List> lists;
  };

  static std::string whole(std::uint64_t value, int bytes) {
    std::string out;
    for (int n = 0; n < bytes; ++n) out.push_back(static_cast<char>(value >> (8 * n)));
    return out;
  }
  static std::string undefined() { return std::string(8, '\xff'); }
  static std::string padded(std::string text) {
    text.resize((text.size() + 7) / 8 * 8);
    return text;
  }
  static std::string message(int type, const std::string& body) {
    const std::string data = padded(body);
    return whole(static_cast<std::uint64_t>(type), 2) + whole(data.size(), 2) + std::string(4, '\0') + data;
  }
  std::uint64_t append(const std::vector<std::string>& messages) {
    std::string all;
    for (const auto& each : messages) all += each;
    bytes_ = padded(bytes_);
    const auto at = bytes_.size();
    bytes_ += whole(1, 1) + whole(0, 1) + whole(messages.size(), 2) + whole(1, 4) + whole(all.size(), 8) + all;
    return at;
  }
  static std::string space(const std::vector<std::uint64_t>& size) {
    std::string out = whole(1, 1) + whole(size.size(), 1) + std::string(6, '\0');
    for (const auto n : size) out += whole(n, 8);
    return out;
  }

  std::uint64_t write_group(const Group& group) {
    std::vector<std::string> messages{message(0x0002, whole(0, 2) + undefined() + undefined()),
                                      message(0x000a, whole(0, 2))};
    const auto link = [&](const std::string& name, std::uint64_t at) {
      messages.push_back(message(0x0006, whole(1, 1) + whole(0, 1) + whole(name.size(), 1) + name + whole(at, 8)));
    };
    for (const auto& [name, inner] : group.groups) link(name, write_group(inner));
    for (const auto& [name, list] : group.lists) link(name, write_list(list));
    return append(messages);
  }

  std::uint64_t write_list(const List& list) {
    bytes_ = padded(bytes_);
    const auto data = bytes_.size();
    for (const double value : list.values) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &value, sizeof bits);
      bytes_ += whole(bits, 8);
    }
    for (std::string text : list.texts) {
      text.resize(8);
      bytes_ += text;
    }
    const std::uint64_t count = list.values.size() + list.texts.size();
    const auto size = list.size.empty() ? std::vector<std::uint64_t>{count} : list.size;
    // IEEE 754 binary64
    const std::string number = std::string("\x11\x20\x3f\x00", 4) + whole(8, 4) + whole(0, 2) + whole(64, 2) +
                               std::string("\x34\x0b\x00\x34", 4) + whole(1023, 4);
    const std::string text = std::string("\x13\x00\x00\x00", 4) + whole(8, 4);
    std::vector<std::string> messages{
        message(0x0001, space(size)), message(0x0003, list.texts.empty() ? number : text),
        message(0x0005, whole(2, 1) + whole(1, 1) + whole(0, 2)),
        message(0x0008, whole(3, 1) + whole(1, 1) + whole(data, 8) + whole(8 * count, 8))};
    if (list.units) {
      const std::string text_type = std::string("\x13\x00\x00\x00", 4) + whole(list.units->size() + 1, 4);
      messages.push_back(message(0x000c, whole(1, 2) + whole(6, 2) + whole(text_type.size(), 2) + whole(8, 2) +
                                             padded(std::string("units\0", 6)) + text_type + space({}) + *list.units +
                                             '\0'));
    }
    return append(messages);
  }

  Group root_;
  std::string bytes_;
};

}  // namespace halocline

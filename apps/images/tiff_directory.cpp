#include "apps/images/tiff_directory.hpp"

#include <algorithm>

namespace halocline {
namespace {

// Bytes of a whole number of this type of TIFF 6.0 or BigTIFF; 0 for other types.
std::size_t bytes_of_type(std::uint16_t type) {
  switch (type) {
    case 1:
      return 1;
    case 3:
      return 2;
    case 4:
    case 13:
      return 4;
    case 16:
    case 18:
      return 8;
    default:
      return 0;
  }
}

}  // namespace

TiffDirectory::TiffDirectory(const std::string& path, std::uint64_t at, bool big, bool msb_first)
    : in_(path, std::ios::binary | std::ios::ate), word_(big ? 8 : 4), msb_first_(msb_first) {
  file_bytes_ = in_ ? static_cast<std::uint64_t>(in_.tellg()) : 0;
  const std::size_t counter = big ? 8 : 2, entry_bytes = 4 + 2 * word_;
  const std::string counted = read(at, counter);
  if (counted.empty()) return;
  const std::uint64_t count = number(counted, 0, counter);
  if (count > file_bytes_) return;
  end_ = at + counter + count * entry_bytes + word_;
  const std::string bytes = read(at + counter, count * entry_bytes);
  for (std::size_t n = 0; n < bytes.size(); n += entry_bytes)
    entries_.try_emplace(static_cast<std::uint16_t>(number(bytes, n, 2)),
                         Entry{static_cast<std::uint16_t>(number(bytes, n + 2, 2)), number(bytes, n + 4, word_),
                               at + counter + n + 4 + word_});
}

std::optional<std::vector<std::uint64_t>> TiffDirectory::numbers(std::uint16_t tag) {
  const auto found = entries_.find(tag);
  if (found == entries_.end()) return {};
  const auto& [type, count, at] = found->second;
  const std::size_t size = bytes_of_type(type);
  if (size == 0 || count > file_bytes_) return {};
  const std::string bytes = value_of(found->second, size);
  if (bytes.size() != count * size) return {};
  std::vector<std::uint64_t> numbers;
  for (std::size_t n = 0; n < bytes.size(); n += size) numbers.push_back(number(bytes, n, size));
  return numbers;
}

std::uint64_t TiffDirectory::next() {
  return end_ < word_ ? 0 : number(read(end_ - word_, word_), 0, word_);
}

std::optional<std::string> TiffDirectory::text(std::uint16_t tag) {
  constexpr std::uint16_t ascii = 2;
  const auto found = entries_.find(tag);
  if (found == entries_.end() || found->second.type != ascii) return {};
  std::string bytes = value_of(found->second, 1);
  if (bytes.size() != found->second.count) return {};
  bytes.resize(std::min(bytes.find('\0'), bytes.size()));
  return bytes;
}

std::optional<double> TiffDirectory::ratio(std::uint16_t tag) {
  constexpr std::uint16_t rational = 5;
  constexpr std::size_t half = 4;
  const auto found = entries_.find(tag);
  if (found == entries_.end() || found->second.type != rational || found->second.count != 1) return {};
  const std::string bytes = value_of(found->second, 2 * half);
  if (bytes.size() != 2 * half) return {};
  const auto above = static_cast<double>(number(bytes, 0, half)),
             below = static_cast<double>(number(bytes, half, half));
  return below == 0 ? 0 : above / below;
}

// The bytes of its values, of so many each; empty if the file ends before.
std::string TiffDirectory::value_of(const Entry& entry, std::uint64_t value_bytes) {
  if (entry.count > file_bytes_) return {};
  const std::uint64_t bytes = entry.count * value_bytes;
  return read(bytes <= word_ ? entry.at : number(read(entry.at, word_), 0, word_), bytes);
}

// Empty if the file ends before.
std::string TiffDirectory::read(std::uint64_t at, std::uint64_t bytes) {
  if (at > file_bytes_ || bytes > file_bytes_ - at) return {};
  std::string text(bytes, '\0');
  in_.clear();
  in_.seekg(static_cast<std::streamoff>(at));
  return in_.read(text.data(), static_cast<std::streamsize>(bytes)) ? text : std::string{};
}

std::uint64_t TiffDirectory::number(const std::string& bytes, std::size_t at, std::size_t count) const {
  std::uint64_t value = 0;
  for (std::size_t n = 0; n < count && at + count <= bytes.size(); ++n)
    value = value * 256 + static_cast<unsigned char>(bytes[at + (msb_first_ ? n : count - 1 - n)]);
  return value;
}

}  // namespace halocline

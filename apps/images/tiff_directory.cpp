#include "apps/images/tiff_directory.hpp"

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
  const std::uint64_t place = count * size <= word_ ? at : number(read(at, word_), 0, word_);
  const std::string bytes = read(place, count * size);
  if (bytes.size() != count * size) return {};
  std::vector<std::uint64_t> numbers;
  for (std::size_t n = 0; n < bytes.size(); n += size) numbers.push_back(number(bytes, n, size));
  return numbers;
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

#include "apps/io/itk_truncation.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <vector>

#include "apps/io/itk_nifti_header.hpp"
#include "host/error.hpp"
#include "host/interrupt.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

// A value at an offset of a header, in the given byte order.
template <typename T>
T value_at(const std::vector<unsigned char>& bytes, std::size_t offset, bool swap) {
  unsigned char one[sizeof(T)];
  std::memcpy(one, bytes.data() + offset, sizeof(T));
  if (swap) std::reverse(one, one + sizeof(T));
  T value;
  std::memcpy(&value, one, sizeof(T));
  return value;
}

using GzFile = std::unique_ptr<gzFile_s, int (*)(gzFile)>;

GzFile gz_open(const std::string& path) {
  return {gzopen(path.c_str(), "rb"), gzclose};
}

// Bytes of a file after unpacking. Throws InputError if a gzip stream is broken. Plain files are not read.
std::uint64_t unpacked_bytes(const std::string& path) {
  const GzFile file = gz_open(path);
  if (!file) return 0;
  std::vector<char> buffer(std::size_t{1} << 20);
  std::uint64_t bytes = 0;
  while (true) {
    check_interrupt();
    const int got = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()));
    if (gzdirect(file.get()) != 0) return fs::file_size(path);
    int code = Z_OK;
    gzerror(file.get(), &code);  // also tells of an end that came too early
    if (got < 0 || code != Z_OK)
      throw InputError(
          fmt::format("'{}' is truncated or damaged: its gzip stream breaks after {} unpacked bytes", path, bytes));
    if (got == 0) break;
    bytes += static_cast<std::uint64_t>(got);
  }
  return bytes;
}

}  // namespace

void require_whole_nifti(const std::string& path) {
  const auto [header_path, data_path] = nifti_files(path);
  const auto header = read_nifti_header(header_path);
  if (!header) return;
  std::uint64_t count = 1;
  const auto dims = std::clamp<std::int64_t>(header->dim[0], 0, 7);
  for (std::int64_t axis = 1; axis <= dims; ++axis) {
    const auto size =
        static_cast<std::uint64_t>(std::max<std::int64_t>(header->dim[static_cast<std::size_t>(axis)], 1));
    if (count <= (std::uint64_t{1} << 50) / size) count *= size;
  }
  const auto offset = header->vox_offset > 0 ? static_cast<std::uint64_t>(std::min(header->vox_offset, 1e15)) : 0;
  const std::uint64_t expected = count * (header->voxel_bits / 8), all = unpacked_bytes(data_path);
  const std::uint64_t found = all - std::min(all, offset);
  if (found < expected)
    throw InputError(
        fmt::format("'{}' is truncated: found {} bytes of voxels, expected {}", data_path, found, expected));
}

void require_whole_tiff(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::uint64_t size = fs::file_size(path);
  const auto read = [&](std::uint64_t offset, std::size_t count) {
    std::vector<unsigned char> bytes(count);
    in.seekg(static_cast<std::streamoff>(offset));
    in.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count));
    return bytes;
  };
  if (size < 16) return;
  const auto head = read(0, 16);
  const bool little = head[0] == 'I' && head[1] == 'I', msb = head[0] == 'M' && head[1] == 'M';
  if (!little && !msb) return;
  const bool swap = msb != (std::endian::native == std::endian::big);
  const auto magic = value_at<std::uint16_t>(head, 2, swap);
  if (magic != 42 && magic != 43) return;
  const bool big = magic == 43;
  // a page's directory: number of entries, entries of 12 or 20 bytes, offset of the next page or 0
  const std::size_t word = big ? 8 : 4, counter = big ? 8 : 2, entry = big ? 20 : 12;
  const auto offset_in = [&](const std::vector<unsigned char>& bytes, std::size_t at) -> std::uint64_t {
    return big ? value_at<std::uint64_t>(bytes, at, swap) : value_at<std::uint32_t>(bytes, at, swap);
  };
  std::uint64_t next = offset_in(head, big ? 8 : 4);
  std::set<std::uint64_t> seen;
  for (std::size_t page = 0; next != 0 && seen.insert(next).second; ++page) {
    const auto beyond = [&](std::uint64_t end) {
      throw InputError(fmt::format("'{}' is truncated: page {} is described up to byte {}, but the file has {}", path,
                                   page + 1, end, size));
    };
    if (next > size || size - next < counter) beyond(next + counter);
    const auto bytes = read(next, counter);
    const std::uint64_t entries =
        big ? value_at<std::uint64_t>(bytes, 0, swap) : value_at<std::uint16_t>(bytes, 0, swap);
    if (entries > 1000000) beyond(next + counter + 1000000 * entry);
    const std::uint64_t end = next + counter + entries * entry;
    if (end + word > size) beyond(end + word);
    next = offset_in(read(end, word), 0);
  }
}

void require_whole_dicom(const std::string& path) {
  const std::uint64_t size = fs::file_size(path);
  std::string bytes(std::min<std::uint64_t>(size, std::uint64_t{1} << 24), '\0');
  std::ifstream(path, std::ios::binary).read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  const std::string tag("\xe0\x7f\x10\x00", 4);
  // an icon may have pixel data of its own before those of the image
  for (std::size_t at = bytes.find(tag); at != std::string::npos; at = bytes.find(tag, at)) {
    const std::string type = bytes.substr(at + 4, 2);
    const std::size_t start = at + (type == "OW" || type == "OB" ? 12 : 8);  // explicit or implicit type
    if (start > bytes.size()) return;
    std::uint64_t length = 0;
    for (std::size_t n = 4; n > 0; --n) length = length * 256 + static_cast<unsigned char>(bytes[start - 5 + n]);
    if (length == 0xffffffff) return;  // compressed: its decoder notices
    if (start + length > size)
      throw InputError(
          fmt::format("'{}' is truncated: found {} bytes of pixel data, expected {}", path, size - start, length));
    at = static_cast<std::size_t>(std::min<std::uint64_t>(start + length, bytes.size()));
  }
}

}  // namespace halocline

#include "apps/images/itk_truncation.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <vector>

#include "apps/images/nifti_header.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

using OpenGz = std::unique_ptr<gzFile_s, int (*)(gzFile)>;

OpenGz gz_open(const std::string& path) {
  return {gzopen(path.c_str(), "rb"), gzclose};
}

// Bytes of a file after unpacking. Throws InputError if a gzip stream is broken. Plain files are not read.
std::uint64_t unpacked_bytes(const std::string& path) {
  const OpenGz file = gz_open(path);
  if (!file) return 0;
  std::vector<char> buffer(std::size_t{1} << 20);
  std::uint64_t bytes = 0;
  while (true) {
    check_interrupt();
    const int got = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()));
    if (gzdirect(file.get()) != 0) return fs::file_size(path);
    int code = Z_OK;
    gzerror(file.get(), &code);  // also reports an end that came too early
    if (got < 0 || code != Z_OK)
      throw InputError(
          fmt::format("'{}' is truncated or damaged: its gzip stream breaks off; copy or make it again", path));
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
    if (count > (std::uint64_t{1} << 50) / size) return;  // check_nifti_header() refuses it
    count *= size;
  }
  const auto offset = header->vox_offset > 0 ? static_cast<std::uint64_t>(std::min(header->vox_offset, 1e15)) : 0;
  const std::uint64_t expected = count * (header->voxel_bits / 8), all = unpacked_bytes(data_path);
  const std::uint64_t found = all - std::min(all, offset);
  if (found < expected)
    throw InputError(
        fmt::format("'{}' is truncated: found {} bytes of voxels, expected {}", data_path, found, expected));
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

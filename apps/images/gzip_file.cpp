#include "apps/images/gzip_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

constexpr std::uint64_t unpacked_piece = std::uint64_t{4} << 20;

using OpenGz = std::unique_ptr<gzFile_s, int (*)(gzFile)>;

OpenGz open_at(const std::string& file, std::uint64_t offset) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  OpenGz opened(nullptr, gzclose);
  if (descriptor >= 0 && ::lseek(descriptor, static_cast<off_t>(offset), SEEK_SET) >= 0)
    opened.reset(gzdopen(descriptor, "rb"));
  if (!opened && descriptor >= 0) ::close(descriptor);
  if (!opened) throw FileError(fmt::format("reading '{}' failed: the disk or the file changed meanwhile", file));
  gzbuffer(opened.get(), 1 << 18);
  return opened;
}

}  // namespace

void read_gzipped(const std::string& file, std::uint64_t offset, std::uint64_t skip, char* to, std::uint64_t bytes) {
  const OpenGz in = open_at(file, offset);
  std::vector<char> skipped(static_cast<std::size_t>(std::min(skip, unpacked_piece)));
  for (std::uint64_t at = 0; at < skip + bytes;) {
    check_interrupt();
    const bool before = at < skip;
    const std::uint64_t now = std::min(unpacked_piece, before ? skip - at : skip + bytes - at);
    const int got = gzread(in.get(), before ? skipped.data() : to + (at - skip), static_cast<unsigned>(now));
    int code = Z_OK;
    gzerror(in.get(), &code);
    if (code == Z_MEM_ERROR) throw std::bad_alloc();
    if (got < 0 || code != Z_OK)
      throw InputError(
          fmt::format("'{}' is truncated or damaged: its gzip stream breaks off; copy or make it again", file));
    if (got == 0)
      throw InputError(fmt::format("'{}' is truncated: found {} bytes of voxels, expected {}", file,
                                   at - std::min(at, skip), bytes));
    at += static_cast<std::uint64_t>(got);
  }
  // the checksum stands behind the last byte
  char more = 0;
  int code = Z_OK;
  if (gzread(in.get(), &more, 1) < 0 || (gzerror(in.get(), &code), code != Z_OK && code != Z_BUF_ERROR))
    throw InputError(fmt::format("'{}' is damaged: its gzip stream has a wrong checksum", file));
}

}  // namespace halocline

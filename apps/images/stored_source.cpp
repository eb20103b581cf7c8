#include "apps/images/stored_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <numeric>
#include <optional>
#include <utility>

#include "apps/images/allocate_volume.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

// A file that is read from any place by several threads.
class InputFile {
 public:
  explicit InputFile(const std::string& path) : path_(path), descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~InputFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  void read(std::uint64_t offset, char* to, std::size_t bytes) const {
    while (bytes > 0) {
      const ssize_t got = ::pread(descriptor_, to, bytes, static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) throw FileError(fmt::format("reading '{}' failed: the disk or the file changed meanwhile", path_));
      to += got;
      offset += static_cast<std::uint64_t>(got);
      bytes -= static_cast<std::size_t>(got);
    }
  }

 private:
  std::string path_;
  int descriptor_;
};

class StoredSource : public VolumeSource {
 public:
  explicit StoredSource(StoredVoxels voxels) : voxels_(std::move(voxels)) {
    for (const StoredPart& part : voxels_.parts) ends_.push_back((ends_.empty() ? 0 : ends_.back()) + part.bytes);
    const std::string& first = voxels_.parts.front().file;
    if (std::ranges::all_of(voxels_.parts, [&](const StoredPart& part) { return part.file == first; }))
      file_.emplace(first);
  }
  const Grid& grid() const override { return voxels_.grid; }

  void read(std::size_t first, std::size_t count, float* to) const override {
    const auto component = voxels_.storage.component;
    const std::size_t bytes = component_bytes(component);
    // what needs no conversion, or one that keeps the size, is read into its place
    UninitialisedVector<char> buffer(bytes == sizeof(float) ? 0 : std::min(count, voxels_in_a_piece) * bytes);
    for (std::size_t done = 0; done < count; done += voxels_in_a_piece) {
      check_interrupt();
      const std::size_t now = std::min(voxels_in_a_piece, count - done);
      char* raw = buffer.empty() ? reinterpret_cast<char*>(to + done) : buffer.data();
      read_bytes(std::uint64_t{first + done} * bytes, raw, now * bytes);
      convert_to_float(component, raw, voxels_.swapped && bytes > 1, to + done, now, voxels_.storage.scaling);
    }
  }

  void read_bytes(std::uint64_t at, char* to, std::size_t bytes) const {
    auto n = static_cast<std::size_t>(std::upper_bound(ends_.begin(), ends_.end(), at) - ends_.begin());
    for (; bytes > 0; ++n) {
      const StoredPart& part = voxels_.parts[n];
      const std::uint64_t within = part.bytes - (ends_[n] - at);
      const auto now = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, ends_[n] - at));
      file_ ? file_->read(part.offset + within, to, now) : InputFile(part.file).read(part.offset + within, to, now);
      at += now;
      to += now;
      bytes -= now;
    }
  }

 private:
  StoredVoxels voxels_;
  std::vector<std::uint64_t> ends_;  // of each part, in bytes of voxels
  std::optional<InputFile> file_;    // of all parts; files of one part each are opened where they are read
};

void require_bytes(const StoredPart& part) {
  check_input_file(part.file, fmt::format("'{}'", part.file));
  const std::uint64_t size = std::filesystem::file_size(part.file), found = size - std::min(size, part.offset);
  if (found < part.bytes)
    throw InputError(
        fmt::format("'{}' is truncated: found {} bytes of voxels, expected {}", part.file, found, part.bytes));
}

void require_parts(const StoredVoxels& voxels) {
  const StoredPart* last = nullptr;  // strips of a file follow each other
  for (const StoredPart& part : voxels.parts) {
    if (last != nullptr && last->file == part.file && part.offset + part.bytes <= last->offset + last->bytes) continue;
    require_bytes(part);
    last = &part;
  }
}

}  // namespace

std::unique_ptr<VolumeSource> open_stored_voxels(StoredVoxels voxels) {
  require_parts(voxels);
  return std::make_unique<StoredSource>(std::move(voxels));
}

TypedVolume read_stored_voxels(const StoredVoxels& voxels, const std::string& path) {
  require_parts(voxels);
  TypedVolume volume = allocate_volume(voxels.grid, voxels.storage.component, path, voxels.storage.scaling);
  const StoredSource source(voxels);
  constexpr std::size_t piece = std::size_t{4} << 20;
  for (std::size_t at = 0; at < volume.byte_count(); at += piece) {
    check_interrupt();
    source.read_bytes(at, reinterpret_cast<char*>(volume.bytes()) + at, std::min(piece, volume.byte_count() - at));
  }
  if (voxels.swapped) swap_bytes(volume.component, volume.bytes(), volume.grid.count());
  return volume;
}

}  // namespace halocline

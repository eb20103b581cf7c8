#include "apps/images/meta_image.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "apps/images/allocate_volume.hpp"
#include "apps/images/atomic_file.hpp"
#include "apps/images/meta_compressed.hpp"
#include "apps/images/meta_header.hpp"
#include "apps/images/stored_source.hpp"
#include "host/system/error.hpp"
#include "host/system/input_file.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

namespace fs = std::filesystem;

bool swapped(const MetaHeader& header) {
  return header.msb != host_is_msb && component_bytes(header.storage.component) > 1;
}

std::string name_of_data(const std::string& path) {
  return fs::path(path).replace_extension(".raw").string();
}

bool has_own_header(const std::string& path) {
  const auto extension = fs::path(path).extension();
  return extension == ".mhd" || extension == ".MHD";
}

class MetaSink : public ImageSink {
 public:
  MetaSink(std::string path, const Grid& grid, const ImageStorage& storage)
      : path_(std::move(path)), grid_(grid), storage_(storage) {
    require_room(path_, byte_count());
  }
  // Joins another process, which writes the header and renames the file.
  MetaSink(std::string path, const Grid& grid, const ImageStorage& storage, const std::string& temporary)
      : path_(std::move(path)), grid_(grid), storage_(storage), joined_(true) {
    const bool apart = has_own_header(path_);
    data_.emplace(apart ? name_of_data(path_) : path_, TemporaryFile::Begun{temporary});
    offset_ = apart ? 0 : header_text().size();
  }
  const Grid& grid() const override { return grid_; }
  std::size_t changed() const override { return changed_; }

  void reserve() override {
    if (data_) return;
    const bool apart = has_own_header(path_);
    const std::string text = header_text();
    data_.emplace(apart ? name_of_data(path_) : path_);
    if (apart) header_.emplace(path_);
    offset_ = apart ? 0 : text.size();
    data_->reserve(offset_ + byte_count());
    (apart ? *header_ : *data_).write_at(0, text.data(), text.size());
  }

  // Again: into the same files, all of whose voxels are then written again.
  void begin() override {
    reserve();
    changed_ = written_ = 0;
  }

  void write(std::size_t first, std::size_t count, float* from) override {
    const std::size_t bytes = component_bytes(storage_.component);
    written_ += count;
    for (std::size_t done = 0; done < count; done += voxels_in_a_piece) {
      check_interrupt();
      const std::size_t now = std::min(voxels_in_a_piece, count - done);
      const std::uint64_t at = offset_ + (first + done) * bytes;
      if (storage_.component == Component::float32 && storage_.scaling.identity()) {
        data_->write_at(at, reinterpret_cast<const char*>(from + done), now * bytes);
        continue;
      }
      UninitialisedVector<char> stored(now * bytes);
      changed_ += convert_from_float(storage_.component, from + done, stored.data(), now, storage_.scaling);
      data_->write_at(at, stored.data(), now * bytes);
    }
  }

  std::string temporary_path() const override { return data_ ? data_->temporary_path() : std::string(); }

  Part end_part() override {
    data_->sync();
    return {written_, changed_};
  }

  void add(const Part& of_another) override {
    written_ += of_another.written;
    changed_ += of_another.changed;
  }

  void commit() override {
    if (joined_) return data_->leave();
    if (written_ != grid_.count())
      throw std::logic_error(
          fmt::format("{} of {} voxels of '{}' were written", written_.load(), grid_.count(), path_));
    data_->sync();  // both are whole on the disk before either is renamed
    if (header_) header_->sync();
    data_->commit();
    if (header_) header_->commit();
  }

 private:
  std::string header_text() const {
    return meta_header_text(grid_, storage_,
                            has_own_header(path_) ? fs::path(name_of_data(path_)).filename().string() : "LOCAL");
  }
  std::uint64_t byte_count() const { return std::uint64_t{grid_.count()} * component_bytes(storage_.component); }

  std::string path_;
  Grid grid_;
  ImageStorage storage_;
  std::optional<TemporaryFile> data_, header_;  // header_: if it is a file of its own
  bool joined_ = false;
  std::uint64_t offset_ = 0;
  std::atomic<std::size_t> changed_{0}, written_{0};
};

}  // namespace

ImageInfo read_meta_image_info(const std::string& path) {
  const MetaHeader header = read_meta_header(path);
  return {header.grid, component_name(header.storage.component), "MetaImage", header.storage.scaling};
}

std::string meta_image_data_path(const std::string& path) {
  return read_meta_header(path).data_path;
}

std::unique_ptr<VolumeSource> open_meta_image(const std::string& path) {
  const MetaHeader header = read_meta_header(path);
  std::error_code code;
  if (!header.local && fs::status(header.data_path, code).type() == fs::file_type::not_found)
    throw InputError(fmt::format("MetaImage '{}': its data file '{}' is missing; keep the two files together", path,
                                 header.data_path));
  check_input_file(header.data_path, fmt::format("MetaImage '{}': its data file '{}'", path, header.data_path));
  const std::uint64_t file_bytes = fs::file_size(header.data_path);
  const std::string type = component_name(header.storage.component);
  const std::uint64_t expected = std::uint64_t{header.grid.count()} * component_bytes(header.storage.component);
  const std::string what = fmt::format("{} of {}", fmt::join(header.grid.size, " x "), type);
  std::uint64_t offset = header.data_offset;
  if (header.header_size > 0) offset = static_cast<std::uint64_t>(header.header_size);
  if (header.header_size == -1 && !header.compressed) {
    if (file_bytes < header.data_offset + expected)
      throw InputError(fmt::format("'{}' is truncated: found {} bytes of voxels, expected {} ({})", header.data_path,
                                   file_bytes - std::min(file_bytes, header.data_offset), expected, what));
    offset = file_bytes - expected;
  }
  const std::uint64_t found = file_bytes - std::min(file_bytes, offset);

  if (!header.compressed) {
    if (found < expected)
      throw InputError(fmt::format("'{}' is truncated: found {} bytes of voxels, expected {} ({})", header.data_path,
                                   found, expected, what));
    if (found > expected && header.header_size == 0)
      throw InputError(
          fmt::format("'{}' is too long: found {} bytes of voxels, expected {} ({}); correct DimSize or "
                      "ElementType, or give the HeaderSize (-1: the voxels are the last bytes)",
                      header.data_path, found, expected, what));
    return open_stored_voxels({header.grid, header.storage, swapped(header), {{header.data_path, offset, expected}}});
  }

  const std::uint64_t compressed = header.compressed_bytes.value_or(found);
  if (compressed > found)
    throw InputError(
        fmt::format("'{}' is truncated: found {} bytes of compressed data, expected {} (CompressedDataSize)",
                    header.data_path, found, compressed));
  // deflate cannot gain more than a factor of 1032: refuse an absurd DimSize before memory is asked for
  if (expected / 1040 > compressed + 64)
    throw InputError(
        fmt::format("'{}' is truncated or its header is wrong: {} bytes of compressed data cannot hold {} bytes "
                    "({})",
                    header.data_path, compressed, expected, what));
  TypedVolume volume = allocate_volume(header.grid, header.storage.component, path, header.storage.scaling);
  std::ifstream in(header.data_path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(offset));
  read_inflated(in, compressed, header.data_path, reinterpret_cast<char*>(volume.bytes()), volume.byte_count());
  if (swapped(header)) swap_bytes(volume.component, volume.bytes(), volume.grid.count());
  return std::make_unique<TypedSource>(std::move(volume));
}

std::unique_ptr<ImageSink> create_meta_image(const std::string& path, const Grid& grid, const ImageStorage& storage) {
  return std::make_unique<MetaSink>(path, grid, storage);
}

std::unique_ptr<ImageSink> join_meta_image(const std::string& path, const Grid& grid, const ImageStorage& storage,
                                           const std::string& temporary) {
  return std::make_unique<MetaSink>(path, grid, storage, temporary);
}

}  // namespace halocline

// Series of image files of one slice or projection each, in any of the formats of files.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "apps/images/image_format.hpp"
#include "apps/images/image_series.hpp"
#include "apps/images/new_warning.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

// ITK's own series reader wants all slices in memory at once. Slices that were read in part are kept for a while,
// because the pieces that runs ask for do not end where slices do.
class SeriesSource : public VolumeSource {
 public:
  SeriesSource(std::vector<std::string> files, const Grid& grid) : files_(std::move(files)), grid_(grid) {}
  const Grid& grid() const override { return grid_; }

  void read(std::size_t first, std::size_t count, float* to) const override {
    const std::size_t pixels = grid_.slice();
    while (count > 0) {
      const std::size_t n = first / pixels, from = first % pixels, part = std::min(count, pixels - from);
      if (part == pixels)
        load(n, to);
      else
        copy_kept(n, from, part, to);
      first += part;
      count -= part;
      to += part;
    }
  }

 private:
  // A file at a time: not all of ITK's readers may be used by several threads. The conversion needs no lock.
  void load(std::size_t n, float* to) const {
    check_interrupt();
    std::unique_ptr<VolumeSource> slice;
    {
      const std::lock_guard lock(reading_);
      slice = file_format(files_[n]).open(files_[n]);
    }
    if (slice->grid().count() != grid_.slice())
      throw InputError(fmt::format("'{}' was changed while it was read", files_[n]));
    slice->read(0, grid_.slice(), to);
  }
  void copy_kept(std::size_t n, std::size_t from, std::size_t count, float* to) const {
    const std::lock_guard lock(keeping_);
    auto at = std::find_if(kept_.begin(), kept_.end(), [&](const auto& kept) { return kept.first == n; });
    if (at == kept_.end()) {
      Voxels slice(grid_.slice());
      load(n, slice.data());
      at = kept_.emplace(kept_.end(), n, std::move(slice));
    }
    kept_.splice(kept_.begin(), kept_, at);  // the latest first
    if (kept_.size() > 8) kept_.pop_back();
    std::copy_n(kept_.front().second.begin() + static_cast<std::ptrdiff_t>(from), count, to);
  }

  std::vector<std::string> files_;
  Grid grid_;
  mutable std::mutex reading_, keeping_;
  mutable std::list<std::pair<std::size_t, Voxels>> kept_;
};

std::vector<std::string> slices_of(const std::string& path) {
  auto files = series_files(path);
  return files.empty() ? tiff_files(path) : files;
}

// Grid and type of the stack. The rest of the grid is that of the first file, the third spacing too, unless the files
// say their places, whose order they get then.
ImageInfo info_of_slices(std::vector<std::string>& files, const std::string& name) {
  const ImageFormat& format = file_format(files.front());
  if (const auto placed = format.place_slices(files, name)) return *placed;
  ImageInfo info = format.info(files.front());
  const Grid first = info.grid;
  for (const auto& file : files) {
    check_interrupt();
    const ImageInfo own = file_format(file).info(file);
    require_same_images(own.grid, file, first, files.front(), name);
    if (own.component != info.component && is_new_warning("type of " + name))
      spdlog::warn("'{}' of the series '{}' holds {}, but '{}' holds {}; the values of both are taken as they are",
                   file, name, own.component, files.front(), info.component);
  }
  format.require_one_kind(files, name);
  info.grid.size[2] = files.size();
  info.format += " series";
  check_grid(info.grid, "'" + name + "'");
  return info;
}

class SeriesFormat : public ImageReader {
 public:
  // A folder whose files are one volume by themselves is no series.
  bool reads(const std::string& path) const override {
    const auto reads_folder = [&](const ImageFormat* format) { return format->reads_folder(path); };
    return !slices_of(path).empty() && std::ranges::none_of(file_formats(), reads_folder);
  }
  ImageInfo info(const std::string& path) const override {
    auto files = slices_of(path);
    return info_of_slices(files, path);
  }
  std::unique_ptr<VolumeSource> open(const std::string& path) const override {
    auto files = slices_of(path);
    const Grid grid = info_of_slices(files, path).grid;
    return std::make_unique<SeriesSource>(std::move(files), grid);
  }
  bool is_read_in_pieces(const std::string&) const override { return true; }
};

}  // namespace

const ImageReader& series_format() {
  static const SeriesFormat format;
  return format;
}

}  // namespace halocline

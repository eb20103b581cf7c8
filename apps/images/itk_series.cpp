#include "apps/images/itk_series.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "apps/images/float_range.hpp"
#include "apps/images/image_series.hpp"
#include "apps/images/itk_dicom.hpp"
#include "apps/images/itk_image.hpp"
#include "apps/images/new_warning.hpp"
#include "apps/images/tiff_image.hpp"
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
    TypedVolume slice;
    {
      const std::lock_guard lock(reading_);
      slice = read_itk_typed(files_[n]);
    }
    require_float_range(slice, files_[n]);
    if (slice.grid.count() != grid_.slice())
      throw InputError(fmt::format("'{}' was changed while it was read", files_[n]));
    TypedSource(std::move(slice)).read(0, grid_.slice(), to);
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

std::optional<TiffKind> tiff_kind_of(const std::string& file) {
  return is_tiff_file(file) ? std::optional(read_tiff_kind(file)) : std::nullopt;
}

}  // namespace

void require_same_itk_kind(const std::string& file, const std::string& first, const std::string& name) {
  const auto kind = tiff_kind_of(file), expected = tiff_kind_of(first);
  if (kind && expected) require_same_tiff_kind(*kind, file, *expected, first, name);
  require_dicom_rescales({first, file}, fmt::format("the DICOM series '{}'", name));
}

ImageInfo read_itk_series_info(const std::vector<std::string>& files, const std::string& name) {
  if (have_dicom_places(files)) return read_dicom_info(files, name);
  ImageInfo info = read_itk_image_info(files.front());
  const Grid first = info.grid;
  const auto first_tiff = tiff_kind_of(files.front());
  for (const auto& file : files) {
    check_interrupt();
    const ImageInfo own = read_itk_image_info(file);
    require_same_images(own.grid, file, first, files.front(), name);
    if (own.component != info.component && is_new_warning("type of " + name))
      spdlog::warn("'{}' of the series '{}' holds {}, but '{}' holds {}; the values of both are taken as they are",
                   file, name, own.component, files.front(), info.component);
    if (const auto tiff = tiff_kind_of(file); tiff && first_tiff)
      require_same_tiff_kind(*tiff, file, *first_tiff, files.front(), name);
  }
  require_dicom_rescales(files, fmt::format("the DICOM series '{}'", name));
  info.grid.size[2] = files.size();
  info.format += " series";
  check_grid(info.grid, "'" + name + "'");
  return info;
}

std::unique_ptr<VolumeSource> open_itk_series(std::vector<std::string> files, const std::string& name) {
  if (have_dicom_places(files)) files = dicom_files_in_order(files, name);
  const Grid grid = read_itk_series_info(files, name).grid;
  return std::make_unique<SeriesSource>(std::move(files), grid);
}

}  // namespace halocline

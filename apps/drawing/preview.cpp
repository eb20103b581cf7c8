#include "apps/drawing/preview.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/volume/cutout.hpp"

namespace halocline {
namespace {

struct GreyWindow {
  double low, high;

  std::uint8_t grey(double value) const {
    const double part = (value - low) / (high - low);
    if (!(part > 0)) return 0;  // NaN too
    return static_cast<std::uint8_t>(std::lround(255 * std::min(part, 1.0)));
  }
};

constexpr std::size_t most_samples = 1000000;

// At most about a million values, evenly spread.
std::vector<float> samples_of(const VolumeSource& volume) {
  constexpr std::size_t far_apart = 4096;  // voxels: what lies between is not read
  const std::size_t count = volume.grid().count(), step = std::max<std::size_t>(1, count / most_samples);
  std::vector<float> values;
  values.reserve(count / step + 1);
  Voxels piece(step < far_apart ? std::min(count, voxels_in_a_piece / step * step) : 1);
  for (std::size_t first = 0; first < count; first += std::max(step, piece.size())) {
    check_interrupt();
    const std::size_t now = std::min(piece.size(), count - first);
    volume.read(first, now, piece.data());
    for (std::size_t n = 0; n < now; n += step)
      if (std::isfinite(piece[n])) values.push_back(piece[n]);
  }
  return values;
}

// The percentiles are robust against single hot voxels.
GreyWindow robust_window(const VolumeSource& volume) {
  std::vector<float> values = samples_of(volume);
  if (values.empty()) return {0, 1};
  const auto percentile = [&](double part) -> double {
    const auto at = static_cast<std::ptrdiff_t>(std::lround(part * static_cast<double>(values.size() - 1)));
    std::nth_element(values.begin(), values.begin() + at, values.end());
    return values[static_cast<std::size_t>(at)];
  };
  GreyWindow window{percentile(0.005), percentile(0.995)};
  if (!(window.high > window.low)) {
    // an object of less than half a percent of the volume; else all is the same, which is shown as mid-grey
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    window = {*least, *most};
    if (!(window.high > window.low)) {
      const double margin = std::max(1.0, std::abs(window.low));
      window = {window.low - margin, window.low + margin};
    }
  }
  return window;
}

Cutout slice_across(const Grid& grid, int axis, std::size_t at) {
  Cutout part{{0, 0, 0}, grid.size};
  part.first[axis] = at;
  part.size[axis] = 1;
  return part;
}

// One slice as a function of its own two indices.
struct Slice {
  Volume volume;
  int columns, rows;  // index axes

  Slice(const VolumeSource& from, int axis, std::size_t at)
      : volume(cut_out(from, slice_across(from.grid(), axis, at))),
        columns(axis == 0 ? 1 : 0),
        rows(axis == 2 ? 1 : 2) {}
  std::size_t width() const { return volume.grid.size[columns]; }
  std::size_t height() const { return volume.grid.size[rows]; }
  double at(std::size_t column, std::size_t row) const {
    std::array<std::size_t, 3> index{};
    index[columns] = column;
    index[rows] = row;
    return volume.at(index[0], index[1], index[2]);
  }
  // Linear between voxel centres, constant beyond the outermost ones.
  double at_fraction(double column, double row) const {
    const auto split = [](double at, std::size_t size) {
      const double clamped = std::clamp(at, 0.0, static_cast<double>(size - 1));
      const auto low = std::min(static_cast<std::size_t>(clamped), size - 1);
      return std::pair{low, clamped - static_cast<double>(low)};
    };
    const auto [i, a] = split(column, width());
    const auto [j, b] = split(row, height());
    const std::size_t i1 = std::min(i + 1, width() - 1), j1 = std::min(j + 1, height() - 1);
    return (1 - b) * ((1 - a) * at(i, j) + a * at(i1, j)) + b * ((1 - a) * at(i, j1) + a * at(i1, j1));
  }
};

GreyImage render_slice(const Slice& slice, const GreyWindow& window) {
  GreyImage image{slice.width(), slice.height(), {}};
  image.pixels.reserve(image.width * image.height);
  for (std::size_t row = 0; row < image.height; ++row)
    for (std::size_t column = 0; column < image.width; ++column)
      image.pixels.push_back(window.grey(slice.at(column, row)));
  return image;
}

GreyImage render_montage(const VolumeSource& volume, const GreyWindow& window) {
  constexpr double limit = 4096;
  constexpr std::size_t gap = 2;
  const Grid& grid = volume.grid();
  std::array<double, 3> extent{};
  for (int a = 0; a < 3; ++a) extent[a] = static_cast<double>(grid.size[a]) * grid.spacing[a];
  const double wide = 2 * extent[0] + extent[1], high = std::max(extent[1], extent[2]);
  const double finest = *std::min_element(grid.spacing.begin(), grid.spacing.end());
  const double pixel = std::max({finest, wide / (limit - 2 * gap), high / limit});
  const auto pixels = [&](int axis) {
    return std::max<std::size_t>(1, static_cast<std::size_t>(std::floor(extent[axis] / pixel + 1e-6)));
  };
  GreyImage image;
  image.width = 2 * pixels(0) + pixels(1) + 2 * gap;
  image.height = std::max(pixels(1), pixels(2));
  image.pixels.assign(image.width * image.height, 0);
  std::size_t left = 0;
  for (const int axis : {2, 1, 0}) {
    const Slice slice(volume, axis, grid.size[axis] / 2);
    const std::size_t width = pixels(slice.columns), height = pixels(slice.rows);
    // pixel n covers the same part of the extent as the voxel at (n + 1/2) extent / pixels / spacing - 1/2
    const auto index = [&](std::size_t n, std::size_t count, int a) {
      return (static_cast<double>(n) + 0.5) * static_cast<double>(grid.size[a]) / static_cast<double>(count) - 0.5;
    };
    for (std::size_t row = 0; row < height; ++row)
      for (std::size_t column = 0; column < width; ++column)
        image.pixels[left + column + image.width * row] =
            window.grey(slice.at_fraction(index(column, width, slice.columns), index(row, height, slice.rows)));
    left += width + gap;
  }
  return image;
}

}  // namespace

void require_png(const std::string& option, const std::string& path) {
  const auto extension = std::filesystem::path(path).extension();
  if (extension != ".png" && extension != ".PNG")
    throw InputError(fmt::format("{} '{}': pictures are PNG files; give a name that ends with .png", option, path));
}

double preview_bytes(const Grid& grid, const PreviewOptions& options) {
  double voxels = 0;
  for (int axis = 0; axis < 3; ++axis)
    if (options.montage || axis == options.axis - 'x')
      voxels += static_cast<double>(grid.count()) / static_cast<double>(grid.size[axis]);
  return sizeof(float) *
         (voxels + (options.window ? 0 : std::min<double>(static_cast<double>(grid.count()), 2 * most_samples)));
}

namespace {

// The slice that is shown; throws as render_preview() does.
std::size_t checked_slice(const Grid& grid, const PreviewOptions& options) {
  if (options.axis < 'x' || options.axis > 'z')
    throw InputError(fmt::format("preview: axis '{}'; expected x, y or z", options.axis));
  if (options.window && !((*options.window)[1] > (*options.window)[0]))
    throw InputError(fmt::format("preview: the window {},{} is empty; expected a lower and a higher value",
                                 (*options.window)[0], (*options.window)[1]));
  if (options.montage && options.slice)
    throw InputError("preview: the montage shows the middle slices; leave out either the slice or the montage");
  const std::size_t slices = grid.size[options.axis - 'x'], position = options.slice.value_or(slices / 2);
  if (position >= slices)
    throw InputError(fmt::format("preview: slice {} across {} does not exist; valid are 0 to {}", position,
                                 options.axis, slices - 1));
  return position;
}

}  // namespace

std::array<double, 2> preview_window(const VolumeSource& volume, const PreviewOptions& options) {
  const std::size_t position = checked_slice(volume.grid(), options);
  if (options.window) return *options.window;
  const GreyWindow window = options.slice
                                ? robust_window(MemorySource(Slice(volume, options.axis - 'x', position).volume))
                                : robust_window(volume);
  return {window.low, window.high};
}

GreyImage render_preview(const VolumeSource& volume, const PreviewOptions& options) {
  const std::size_t position = checked_slice(volume.grid(), options);
  const auto [low, high] = preview_window(volume, options);
  const GreyWindow window{low, high};
  return options.montage ? render_montage(volume, window)
                         : render_slice(Slice(volume, options.axis - 'x', position), window);
}

GreyImage side_by_side(const std::vector<GreyImage>& images) {
  constexpr std::size_t gap = 6;
  constexpr std::uint8_t white = 255;
  GreyImage all;
  for (const auto& image : images) {
    all.width += image.width + (all.width > 0 ? gap : 0);
    all.height = std::max(all.height, image.height);
  }
  all.pixels.assign(all.width * all.height, white);
  std::size_t left = 0;
  for (const auto& image : images) {
    for (std::size_t row = 0; row < image.height; ++row)
      std::copy_n(image.pixels.begin() + static_cast<std::ptrdiff_t>(row * image.width), image.width,
                  all.pixels.begin() + static_cast<std::ptrdiff_t>(left + row * all.width));
    left += image.width + gap;
  }
  return all;
}

GreyImage render_preview(const Volume& volume, const PreviewOptions& options) {
  return render_preview(MemorySource(volume), options);
}

}  // namespace halocline

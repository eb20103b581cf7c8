// Slices of a volume as grey images.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "apps/images/png.hpp"
#include "host/volume/volume.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

struct PreviewOptions {
  /// INDEX axis of the file to cut across: x, y, z are its axes 0, 1, 2, whatever way these point in the world.
  char axis = 'z';
  /// The slice; the middle one if not given.
  std::optional<std::size_t> slice;
  /// Values shown as black and white; if not given, the 0.5 and 99.5 percentiles of the slice if it is, else of the
  /// whole volume.
  std::optional<std::array<double, 2>> window;
  /// The three middle slices side by side (z, y, x), at the same physical scale.
  bool montage = false;
};

/// Throws InputError that names `option` unless `path` ends with .png.
void require_png(const std::string& option, const std::string& path);

/// The grey image of a slice. Index 0 is at the left and at the top; columns and rows run along the remaining axes in
/// order: cut across z they are x and y, across y they are x and z, across x they are y and z. A single slice has one
/// pixel a voxel; the montage has square pixels of the finest spacing (larger if it would exceed 4096 columns or rows),
/// linearly interpolated. Throws InputError for another axis, a slice out of range, an empty window, or a slice
/// together with the montage.
/// Only what is shown is read, and without a window and a slice some million voxels from all over the volume.
GreyImage render_preview(const VolumeSource& volume, const PreviewOptions& options);
GreyImage render_preview(const Volume& volume, const PreviewOptions& options);

/// The values that render_preview() shows as black and white. Throws as it does.
std::array<double, 2> preview_window(const VolumeSource& volume, const PreviewOptions& options);

/// One image of several, from left to right, their tops in line, with white between and below.
GreyImage side_by_side(const std::vector<GreyImage>& images);

/// Bytes of host memory that this takes, beside what `volume` itself does.
double preview_bytes(const Grid& grid, const PreviewOptions& options);

}  // namespace halocline

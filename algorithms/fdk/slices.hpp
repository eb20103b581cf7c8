// Quasi-3D reconstruction (Buurlage, Kohr, Palenstijn & Batenburg 2018): any slices, from filtered projections that
// remain on the device and are renewed while a scan is recorded.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/fdk/fdk.hpp"
#include "host/volume/volume_source.hpp"
#include "scheduling/slabs/device_slab.hpp"

namespace halocline {

/// A window of the last N views of a scan. They are uploaded and filtered once, and used for every slice: bitwise
/// identical to the volume that fdk() computes from the window's projections, where a slice is on a plane of its voxels
/// (exact interpolation).
class Slices {
 public:
  /// The first window; projections that reside on the device are read there. `volume`: the grid whose planes these are;
  /// any others are computed in its coordinates, too. most_pixels: of all slices of one call. parameters: no half
  /// precision; counts are float32, and their calibration, which is copied, is that of the window's views. Throws
  /// InputError as fdk() does and for a device that cannot interpolate in hardware, PlanError if the filtered
  /// projections do not fit the device's memory together.
  Slices(const Device& device, const VolumeSource& projections, const Geometry& geometry, const Grid& volume,
         const FdkParameters& parameters, std::size_t most_pixels);
  Slices(const Device& device, const Volume& projections, const Geometry& geometry, const Grid& volume,
         const FdkParameters& parameters, std::size_t most_pixels)
      : Slices(device, MemorySource(projections), geometry, volume, parameters, most_pixels) {}
  Slices(const Slices&) = delete;
  Slices& operator=(const Slices&) = delete;

  /// Adds views, at most N, in the order of the scan, in place of as many of the oldest. Full circles only (parallel
  /// beam: half circles): weights of a short scan belong to the place that a view has in its window. Throws InputError
  /// if the new window is none, or if the stacks differ but in the number of views. beams: for counts, those of the new
  /// views (CountsCalibration).
  void add(const VolumeSource& projections, const Geometry& geometry, const std::vector<float>& beams = {});
  void add(const Volume& projections, const Geometry& geometry, const std::vector<float>& beams = {}) {
    add(MemorySource(projections), geometry, beams);
  }

  /// One slice a grid, of one layer along any axis, in 1/mm, or the variance, 1/mm^2. Throws InputError for more pixels
  /// than there is room for, or more than most_slices.
  std::vector<Volume> reconstruct(std::span<const Grid> slices);
  /// The slices on the grids of these sinks. Those that reside on the device get them there.
  void reconstruct(std::span<VolumeSink* const> slices);
  /// Enqueues the slices without waiting, for benchmarks.
  void enqueue(std::span<const Grid> slices);

  /// The window, from the oldest view on.
  const Geometry& window() const { return window_; }
  DeviceSlab& slab() { return *slab_; }

  static constexpr std::size_t most_slices = 64;

 private:
  void keep(const FdkFilter& filter, const VolumeSource& projections, std::size_t first);
  void set_views(const FdkFilter& filter, std::size_t first);
  std::size_t slot(std::size_t view) const { return (oldest_ + view) % window_.views.size(); }
  void load(std::span<const Grid> slices);

  Geometry window_;
  Grid stack_, volume_;
  CountsCalibration calibration_;  // of counts in the window
  FdkParameters parameters_;
  FdkFilter filter_;  // of the first window
  std::size_t most_pixels_;
  std::string options_;          // of the kernels
  float correlation_ = 0;        // of neighbours in a row, for the variance
  bool k_invariant_ = false;     // U and W do not depend on k in any view
  std::size_t oldest_ = 0;       // its slot
  std::vector<double> gaps_;     // a slot: the angular gap that its view was weighted with
  std::vector<float> matrices_;  // a slot
  std::vector<Grid> loaded_;     // slices whose planes the device knows
  std::array<std::size_t, 3> items_{};
  int batch_ = 1;
  std::unique_ptr<DeviceSlab> slab_;
};

/// Plan of the first window. Throws InputError as Slices() does for the scan, and PlanError.
Plan plan_slices(const Geometry& geometry, const Grid& projections, const Grid& volume, const FdkParameters& parameters,
                 std::size_t most_pixels, const DeviceModel& model);

/// The part of a scan.
Geometry views_of(const Geometry& geometry, Range views);

/// The windows of `window_views` views, `step` apart. Throws InputError that names them unless 1 <= step <=
/// window_views <= the number of views there are.
std::vector<Range> windows_of(std::size_t views, std::size_t window_views, std::size_t step);

/// Throws InputError unless every window can be reconstructed and, if there are several, is a full circle (parallel
/// beam: half circle). Returns notes about all their views (check_fdk_views) and about the first window
/// (check_fdk).
std::vector<std::string> check_windows(const Geometry& geometry, const Grid& projections, const Grid& volume,
                                       const FdkParameters& parameters, std::span<const Range> windows,
                                       const std::string& projections_name, const std::string& geometry_name);

}  // namespace halocline

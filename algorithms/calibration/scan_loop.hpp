// The scan that benches measure, and loops over all its views on one device, without the executor.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/projectors/scan_forms.hpp"
#include "scheduling/profiling/measure.hpp"

namespace halocline {

/// size^3 voxels and `views` views of size^2 pixels, a full circle. Cone angle about 9 degrees; the volume just fits
/// the field of view. `tilt` (of the detector in its plane, degrees) makes every matrix entry count.
Scan bench_scan(std::size_t size, std::size_t views, double tilt = 0);
/// Any volume, any detector (columns, rows) and at least one view: voxels are cubes, pixels squares, and the slices
/// just fit the field of view.
Scan bench_scan(const std::array<std::size_t, 3>& volume, const std::array<std::size_t, 2>& detector,
                std::size_t views);
/// A parallel beam over half a turn, or a stack of fans over a whole one: `slices` of size^2 voxels and `views` views
/// of size columns, as wide as the voxels, and `rows`, which share the height of the slices. If there are as many rows
/// as slices, each row is on a slice.
Scan sliced_bench_scan(std::size_t size, std::size_t slices, std::size_t rows, std::size_t views,
                       bool fan_stack = false);

/// Value of element (x, y, z) of an array of that size: pseudo-random, in [0, 1). The kernel bench_fill has the same.
float bench_number(const std::array<std::size_t, 3>& size, std::size_t x, std::size_t y, std::size_t z);
/// bench_number() of all places.
Volume bench_numbers(const Grid& grid);

class BackprojectionLoop {
 public:
  /// with_filter: method.filter() belongs to a run; otherwise every batch finds the first one's projections. Throws
  /// PlanError if it does not fit as one slab.
  BackprojectionLoop(const Device& device, std::unique_ptr<BackprojectionMethod> method, bool with_filter);
  /// Enqueues all views once more.
  void run();
  /// Values of the voxels after one run over bench_numbers() of the stack.
  std::vector<float> of_numbers(std::span<const std::array<std::size_t, 3>> voxels);
  /// Read and written in the device's memory by a run if every kernel takes every value of its arrays once.
  double bytes() const;
  DeviceSlab& slab() { return slab_; }

 private:
  Range batch(std::int64_t first) const;

  std::unique_ptr<BackprojectionMethod> method_;
  bool with_filter_;
  Plan plan_;
  DeviceSlab slab_;
};

class ProjectionLoop {
 public:
  /// Throws as BackprojectionLoop does, and InputError if the device is to hold the volume as images and cannot.
  ProjectionLoop(const Device& device, std::unique_ptr<ProjectionMethod> method);
  /// Enqueues all views once, with what is made of the volume before.
  void run();
  /// Values of the pixels (column, row, view), from bench_numbers() of the volume.
  std::vector<float> of_numbers(std::span<const std::array<std::size_t, 3>> pixels);
  double bytes() const;
  DeviceSlab& slab() { return slab_; }

 private:
  Range batch(std::int64_t first) const;

  std::unique_ptr<ProjectionMethod> method_;
  Plan plan_;
  DeviceSlab slab_;
};

/// Seconds for all views in a form, of each run in so many seconds; one run at least, which compiling does not belong
/// to. gpu: as for make_projection(). Throws as the loops do.
std::vector<double> seconds_of_form(const Device& device, const ScanForm& form, const Scan& scan, bool gpu,
                                    double seconds);

}  // namespace halocline

// Patches: back-projection to boxes of any place and size, and its exact adjoint, on one device with as little of the
// host in the way as can be (Graas, Palenstijn, van Werkhoven & Lucka 2024).
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/geometry/geometry.hpp"
#include "host/opencl/device.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

/// The geometry is kept; projections are new at every call, or remain on the device, where new views take the places of
/// old ones. Voxels are those of unfiltered voxel-driven back-projection (Backprojection), to the rounding of a sum in
/// 64 parts. Several threads may call one object. Calls throw InputError for arrays that are shorter than the boxes and
/// projections of that moment.
class Patches {
 public:
  /// volume: the grid in whose coordinates boxes are computed; they may be anywhere. Throws InputError as
  /// check_projections and check_grid do, and for a cylindrical detector.
  Patches(const Device& device, const Geometry& geometry, const Grid& volume, const Grid& projections);

  /// The boxes of the calls that follow: grids of any place, direction, spacing and size (planes and points, too), one
  /// after another in the arrays of boxes. Throws InputError for none, or for more voxels than 2^30.
  void set_boxes(std::span<const Grid> boxes);
  /// The part of a volume, on `volume`'s voxels, that the calls that follow read and write within a whole one.
  struct Part {
    std::array<std::size_t, 3> first, size;
  };
  void set_parts(std::span<const Part> parts);
  /// The views that the calls that follow use, by number, in this order; empty: all. Throws InputError for a number
  /// that is none.
  void set_views(std::span<const int> views);
  /// Views from `first` on get the poses of another geometry. Throws InputError for more than there are, and for a
  /// cylindrical detector.
  void replace_views(std::size_t first, const Geometry& geometry);

  /// Voxels of all boxes together, or of the volume for parts.
  std::size_t voxels() const { return voxels_; }
  std::size_t pixels() const { return projections_.count(); }
  const std::vector<Grid>& boxes() const { return boxes_; }

  /// boxes = A^T projections, or += with `add`: enqueued behind `waits`; returns the end. Buffers hold pixels() and
  /// voxels() numbers of float32; they are the caller's until then.
  Event backproject(const Buffer& projections, const Buffer& boxes, bool add = false,
                    std::span<const Event> waits = {});
  /// projections = A boxes of the views in the list, 0 in the others: the exact adjoint of backproject().
  Event project(const Buffer& boxes, const Buffer& projections, std::span<const Event> waits = {});

  /// The same from and to host memory, which is pixels() and voxels() long.
  std::vector<float> backproject(std::span<const float> projections);
  std::vector<float> project(std::span<const float> boxes);

  Device& device() { return device_; }

 private:
  struct Shape {
    std::array<std::int32_t, 4> size_and_offset;
    std::array<std::int32_t, 2> strides;
  };
  // Work-items of a group along voxels, voxels and parts of each (GROUP, UNROLL and FOLD of patches.cl).
  struct GroupShape {
    std::size_t group = 32, unroll = 4, fold = 4;
  };
  GroupShape group_shape(std::size_t voxels) const;
  // Under the lock.
  void set_places(const std::vector<std::array<float, 16>>& places, const std::vector<Shape>& shapes);
  void set_view_options();
  // Simplifications that all boxes allow: seen within the only row, in front of the source.
  struct Sight {
    bool in_row, in_front;
  };
  Sight sight_of(std::span<const View> views) const;
  void require_arrays(const Buffer& boxes, const Buffer& projections) const;
  // Pairs of neighbouring pixels in place of `projections`, if they are worth it and fit a quarter of the memory that
  // is left: behind `waits`, which becomes their end.
  const Buffer& samples(const Buffer& projections, std::vector<Event>& waits);
  Buffer filled(const std::string& name, const void* values, std::size_t bytes);

  std::recursive_mutex mutex_;  // of calls, whose commands and arrays must not mix
  Device device_;
  Geometry geometry_;
  Grid volume_, projections_;
  std::vector<Grid> boxes_;
  std::string options_, view_options_;  // of the kernels; the latter for the views and the boxes
  bool all_views_ = true, in_plane_ = false, paired_ = false;
  Sight sight_{false, false};
  std::vector<std::array<float, 16>> box_places_;
  std::array<float, 16> hull_{};  // of all boxes
  std::vector<std::array<std::int32_t, 4>> box_sizes_;
  std::size_t voxels_ = 0, count_ = 0, largest_ = 0, views_used_ = 0, voxels_a_column_ = 0;
  GroupShape group_;  // for these boxes
  Buffer matrices_, views_, places_, shapes_, strides_, fixed_, partial_, pairs_;
};

}  // namespace halocline

#include "algorithms/matrix/slice_rays.hpp"

#include <fmt/format.h>

#include <atomic>

#include "algorithms/projectors/joseph_slices.hpp"
#include "algorithms/support/parallel_slices.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"

namespace halocline {
namespace {

// cl/distance_driven.clh
constexpr double least_shadow = 1.0 / 64;
// cl/siddon_faces.clh: rays so near to a face belong to the voxels on either side.
constexpr double face_slack = 1e-3;
// Roundings of a ray's place on a plane, in voxels: divisions to 2.5 units in the last place of numbers up to the
// slice's width, of each of a shadow's edges, amount to less than 32 halves of such a unit.
constexpr double roundings = 32.0 / (1 << 24);

}  // namespace

std::uint64_t SliceRay::nonzeros() const {
  const auto at_edge = [this](int plane) {
    const Edges edges = edges_of(plane);
    return edges.low < 0 || edges.high > voxels;
  };
  int sum = 0, first = 0, end = planes;
  for (; first < end && at_edge(first); ++first) sum += met(first, first, -least_met).count();
  for (; first < end && at_edge(end - 1); --end) sum += met(end - 1, end - 1, -least_met).count();
  for (int plane = first; plane < end; ++plane) {  // strips within the slice; compilers make vectors of the steps
    const Edges edges = edges_of(plane);
    sum += voxels - static_cast<int>(voxels - edges.high) - static_cast<int>(edges.low) - 1;
  }
  return static_cast<std::uint64_t>(sum);
}

SliceRays::SliceRays(const Geometry& geometry, const Grid& volume, const Grid& projections, Projector::Named projector)
    : table_(make_rays(geometry, volume, projections)),
      projector_(projector),
      columns_(static_cast<std::uint32_t>(projections.size[0])),
      views_(static_cast<std::uint32_t>(projections.size[2])),
      nx_(static_cast<std::uint32_t>(volume.size[0])),
      ny_(static_cast<std::uint32_t>(volume.size[1])),
      margin_(roundings * std::max(nx_, ny_)) {
  if (volume.slice() > most_slice_voxels)
    throw InputError(fmt::format("`volume` has {} x {} voxels in a slice; a system matrix takes at most 2^25",
                                 volume.size[0], volume.size[1]));
  const auto rows = slice_rows(table_, volume, projections);
  if (!rows || !rows->aligned)
    throw InputError(
        "`geometry` has rays that leave the slices, run between them or end in them; a system matrix takes a parallel "
        "beam with a row of the detector on each slice, or a fan beam narrower than 90 degrees, without tilt, with a "
        "flat detector, and with source and detector outside the slice");
  if (projector == Projector::siddon) margin_ += face_slack;
}

SliceRays::FlatRay SliceRays::flat_ray(float u, std::uint32_t view) const {
  const float* r = &table_.rays[18 * std::size_t{view}];
  const auto at = [&](int component) { return std::fma(u, r[6 + component], r[component]); };  // the kernels' bits
  return {at(0), at(1), at(5)};
}

SliceRays::Line SliceRays::line_of(const FlatRay& ray, int axis) const {
  const double along = axis == 0 ? ray.dx : ray.dy, across = axis == 0 ? ray.dy : ray.dx;
  const double middle = 0.5 * ((axis == 0 ? ny_ : nx_) - 1.0);
  return {axis, across / along, middle + (axis == 0 ? -ray.mz : ray.mz) / along};
}

SliceRays SliceRays::stored(std::uint32_t first_column, std::uint32_t views) const {
  SliceRays some = *this;
  some.first_column_ = first_column, some.views_ = views;
  return some;
}

SliceRay SliceRays::ray(std::uint32_t column, std::uint32_t view) const {
  const float u = 0.5f * static_cast<float>(2 * (column + first_column_)) - 0.5f * static_cast<float>(columns_ - 1);
  const FlatRay middle = flat_ray(u, view);
  const Line line = line_of(middle, std::abs(middle.dx) >= std::abs(middle.dy) ? 0 : 1);
  SliceRay ray;
  ray.axis = line.axis, ray.slope = line.slope, ray.shift = line.shift;
  ray.planes = static_cast<int>(line.axis == 0 ? nx_ : ny_), ray.voxels = static_cast<int>(line.axis == 0 ? ny_ : nx_);
  ray.reach = projector_ == Projector::joseph ? 1 : 0.5;
  if (projector_ == Projector::siddon) {
    ray.beyond = 0.5;
    if (std::abs(ray.slope) * ray.planes < face_slack) ray.reach += face_slack;  // perhaps in a face
  }
  if (projector_ == Projector::distance_driven) {
    const Line left = line_of(flat_ray(u - 0.5f, view), line.axis),
               right = line_of(flat_ray(u + 0.5f, view), line.axis);
    ray.width_slope = right.slope - left.slope, ray.width_shift = right.shift - left.shift;
    ray.least_width = least_shadow;
  }
  return ray;
}

std::uint64_t SliceRays::nonzeros() const {
  std::atomic<std::uint64_t> sum{0};
  parallel_slices(views_, [&](std::size_t view) {
    check_interrupt();
    std::uint64_t of_view = 0;
    for (std::uint32_t column = 0; column < columns(); ++column)
      of_view += ray(column, static_cast<std::uint32_t>(view)).nonzeros();
    sum += of_view;
  });
  return sum;
}

}  // namespace halocline

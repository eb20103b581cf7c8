#include "algorithms/backprojection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/error.hpp"

namespace halocline {
namespace {

constexpr std::int64_t fewest_rows = 32;

/// Slices a work-item, by what was fastest: on an H200 4 from quads and 8 from images. On CPUs image reads are long
/// functions, and nothing is gained by writing them out several times.
int slices_per_item(const DeviceInfo& device, bool image) {
  return !image ? 4 : device.cpu() ? 1 : 8;
}

std::vector<Matrix34> matrices_of(const Geometry& geometry, const Grid& projections, const Grid& grid) {
  std::vector<Matrix34> matrices;
  matrices.reserve(geometry.views.size());
  for (const View& view : geometry.views) matrices.push_back(index_to_detector(view, grid, projections));
  return matrices;
}

}  // namespace

std::function<Range(Range)> detector_rows_of(const Geometry& geometry, const Grid& projections, const Grid& grid,
                                             const std::array<double, 3>& reach) {
  return [reach, matrices = matrices_of(geometry, projections, grid), size = grid.size,
          limit = static_cast<std::int64_t>(projections.size[1])](Range slices) -> Range {
    const auto centre = [&](int axis) { return 0.5 * (static_cast<double>(size[axis]) - 1); };
    double lowest = static_cast<double>(limit), highest = -1;
    for (const Matrix34& m : matrices)
      for (int corner = 0; corner < 8; ++corner) {
        const double half_x = centre(0) + reach[0], half_y = centre(1) + reach[1];
        const double x = corner & 1 ? half_x : -half_x, y = corner & 2 ? half_y : -half_y;
        const double z = corner & 4 ? static_cast<double>(slices.end - 1) + reach[2] - centre(2)
                                    : static_cast<double>(slices.begin) - reach[2] - centre(2);
        const double w = m[8] * x + m[9] * y + m[10] * z + m[11];
        if (w <= 0) return {0, limit};
        const double v = (m[4] * x + m[5] * y + m[6] * z + m[7]) / w;
        lowest = std::min(lowest, v);
        highest = std::max(highest, v);
      }
    // a tenth of a pixel for what float32 rounds; both neighbours of a coordinate
    const auto last = static_cast<double>(limit - 1);
    auto begin = static_cast<std::int64_t>(std::clamp(std::floor(lowest - 0.1), 0.0, last));
    auto end = static_cast<std::int64_t>(std::clamp(std::floor(highest + 0.1) + 1, 0.0, last)) + 1;
    end = std::max(end, begin + fewest_rows);
    begin = std::max<std::int64_t>(0, std::min(begin, limit - fewest_rows));
    return {begin / 2 * 2, std::min(limit, (end + 1) / 2 * 2)};
  };
}

VoxelDriven::VoxelDriven(const Geometry& geometry, const Grid& projections, const Grid& grid, const Options& options)
    : projections_(projections),
      grid_(grid),
      options_(options),
      detector_rows_(detector_rows_of(geometry, projections, grid)) {
  bool k_invariant = true;
  for (const Matrix34& matrix : matrices_of(geometry, projections, grid)) {
    for (const double value : matrix) matrices_.push_back(static_cast<float>(value));
    k_invariant = k_invariant && matrix[2] == 0 && matrix[10] == 0;
  }
  kernel_.file = "backproject.cl";
  kernel_.kernel = options.hardware_interpolation ? "backproject_image" : "backproject_exact";
  kernel_.options =
      fmt::format("-D DISTANCE_WEIGHT={}{}{}{}{}", options.distance_weight ? 1 : 0,
                  options.hardware_interpolation ? " -D USE_IMAGE" : "", options.variance ? " -D VARIANCE" : "",
                  k_invariant ? " -D K_INVARIANT" : "", projections.size[1] == 1 ? " -D SINGLE_ROW" : "");
}

std::array<std::size_t, 3> VoxelDriven::filtered_items(const Slab& slab, Range views) const {
  const std::size_t more = options_.hardware_interpolation ? 0 : 1;  // quads begin one pixel before the first
  return {projections_.size[0] + more, static_cast<std::size_t>(slab.rows().count()) + more,
          static_cast<std::size_t>(views.count())};
}

void VoxelDriven::declare(Requirements& requirements) const {
  requirements.size = grid_.size;
  requirements.stack = projections_.size;
  if (options_.hardware_interpolation) {
    requirements.arrays.push_back({.name = "filtered", .kind = ArrayKind::projections});
    requirements.arrays.push_back({.name = "texture", .kind = ArrayKind::image});
  } else {
    // (columns + 1) x (rows + 1) quads a view: the room for one more row is spread over the rows held, which are never
    // fewer
    const std::size_t fewest = std::min<std::size_t>(projections_.size[1], fewest_rows);
    requirements.arrays.push_back({.name = "filtered",
                                   .kind = ArrayKind::projections,
                                   .components = 4,
                                   .row_length = ((projections_.size[0] + 1) * (fewest + 1) + fewest - 1) / fewest});
  }
  requirements.arrays.push_back({.name = "volume", .kind = ArrayKind::volume, .lifetime = Lifetime::output});
  requirements.arrays.push_back({.name = "matrices", .kind = ArrayKind::fixed, .elements = matrices_.size()});
  requirements.kernels.push_back(kernel_.kernel);
  // Texture units scale coordinates by the image's size before they round them, so bits stay the same from slab to slab
  // only if every slab's image holds the whole detector.
  if (!options_.hardware_interpolation) requirements.detector_rows = detector_rows_;
}

void VoxelDriven::start(Slab& slab) const {
  if (options_.hardware_interpolation) {
    const DeviceInfo& device = slab.device();
    if (!device.images)
      throw InputError(
          fmt::format("{} has no images, so it cannot interpolate in hardware; use exact interpolation", device.name));
    if (projections_.size[0] > device.image_width || projections_.size[1] > device.image_height)
      throw InputError(fmt::format(
          "{} takes images up to {} x {}, but a projection has {} x {} pixels; use exact interpolation", device.name,
          device.image_width, device.image_height, projections_.size[0], projections_.size[1]));
  }
  slab.set("matrices", matrices_.data(), matrices_.size() * sizeof(float));
  slab.fill("volume", 0);
}

void VoxelDriven::accumulate(Slab& slab, Range views) const {
  if (options_.hardware_interpolation)
    slab.copy_to_image("filtered", "texture", static_cast<std::size_t>(views.count()));
  const Range slices = slab.interior(), rows = slab.rows();
  const auto centre = [&](int axis) { return static_cast<float>(0.5 * (static_cast<double>(grid_.size[axis]) - 1)); };
  const int unroll = slices_per_item(slab.device(), options_.hardware_interpolation);
  const std::size_t items = static_cast<std::size_t>((slices.count() + unroll - 1) / unroll);
  KernelSpec kernel = kernel_;
  kernel.options += fmt::format(" -D K_UNROLL={}", unroll);
  slab.launch(
      kernel, {grid_.size[0], grid_.size[1], items},
      {in(options_.hardware_interpolation ? "texture" : "filtered"), in("matrices"), inout("volume"), slab.nx(),
       slab.ny(), static_cast<std::int32_t>(slices.count()), static_cast<std::int32_t>(slices.begin), centre(0),
       centre(1), centre(2), static_cast<std::int32_t>(projections_.size[0]), static_cast<std::int32_t>(rows.begin),
       static_cast<std::int32_t>(rows.count()), static_cast<std::int32_t>(views.begin),
       static_cast<std::int32_t>(views.count()), static_cast<float>(options_.correlation)});
}

Backprojection::Backprojection(const Geometry& geometry, const Grid& projections, const Grid& grid,
                               const BackprojectionParameters& parameters)
    : projections_(projections),
      voxels_(geometry, projections, grid, {.hardware_interpolation = parameters.hardware_interpolation}) {}

Requirements Backprojection::requirements() const {
  Requirements requirements;
  requirements.algorithm = "backproject";
  requirements.arrays.push_back({.name = "raw", .kind = ArrayKind::projections, .lifetime = Lifetime::input});
  requirements.kernels = {voxels_.quads() ? "backproject_copy_quads" : "backproject_copy"};
  voxels_.declare(requirements);
  return requirements;
}

void Backprojection::start(Slab& slab) const {
  voxels_.start(slab);
}

void Backprojection::filter(Slab& slab, Range views) const {
  slab.launch({"backproject.cl", voxels_.quads() ? "backproject_copy_quads" : "backproject_copy", ""},
              voxels_.filtered_items(slab, views),
              {in("raw"), out("filtered"), static_cast<std::int32_t>(projections_.size[0]),
               static_cast<std::int32_t>(slab.rows().count()), static_cast<std::int32_t>(views.count())});
}

void Backprojection::accumulate(Slab& slab, Range views) const {
  voxels_.accumulate(slab, views);
}

RunResult backproject(const Volume& projections, const Geometry& geometry, const Grid& grid,
                      const BackprojectionParameters& parameters, const std::vector<Device>& devices,
                      const RunOptions& options) {
  check_projections(projections.grid, "the projections", geometry, "the geometry");
  check_grid(grid, "the volume");
  const Backprojection method(geometry, projections.grid, grid, parameters);
  return run_backprojection(method, projections, grid, devices, options);
}

}  // namespace halocline

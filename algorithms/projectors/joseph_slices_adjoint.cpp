#include "algorithms/projectors/joseph_slices_adjoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "algorithms/projectors/backprojection.hpp"
#include "algorithms/projectors/ray_arguments.hpp"
#include "host/opencl/work_groups.hpp"

namespace halocline {
namespace {

constexpr std::size_t largest_group = 128;    // GROUP of the kernel
constexpr std::size_t fewest_slab_rows = 32;  // that slabs hold, if there are as many (detector_rows_of())

// U and W of a view's matrix (index_to_detector()) in the plane, and for rays that follow i and j how far from U / W
// columns are that meet a voxel: within the shadow of the voxels beside it across the axis, as cl/gather.clh has it,
// wherever in the volume. 0 where no ray follows the axis, negative where three columns may not hold them all.
constexpr std::size_t footprint_floats = 8;
std::array<double, footprint_floats> footprint_of(const Matrix34& matrix, int axes, const Grid& volume) {
  const double half_x = 0.5 * static_cast<double>(volume.size[0] - 1),
               half_y = 0.5 * static_cast<double>(volume.size[1] - 1),
               half_z = 0.5 * static_cast<double>(volume.size[2] - 1) + 1;
  const double* u = &matrix[0];
  const double* w = &matrix[8];
  double least_w = std::numeric_limits<double>::infinity();
  std::array<double, 2> shadow{};  // of a voxel beside it along i and j
  for (const double x : {-half_x, half_x})
    for (const double y : {-half_y, half_y}) {
      const double at_w = w[0] * x + w[1] * y + w[3], at = (u[0] * x + u[1] * y + u[3]) / at_w;
      least_w = std::min(least_w, at_w);
      for (std::size_t axis = 0; axis < 2; ++axis)
        shadow[axis] = std::max(shadow[axis], std::abs(u[axis] - at * w[axis]));
    }
  least_w -= std::max(std::abs(w[0]), std::abs(w[1])) + half_z * std::abs(w[2]);
  const auto reach = [&](std::size_t across) {
    constexpr double rounding = 0.05, most = 1.45;  // columns
    const double columns = (shadow[across] + half_z * std::abs(u[2])) / least_w + rounding;
    return least_w > 0.01 && columns < most ? columns : -1.0;
  };
  return {u[0], u[1], u[3], w[0], w[1], w[3], (axes & 1) != 0 ? reach(1) : 0.0, (axes & 2) != 0 ? reach(0) : 0.0};
}

}  // namespace

SliceBackprojection::SliceBackprojection(const Geometry& geometry, const Grid& projections, const Grid& volume)
    : projections_(projections),
      volume_(volume),
      table_(make_rays(geometry, volume, projections)),
      detector_rows_(detector_rows_of(geometry, projections, volume, {1, 1, 1})) {
  const auto rows = slice_rows(table_, volume, projections);
  if (!rows || !rows->aligned) throw std::logic_error("SliceBackprojection: rows do not lie on slices");
  rows_ = *rows;
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    const Matrix34 matrix = index_to_detector(geometry.views[n], volume, projections);
    const auto footprint = footprint_of(matrix, table_.axes[n], volume);
    near_ = near_ && footprint[6] >= 0 && footprint[7] >= 0 && std::max(footprint[6], footprint[7]) > 0;
    for (const double value : matrix) matrices_.push_back(static_cast<float>(value));
    for (const double value : footprint) footprints_.push_back(static_cast<float>(value));
  }
}

Range SliceBackprojection::slices_with_rows(const Slab& slab) const {
  const Range rows = slab.rows(), slices = slab.interior();
  const auto slice_of = [&](std::int64_t row) { return (row - rows_.row_of_0) * rows_.row_step; };
  const auto [low, high] = std::minmax({slice_of(rows.begin), slice_of(rows.end - 1)});
  const std::int64_t begin = std::max(slices.begin, low);
  return {begin, std::max(begin, std::min(slices.end, high + 1))};
}

Requirements SliceBackprojection::requirements() const {
  const std::size_t columns = projections_.size[0], fewest = std::min(projections_.size[1], fewest_slab_rows);
  // room for a multiple of four rows is spread over the rows held, which are never fewer
  const std::size_t room = fewest == projections_.size[1] ? padded_places(fewest) : fewest + 3;
  Requirements requirements;
  requirements.algorithm = "backproject";
  requirements.size = volume_.size;
  requirements.form = ProgramForm::voxel_sums;
  requirements.stack = projections_.size;
  requirements.arrays = {
      {.name = "raw", .kind = ArrayKind::projections, .lifetime = Lifetime::input},
      {.name = "columns", .kind = ArrayKind::projections, .components = 4, .rows = 1},
      {.name = "values", .kind = ArrayKind::projections, .row_length = parts_of(columns * room, fewest)},
      {.name = "volume", .kind = ArrayKind::volume, .lifetime = Lifetime::output},
      {.name = "matrices", .kind = ArrayKind::fixed, .elements = matrices_.size()},
      {.name = "footprints", .kind = ArrayKind::fixed, .elements = footprints_.size()},
      {.name = "axes", .kind = ArrayKind::fixed, .elements = table_.axes.size()}};
  add_table_arrays(requirements, table_);
  requirements.kernels = {"joseph_slices_adjoint_table", "joseph_slices_adjoint_stack",
                          "joseph_slices_adjoint_backproject"};
  requirements.detector_rows = detector_rows_;
  // every batch reads and writes the volume
  requirements.preferred_batch = views_of_batch(projections_, 4 * requirements.preferred_batch);
  requirements.cost.name = "adjoint joseph aligned slices";
  requirements.cost.bytes = 2.3;  // as measured on an H200
  return requirements;
}

void SliceBackprojection::start(Slab& slab) const {
  set_table(slab, table_);
  slab.set("matrices", matrices_.data(), matrices_.size() * sizeof(float));
  slab.set("footprints", footprints_.data(), footprints_.size() * sizeof(float));
  slab.set("axes", table_.axes.data(), table_.axes.size() * sizeof(std::int32_t));
}

ViewTables SliceBackprojection::view_tables() const {
  ViewTables tables = halocline::view_tables(table_, projections_.size[0]);
  tables.insert(tables.end(), {{"matrices", 12}, {"footprints", footprint_floats}, {"axes", 1}});
  return tables;
}

void SliceBackprojection::filter(Slab& slab, Range views, const Scalars&) const {
  const Range rows = slab.rows(), slices = slices_with_rows(slab);
  const auto columns = projections_.size[0], count = static_cast<std::size_t>(views.count());
  const auto batch = batch_of(projections_, rows, views);
  std::vector<SlabArgument> arguments{in("rays"), out("columns"), slab.extent(slab.interior())};
  add_spacing(arguments, volume_);
  arguments.emplace_back(batch);
  slab.launch({"joseph_slices_adjoint.cl", "joseph_slices_adjoint_table", fans_option(table_)}, {columns, count, 1},
              arguments);

  const auto places = static_cast<std::size_t>(slices.count());
  if (places == 0) return;
  const auto row_of_first = rows_.row_of_0 + rows_.row_step * slices.begin - rows.begin;
  const std::size_t tile = turning_tile(slab.device());
  slab.launch({"joseph_slices_adjoint.cl", "joseph_slices_adjoint_stack", turning_options(tile)},
              {columns, padded_places(places), count}, {tile, tile, 1},
              {in("raw"), in("columns"), out("values"), batch, number(places), number(row_of_first), rows_.row_step});
}

void SliceBackprojection::accumulate(Slab& slab, Range views, Range slices, const Scalars&) const {
  const Range kept = slices_with_rows(slab);
  if (kept.count() == 0) return;
  const auto places = static_cast<std::size_t>(kept.count());
  // GROUP, LANES, TILE_I, ENTRIES and TOGETHER of the kernel's file
  const std::size_t group = work_group_within({largest_group, 1, 1}, slab.device())[0],
                    all_lanes = slice_block / rows_.each(), most_lanes = std::min(all_lanes, group),
                    tile_i = std::min<std::size_t>(8, group / most_lanes),
                    most_voxels = group <= 64 ? group : group / 2;
  const std::size_t lanes = std::min(most_lanes, parts_of(places, rows_.each())),
                    tile_j = std::min(group / lanes, most_voxels) / tile_i;
  slab.launch({"joseph_slices_adjoint.cl", "joseph_slices_adjoint_backproject",
               (near_ ? " -D NEAR" : "") +
                   (group < largest_group ? fmt::format(" -D GROUP={}", group) : std::string()) + fans_option(table_)},
              {group * parts_of(volume_.size[0], tile_i), parts_of(volume_.size[1], tile_j),
               parts_of(places, slice_block) * (all_lanes / most_lanes)},
              {group, 1, 1},
              {in("columns"), in("values"), in("matrices"), in("footprints"), in("axes"), inout("volume"),
               slab.extent(slices), batch_of(projections_, slab.rows(), views), number(kept.begin), number(places)});
}

std::shared_ptr<const BackprojectionMethod> faster_in_slices(const Geometry& geometry, const Grid& projections,
                                                             const Grid& volume, Projector projector,
                                                             std::span<const DeviceModel> devices) {
  if (projector != Projector::joseph || !slices_innermost_pay(devices, geometry, volume, projections)) return nullptr;
  // of rows between slices, stacks are faster
  if (!slice_rows(make_rays(geometry, volume, projections), volume, projections)->aligned) return nullptr;
  return std::make_shared<SliceBackprojection>(geometry, projections, volume);
}

}  // namespace halocline

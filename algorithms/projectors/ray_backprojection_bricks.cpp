// Joseph's adjoint in bricks: arrays and launches of cl/joseph_bricks.cl.
#include <fmt/format.h>

#include <algorithm>

#include "algorithms/projectors/projector.hpp"
#include "algorithms/projectors/ray_arguments.hpp"

namespace halocline {
namespace {

constexpr std::size_t tail = 3;  // TAIL of joseph_bricks.cl

std::size_t parts(std::size_t all, int each) {
  return parts_of(all, static_cast<std::size_t>(each));
}

}  // namespace

void RayBackprojection::declare_bricks(Requirements& requirements) const {
  auto& arrays = requirements.arrays;
  std::erase_if(arrays, [](const ArrayNeed& need) { return need.name == "lines" || need.name == "values"; });
  const auto columns = projections_.size[0], rows = projections_.size[1];
  // Room for the tail of every column, in so many more columns of the fewest rows that a slab holds (detector_rows_of).
  constexpr std::size_t fewest = 32;
  const std::size_t more = parts_of(tail * columns, std::min(fewest, rows));
  arrays.push_back({.name = "pixels", .kind = ArrayKind::projections, .row_length = columns + more});
  arrays.push_back({.name = "columns", .kind = ArrayKind::projections, .components = 4, .rows = 2});
  requirements.kernels = {"joseph_table_bricks", "joseph_backproject_bricks"};
  requirements.preferred_batch = 64;  // fewer rounds of groups that are not full, and as much memory as stacks with 16
  requirements.cost.name = "adjoint joseph bricks";
  requirements.cost.bytes = 6;  // as measured on an H200
}

void RayBackprojection::filter_bricks(Slab& slab, Range views) const {
  const Range rows = slab.rows();
  const std::size_t tile = turning_tile(slab.device());
  std::vector<SlabArgument> arguments{in("raw"), in("rays"), out("pixels"), out("columns"),
                                      slab.extent(slab.interior())};
  add_spacing(arguments, volume_);
  arguments.emplace_back(batch_of(projections_, rows, views));
  slab.launch(
      ray_kernel(projector_, "table", turning_options(tile), "bricks"),
      {projections_.size[0], static_cast<std::size_t>(rows.count()) + tail, static_cast<std::size_t>(views.count())},
      {tile, tile, 1}, arguments);
}

void RayBackprojection::accumulate_bricks(Slab& slab, Range views, Range slices) const {
  const auto count = static_cast<std::size_t>(slices.count());
  const AdjointBrick brick = brick_->for_slices(count);
  const auto items = static_cast<std::size_t>(brick.items);
  slab.launch(ray_kernel(projector_, "backproject", brick.options(), "bricks"),
              {items * parts(count, brick.slices()), parts(volume_.size[0], brick.x), parts(volume_.size[1], brick.y)},
              {items, 1, 1},
              {in("pixels"), in("columns"), in("matrices"), in("axes"), in("rays"), inout("volume"),
               slab.extent(slices), batch_of(projections_, slab.rows(), views)});
}

}  // namespace halocline

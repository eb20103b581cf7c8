#include "algorithms/matrix/matrix_projection.hpp"

#include <algorithm>

#include "algorithms/projectors/batch_argument.hpp"
#include "algorithms/support/kernel_numbers.hpp"
#include "host/opencl/work_groups.hpp"
#include "scheduling/planning/cost.hpp"

namespace halocline {
namespace {

constexpr std::size_t pixels_of_tile = tile_pixels, rays_of_tile = tile_rays;
constexpr std::size_t largest_group = 256;

bool overlap(Range a, Range b) {
  return a.begin < b.end && b.begin < a.end;
}

std::size_t held(const Slab& slab) {
  return static_cast<std::size_t>(slab.extended().count());
}

// Blocks of the slab with slices of these, so many of them at a time.
struct Blocks {
  std::int32_t first;
  std::size_t groups;
};

Blocks blocks_with(const SystemMatrix& matrix, const Slab& slab, Range slices) {
  const auto each = static_cast<std::int64_t>(matrix.slices_together(held(slab)));
  const std::int64_t first = (slices.begin - slab.offset()) / each, last = (slices.end - 1 - slab.offset()) / each;
  return {static_cast<std::int32_t>(first * static_cast<std::int64_t>(matrix.together(held(slab)))),
          static_cast<std::size_t>(last - first + 1)};
}

// A pass over all tiles for each `together` blocks of slices. Matrix units read tiles at 70 % of the rate of copies;
// a further block takes 60 % of that time (measured on an H200). Float32 is bound by arithmetic (measured on a CPU).
KernelCost cost_of(const SystemMatrix& matrix, const char* name, const Requirements& requirements) {
  constexpr double of_copies = 0.7, further_block = 0.6, of_copies_in_float32 = 0.0075;
  const std::size_t slices = matrix.volume().size[2], passes = parts_of(slices, matrix.slices_together(slices));
  const auto together = static_cast<double>(matrix.together(slices));
  const double times =
      matrix.units() ? (1 + further_block * (together - 1)) / of_copies : together / of_copies_in_float32;
  KernelCost cost;
  cost.name = name;
  cost.bytes =
      times * static_cast<double>(matrix.tile_bytes()) * static_cast<double>(passes) / count_units(requirements);
  return cost;
}

// Views of a batch at least: the largest part's. Sums are by batch, so that smaller ones would have other bits.
int views_of_step(const SystemMatrix& matrix) {
  std::int64_t most = 1;
  for (const MatrixPart& part : matrix.parts()) most = std::max(most, part.views.count());
  return static_cast<int>(most);
}

}  // namespace

Requirements MatrixProjection::requirements() const {
  Requirements requirements;
  requirements.algorithm = "project";
  requirements.form = ProgramForm::ray_sums;
  requirements.arrays = {{.name = "volume", .kind = ArrayKind::volume, .lifetime = Lifetime::input},
                         {.name = "projections", .kind = ArrayKind::projections, .lifetime = Lifetime::output},
                         {.name = "x",
                          .kind = ArrayKind::slice,
                          .element_bytes = matrix_->value_bytes(),
                          .elements = matrix_->copies() * pixels_of_tile * matrix_->pixel_tiles(),
                          .slice_step = matrix_->slice_step()},
                         {.name = "largest", .kind = ArrayKind::slice, .elements = 1}};
  matrix_->declare(requirements);
  requirements.kernels = {"matrix_project"};
  requirements.preferred_batch = static_cast<int>(matrix_->projections().size[2]);
  requirements.cost = cost_of(*matrix_, "project matrix", requirements);
  return requirements;
}

void MatrixProjection::loaded(Slab& slab) const {
  const std::size_t slices = held(slab), plane = matrix_->volume().slice();
  if (matrix_->units()) {
    slab.fill("largest", 0);
    slab.launch({"matrix.cl", "matrix_largest_voxels", matrix_->options(slices)}, {plane, slices, 1},
                {work_group_within({largest_group, 1, 1}, slab.device())[0], 1, 1},
                {in("volume"), inout("largest"), slab.extent(slab.extended())});
  }
  slab.launch({"matrix.cl", "matrix_voxels", matrix_->options(slices)},
              {matrix_->lanes(), matrix_->pixel_tiles(), matrix_->blocks(slices)},
              {matrix_->lanes(), matrix_->warps(), 1},
              {in("volume"), in("largest"), out("x"), in("pixel_places"), slab.extent(slab.extended()),
               argument_struct(matrix_->tiling(0, slices, 0, static_cast<std::uint32_t>(matrix_->pixel_tiles()), 0))});
}

void MatrixProjection::project(Slab& slab, Range views, const Scalars&) const {
  const Grid& projections = matrix_->projections();
  const std::size_t slices = held(slab);
  const Blocks blocks = blocks_with(*matrix_, slab, slab.interior());
  for (std::size_t p = 0; p < matrix_->parts().size(); ++p) {
    const MatrixPart& part = matrix_->parts()[p];
    if (!overlap(part.views, views)) continue;
    for (std::size_t c = 0; c < part.structure.chunks.size(); ++c) {
      const TileChunk& chunk = part.structure.chunks[c];
      auto tiling = matrix_->tiling(p, slices, chunk.super_begin, chunk.super_end, chunk.begin);
      tiling.first_block = blocks.first;
      const std::size_t supers = chunk.super_end - chunk.super_begin;
      slab.launch({"matrix.cl", "matrix_project", matrix_->options(slices)},
                  {matrix_->lanes(), matrix_->warps_for(supers), blocks.groups},
                  {matrix_->lanes(), matrix_->warps(), 1},
                  {in(SystemMatrix::tiles_name(p, c)), in(SystemMatrix::list_name(p, "ray_super_begins")),
                   in(SystemMatrix::list_name(p, "ray_super_places")), in("x"), in("largest"),
                   in(SystemMatrix::list_name(p, "ray_places")), inout("projections"), slab.extent(slab.interior()),
                   batch_of(projections, {0, number(projections.size[1])}, views), argument_struct(tiling)});
    }
  }
}

Requirements MatrixBackprojection::requirements() const {
  Requirements requirements;
  requirements.algorithm = "backproject";
  requirements.form = ProgramForm::voxel_sums;
  requirements.arrays = {{.name = "raw", .kind = ArrayKind::projections, .lifetime = Lifetime::input},
                         {.name = "volume", .kind = ArrayKind::volume, .lifetime = Lifetime::output},
                         {.name = "y",
                          .kind = ArrayKind::slice,
                          .element_bytes = matrix_->value_bytes(),
                          .elements = matrix_->copies() * rays_of_tile * matrix_->ray_tiles(),
                          .slice_step = matrix_->slice_step()},
                         {.name = "largest", .kind = ArrayKind::slice, .elements = matrix_->parts().size()}};
  if (matrix_->copies() > 1)
    requirements.arrays.push_back(
        {.name = "sums", .kind = ArrayKind::slice, .elements = matrix_->copies() * matrix_->volume().slice()});
  matrix_->declare(requirements);
  requirements.kernels = {"matrix_backproject"};
  requirements.batch_step = views_of_step(*matrix_);
  requirements.preferred_batch = static_cast<int>(matrix_->projections().size[2]);
  const SliceRows rows = matrix_->slice_rows();
  const auto all = static_cast<std::int64_t>(matrix_->projections().size[1]);
  requirements.detector_rows = [rows, all](Range slices) {
    const auto row = [&](std::int64_t k) { return rows.row_of_0 + rows.row_step * k; };
    const auto [low, high] = std::minmax({row(slices.begin), row(slices.end - 1)});
    const std::int64_t begin = std::clamp<std::int64_t>(low, 0, all - 1);
    return Range{begin, std::clamp<std::int64_t>(high + 1, begin + 1, all)};
  };
  requirements.cost = cost_of(*matrix_, "backproject matrix", requirements);
  return requirements;
}

void MatrixBackprojection::filter(Slab& slab, Range views, const Scalars&) const {
  const std::size_t slices = held(slab), interior = static_cast<std::size_t>(slab.interior().count());
  const auto batch = batch_of(matrix_->projections(), slab.rows(), views);
  if (matrix_->units()) slab.fill("largest", 0);
  for (std::size_t p = 0; p < matrix_->parts().size(); ++p) {
    const MatrixPart& part = matrix_->parts()[p];
    const Range both{std::max(part.views.begin, views.begin), std::min(part.views.end, views.end)};
    if (both.begin >= both.end) continue;
    if (matrix_->units())
      slab.launch({"matrix.cl", "matrix_largest_pixels", matrix_->options(slices)},
                  {matrix_->projections().size[0] * static_cast<std::size_t>(both.count()), interior, 1},
                  {work_group_within({largest_group, 1, 1}, slab.device())[0], 1, 1},
                  {in("raw"), inout("largest"), slab.extent(slab.interior()), batch,
                   argument_struct(matrix_->tiling(p, slices, static_cast<std::uint32_t>(both.begin - views.begin),
                                                   static_cast<std::uint32_t>(both.end - views.begin), 0))});
    const auto tiles = static_cast<std::uint32_t>(part.structure.rays.tiles());
    // beyond the part's views, rays of padding are 0
    const auto of_part = batch_of(matrix_->projections(), slab.rows(), {views.begin, both.end});
    slab.launch({"matrix.cl", "matrix_values", matrix_->options(slices)},
                {matrix_->lanes(), tiles, matrix_->blocks(slices)}, {matrix_->lanes(), matrix_->warps(), 1},
                {in("raw"), in("largest"), inout("y"), in(SystemMatrix::list_name(p, "ray_places")),
                 slab.extent(slab.interior()), of_part,
                 argument_struct(matrix_->tiling(p, slices, 0, tiles, matrix_->first_ray_tile(p)))});
  }
}

void MatrixBackprojection::accumulate(Slab& slab, Range views, Range slices, const Scalars&) const {
  for (std::size_t p = 0; p < matrix_->parts().size(); ++p)
    if (overlap(matrix_->parts()[p].views, views)) accumulate(slab, p, slices);
}

void MatrixBackprojection::accumulate(Slab& slab, std::size_t p, Range slices) const {
  const TileStructure& structure = matrix_->parts()[p].structure;
  const Blocks blocks = blocks_with(*matrix_, slab, slices);
  const std::uint32_t supers = structure.supers_of_pixels();
  for (std::size_t c = 0; c < structure.chunks.size(); ++c) {
    auto tiling = matrix_->tiling(p, held(slab), static_cast<std::uint32_t>(c * (supers + 1)), supers,
                                  matrix_->first_ray_tile(p));
    tiling.first_block = blocks.first;
    slab.launch({"matrix.cl", "matrix_backproject", matrix_->options(held(slab))},
                {matrix_->lanes(), matrix_->warps_for(supers), blocks.groups}, {matrix_->lanes(), matrix_->warps(), 1},
                {in(SystemMatrix::tiles_name(p, c)), in(SystemMatrix::list_name(p, "pixel_super_begins")),
                 in(SystemMatrix::list_name(p, "pixel_super_places")),
                 in(SystemMatrix::list_name(p, "pixel_super_tiles")), in("y"), in("largest"), in("pixel_places"),
                 matrix_->copies() > 1 ? out("sums") : inout("volume"), slab.extent(slices), argument_struct(tiling)});
    if (matrix_->copies() > 1)
      slab.launch({"matrix.cl", "matrix_fold", matrix_->options(held(slab))}, slices,
                  {in("sums"), inout("volume"), slab.extent(slices), argument_struct(tiling)});
  }
}

}  // namespace halocline

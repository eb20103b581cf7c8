// RayProjection with slices innermost: cl/joseph_slices.cl.
#include "algorithms/projectors/projector.hpp"
#include "algorithms/projectors/ray_arguments.hpp"

namespace halocline {

void RayProjection::stack_slices(Slab& slab) const {
  const auto held = static_cast<std::size_t>(slab.extended().count());
  const std::size_t tile = turning_tile(slab.device());
  slab.launch({"joseph_slices.cl", "joseph_stack", turning_options(tile) + slice_rows_->options()},
              {volume_.size[0], padded_places(held), volume_.size[1]}, {tile, tile, 1},
              {in("volume"), out("stacks"), slab.nx(), slab.ny(), number(held)});
}

void RayProjection::project_slices(Slab& slab, Range views) const {
  const auto columns = projections_.size[0], rows = projections_.size[1],
             held = static_cast<std::size_t>(slab.extended().count());
  const std::size_t places = slice_rows_->aligned ? padded_places(held) : rows;
  std::vector<SlabArgument> arguments{in("stacks"), in("rays"), inout("projections"), slab.extent(slab.interior()),
                                      number(held)};
  add_spacing(arguments, volume_);
  arguments.insert(arguments.end(),
                   {batch_of(projections_, {0, number(rows)}, views), slice_rows_->row_of_0, slice_rows_->row_step});
  slab.launch({"joseph_slices.cl", "joseph_project_slices", slice_rows_->options()},
              {columns * parts_of(std::min(places, slice_block), slice_rows_->each()),
               static_cast<std::size_t>(views.count()), parts_of(places, slice_block)},
              arguments);
}

}  // namespace halocline

// Forms of projection and back-projection that some devices are faster with, checked on a small cone-beam scan against
// those that every device takes: to the bit, to what the fractions of texture units come to, or to rounding where sums
// are added in another order.
#pragma once

#include "algorithms/projectors/backproject_tile.hpp"
#include "algorithms/projectors/joseph_bricks.hpp"
#include "algorithms/support/variant_check.hpp"

namespace halocline {

Variant columns_variant();
Variant tile_variant(const LocalTile& tile);  ///< one of local_tiles()
Variant image_variant();
Variant texture_variant();
Variant half_texture_variant();
Variant texture_projection_variant();
Variant siddon_image_variant();
Variant turned_projection_variant();
Variant brick_variant(const AdjointBrick& brick);  ///< one of adjoint_bricks()
Variant slice_projection_variant();                ///< of a parallel-beam scan, whose rows lie on slices
Variant slice_adjoint_variant();

}  // namespace halocline

#include "algorithms/calibration/self_check.hpp"

#include "algorithms/denoisers/fused_pass.hpp"
#include "algorithms/denoisers/fused_variants.hpp"
#include "algorithms/fdk/row_filter_variants.hpp"
#include "algorithms/projectors/projector_variants.hpp"

namespace halocline {

const std::vector<Variant>& all_variants() {
  static const std::vector<Variant> all = [] {
    std::vector<Variant> result;
    for (const bool weighted : {false, true})
      for (int stages = 1; stages <= most_stages; ++stages) result.push_back(fused_variant(weighted, stages));
    result.push_back(columns_variant());
    for (const LocalTile& tile : local_tiles()) result.push_back(tile_variant(tile));
    for (const AdjointBrick& brick : adjoint_bricks()) result.push_back(brick_variant(brick));
    for (Variant (*variant)() : {image_variant, texture_variant, half_texture_variant, texture_projection_variant,
                                 siddon_image_variant, turned_projection_variant, slice_projection_variant,
                                 slice_adjoint_variant, local_rows_variant, clfft_variant, vkfft_variant})
      result.push_back(variant());
    return result;
  }();
  return all;
}

}  // namespace halocline

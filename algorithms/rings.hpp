// Rings of a reconstruction, at their source: detector pixels whose gain is not what the flat field says.
#pragma once

#include <cstddef>
#include <vector>

namespace halocline {

/// A pixel with a wrong gain adds the same offset to all its line integrals. Ketcham (2006, Proc. SPIE 6318) finds it
/// as the mean of the pixel over all views less a smoothed course of those means along the row. Here, with medians for
/// means, as what stands still is told by them from what passes (Vo et al. 2018): the median over the views of what a
/// value differs by from the median of the 2 * width + 1 values around it. At the ends of the row those become fewer,
/// evenly on both sides, so that a slope makes no offset; the outermost pixels get none.
///
/// `values`: views by columns, the line integrals of one detector row. Returns one offset a column. Rings up to `width`
/// pixels wide are found. What the object itself shows at the same pixel in more than half of the views, such as the
/// rim of a body centred on the axis, is taken for a ring, too, as it is by every such method.
std::vector<float> ring_offsets(const std::vector<float>& values, std::size_t columns, std::size_t views, int width);

/// Fewest views in which an object moves enough.
constexpr std::size_t fewest_views_for_rings = 20;

}  // namespace halocline

// Rings of a reconstruction, at their source: detector pixels whose gain is not what the flat field says.
#pragma once

#include <cstddef>
#include <vector>

namespace halocline {

/// A pixel with a wrong gain adds the same offset to all its line integrals. Ketcham (2006, Proc. SPIE 6318) finds it
/// as the mean of the pixel over all views less the smoothed course of those means along the row. Here, with medians
/// for means, which separate fixed from moving structure (Vo et al. 2018, Opt. Express 26):
///   1. in each view, what a value differs by from the median of the 2 width + 1 means of two pixels at equal distances
///      d = 1, 2, ... on both sides, so that a slope makes no offset, however steep;
///   2. the median of that over the views;
///   3. less its own median over the pixels up to 2 width + 1 away, which takes out how the object curves.
/// At the ends of a row distances become fewer, evenly on both sides; the outermost pixels get 0.
///
/// `values`: views by columns, the line integrals of one detector row. Returns one offset a column. Rings up to `width`
/// pixels wide are found; those beside them get a share where the object curves much, so that a sixth of an isolated
/// ring may remain. Structure that the object itself shows at the same pixel in more than half of the views, such as
/// the rim of a body centred on the axis, is taken for a ring.
std::vector<float> still_details(const std::vector<float>& values, std::size_t columns, std::size_t views, int width);

/// Returns means over the views of the same line integrals.
std::vector<float> column_means(const std::vector<float>& values, std::size_t columns, std::size_t views);

/// Returns the part of a detector's details that belongs to its pixels. `details` and `means` cover all rows (rows of
/// columns). Rims of bodies centred on the axis are seen on both sides of it, at the same distance. The axis is where
/// the means are most alike on both sides, if they clearly are. If the details are, too, those that correlate by 0.5
/// and more with the surroundings of their mirror images belong to the object, except for the excess over these; so are
/// the columns on the axis. Rings in such a body are reduced little.
std::vector<float> ring_offsets(const std::vector<float>& details, const std::vector<float>& means, std::size_t columns,
                                int width);

/// Fewest views in which an object moves enough.
constexpr std::size_t fewest_views_for_rings = 20;

}  // namespace halocline

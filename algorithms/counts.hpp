// From the counts of a detector to line integrals, by its flat and dark fields.
#pragma once

#include <cstddef>
#include <string>

#include "host/volume.hpp"

namespace halocline {

struct CountsReport {
  std::size_t pixels = 0;       ///< values converted: size u * size v * views
  std::size_t nonpositive = 0;  ///< values with counts <= dark, set to half a count
  std::size_t dead_pixels = 0;  ///< detector pixels with flat <= dark, which measure nothing; 0 in all views
};

/// Replaces counts (u, v, view) by p = -ln((counts - dark) / (flat - dark)), with flat and dark the means over the
/// views of `flats` and `darks` in double. Where counts <= dark, which has no logarithm, half a count is taken: p =
/// -ln(0.5 / (flat - dark)). Where flat <= dark, p = 0. The detector size (u, v) of all three must be the same:
/// InputError names the one that differs.
CountsReport counts_to_line_integrals(Volume& counts, const Volume& flats, const Volume& darks,
                                      const std::string& counts_name = "the counts",
                                      const std::string& flats_name = "the flats",
                                      const std::string& darks_name = "the darks");

}  // namespace halocline

// Spacing that ImageJ says in the description of a TIFF page.
#pragma once

#include <array>
#include <optional>
#include <string>

namespace halocline {

struct ImageJSpacing {
  std::array<double, 3> mm;
  bool has_slices = false;  ///< the description has a slice spacing; otherwise ImageJ takes one unit
};

/// `resolution`: pixels a unit along rows and columns, as in the tags. Empty unless the description is of ImageJ and
/// has a known unit of length.
std::optional<ImageJSpacing> imagej_spacing(const std::string& description, const std::array<double, 2>& resolution);

}  // namespace halocline

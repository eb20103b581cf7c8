// Number of views that a reconstruction without streaks takes.
#pragma once

#include <string>

#include "algorithms/fdk/redundancy.hpp"

namespace halocline {

struct ViewCount {
  std::size_t views = 0;  ///< different angles that there are
  double needed = 0;      ///< number that keeps streaks down
  double columns = 0;     ///< voxels across the part of the volume that is seen
  /// Streaks grow slowly: a warning is due from a fifth less on.
  bool few() const { return static_cast<double>(views) < 0.8 * needed; }
};

/// pi/2 angles in half a turn for each column that the object covers keep the arcs at its rim as short as a column is
/// wide (Kak & Slaney 1988, section 5.1.1; Joseph & Schulz 1980). The object is taken to be as wide as the volume
/// across the rotation axis, as far as it is in the field of view; columns are its voxels, or pixels at the isocentre
/// where these are wider. A parallel beam's views count modulo pi. The views of a divergent beam's full turn are
/// between those from the opposite side, so that as many suffice for all of it. A displaced detector measures most rays
/// once and needs twice as many. Short scans: in proportion to their arc.
ViewCount view_count(const Geometry& geometry, const Grid& projections, const Grid& volume,
                     const RedundancyOptions& options = {});

/// Empty where there are enough; else what was found and what would do. `name`: of the views, as "'scan.xml'".
std::string too_few_views(const ViewCount& count, const std::string& name);

}  // namespace halocline

// The grid of a volume that a scan is reconstructed on.
#pragma once

#include "algorithms/fdk/redundancy.hpp"
#include "algorithms/geometry/geometry_text.hpp"
#include "apps/job/job.hpp"
#include "apps/options/grid_options.hpp"

namespace halocline {

/// The grid for options that leave it to the scan (leaves_grid()): the voxels that the geometry file states (.xtekct),
/// if neither option is given and the projections are those of the whole detector; else default_volume(). Says which.
Grid scan_grid(Job& job, const GridOptions& options, const ScanFile& scan, const Geometry& geometry, const Grid& stack,
               const RedundancyOptions& redundancy = {});

}  // namespace halocline

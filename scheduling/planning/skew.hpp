// Time-skewed regions: slabs streamed through one device, without computing or transferring anything twice. Pure C++.
//
// A pass takes the state from level 0 (before it) to level S in S steps. The regions of a device are worked on in order
// of slices; region [a, b) makes slices [a - d_j, b - d_j) of level j, where d_j is the sum of the high halos of the
// first j steps, so that the slices above that a step reads are present. Those below are the seam: the topmost slices
// of every level of the region before, which remain on the device. (Wavefront or time-skewed tiling: Wolf & Lam 1991;
// Wonnacott 2000.) Halos beyond the first and the last region of a device are computed both by it and by its neighbour;
// they shrink from level to level.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "scheduling/planning/requirements.hpp"

namespace halocline {

/// Steps of a pass: iterations of each step, and whether a reduction is due at each level (one more than steps).
struct PassSteps {
  std::vector<int> iterations;
  std::vector<bool> reduce;
  bool starts = false;  // the method computes level 0 itself, without a seam

  /// `count` iterations, at most `together` at once, with reductions after `due` of them (ascending, up to count).
  static PassSteps of(int count, int together, std::span<const int> due, bool starts);
  std::size_t levels() const { return reduce.size(); }
};

/// Work of a region at a level, in this order: copy the seam below its slices, keep the seam of the region above, take
/// sums, make the next level.
struct LevelWork {
  Range made;     // slices of this level that the region makes, at level 0 loads
  Range seam;     // below them: from the region before
  Range keep;     // the seam of the region after
  Range reduced;  // slices whose sums are taken
};

struct RegionWork {
  Range window;  // all slices that the region holds
  std::vector<LevelWork> levels;
};

/// The work of every region of `regions` (in order, without gaps: the device's block of a volume of `nz` slices).
std::vector<RegionWork> skewed_work(const Requirements& requirements, const PassSteps& steps,
                                    std::span<const Range> regions);

/// Slices of the seam arrays for passes of up to `iterations`; each level has its own place, in order.
std::int64_t seam_slices(const Requirements& requirements, int iterations);

/// All slices that region `interior` of a device's block may hold in passes of up to `iterations`.
Range skewed_window(const Requirements& requirements, int iterations, Range block, Range interior);
/// True where a run with so many iterations a pass has one pass: inputs are loaded and the output is stored once, and
/// the state stays on the device.
bool is_one_pass(const Requirements& requirements, int iterations);
/// Slices of a window below the interior, away from the ends of the volume and the block.
std::int64_t skewed_lag(const Requirements& requirements, int iterations);

/// Array for the sums of all reductions of a pass.
inline const std::string sums_of_pass = "sums of a pass";

/// Requirements with the additional arrays of such slabs, for passes of up to `iterations`: seams of the state,
/// sums_of_pass, and second buffers if transfers are to overlap.
Requirements skewed_requirements(const Requirements& requirements, int iterations, bool overlapped);
bool is_overlapped(const Requirements& requirements);
/// Largest number of reductions in a pass of so many iterations.
int reductions_of_pass(const Requirements& requirements, int iterations);

}  // namespace halocline

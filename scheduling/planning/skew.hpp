// Slabs streamed through one device, without computing or transferring anything twice: time-skewed regions. Pure
// C++, no OpenCL.
//
// A pass takes the state from level 0 (before it) to level S by S steps. The regions of a device are worked on in order
// of slices; region [a, b) makes slices [a - d_j, b - d_j) of level j, where d_j is the sum of the high halos of the
// first j steps: what a step needs of the slices above is then always there. What it needs of those below is the seam:
// the topmost slices of every level that the region before has made, which remain on the device. (Wavefront or
// time-skewed tiling: Wolf & Lam 1991; Wonnacott 2000.) Beyond the first and the last region of a device lie halos that
// both it and its neighbour compute, as both work at the same time; they shrink from level to level.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "scheduling/planning/requirements.hpp"

namespace halocline {

/// What one pass does: iterations of each step, and whether a reduction is due at each level (one more than steps).
struct PassSteps {
  std::vector<int> iterations;
  std::vector<bool> reduce;
  bool starts = false;  // the method makes level 0 itself, of all that a region holds: no seam is needed there

  /// `count` iterations, at most `together` at once, with reductions after `due` of them (ascending, up to count).
  static PassSteps of(int count, int together, std::span<const int> due, bool starts);
  std::size_t levels() const { return reduce.size(); }
  /// Iterations done at a level.
  int done(std::size_t level) const;
};

/// What a region does at a level, in this order: the seam is put below what it holds, what the region above will need
/// is kept, sums are taken; then the next level is made.
struct LevelWork {
  Range made;     // slices of this level that the region makes; at level 0 those that it loads
  Range seam;     // below them: from the region before
  Range keep;     // the seam of the region after
  Range reduced;  // whose sums are taken; empty if none are due
};

struct RegionWork {
  Range window;  // all slices that the region holds
  std::vector<LevelWork> levels;
};

/// The work of every region of `regions` (in order, without gaps: the device's block of a volume of `nz` slices).
std::vector<RegionWork> skewed_work(const Requirements& requirements, const PassSteps& steps,
                                    std::span<const Range> regions);

/// Slices of the seam arrays that passes of up to `iterations` use; each level's seam has a place of its own, in order.
std::int64_t seam_slices(const Requirements& requirements, int iterations);

/// All slices that region `interior` of a device's block can have to hold in passes of up to `iterations`.
Range skewed_window(const Requirements& requirements, int iterations, Range block, Range interior);
/// Whether a run with so many iterations a pass has one pass: then inputs come and the output goes, once, and the state
/// never leaves the device.
bool is_one_pass(const Requirements& requirements, int iterations);
/// Slices of it below the interior, away from the volume's and the block's ends.
std::int64_t skewed_lag(const Requirements& requirements, int iterations);

/// The array of the sums of all reductions of a pass.
inline const std::string sums_of_pass = "sums of a pass";

/// The requirements with the arrays that such slabs need besides the method's own, for passes of up to `iterations`:
/// seams of the state, sums_of_pass, and, if transfers are to overlap, second buffers.
Requirements skewed_requirements(const Requirements& requirements, int iterations, bool overlapped);
/// Whether there are second buffers.
bool is_overlapped(const Requirements& requirements);
/// Reductions that a pass of so many iterations may have.
int reductions_of_pass(const Requirements& requirements, int iterations);

}  // namespace halocline

// Amount of noise in a volume, from the volume alone.
#pragma once

#include <array>

#include "algorithms/noise/noise_details.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

struct NoiseEstimate {
  double sigma = 0;  // standard deviation in grey values; with weights, where the weight is 1
  double active_fraction =
      0;                    // of the voxels that are not in uniformly filled parts (masked background); sigma is theirs
  bool correlated = false;  // neighbours share noise: sigma is larger than second differences say, by `excess`
  double excess = 1;        // noise seen in differences over three voxels, over that seen in second differences
  std::size_t places = 0;   // that sigma was measured at; with few of them, edges and chance make it wrong
  /// Along each axis, of the noise in voxels one to four apart; 0 unless `correlated`.
  std::array<std::array<double, 4>, 3> correlation{};
};

/// Second differences along every axis (the product of [1 -2 1] / sqrt 6, as Immerkaer 1996 does in 2D) leave noise and
/// little of a piecewise smooth object; their median absolute value / 0.6745 is the standard deviation (Donoho &
/// Johnstone 1994). Places at edges are left out (Tai & Yang 2008, who know them by gradients): in windows of 12^3
/// voxels those where mirrored voxels differ more than noise makes them (smooth_details()). Axes with two voxels take
/// [1 -1] / sqrt 2; those with one take no part. Places where the whole stencil has one value (background that was set
/// to a constant) or a value that is not finite do not count. Large volumes are sampled in windows on a fixed lattice.
/// Weights (variances up to a factor) divide the differences by their square roots; where they are 0, nothing counts.
/// sigma is 0 for a volume without noise, and for one of a single voxel.
///
/// That is for white noise. Noise that neighbours share, as after a smooth reconstruction kernel, has less of its
/// variance in second differences, and little is shared over three voxels. So in every window the median absolute
/// difference of voxels three apart, along the axis where it is smallest, is set against the second differences. The
/// noise that such voxels do share, as in clinical CT, whose pixels are finer than its kernels, follows from the ratio
/// of the squared differences over one and three voxels: correlations are taken to be q^(n^2) at n voxels, as a
/// Gaussian kernel makes them, and the noise is that of voxels far apart. Edges and texture add to that ratio of the
/// noise: `excess` is its lower quartile over the windows, and from 1.25 on it multiplies sigma, if neighbouring second
/// differences are too alike for white noise, too (detail_smoothness()): texture, which they see little of, does not
/// make them so.
NoiseEstimate estimate_noise(const Volume& volume, const Volume* weights = nullptr);

/// True if a window in which distances were measured, with details of this standard deviation, holds the noise of a
/// correlated estimate and little else. Edges, slopes and coarse texture make differences over three voxels larger
/// against those over one; fine texture makes details larger against differences over three voxels. True for every
/// window where neighbours share no noise.
bool holds_only_noise(const NoiseEstimate& estimate, const WindowNoise& window, double details);

}  // namespace halocline

// Differences that noise makes and a piecewise smooth object hardly does, for estimates of noise.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "host/volume/volume.hpp"

namespace halocline {

/// The largest second difference that fits a grid, and the differences of mirrored voxels to know edges by.
class DetailStencil {
 public:
  explicit DetailStencil(const Grid& grid);

  /// Voxels that it spans along each axis: 1 to 3.
  const std::array<std::size_t, 3>& extent() const { return extent_; }
  /// False for a single voxel, which has no differences.
  bool any() const { return detail_.size() > 1; }
  /// Index of the middle voxel, counted from the first.
  std::size_t middle() const { return detail_[detail_.size() / 2].offset; }
  /// True if one of its faces has the same value everywhere: filled background, or its rim, where there is less noise
  /// than elsewhere. In rows, whose faces are too small to decide, the whole stencil. `first`: the stencil's first
  /// voxel.
  bool filled(const float* first) const;
  /// Product of [1 -2 1] / sqrt 6 along all axes ([-1 1] / sqrt 2 along those with two voxels). It keeps the standard
  /// deviation of white noise.
  double detail(const float* first) const;
  /// Root mean square of all differences of voxels that mirror each other in the middle planes of the axes with three
  /// voxels: what is odd along one of them at least. White noise makes it its standard deviation; every edge and corner
  /// shows in it unless it is symmetric. detail() is even along all of them, so that for noise without a preferred
  /// direction the two are uncorrelated, and choosing places by one does not bias what the other measures.
  double roughness(const float* first) const;
  /// Number of independent differences: 0 without an axis with three voxels, where roughness() is 0.
  std::size_t differences() const { return differences_; }

 private:
  struct Tap {
    std::size_t offset;  // from the stencil's first voxel
    double factor;
  };
  using Filter = std::vector<Tap>;
  static Filter product(const Grid& grid, const std::array<std::vector<double>, 3>& factors);
  static double apply(const Filter& filter, const float* at);

  std::array<std::size_t, 3> extent_{1, 1, 1};
  Filter detail_;
  std::vector<std::vector<std::size_t>> mirrored_, faces_;  // offsets of voxels that mirror each other; of each face
  std::size_t differences_ = 0;
};

struct DetailSample {
  float detail, roughness;  // absolute values
};

/// Places that are left out: those rougher than noise makes 75 % of them, which hold most of the faint edges and
/// corners (and 11 % of the precision in a slice), or than 99 %, where more is to be compared than measured.
enum class EdgesOut { faint, clear };

/// Details at places without edges, as far as roughness shows them. The roughness of noise is estimated from the
/// smoothest twentieth, so that an object which fills all the rest with edges does not hide it, and noise which
/// neighbours share does not pass for edges: more of its variance is there than in the details. Where noise varies the
/// quiet parts count, so samples are best taken in one neighbourhood. `differences`: the stencil's.
std::vector<float> smooth_details(const std::vector<DetailSample>& samples, std::size_t differences,
                                  EdgesOut edges = EdgesOut::faint);

/// The details at two places that are neighbours along an axis.
struct DetailPair {
  float sum, one, other;  // absolute values: of the sum of the two, and of each
  float roughness;        // the larger
};

/// Smoothness of neighbouring details compared with white noise: ln of the median |d + d'| over the median |d|, less ln
/// sqrt(2/3), its value for white noise, whose neighbouring details have a correlation of -2/3. About 0 for white
/// noise, 0.55 for noise that was averaged 1 : 2 : 1 along this axis. Places at clear edges do not count, so that
/// texture hardly matters; a detail is not independent of the roughness beside it, so that leaving out more would make
/// details differ more. 0 without pairs.
double detail_smoothness(const std::vector<DetailPair>& pairs, const std::vector<DetailSample>& samples,
                         std::size_t differences);

/// Median absolute value / 0.6745, the standard deviation of a normal distribution about 0 with few outliers (Donoho &
/// Johnstone 1994). Where many values are the same, as differences of whole numbers are, the median is interpolated
/// among them. Reorders `values`, which hold absolute values; 0 if there are none.
double median_sigma(std::vector<float>& values);

/// Part of a volume: first voxel and size.
struct NoiseWindow {
  std::array<std::size_t, 3> first, size;
};

/// Windows of 12 x 12 x 12 voxels (42 x 42 in a slice, 1728 in a row; larger ones where there would be more than 2^16),
/// half overlapping, that cover a grid. Their lattice is x fastest.
class NoiseWindows {
 public:
  explicit NoiseWindows(const Grid& grid);
  /// Number along each axis.
  const std::array<std::size_t, 3>& counts() const { return counts_; }
  std::size_t count() const { return counts_[0] * counts_[1] * counts_[2]; }
  NoiseWindow at(std::size_t n) const;
  /// Distance of the windows' centres along an axis, voxels.
  double step(int axis) const;
  /// Centre of the first window along an axis, in voxel indices.
  double centre(int axis) const { return 0.5 * (static_cast<double>(size_[axis]) - 1); }

 private:
  std::array<std::size_t, 3> grid_, size_, counts_{1, 1, 1};
};

/// Noise found in a window.
struct WindowNoise {
  std::vector<DetailSample> details;
  std::size_t looked_at = 0;                     // places, uniform ones too
  std::array<std::vector<DetailPair>, 3> pairs;  // along each axis
  /// Along each axis, the standard deviation that the median absolute difference of voxels one, two and three apart
  /// makes; 0 along axes with fewer than 12 voxels.
  std::array<std::array<double, 3>, 3> apart{};
  /// Least difference of voxels three apart; 0 if there are none. It is that of noise, if nothing else changes over
  /// three voxels.
  double distant = 0;
};

/// Quantities measured besides details.
enum class Look { details, distances, pairs };

/// Measures noise at no more than `most_places` places, evenly spread. Places where the stencil is filled() or has a
/// value that is not finite do not count. Weights divide the differences by their square roots; where they are 0,
/// nothing counts.
WindowNoise look_at(const Volume& volume, const Volume* weights, const DetailStencil& stencil,
                    const NoiseWindow& window, std::size_t most_places, Look look);

}  // namespace halocline

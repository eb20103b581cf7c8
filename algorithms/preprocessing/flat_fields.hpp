// Means of flats and darks, and what the flats say about the beam before and after a scan.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "host/volume/volume.hpp"

namespace halocline {

struct FieldMean {
  std::vector<double> pixels;  ///< NaN where no image has a value
  std::size_t left_out = 0;    ///< values that are not finite, or far from those of the other images
  std::vector<double> levels;  ///< of each flat: the median of its pixels above the dark field; of darks none
  double noise = 0;            ///< of darks: standard deviation of a value; 0: not known
};

/// Returns the mean of darks. Of three and more, values are left out that are further from the pixel's lower median
/// than a fifth of it and than 20 times the median of such distances. The noise is that of the differences of
/// successive images; with one image, of neighbouring pixels, where a fixed pattern counts.
FieldMean mean_of_darks(const Volume& darks);
/// Returns the mean of flats, those of `after` behind the others. A value is left out that is 1.5 times as bright, or
/// dim, as the lower median of the pixel's values, each of its image's level.
FieldMean mean_of_flats(const Volume& flats, const Volume* after, const std::vector<double>& dark);

/// Values of flats that seem to be clipped.
struct ClippedFlats {
  double share = 0;  ///< of all values
  double value = 0;  ///< the greatest
};
/// Returns those that have the greatest value, if that is the greatest of 8, 10, 12, 14 or 16 bits, or `saturation` or
/// more, and one in a hundred has it. `after` may be nullptr.
std::optional<ClippedFlats> clipped_in(const Volume& flats, const Volume* after, std::optional<double> saturation);

/// Mean levels before and after a scan, of the mean of all.
struct BeamLevels {
  double before = 1, after = 1;
  /// Returns the level in view n of `views`: linear from `before` in the first view to `after` in the last.
  double at(std::size_t n, std::size_t views) const;
};
/// A step between some flats and the next, by more than 0.5 % and four times what they differ by on both sides of it.
struct LevelStep {
  std::size_t before = 0, images = 0;  ///< number of flats before it, and of all
  BeamLevels levels;
  /// Returns whether it seems to be one between flats from before and after a scan: both sides have a third of the
  /// images at least (of two images one), and differ by less than 30 %. Else it may be a lamp that warms up, or another
  /// exposure.
  bool is_of_a_scan() const;
};
/// Returns the step in flats of one stack, if there is one.
std::optional<LevelStep> step_in(const std::vector<double>& levels);
/// Returns the levels of the first `before` flats and of the others, if there are both, and all are above 0.
std::optional<BeamLevels> levels_before_and_after(const std::vector<double>& levels, std::size_t before);

/// Returns the median, of none 0. Partly sorts.
double median_of(std::vector<double>& values);

}  // namespace halocline

// Noise variance of every voxel where no scan gives it: from the volume alone, or from two halves of the scan.
#pragma once

#include <string>

#include "host/volume/volume.hpp"

namespace halocline {

struct NoiseMap {
  Volume variance;             // squared grey values, on the volume's grid
  double sigma = 0;            // root of the mean variance, where it is not 0
  double least = 0, most = 0;  // standard deviations, over the voxels
  bool correlated = false;     // from the volume alone: neighbours share noise, so the map was scaled, see below
  std::string how;             // for reports
};

/// Estimates the variance from the volume alone. In windows of about 12^3 voxels (42^2 in a slice, 1728 in a row), half
/// overlapping, sigma is what estimate_noise() finds by details at places without edges; the median over each window
/// and those beside it takes out windows that edges or texture fill; between the windows' centres the variance is
/// linear. Where all of a window is filled uniformly (masked background) it is 0. Where neighbours share noise, details
/// see only part of it, and the whole map is scaled by the excess that estimate_noise() reports. This magnifies what
/// structure leaves in the details, so windows that do not hold noise alone (holds_only_noise()) get at most 1.5 times
/// the variance of nine tenths of the denser ones that do. A map whose RMS comes within 5 % of its sigma for the whole
/// volume is scaled to that.
///
/// Less reliable than propagated variances or two halves: texture as fine as the voxels passes for noise, noise that
/// changes within a window is averaged, and the share that neighbours have in noise is taken for the same everywhere.
/// Throws InputError if no noise can be measured (a constant volume, a single voxel), or float32 does not hold the
/// squares of the grey values.
NoiseMap noise_map(const Volume& volume);

/// Estimates the variance from reconstructions A and B of the odd and even views: (A - B) / 2 has no object in it and
/// the variance of (A + B) / 2, the reconstruction of all views, if the halves' noise is independent. The map is its
/// median absolute value in the same windows, linear in between; noise that neighbours share is measured rightly.
/// Whatever differs between the halves for other reasons counts as noise, too: streaks of sparse views, motion.
/// `name_a`, `name_b` are for messages: throws InputError if the grids differ, the halves are the same, or float32 does
/// not hold their squares.
NoiseMap noise_map(const Volume& a, const Volume& b, const std::string& name_a = "the first half",
                   const std::string& name_b = "the second half");

}  // namespace halocline

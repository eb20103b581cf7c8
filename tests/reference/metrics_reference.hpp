// SSIM as its definition reads: the whole 3D window at every position, in double.
#pragma once

#include "host/volume/volume.hpp"

namespace halocline::reference {

/// Mean SSIM over the positions where an 11-tap window fits; along axes of fewer than 11 voxels all positions, with the
/// window cut and normalised.
double structural_similarity(const Volume& image, const Volume& reference);

/// 10 log10(max(reference)^2 / MSE) in dB.
double peak_signal_to_noise(const Volume& image, const Volume& reference);

/// Pearson's correlation.
double correlation(const Volume& image, const Volume& reference);

}  // namespace halocline::reference

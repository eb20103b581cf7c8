// Streaks that the halves of a scan have and the whole of it has not.
#pragma once

#include <functional>

#include "host/volume/volume.hpp"

namespace halocline {

/// Smooths a volume with this lambda.
using Smoothing = std::function<Volume(const Volume& volume, double lambda)>;

/// The noise of f as d = (A - B) / 2 shows it, A and B being reconstructions of the odd and even views of f. d holds
/// the noise of f and the streaks of half as many views, which are stronger than those of f where views are sparse. So
/// d falls apart into three bands (between Gaussians of 0.7 and 2 voxels), and each is taken down to what f holds: u0 +
/// d and u0 - d, u0 being f smoothed, have to lose as much of it in smoothing (in RMS) as f does. `lambda` is that
/// which suits d; it decreases with d, and u0 with it, until the bands no longer change.
///
/// A parametric bootstrap (Efron & Tibshirani 1993, chapter 6) of the size of the noise. Bands are never made larger;
/// one that does not change is bitwise identical if no other changes.
Volume noise_without_streaks(const Volume& f, const Volume& d, double lambda, const Smoothing& smooth);

}  // namespace halocline

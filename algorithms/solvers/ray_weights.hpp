// Statistical weights of rays: the inverse variance of line integrals from counts.
#pragma once

#include "algorithms/preprocessing/counts.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

/// I^2 / (I + electronic^2) for I = photons exp(-p), the inverse variance of p = -ln(I / photons) with Poisson counts
/// and normal noise of the electronics (Thibault et al. 2006), for each line integral p. `photons`: of the open beam in
/// a pixel; `electronic`: standard deviation in photons. Throws InputError that names the parameter if one is not
/// finite, `photons` not positive or `electronic` negative.
Volume weights_of_counts(const Volume& line_integrals, double photons, double electronic);

/// The mean count of the open beam in a pixel. Counts are photons if the detector's gain is 1.
double open_beam(const CountsCalibration& calibration);

}  // namespace halocline

// Quantum and electronic noise of a detector, added to noiseless line integrals.
#pragma once

#include <cstddef>
#include <cstdint>

#include "algorithms/support/philox.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

/// A Poisson-distributed number of the given mean (0 <= mean <= 1e10), exact: by inversion for means below 10, else by
/// transformed rejection with squeeze (Hoermann 1993, "The transformed rejection method for generating Poisson random
/// variables", algorithm PTRS).
double poisson(double mean, PhiloxStream& random);

/// A number of the standard normal distribution (Box and Muller 1958).
double standard_normal(PhiloxStream& random);

struct NoiseReport {
  std::size_t pixels = 0;
  std::size_t nonpositive = 0;  ///< counts that came out <= 0 and were set to 0.5
};

/// Replaces each line integral p by -ln(I / photons) with I = Poisson(photons exp(-p)) + Normal(0, electronic_sigma^2);
/// counts I <= 0, which have no logarithm, become 0.5. `photons` is the mean count of an unattenuated pixel,
/// `electronic_sigma` is in counts.
///
/// Every pixel has its own stream of random numbers, keyed by the seed and its place in the whole stack; `first_pixel`
/// is the place of projections.voxels[0] there. So pieces of a stack are bitwise identical to the whole, for any number
/// of threads. Throws InputError if photons is not in (0, 1e10], electronic_sigma is negative or not finite, or a
/// pixel's mean count would exceed 1e10 (the data are no line integrals); the voxels are of no use then.
NoiseReport add_noise(Volume& projections, double photons, double electronic_sigma, std::uint64_t seed,
                      std::uint64_t first_pixel = 0);

}  // namespace halocline

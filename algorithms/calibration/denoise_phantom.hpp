// Test object by which convergence of the denoisers is measured, with its noise.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "host/volume/volume.hpp"

namespace halocline {

/// Two balls on n^3 voxels of 1 mm: 1 inside radius 0.45 n about (n/2, n/2, n/2), 1.5 inside radius 0.2 n about (0.35
/// n, n/2, n/2), in voxel indices, 0 elsewhere; no partial volumes. White Gaussian noise of standard deviation `noise`
/// is added, times sqrt(weights) where weights are given (their grid must have the same size). The result is the same
/// for any number of threads. Throws InputError if n is 0.
Volume denoise_phantom(std::size_t n, double noise, std::uint64_t seed = 1, const Volume* weights = nullptr);
/// The same on any volume: the balls are stretched along its axes. Throws likewise.
Volume denoise_phantom(const std::array<std::size_t, 3>& size, double noise, std::uint64_t seed = 1,
                       const Volume* weights = nullptr);

/// Weights for S-PDU on such a volume: 70^(x/n - 1/2), scaled to mean 1. Throws InputError if n is 0.
Volume ramp_weights(std::size_t n);
Volume ramp_weights(const std::array<std::size_t, 3>& size);

}  // namespace halocline

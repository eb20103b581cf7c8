// Double-precision oracles of the filters, from their definitions.
#pragma once

#include "tests/reference/tv_reference.hpp"

namespace halocline::reference {

/// Every voxel's mean weighted with exp(-distance^2 / (2 sigma^2)), over the box that reaches 4 sigma (rounded up to
/// voxels) along every axis, as far as it is in the volume.
Image gaussian(const Lattice& lattice, const Image& f, double sigma);

/// Median of the cube of 2 radius + 1 voxels (1 along axes of one voxel), faces repeated.
Image median(const Lattice& lattice, const Image& f, int radius);

/// Non-local means as algorithms/denoisers/nlm.hpp says; noise and strength as there.
Image non_local_means(const Lattice& lattice, const Image& f, int patch_radius, int search_radius, double strength,
                      double noise);

}  // namespace halocline::reference

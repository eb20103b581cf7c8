// Facts of a volume, found without reading all of it.
#pragma once

#include <string>

#include "host/volume/volume.hpp"
#include "host/volume/volume_source.hpp"

namespace halocline {

struct VolumeSample {
  double mean = 0;    // mean of the finite values; 0 if there is none
  double spread = 0;  // root mean square of their difference from it
  /// Share of the voxels that are not in uniformly filled parts (masked background): in stretches of 27 or more equal
  /// values along the first axis.
  double active_fraction = 1;
};

/// Takes 256 runs of 1024 neighbouring voxels at fixed places, spread evenly over the volume but not in columns; all
/// voxels of volumes that have no more. The sample depends on the voxels alone.
VolumeSample sample_volume(const VolumeSource& source);

/// Grey values may spread by so much about their mean: their squares, and those of what is made of them, must be
/// float32 numbers.
constexpr double least_spread = 1e-16, most_spread = 1e16;
/// Throws InputError that names `volume` if they do not; a constant one is let through.
void check_scale(const VolumeSample& sample, const std::string& volume);

/// The central part of at most `voxels` voxels.
Volume central_part(const VolumeSource& source, std::size_t voxels);
Volume central_part(const Volume& volume, std::size_t voxels);

}  // namespace halocline

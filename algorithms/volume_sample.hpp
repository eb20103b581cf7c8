// What can be told of a volume without reading all of it.
#pragma once

#include "host/volume.hpp"
#include "host/volume_source.hpp"

namespace halocline {

struct VolumeSample {
  double mean = 0;    // of the finite values; 0 if there is none
  double spread = 0;  // root mean square of their difference from it
  /// Share of the voxels that are not in uniformly filled parts (masked background): in stretches of 27 or more equal
  /// values along the first axis.
  double active_fraction = 1;
};

/// From 256 runs of 1024 neighbouring voxels at fixed places, spread evenly over the volume but not in columns; from
/// all voxels of volumes that have no more. Depends on the voxels alone.
VolumeSample sample_volume(const VolumeSource& source);

/// The central part of at most `voxels` voxels.
Volume central_part(const VolumeSource& source, std::size_t voxels);
Volume central_part(const Volume& volume, std::size_t voxels);

}  // namespace halocline

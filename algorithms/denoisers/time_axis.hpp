// Time among the axes of what is denoised.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace halocline {

/// Differences between frames are divided by `weight` mm, as differences along x by the spacing of x: the larger it is,
/// the less frames are made alike. pdu4d: the volume is frames of `depth` slices, one after the other along its third
/// axis, all slices of a frame below each other along the second: size {nx, ny depth, frames}. pdu, spdu with a weight:
/// the third axis is time (2D frames).
struct TimeAxis {
  std::optional<double> weight;
  std::size_t depth = 1;
};

/// Throws InputError that names `time.weight` if it is missing, out of range or of no use to `method`.
void check_time_axis(const TimeAxis& time, const std::string& method);

}  // namespace halocline

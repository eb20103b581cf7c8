// Values of files that float32, in which all is calculated, does not hold.
#pragma once

#include <string>

#include "host/volume/typed_volume.hpp"

namespace halocline {

/// True if float32 holds all values of this type and scaling.
bool fits_float(Component component, const Scaling& scaling);

/// Throws InputError that names `path`, the first such value and its place if a finite value of the volume is too large
/// for float32: it would become infinite.
void require_float_range(const TypedVolume& volume, const std::string& path);

}  // namespace halocline

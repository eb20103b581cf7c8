// The view angles of HDF5 files: Data Exchange (DXchange; De Carlo et al. 2014) and NeXus (NXtomo).
#pragma once

#include <string>
#include <vector>

namespace halocline {

/// One angle a view in degrees, from whatever type it is stored in: /exchange/theta, or the list of numbers anywhere in
/// the file whose name says a rotation angle (rotation_angle, theta, angles, or a name with "rot" and units of an
/// angle, but none of a speed, tilt, offset, axis or two-theta; a warning says which, unless it is rotation_angle), or
/// start, step and number of process/acquisition/rotation. Views that an image_key of the same length marks
/// as flats or darks are left out. Radians are converted if the attribute `units` says so, or if there is none and the
/// angles span half a turn or a turn of them, which a warning says. Throws InputError that names the file if it cannot
/// be read, has no such list (then with the lists that it has), several that differ, or one of texts or of numbers
/// that are not finite or all equal, or does not let degrees and radians be distinguished, or has other units; and in
/// builds without ITK.
std::vector<double> read_hdf5_angles(const std::string& path);

}  // namespace halocline

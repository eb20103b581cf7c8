// Places of the frames of a DICOM file, and the meaning of their stored numbers (PS3.3 C.7.6.16: functional groups, of
// each frame and shared; C.8.8.3: dose grids; C.7.6.2 and C.7.6.3 for files of one frame or without functional groups).
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "apps/images/dicom_rescale.hpp"
#include "apps/images/slice_stack.hpp"
#include "host/volume/component.hpp"

namespace halocline {

struct DicomFrames {
  std::size_t columns = 0, rows = 0, count = 1;
  bool functional_groups = false;
  /// The place of each frame; none where the file says none. Spacings of 0 are not said.
  std::vector<SlicePlace> places;
  std::vector<Scaling> rescales;  ///< one of each frame
  StatedRescale stated;           ///< grid of the first frame; named after the file
  std::vector<std::array<double, 2>>
      pixels;               ///< spacings of each frame along a row and along a column, mm; 0: not stated
  std::string pixels_from;  ///< the attribute that says so for the first: "PixelSpacing"
  /// Between frames without places of their own, mm; and in words what it is taken from.
  double between = 0;
  std::string guess;
};

/// The frames of a file; nothing if read_dicom_data_set() does not read it, or without pixels. Throws InputError where
/// some frames have places or rescales and others none, or positions but no orientation, where values go through a
/// table or a slope of 0, for pixel data that are too short, and for numbers that are none.
std::optional<DicomFrames> read_dicom_frames(const std::string& path);

}  // namespace halocline

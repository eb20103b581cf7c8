// What the header of an image file says.
#pragma once

#include <string>

#include "host/component.hpp"
#include "host/volume.hpp"

namespace halocline {

/// How the values of an image are stored.
struct ImageStorage {
  Component component = Component::float32;
  Scaling scaling;
};

struct ImageInfo {
  Grid grid;              ///< a 2D image has size 1, spacing 1 and origin 0 along its third axis
  std::string component;  ///< type of the stored values: "uint8", "int16", "float32", ...
  std::string format;     ///< "MetaImage", "NRRD", ...
  Scaling scaling;        ///< from stored numbers to values
};

}  // namespace halocline

// The contents of an image file's header.
#pragma once

#include <map>
#include <string>

#include "host/volume/component.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

/// Entries of a header that no other field here holds: a description, codes, keys of its writer's own.
struct HeaderNotes {
  std::string format = {};  ///< as in ImageInfo: no other format takes them
  std::map<std::string, std::string> entries = {};
};

/// The storage of the values of an image.
struct ImageStorage {
  Component component = Component::float32;
  Scaling scaling = {};
  HeaderNotes notes = {};  ///< kept where the file has the same format
};

struct ImageInfo {
  Grid grid;              ///< a 2D image has size 1, spacing 1 and origin 0 along its third axis
  std::string component;  ///< type of the stored values: "uint8", "int16", "float32", ...
  std::string format;     ///< "MetaImage", "NRRD", ...
  Scaling scaling;        ///< from stored numbers to values
  HeaderNotes notes = {};
};

}  // namespace halocline

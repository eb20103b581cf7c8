// Slices that know their places in the world, as one volume: in the order of their positions along their common normal,
// whatever order they come in.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "host/volume/volume.hpp"

namespace halocline {

struct SlicePlace {
  std::array<double, 3> position{};     ///< centre of pixel (0, 0), mm
  std::array<double, 6> orientation{};  ///< unit vectors along a row and along a column
  std::array<double, 2> spacing{1, 1};  ///< along a row and along a column, mm
  std::array<std::size_t, 2> size{};    ///< columns, rows
  std::string name;                     ///< for messages: "the file 'a'", "frame 3 of 'b'"
  std::string group;  ///< other attributes that distinguish slices of one place: "temporal position 2"
};

struct SliceStack {
  std::vector<std::size_t> order;  ///< number of the n-th slice along the third axis
  Grid grid;                       ///< its third axis is the normal, so that the three axes are right-handed
};

/// Throws InputError that begins with `what` ("the DICOM series in 'a'") and names the slices: if sizes, spacings or
/// orientations differ, rows and columns are not at right angles, two slices lie at one place, distances differ by more
/// than 2 % (one is missing), or one lies more than half a pixel beside the normal through the first. A single slice
/// keeps a third spacing of 1.
SliceStack stack_slices(const std::vector<SlicePlace>& slices, const std::string& what);

}  // namespace halocline

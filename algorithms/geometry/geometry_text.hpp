// Scan geometries as rows of numbers: ASTRA's vectors (cone_vec, parallel3d_vec; van Aarle et al. 2016) and projection
// matrices, one view a row, numbers separated by blanks or commas; or with decimal commas, separated by blanks or
// semicolons, in the whole file.
//
// ASTRA's row: the source (cone) or the direction of the rays (parallel), the detector's centre, the step from pixel
// (0,0) to the next column, the step to the next row; three numbers each, rotation axis z. In its axes (X, Y, Z) =
// (x, -z, y).
// A matrix, row-major, maps world mm (x, y, z, 1) to (u w, v w, w), with (u, v) in detector mm, or in pixels (column,
// row) if the size of a pixel is known; it may also stand in three lines of four numbers.
//
// Lines that start with # are comments. Four of them are also read, and written here:
//   # format: astra cone_vec | astra parallel3d_vec | matrices mm | matrices pixels
//   # detector: NU NV          pixels of the detector
//   # pixel: DU DV             size of a pixel, mm
//   # origin: U V              position of the centre of pixel (0,0), mm
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/geometry/detector_pixels.hpp"
#include "algorithms/geometry/geometry.hpp"

namespace halocline {

enum class TextFormat { astra, matrices };

/// A scan as a file describes it.
struct ScanFile {
  Geometry geometry;
  DetectorPixels detector;            ///< detector as far as the file describes it
  std::optional<Grid> volume;         ///< the voxels that the file says were or are to be made of the whole detector
  bool from_top = false;              ///< images are known to be stored from the top row: in-plane angles near 180
  std::optional<double> white_level;  ///< the count of a pixel without the object
  std::vector<std::string> notes;     ///< notes: what was assumed, what was not used
  std::string sense;  ///< a note that the file does not say which way the scanner turned; empty: it does
};

/// True if the text has a `# format:` line that read_geometry_text knows.
bool has_text_format(const std::string& text);

/// Reads rows of numbers. `format` counts if the text has no `# format:` line. `detector` are the pixels that the rows
/// are about; the text supplies what it leaves open. ASTRA's rows say the pixel size; without an origin the detector's
/// centre becomes (u, v) = (0, 0). Throws InputError that names `name` and the line or view: if a line holds another
/// count of numbers or no number, there is no format, the pixels of `detector` are others, the views have different
/// pixels, the beam is ambiguous, or no RTK geometry expresses a view (see view_from_placement and view_from_matrix).
ScanFile read_geometry_text(const std::string& text, const std::string& name, const DetectorPixels& detector = {},
                            const TextFormat* format = nullptr);

/// Writes rows of numbers, exact to the last bit, with the comments above. ASTRA's rows need detector.spacing, and with
/// an origin its size too; matrices are in pixels if detector.spacing is given. Throws InputError that says what is
/// missing, and for a cylindrical detector.
std::string geometry_text(const Geometry& geometry, TextFormat format, const DetectorPixels& detector);

}  // namespace halocline

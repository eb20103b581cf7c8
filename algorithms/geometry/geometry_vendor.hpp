// Scan parameters that CT systems write beside their projections: Nikon's .xtekct and Waygate's (phoenix) .pca. Both
// are lines of key=value under [section] headings, in mm and degrees. Of their many keys these say the geometry:
//
// .xtekct, [XTekCT]: SrcToObject, SrcToDetector, Projections, InitialAngle, AngularStep, DetectorPixelsX/Y,
// DetectorPixelSizeX/Y, DetectorOffsetX/Y, and the axis: ObjectOffsetX (at the axis), ObjectRoll (round the beam) and
// ObjectTilt (along the beam), or in older files CentreOfRotationTop and CentreOfRotationBottom (at the detector's top
// and bottom edge). As in the reader of the Core Imaging Library (Jorgensen et al. 2021): images are stored row by row
// from the top, column 0 is on the right as the source sees it, and the sample turns by -AngularStep from view to view,
// anticlockwise seen from above being positive. The world's y points up, so that the volume stands as the object did.
// DetectorOffsetX/Y, which that library does not read, are our reading of these names alone. VoxelsX/Y/Z and
// VoxelSizeX/Y/Z are the volume, with Z along the axis; with an OffsetX/Y/Z, whose sense is not documented, they are
// not used. WhiteLevel is the count without the object, to which the system's flat fields bring every pixel.
//
// Numbers may have decimal commas where none in their section has a point. A comma such as that of 1,005 may stand
// between thousands instead: it is refused unless another number, such as 0,2, shows that commas are decimal.
//
// .pca: [Geometry] FDD, FOD (focus to detector, to object), cx, cy (foot of the perpendicular from the focus, pixels
// from 0), [CT] NumberImages, RotationSector, [Detector] PixelsizeX/Y, [Image] DimX, DimY. CalibValue, the system's own
// correction of the axis, has no documented unit and is not used.
#pragma once

#include <string>

#include "algorithms/geometry/geometry_text.hpp"

namespace halocline {

/// Reads the text of an .xtekct file. Throws InputError that names `name` and the section or key that is missing, or
/// the key that is no number or has an ambiguous comma, or as check_geometry does.
ScanFile read_xtekct(const std::string& text, const std::string& name);

/// Reads the text of a .pca file. Throws InputError as read_xtekct does, and for a Tilt or DetectorRot that is not 0,
/// whose sense is not documented. The notes say what is assumed.
ScanFile read_pca(const std::string& text, const std::string& name);

}  // namespace halocline

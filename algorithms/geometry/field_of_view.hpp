// Region around the rotation axis that a flat detector sees.
#pragma once

#include "algorithms/geometry/detector_pixels.hpp"
#include "algorithms/geometry/geometry.hpp"

namespace halocline {

/// Lengths in mm, of cylinders round the rotation axis.
struct FieldOfView {
  double radius = 0;            ///< seen whole in every view at the isocentre's height; negative: the axis is not
  double displaced_radius = 0;  ///< seen by the longer side of the detector, as counts on a full turn with it displaced
  double low = 0, high = 0;     ///< y between which the cylinder of `radius` is seen whole; low >= high: nowhere
  bool displaced() const { return radius > 0 && displaced_radius > 1.25 * radius; }
};

/// Computes the field of view from the planes through the source and the outer edges of the pixels. Throws InputError
/// for a detector whose pixels are not known.
FieldOfView field_of_view(const Geometry& geometry, const DetectorPixels& detector);

/// Share of a volume that is seen, from up to 24^3 points of it in up to 180 views.
struct Coverage {
  double every_view = 0;     ///< fraction of the volume that is seen in every view
  double half_of_views = 0;  ///< fraction seen in at least half of the views
};
Coverage volume_coverage(const Geometry& geometry, const DetectorPixels& detector, const Grid& volume);

}  // namespace halocline

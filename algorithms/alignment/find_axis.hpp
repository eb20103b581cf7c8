// Position of the rotation axis on the detector, from the projections themselves.
#pragma once

#include <optional>
#include <vector>

#include "algorithms/geometry/geometry.hpp"
#include "host/opencl/device.hpp"
#include "host/volume/volume.hpp"
#include "scheduling/planning/plan.hpp"

namespace halocline {

/// Axes to try: that of the geometry moved along u by -range to range, mm.
struct AxisSearch {
  double centre = 0, range = 0;
};

struct AxisEstimate {
  double shift = 0;     ///< mm along u from where the geometry has the axis
  bool at_end = false;  ///< the best of all is the first or the last that was tried: the range is too small
  double contrast = 0;  ///< worst over best score of what was tried
  std::optional<double> uncertainty = std::nullopt;  ///< one standard deviation, mm, where the scatter gives it

  /// pixel: mm. Noise has contrast, too, so contrast counts only where there is no uncertainty.
  bool certain(double pixel) const { return uncertainty ? *uncertainty <= 0.25 * pixel : contrast >= 1.05; }
};

/// The axis with which rays that are measured twice, from opposite sides, agree best: with gantry angle G and fan angle
/// a, the ray (G, a) is measured again as (G + 180 - 2 a, -a) (Kak & Slaney 1988, section 3.4.4). Minimises sum (p -
/// q)^2 / sum (p^2 + q^2) over the pairs on rows across the axis, where the source's plane is seen; for a parallel beam
/// on up to 16 rows. Between views and pixels it interpolates; a view without neighbours on both sides counts within
/// one and a half median gaps. With 16 opposed views and more, their scatter gives `uncertainty`. Throws InputError if
/// no rays are measured twice, or as check_projections does.
AxisEstimate axis_by_correlation(const Volume& projections, const Geometry& geometry, const AxisSearch& search);

/// The axis with which the reconstruction is sharpest: of half a turn, what has the least below zero, as attenuation
/// cannot be negative (Donath et al., J. Opt. Soc. Am. A 23, 2006); of a full turn, what has the greatest sum of
/// squares, as double contours have less. One slice in the source's plane, of a parallel beam up to 4, on 256^2 and
/// then 512^2 voxels. Throws InputError as check_fdk does, or if the detector does not see the source's plane or the
/// axis.
AxisEstimate axis_by_sharpness(const Volume& projections, const Geometry& geometry, const AxisSearch& search,
                               const std::vector<Device>& devices);

/// Host memory that these take beside the projections, bytes; by sharpness the executor's included, 0 where that would
/// throw InputError.
double correlation_bytes(const Grid& projections, const Geometry& geometry);
double sharpness_bytes(const Grid& projections, const Geometry& geometry, const std::vector<DeviceModel>& devices);

/// The geometry whose isocentre falls `shift` mm further along u in every view: its projection offset x is that much
/// smaller.
Geometry with_axis_shifted(const Geometry& geometry, double shift);

}  // namespace halocline

// Counts of a part of a scan, whose pixels are put together before the logarithm is taken, as though a detector with
// larger pixels had counted.
//
//   q = -ln( sum(count - dark) / (beam sum(open)) )      over the pixels of a bin
//
// The mean of the pixels' own -ln would count dark pixels, which are the least certain, as much as bright ones, and is
// too high in the mean of noisy ones, as -ln is convex. A sum of counts has a Poisson distribution as they have, so the
// noise of a bin is estimated like that of a pixel (cl/fdk.clh). Counts that were not measured are replaced before they
// are summed.
#pragma once

#include <string>

#include "algorithms/preprocessing/counts.hpp"
#include "algorithms/preprocessing/projection_part.hpp"

namespace halocline {

/// Calibration of the part's counts, from that of the whole scan.
CountsCalibration part_calibration(const CountsCalibration& whole, const ProjectionPart& part);

/// The part's counts: the sums of its bins, rounded once. Views are read as a whole, each once.
Volume take_counts(const VolumeSource& counts, const ProjectionPart& part, const CountsCalibration& whole);

}  // namespace halocline

// The projections that the options choose from a file, in host memory.
#pragma once

#include <string>

#include "algorithms/preprocessing/counts.hpp"
#include "apps/options/counts_options.hpp"
#include "apps/options/projection_options.hpp"
#include "host/volume/volume.hpp"

namespace halocline {

/// Line integrals; or counts, and what makes line integrals of them.
struct ChosenScan {
  Volume projections;  ///< voxels at the places that the options state
  CountsCalibration calibration;
  ReplacedValues replaced;  ///< values of the whole file that were not measured, interpolated in the projections
};

/// Reads the one part of the file that is chosen. counts: the file holds these, else line integrals, from which
/// rings are taken off if `arguments` say so. Counts are calibrated as a whole, put together before the logarithm and
/// not yet turned into line integrals.
ChosenScan read_chosen(Job& job, const ChosenProjections& chosen, const ImageInfo& info, const std::string& path,
                       const CountsArguments& arguments, bool counts);

/// Multiplies weights of the chosen rays by the share of their pixels that measured.
void withhold_unmeasured(const ChosenScan& scan, const ChosenProjections& chosen, Volume& weights);

}  // namespace halocline

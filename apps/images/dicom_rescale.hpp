// Consistency of the rescaling that DICOM frames and files state.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace halocline {

struct StatedRescale {
  std::optional<double> slope, intercept, dose;  ///< RescaleSlope, RescaleIntercept, DoseGridScaling
  std::string name;                              ///< name of the frame or file, for messages: "frame 3", "'a.dcm'"
};

/// Throws InputError that begins with `what` if one lacks an attribute that another has, and whose value is not the one
/// that stands for none (slopes 1, intercept 0): the numbers of the two do not mean the same.
void require_rescales_of_all(const std::vector<StatedRescale>& all, const std::string& what);

}  // namespace halocline

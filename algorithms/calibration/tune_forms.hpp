// Choice among forms with the same bits, as a part of tuning.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "algorithms/calibration/tune.hpp"

namespace halocline {

/// A choice whose forms were measured.
struct FormFound {
  std::string name, value;  ///< of TunedValues::choices
  TunedItem item;
};

/// Measures the forms of back-projection and projection that belong to a class of tune_classes(), on `scan`, and those
/// that work within slices on a parallel beam of n^3 voxels unless `scan_only`. has_time: asked before each form but
/// the standard one.
std::vector<FormFound> tuned_forms(const Device& device, const std::string& tune_class, const Scan& scan, std::size_t n,
                                   bool scan_only, const std::function<bool()>& has_time);

/// Measures how many iterations a pass are fastest for "pdu" or "spdu" on n^3 voxels; nothing on CPUs.
std::vector<FormFound> tuned_passes(const Device& device, const std::string& method, std::size_t n);

}  // namespace halocline

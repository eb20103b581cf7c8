// Kernel variants that are faster on some devices, checked against their portable twins: drivers have been seen to
// compile them wrongly. Each family of kernels names its own (fused_variants.hpp, scan_forms.hpp,
// row_filter_variants.hpp); self_check.hpp lists all of them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "host/opencl/device.hpp"
#include "host/volume/volume.hpp"
#include "scheduling/transport/ranks.hpp"

namespace halocline {

enum class Verdict {
  right,
  last_bits,  ///< rounded another way than the twin, which is bitwise identical elsewhere: as good, but not the same
  wrong,
  not_taken
};

struct Finding {
  Verdict verdict = Verdict::right;
  std::string detail;  ///< which values differ, what is wrong or why the device does not take it; "": right
  /// "right", "differs in the last bits: ...", "wrong: ...", "not for this device: ...".
  std::string text() const;
};

struct Variant {
  std::string name;
  std::vector<std::string> files;                            ///< kernel files whose text the answer depends on
  std::function<std::string(const DeviceInfo&)> reason_not;  ///< why a device does not take it; "": it does
  std::function<Finding(const Device&)> check;               ///< runs it and its twin, or a sum in float64
};

/// A reason of a condition.
std::function<std::string(const DeviceInfo&)> unless(bool (*taken)(const DeviceInfo&), const char* reason);

/// Values in [0, 1) that repeat nowhere, the same in every run.
Volume trial_volume(const Grid& grid);

/// Right if no two values are farther apart than `tolerance`; 0: if they are bitwise identical.
Finding compared(const Volume& values, const Volume& expected, double tolerance);

/// Runs the variant's check on a small volume; a kernel that does not compile is wrong. Throws ClError if the device
/// fails, or takes smaller work-groups only (exceeds_group_limits). The finding is remembered, in the cache folder too,
/// for this device, driver and these kernels. again: runs it although a result is kept.
Finding check_variant(const Variant& variant, const Device& device, bool again = false);

/// True if the variant is right, to the last bit where it has to be, on all of the devices of these ranks that take it.
/// Otherwise a warning, once in a process, names the device and `instead`, what is done without it. Meant for choices
/// that the user did not request. All ranks call it.
bool variant_works(const Variant& variant, const std::vector<Device>& devices, const std::string& instead,
                   Ranks& all = one_rank());

/// Throws InputError that names the `parameter` which asked for the variant, and the device on which it is wrong. One
/// that differs in the last bits is accepted.
void require_variant(const Variant& variant, const std::vector<Device>& devices, const std::string& parameter);

}  // namespace halocline

// OpenCL devices of the computer, and the user's choice among them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace halocline {

/// Properties of a device before it is opened. Sizes in bytes.
struct DeviceInfo {
  int index = 0;  // position in the list of list_devices()
  std::string name, vendor, platform, driver, version;
  std::string type;  // cpu, gpu, accelerator or other
  unsigned compute_units = 0, address_bits = 64;
  std::size_t global_memory = 0, max_allocation = 0, local_memory = 0, max_work_group = 0;
  bool images = false, fp64 = false, unified_memory = false;
  unsigned matrix_lanes = 0;  // of Intel's sub-groups that multiply matrices; 0: they do not (matrix_units.hpp)
  bool texel_pairs = false;   // images of two channels, float32 and half; known of open devices
  std::size_t image_width = 0, image_height = 0, image_layers = 0;  // of a 2D image array

  bool cpu() const { return type == "cpu"; }
};

/// Devices to open, and the part of their memory that may be used.
struct DeviceSelection {
  std::string device = {};  // comma list of: index, cpu, gpu, all, or a part of the vendor's or device's name; "":
                            // HALOCLINE_DEVICE, else the default
  int sub_devices = 0;      // n >= 2: split the one chosen device into n (clCreateSubDevices), for tests and NUMA
  std::size_t device_memory = 0;  // budget of each device in bytes; 0: what the device has, less a reserve
};

/// The name without the suffix of devices of one kind: "Name #2", "Name (part 1 of 2)".
std::string model_of(const DeviceInfo& device);
/// A part of a device that was split (DeviceSelection::sub_devices).
bool is_part(const DeviceInfo& device);

/// All OpenCL devices of all platforms; empty when there is no platform. Order: by platform, as the ICD loader lists
/// them.
std::vector<DeviceInfo> list_devices();

/// Indices into `devices` that `selection` names, in its order, each once. Pure: tested without OpenCL.
/// The default is the first GPU, else the first accelerator, else the first device. Throws InputError that lists what
/// there is; with no device at all it names the Debian package of PoCL.
std::vector<int> select_devices(const std::vector<DeviceInfo>& devices, const std::string& selection);

}  // namespace halocline

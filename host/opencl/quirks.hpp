// Everything that some driver does differently, in one place, with the reason.
#pragma once

#include <cstddef>
#include <string>

#include "host/opencl/device_info.hpp"

namespace halocline {

struct Quirks {
  bool fill_with_kernel = false;   // large clEnqueueFillBuffer calls have been seen broken on NVIDIA
  std::string build_options;       // Intel: buffers over 4 GB
  bool large_allocations = false;  // Intel: CL_MEM_ALLOW_UNRESTRICTED_SIZE_INTEL on buffers over 4 GB
  bool allocations_beyond_max =
      false;  // NVIDIA: CL_DEVICE_MAX_MEM_ALLOC_SIZE is a quarter of the memory, larger buffers work
  /// Number of builds from source after which a program's binary is kept. For a binary PoCL compiles every kernel once
  /// more, for groups of any size, which takes as long as some twenty builds from its own files.
  std::size_t builds_before_binary = 0;
};

Quirks quirks_of(const DeviceInfo& device);

/// More options for one program, a file of cl/ with these options.
std::string program_options(const DeviceInfo& device, const std::string& file, const std::string& options);

/// Reason why no job can run on the device, and a remedy; "": jobs can. For drivers that end the process, which no
/// error of OpenCL reports.
std::string refusal(const DeviceInfo& device);

/// NVIDIA's H100 and H200 under its own driver, for which defaults were measured (on an H200).
bool is_hopper(const std::string& platform, const std::string& name);

/// Bytes of local memory that a work-group can have. NVIDIA's driver reports 48 KiB everywhere; kernels with 139 KiB
/// were seen to run, and to be right, on an H200.
std::size_t usable_local_memory(const DeviceInfo& device);

/// PoCL (5.0 seen) ends the process with an assertion when a buffer is copied to an image in the context of a
/// sub-device.
bool pocl_sub_devices_lack_images(const DeviceInfo& device);

/// PoCL (3.1 seen) frees a sub-device with its last reference although queues still name it: its own threads then read
/// freed memory, as they let go of a command after reporting that it has ended.
bool pocl_frees_sub_devices_in_use(const DeviceInfo& device);

}  // namespace halocline

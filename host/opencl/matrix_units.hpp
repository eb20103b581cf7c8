// Matrix units of GPUs that kernels take (cl/tile_*.clh).
#pragma once

#include "host/opencl/device_info.hpp"

namespace halocline {

/// By the vendor, and the lanes that multiply together.
enum class MatrixUnits { none, nvidia, amd_64, amd_32, intel_16, intel_8 };

/// Those that a vendor's driver gives to kernels: of NVIDIA's GPUs, of AMD's from CDNA (64 lanes) and RDNA 3 (32) on,
/// by the device's name, and of Intel's by its extension. Pure: nothing is asked of the device.
MatrixUnits matrix_units_of(const DeviceInfo& device);

}  // namespace halocline

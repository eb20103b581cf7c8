// Sizes of the form of exact back-projection that goes through local memory, and which one a device takes.
#pragma once

#include <span>
#include <string>

#include "host/opencl/device_info.hpp"
#include "scheduling/planning/plan.hpp"

namespace halocline {

/// Shape of a work-group of backproject_tile.cl.
struct LocalTile {
  int width = 0, height = 0;  ///< voxels of a slice, a work-item each; a multiple of eight
  int slices = 0;             ///< of a work-item
  int bytes = 0;              ///< of local memory for the pixels that they see; what else it takes is little

  bool operator==(const LocalTile&) const = default;
  int items() const { return width * height; }
  std::string options() const;  ///< of the kernel
  std::string text() const;     ///< "8 x 16 x 32, 20 KiB"
};

/// Tiles that are worth a trial.
std::span<const LocalTile> local_tiles();

/// True if the device has room for the tile. CPUs have, but barriers are slow there, so none is chosen for them.
bool takes_tile(const DeviceInfo& device, const LocalTile& tile);

/// Key of exact back-projection in Tuning::choices, and the values that mean no tile.
inline constexpr const char* exact_form_choice = "exact back-projection";
inline constexpr const char* quads_form = "quads";
inline constexpr const char* images_form = "images";

/// The one that tuning found the fastest on all of the devices, or that was measured to be on devices like them; null:
/// none, or not the same, or one is a CPU.
const LocalTile* fastest_tile(std::span<const DeviceModel> devices);

}  // namespace halocline

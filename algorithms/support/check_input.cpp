#include "algorithms/support/check_input.hpp"

#include <fmt/format.h>

#include "host/system/error.hpp"
#include "host/volume/finite_source.hpp"

namespace halocline {

void check_size(const Volume& volume, const std::string& name) {
  check_grid(volume.grid, name);
  const auto& size = volume.grid.size;
  if (volume.voxels.size() != volume.grid.count())
    throw InputError(fmt::format("{}: it has {} values, and its grid of {} x {} x {} needs {}", name,
                                 volume.voxels.size(), size[0], size[1], size[2], volume.grid.count()));
}

void check_volume(const Volume& volume, const std::string& name) {
  check_size(volume, name);
  require_finite(MemorySource(volume), name);
}

void check_devices(const std::vector<Device>& devices) {
  if (devices.empty()) throw InputError("no device was given to run on; open_devices() opens those that there are");
}

}  // namespace halocline

// Scans and grids without symmetry that the tests of the projectors share.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "algorithms/geometry/geometry.hpp"
#include "host/opencl/device.hpp"
#include "scheduling/execution/run.hpp"

namespace halocline::reference {

/// A scan and a grid that it sees.
struct Scene {
  std::string name;
  Geometry geometry;
  Grid projections, grid;
};
/// Output for GoogleTest's messages.
inline void PrintTo(const Scene& scene, std::ostream* out) {
  *out << scene.name;
}

/// Cone (tilted, displaced source and detector; also untilted), fan, stack of fans and parallel beam, with odd,
/// anisotropic, off-centre grids along the default axes, along the world's (the rotation axis along j), and turned
/// arbitrarily. Angles avoid those where a ray follows two axes equally.
std::vector<Scene> scenes();
/// The scene of this name.
Scene scene_named(const std::string& name);

/// Upright scans (RayTable::upright()): views of which some have rays that follow both axes, volumes of all sizes, off
/// the axis, pixels finer and coarser than voxels.
std::vector<Scene> upright_scenes();

/// Values in [0, 1) from a fixed sequence.
Volume random_volume(const Grid& grid, unsigned seed);

/// At least so many slabs, and so many views a batch.
RunOptions split(int slabs, int batch);

/// A detector of `columns` x `rows` pixels centred on the central ray, `views` views.
Grid detector(std::size_t columns, std::size_t rows, std::size_t views, double du, double dv);

/// DeviceSelection::device for the CPU, which can be split; where there is none, for the default devices.
std::string cpu_or_default();
/// The device that sub_devices() splits: results are bitwise identical on one kind of device only.
const std::vector<Device>& undivided();

/// The default device, opened once; `parts` >= 2: its sub-devices.
const std::vector<Device>& device();
const std::vector<Device>& sub_devices(int parts);

}  // namespace halocline::reference

// Arguments of the kernels of all ray-driven projectors, forward and adjoint.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/projectors/batch_argument.hpp"
#include "algorithms/projectors/projector.hpp"
#include "algorithms/support/kernel_numbers.hpp"

namespace halocline {

/// Properties of a projector.
struct ProjectorKind {
  const char *name, *stem;  ///< of the option; of cl/<stem>.cl and its kernels
  int lines;                ///< float4s that the adjoint keeps of a ray
  double reach;             ///< reach_of() of a ray without width
  bool widths;              ///< rays are as wide as pixels; the kernels take the widths
};
const ProjectorKind& kind_of(const Projector& projector);
/// Voxels from a ray to the centres of those that it may meet, along each axis.
std::array<double, 3> reach_of(const Projector& projector, const RayTable& table);

/// <stem>_<verb> of cl/<stem>.cl; of a form of it, <stem>_<form>_<verb> of cl/<stem>_<form>.cl.
KernelSpec ray_kernel(Projector projector, const std::string& verb, const std::string& options = {},
                      const std::string& form = {});

/// Edge of the tiles that kernels turn arrays with, TILE of cl/joseph_turn.cl and others, and the options that set it.
std::size_t turning_tile(const DeviceInfo& device);
std::string turning_options(std::size_t tile);

void add_spacing(std::vector<SlabArgument>& arguments, const Grid& volume);
/// Adds the widths of a pixel, if the projector takes them.
void add_widths(std::vector<SlabArgument>& arguments, Projector projector, const RayTable& table);

/// Options for cylindrical detectors and for rays that end in the volume: cl/rays.clh.
std::string table_options(const RayTable& table);
/// ... and for stacks of fans.
inline const char* fans_option(const RayTable& table) {
  return table.fan_stack ? " -D FAN_STACK" : "";
}
/// Options of the kernels of a projector that every form takes.
inline std::string form_options(Projector projector, const RayTable& table) {
  const bool within = table.within_slice && projector == Projector::distance_driven;
  return std::string(fans_option(table)) + (within ? " -D WITHIN_SLICE" : "");
}
/// Option of Siddon's kernels where rays may run in faces between voxels.
inline const char* faces_option(bool faces) {
  return faces ? " -D FACES" : "";
}
void add_table_arrays(Requirements& requirements, const RayTable& table);
/// Those of its arrays that have numbers of each view.
ViewTables view_tables(const RayTable& table, std::size_t columns);
void set_table(Slab& slab, const RayTable& table);
/// ARC_PARAMETERS, and ENDS_PARAMETERS if the kernel has them.
void add_table(std::vector<SlabArgument>& arguments, const RayTable& table, std::size_t columns, bool ends = true);

}  // namespace halocline

#include "host/opencl/work_groups.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <string_view>

#include "host/system/lower_case.hpp"

namespace halocline {
namespace {

using Shape = std::array<std::size_t, 3>;

// A row applies to devices whose name contains `device` and whose vendor or platform contains `vendor` (lower case, "":
// any), of type `type` ("": any), for kernels whose name begins with `kernel`. The first row that applies is taken, so
// rows of a device precede those of its vendor, and those the defaults.
struct Row {
  std::string_view device, vendor, type, kernel;
  Shape shape;
};

constexpr Row table[] = {
    // element after element (algorithms/expressions): on CPUs a work-item has many
    {"", "", "cpu", "expression", {1, 1, 1}},
    {"", "", "cpu", "stencil", {1, 32, 1}},
    // CUDA on an H200: 30 % of the copy rate with groups of 64, 81 % with 256 and one element a work-item, all of it
    // with four
    {"", "", "", "expression", {256, 1, 1}},
    {"", "", "gpu", "vectors_", {256, 1, 1}},
    {"", "", "", "copy_several", {256, 1, 1}},
    {"", "", "", "fill_value", {256, 1, 1}},
    // of up to 128 items: textures of four views take 23 ms on an H200, 31 in groups of 256
    {"", "nvidia", "gpu", "backproject_image", {8, 16, 1}},
    {"", "nvidia", "gpu", "backproject_exact", {8, 16, 1}},
    // Runs of vector loads along x; square groups halve the speed on two AVX-512 cores.
    {"", "", "cpu", "", {64, 4, 1}},
    {"", "", "", "backproject_image", {16, 16, 1}},
    {"", "", "", "backproject_exact", {8, 16, 1}},
    {"", "", "", "slices_image", {16, 8, 1}},
    {"", "", "", "slices_exact", {16, 8, 1}},
    // planes across x: read along their layers, written along y
    {"", "", "", "joseph_image_planes", {16, 1, 16}},
    // neighbours along slices, some columns of a few views, which meet much the same voxels
    {"", "", "", "joseph_slices_project", {128, 4, 1}},
    {"", "", "", "joseph_project", {32, 2, 4}},
    {"", "", "", "joseph_backproject", {16, 8, 1}},
    {"", "", "", "siddon_project", {32, 2, 4}},
    {"", "", "", "distance_driven_project", {32, 2, 4}},
    {"", "", "", "", {64, 4, 1}},
};

bool counts(const Row& row, const DeviceInfo& device, const std::string& kernel) {
  const auto part_of = [](std::string_view part, const std::string& text) {
    return lower_case(text).find(part) != std::string::npos;
  };
  return part_of(row.device, device.name) &&
         (part_of(row.vendor, device.vendor) || part_of(row.vendor, device.platform)) &&
         (row.type.empty() || row.type == device.type) && kernel.starts_with(row.kernel);
}

}  // namespace

bool GroupLimits::take(const Shape& shape) const {
  return shape[0] * shape[1] * shape[2] <= items && shape[0] <= axes[0] && shape[1] <= axes[1] && shape[2] <= axes[2];
}

std::array<std::size_t, 3> work_group_within(std::array<std::size_t, 3> shape, const GroupLimits& limits) {
  for (int axis = 0; axis < 3; ++axis)
    while (shape[axis] > 1 && shape[axis] > limits.axes[axis]) shape[axis] /= 2;
  for (int axis = 2; axis >= 0; --axis)
    while (shape[axis] > 1 && shape[0] * shape[1] * shape[2] > limits.items) shape[axis] /= 2;
  return shape;
}

std::array<std::size_t, 3> work_group_within(std::array<std::size_t, 3> shape, const DeviceInfo& device) {
  GroupLimits limits;
  limits.items = device.max_work_group;
  return work_group_within(shape, limits);
}

std::array<std::size_t, 3> work_group_shape(const DeviceInfo& device, const std::string& kernel,
                                            const std::array<std::size_t, 3>& global,
                                            const std::array<std::size_t, 3>* tuned, const GroupLimits& limits) {
  Shape shape = tuned != nullptr ? *tuned : std::find_if(std::begin(table), std::end(table), [&](const Row& row) {
                                              return counts(row, device, kernel);
                                            })->shape;
  // Work-items beyond the range would only idle. CPUs compile a kernel for each shape of its groups, which takes longer
  // than idling in small arrays. Idle work-items would be the majority along an axis of one element.
  for (int axis = 0; axis < 3; ++axis)
    if (device.type != "cpu" || global[axis] <= 1)
      shape[axis] = std::min(shape[axis], std::bit_ceil(std::max<std::size_t>(1, global[axis])));
  return work_group_within(work_group_within(shape, device), limits);
}

}  // namespace halocline

#include "algorithms/projectors/joseph_bricks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/opencl/quirks.hpp"

namespace halocline {
namespace {

constexpr AdjointBrick bricks[] = {{4, 4, 32, 4}, {8, 4, 32, 4}, {8, 4, 32, 2}, {8, 8, 32, 2}};

// Where bricks[0] was measured to be faster than stacks (benchmarks/results/nvidia-h200.md).
bool bricks_were_faster(const DeviceModel& device) {
  return is_hopper(device.platform, device.name);
}

}  // namespace

std::size_t AdjointBrick::local_bytes() const {
  constexpr std::size_t crossings = 40, together = 2, number = 4, numbers = 16;  // CROSSINGS and TOGETHER of the kernel
  const auto voxels = static_cast<std::size_t>(x * y), planes = static_cast<std::size_t>(std::max(x, y));
  return number * voxels * static_cast<std::size_t>((items + 1) * layers) +
         numbers * (2 * (crossings + together) + planes) + static_cast<std::size_t>(items) + number * crossings;
}

std::string AdjointBrick::options() const {
  return fmt::format("-D BRICK_X={} -D BRICK_Y={} -D ITEMS={} -D LAYERS={}", x, y, items, layers);
}

std::string AdjointBrick::text() const {
  return fmt::format("{}x{}x{}", x, y, slices());
}

AdjointBrick AdjointBrick::for_slices(std::size_t slices) const {
  AdjointBrick result = *this;
  while (result.layers > 1 && static_cast<std::size_t>(result.slices() / 2) >= slices) result.layers /= 2;
  return result;
}

std::span<const AdjointBrick> adjoint_bricks() {
  return bricks;
}

bool bricks_take(std::size_t columns, std::size_t rows) {
  constexpr std::size_t most_rows = 16384;  // whose rounding stays below MARGIN of the kernel
  return rows <= most_rows && columns <= (std::size_t{1} << 31) / (most_rows + 4);
}

bool takes_brick(const DeviceInfo& device, const AdjointBrick& brick) {
  return static_cast<std::size_t>(brick.items) <= device.max_work_group &&
         brick.local_bytes() <= usable_local_memory(device);
}

const AdjointBrick* faster_brick(std::span<const DeviceModel> devices) {
  return !devices.empty() && std::all_of(devices.begin(), devices.end(), bricks_were_faster) ? &bricks[0] : nullptr;
}

}  // namespace halocline

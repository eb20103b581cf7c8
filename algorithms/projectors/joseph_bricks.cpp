#include "algorithms/projectors/joseph_bricks.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "algorithms/projectors/projector.hpp"
#include "algorithms/projectors/ray_arguments.hpp"
#include "host/opencl/quirks.hpp"

namespace halocline {
namespace {

constexpr AdjointBrick bricks[] = {{4, 4, 32, 4}, {8, 4, 32, 4}, {8, 4, 32, 2}, {8, 8, 32, 2}};

// True on devices where bricks[0] was measured to be faster than stacks (benchmarks/results/nvidia-h200.md).
bool bricks_were_faster(const DeviceModel& device) {
  return is_hopper(device.platform, device.name);
}

constexpr std::size_t tail = 3;  // TAIL of joseph_bricks.cl

std::size_t parts(std::size_t all, int each) {
  return parts_of(all, static_cast<std::size_t>(each));
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

void RayBackprojection::declare_bricks(Requirements& requirements) const {
  auto& arrays = requirements.arrays;
  std::erase_if(arrays, [](const ArrayNeed& need) { return need.name == "lines" || need.name == "values"; });
  const auto columns = projections_.size[0], rows = projections_.size[1];
  // Room for the tail of every column, in so many more columns of the fewest rows that a slab holds (detector_rows_of).
  constexpr std::size_t fewest = 32;
  const std::size_t more = parts_of(tail * columns, std::min(fewest, rows));
  arrays.push_back({.name = "pixels", .kind = ArrayKind::projections, .row_length = columns + more});
  arrays.push_back({.name = "columns", .kind = ArrayKind::projections, .components = 4, .rows = 2});
  requirements.kernels = {"joseph_bricks_table", "joseph_bricks_backproject"};
  requirements.preferred_batch = 64;  // fewer rounds of groups that are not full, and as much memory as stacks with 16
  requirements.cost.name = "adjoint joseph bricks";
  requirements.cost.bytes = 6;  // as measured on an H200
}

void RayBackprojection::filter_bricks(Slab& slab, Range views) const {
  const Range rows = slab.rows();
  const std::size_t tile = turning_tile(slab.device());
  std::vector<SlabArgument> arguments{in("raw"), in("rays"), out("pixels"), out("columns"),
                                      slab.extent(slab.interior())};
  add_spacing(arguments, volume_);
  arguments.emplace_back(batch_of(projections_, rows, views));
  slab.launch(
      ray_kernel(projector_, "table", turning_options(tile), "bricks"),
      {projections_.size[0], static_cast<std::size_t>(rows.count()) + tail, static_cast<std::size_t>(views.count())},
      {tile, tile, 1}, arguments);
}

void RayBackprojection::accumulate_bricks(Slab& slab, Range views, Range slices) const {
  const auto count = static_cast<std::size_t>(slices.count());
  const AdjointBrick brick = brick_->for_slices(count);
  const auto items = static_cast<std::size_t>(brick.items);
  slab.launch(ray_kernel(projector_, "backproject", brick.options(), "bricks"),
              {items * parts(count, brick.slices()), parts(volume_.size[0], brick.x), parts(volume_.size[1], brick.y)},
              {items, 1, 1},
              {in("pixels"), in("columns"), in("matrices"), in("axes"), in("rays"), inout("volume"),
               slab.extent(slices), batch_of(projections_, slab.rows(), views)});
}

}  // namespace halocline

#include "algorithms/projectors/adjoint_bricks.hpp"

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
  return !device.choices.contains(brick_form_choice) && is_hopper(device.platform, device.name);
}

constexpr std::size_t tail = 3;  // TAIL of cl/bricks.clh

std::size_t parts(std::size_t all, int each) {
  return parts_of(all, static_cast<std::size_t>(each));
}

}  // namespace

std::size_t AdjointBrick::local_bytes() const {
  // CROSSINGS and TOGETHER of the kernels; bytes of a number, and of Crossing and Plane where they are largest
  constexpr std::size_t crossings = 40, together = 2, number = 4, crossing = 64, plane = 32;
  const auto voxels = static_cast<std::size_t>(x * y), planes = static_cast<std::size_t>(std::max(x, y));
  return number * voxels * static_cast<std::size_t>((items + 1) * layers) + crossing * (crossings + together) +
         plane * planes + static_cast<std::size_t>(items) + number * crossings;
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

bool bricks_take(const RayTable& table, const AdjointBrick& brick, Projector projector, std::size_t columns,
                 std::size_t rows) {
  constexpr std::size_t most_rows = 16384;  // whose rounding is below MARGIN of the kernels
  constexpr int most_weights = 4;           // WEIGHTS of cl/distance_driven_bricks.cl
  if (!table.plain() || !table.upright() || table.fan_stack) return false;
  if (projector == Projector::distance_driven && (table.within_slice || std::max(brick.x, brick.y) > most_weights))
    return false;
  return rows <= most_rows && columns <= (std::size_t{1} << 31) / (most_rows + 4);
}

bool takes_brick(const DeviceInfo& device, const AdjointBrick& brick) {
  return static_cast<std::size_t>(brick.items) <= device.max_work_group &&
         brick.local_bytes() <= usable_local_memory(device);
}

const AdjointBrick* faster_brick(std::span<const DeviceModel> devices, const Projector& projector) {
  return projector.users() == nullptr && !devices.empty() &&
                 std::all_of(devices.begin(), devices.end(), bricks_were_faster)
             ? &bricks[0]
             : nullptr;
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
  requirements.kernels = {"bricks_table", ray_kernel(projector_, "backproject", "", "bricks").kernel};
  requirements.preferred_batch = 64;  // fewer rounds of groups that are not full, and as much memory as stacks with 16
  requirements.cost.name = "adjoint " + projector_name(projector_) + " bricks";
  requirements.cost.bytes = projector_ == Projector::joseph   ? 6
                            : projector_ == Projector::siddon ? 10
                                                              : 12;  // as measured on an H200
}

void RayBackprojection::filter_bricks(Slab& slab, Range views) const {
  const Range rows = slab.rows();
  const std::size_t tile = turning_tile(slab.device());
  std::vector<SlabArgument> arguments{in("raw"), in("rays"), out("pixels"), out("columns"),
                                      slab.extent(slab.interior())};
  add_spacing(arguments, volume_);
  arguments.emplace_back(batch_of(projections_, rows, views));
  slab.launch(
      {"bricks_table.cl", "bricks_table", turning_options(tile)},
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
               slab.extent(slices), batch_of(projections_, slab.rows(), views), per_axis(table_.widths)});
}

}  // namespace halocline

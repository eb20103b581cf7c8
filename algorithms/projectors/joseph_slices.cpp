#include "algorithms/projectors/joseph_slices.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "algorithms/projectors/projector.hpp"
#include "algorithms/projectors/ray_arguments.hpp"
#include "host/opencl/quirks.hpp"

namespace halocline {
namespace {

// cl/rays.clh: numbers of a view, where direction and moment begin, and their steps a column and a row.
constexpr std::size_t ray_floats = 18, moment = 3, column_step = 6, row_step = 12;

// Neither the direction of a view's rays along k nor the moments that give k depend on the column.
bool within_slices(const float* view, bool one_row, bool fan_stack) {
  if (fan_stack) return true;
  const auto zero = [&](std::initializer_list<std::size_t> places) {
    return std::all_of(places.begin(), places.end(), [&](std::size_t place) { return view[place] == 0; });
  };
  const bool one_direction = zero({column_step, column_step + 1});
  const bool in_the_middle = zero({moment, moment + 1}) && one_row;
  return zero({2, column_step + 2, column_step + moment, column_step + moment + 1}) &&
         (one_row || zero({row_step + 2})) && (one_direction || in_the_middle);
}

// The k of a row as cl/rays.clh computes it, if every device does so without rounding on the way.
std::optional<float> exact_k(const float* view, float v, float centre, bool fan_stack) {
  if (fan_stack) return centre + std::fma(v, view[row_step + 2], view[2]);
  const bool follows_i = std::abs(view[0]) >= std::abs(view[1]);
  const std::size_t from = moment + (follows_i ? 1 : 0);
  const float across = std::fma(v, view[row_step + from], view[from]), along = view[follows_i ? 0 : 1];
  if (across == 0) return centre;
  if (std::abs(along) != 1) return std::nullopt;
  return follows_i ? centre + across / along : centre - across / along;
}

}  // namespace

std::string SliceRows::options() const {
  return aligned ? " -D ALIGNED" : "";
}

std::optional<SliceRows> slice_rows(const RayTable& table, const Grid& volume, const Grid& projections) {
  if (!table.plain() || !table.upright() || volume.slice() > most_slice_voxels) return std::nullopt;
  for (std::size_t view = 0; view < table.axes.size(); ++view)
    if (!within_slices(&table.rays[ray_floats * view], projections.size[1] == 1, table.fan_stack)) return std::nullopt;

  const float centre = 0.5f * static_cast<float>(volume.size[2] - 1),
              middle = 0.5f * static_cast<float>(projections.size[1] - 1);
  const auto k_of = [&](std::size_t view, std::size_t row) {
    return exact_k(&table.rays[ray_floats * view], static_cast<float>(row) - middle, centre, table.fan_stack);
  };
  constexpr float farthest = 1 << 22;  // whole numbers and halves are exact
  const auto first = k_of(0, 0);
  if (!first || *first != std::floor(*first) || std::abs(*first) > farthest) return SliceRows{};
  const auto second = projections.size[1] > 1 ? k_of(0, 1) : *first + 1;
  if (!second || std::abs(*second - *first) != 1) return SliceRows{};
  const float step = *second - *first;
  for (std::size_t view = 0; view < table.axes.size(); ++view)
    for (std::size_t row = 0; row < projections.size[1]; ++row)
      if (const auto k = k_of(view, row); !k || *k != *first + step * static_cast<float>(row)) return SliceRows{};
  SliceRows rows;
  rows.aligned = true;
  rows.row_step = static_cast<std::int32_t>(step);
  rows.row_of_0 = -rows.row_step * static_cast<std::int32_t>(*first);
  return rows;
}

int views_of_batch(const Grid& projections, int least) {
  constexpr std::size_t pixels = std::size_t{1} << 23;
  return std::max(least, static_cast<int>(parts_of(pixels, projections.slice())));
}

bool slices_innermost_pay(std::span<const DeviceModel> any_problem, const Geometry& geometry, const Grid& volume,
                          const Grid& projections) {
  const auto devices = models_for(any_problem, volume.size, projections.size);
  // with fewer, CPUs take longer to find the weights of a voxel than they save (PoCL: half the time with 32)
  constexpr std::size_t fewest_of_cpus = 16;
  const bool many = std::min(volume.size[2], projections.size[1]) >= fewest_of_cpus;
  const auto faster = [&](const DeviceModel& device) {
    const auto tuned = device.choices.find(slice_form_choice);
    if (tuned != device.choices.end()) return tuned->second == innermost_form;
    return device.cpu ? many : is_hopper(device.platform, device.name);
  };
  if (devices.empty() || !std::all_of(devices.begin(), devices.end(), faster)) return false;
  const auto rows = slice_rows(make_rays(geometry, volume, projections), volume, projections);
  return rows && (rows->aligned || std::none_of(devices.begin(), devices.end(), std::mem_fn(&DeviceModel::cpu)));
}

void RayProjection::stack_slices(Slab& slab) const {
  const auto held = static_cast<std::size_t>(slab.extended().count());
  const std::size_t tile = turning_tile(slab.device());
  slab.launch({"joseph_slices.cl", "joseph_slices_stack", turning_options(tile) + slice_rows_->options()},
              {volume_.size[0], padded_places(held), volume_.size[1]}, {tile, tile, 1},
              {in("volume"), out("stacks"), slab.nx(), slab.ny(), number(held)});
}

void RayProjection::project_slices(Slab& slab, Range views) const {
  const auto columns = projections_.size[0], rows = slab.rows().size(),
             held = static_cast<std::size_t>(slab.extended().count());
  const std::size_t places = slice_rows_->aligned ? padded_places(held) : rows;
  std::vector<SlabArgument> arguments{in("stacks"), in("rays"), inout("projections"), slab.extent(slab.interior()),
                                      number(held)};
  add_spacing(arguments, volume_);
  arguments.insert(arguments.end(),
                   {batch_of(projections_, slab.rows(), views), slice_rows_->row_of_0, slice_rows_->row_step});
  slab.launch({"joseph_slices.cl", "joseph_slices_project", slice_rows_->options() + fans_option(table_)},
              {columns * parts_of(std::min(places, slice_block), slice_rows_->each()),
               static_cast<std::size_t>(views.count()), parts_of(places, slice_block)},
              arguments);
}

}  // namespace halocline

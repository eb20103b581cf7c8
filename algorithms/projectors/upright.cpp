#include "algorithms/projectors/upright.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/projectors/ray_arguments.hpp"
#include "host/opencl/quirks.hpp"

namespace halocline {
namespace {

constexpr std::size_t group_rows = 32, group_columns = 1, group_views = 4;  // ROWS, COLUMNS, VIEWS of cl/upright.clh

// Voxels along an axis that shadows of that width may touch.
int touched(double width) {
  return static_cast<int>(std::ceil(width)) + 1;
}

}  // namespace

std::string UprightForm::options() const {
  return lines == 0 ? "" : fmt::format(" -D LINES={} -D VOXELS={}", lines, voxels);
}

std::optional<UprightForm> upright_form(const RayTable& table, const Grid& volume, const Projector& projector) {
  constexpr int most_touched = 4;
  if (projector.users() != nullptr || !table.plain() || !table.upright() || table.fan_stack ||
      volume.slice() > most_slice_voxels)
    return std::nullopt;
  if (projector == Projector::joseph) return UprightForm{};
  if (projector == Projector::siddon) return UprightForm{.halo = 0, .zeros = 2};
  if (table.within_slice) return std::nullopt;
  UprightForm form;
  form.lines = touched(std::max(table.widths[0], table.widths[1])), form.voxels = touched(table.widths[2]);
  if (std::max(form.lines, form.voxels) > most_touched) return std::nullopt;
  form.halo = form.zeros = form.voxels - 1;
  return form;
}

bool upright_pays(std::span<const DeviceModel> devices, const Projector& projector, const Grid& projections) {
  return projector.users() == nullptr && projector != Projector::siddon && projections.size[1] >= group_rows &&
         !devices.empty() && std::all_of(devices.begin(), devices.end(), [](const DeviceModel& device) {
           return is_hopper(device.platform, device.name);
         });
}

void RayProjection::stack_upright(Slab& slab) const {
  const auto held = static_cast<std::size_t>(slab.extended().count()), depth = upright_->depth(held);
  const std::size_t tile = turning_tile(slab.device());
  slab.launch({"upright_stack.cl", "upright_stack", turning_options(tile)}, {volume_.size[0], depth, volume_.size[1]},
              {tile, tile, 1},
              {in("volume"), out("stacks"), slab.nx(), slab.ny(), number(held), upright_->zeros, number(depth)});
}

void RayProjection::project_upright(Slab& slab, Range views) const {
  const auto columns = projections_.size[0], rows = projections_.size[1],
             depth = upright_->depth(static_cast<std::size_t>(slab.extended().count()));
  const bool narrow = volume_.slice() * depth < std::size_t{1} << 31;
  std::vector<SlabArgument> arguments{in("stacks"),    in("rays"),   inout("projections"), slab.extent(slab.interior()),
                                      upright_->zeros, number(depth)};
  add_spacing(arguments, volume_);
  arguments.emplace_back(batch_of(projections_, {0, number(rows)}, views));
  add_widths(arguments, parameters_.projector, table_);
  slab.launch(ray_kernel(parameters_.projector, "project",
                         fmt::format("-D INDEX={}{}", narrow ? "int" : "long", upright_->options()), "upright"),
              {group_rows * parts_of(rows, group_rows), group_columns * parts_of(columns, group_columns),
               group_views * parts_of(static_cast<std::size_t>(views.count()), group_views)},
              {group_rows, group_columns, group_views}, arguments);
}

}  // namespace halocline

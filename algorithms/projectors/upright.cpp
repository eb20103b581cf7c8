#include "algorithms/projectors/upright.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/projectors/ray_arguments.hpp"
#include "host/opencl/quirks.hpp"

namespace halocline {
namespace {

constexpr std::size_t group_rows = 32;  // ROWS of cl/upright.clh; COLUMNS are 1

// Voxels along an axis that shadows of that width may touch.
int touched(double width) {
  return static_cast<int>(std::ceil(width)) + 1;
}

// True if views after each other mostly turn by less than 3 degrees.
bool views_are_near(const RayTable& table) {
  constexpr std::size_t ray_floats = 18;  // of cl/rays.clh: the direction at the detector's centre first
  constexpr double least_cosine = 0.9986;
  const std::size_t views = table.rays.size() / ray_floats;
  std::size_t near = 0;
  for (std::size_t view = 1; view < views; ++view) {
    const float *a = &table.rays[ray_floats * (view - 1)], *b = a + ray_floats;
    near += a[0] * b[0] + a[1] * b[1] > least_cosine * std::hypot(a[0], a[1]) * std::hypot(b[0], b[1]) ? 1 : 0;
  }
  return 2 * near >= views;
}

}  // namespace

std::string UprightForm::options() const {
  const std::string shape = fmt::format(" -D ROWS={} -D COLUMNS=1 -D VIEWS={}", group_rows, views);
  return lines == 0 ? shape : shape + fmt::format(" -D LINES={} -D VOXELS={}", lines, voxels);
}

std::optional<UprightForm> upright_form(const RayTable& table, const Grid& volume, const Projector& projector) {
  constexpr int most_touched = 4;
  if (projector.users() != nullptr || !table.plain() || !table.upright() || table.fan_stack ||
      volume.slice() > most_slice_voxels)
    return std::nullopt;
  UprightForm form;
  form.views = views_are_near(table) ? 4 : 1;
  if (projector == Projector::joseph) return form;
  if (projector == Projector::siddon || table.within_slice) return std::nullopt;
  form.lines = touched(std::max(table.widths[0], table.widths[1])), form.voxels = touched(table.widths[2]);
  if (std::max(form.lines, form.voxels) > most_touched) return std::nullopt;
  form.halo = form.voxels - 1;
  return form;
}

bool upright_pays(std::span<const DeviceModel> devices, const Projector& projector, const Grid& projections) {
  return projector.users() == nullptr && projector != Projector::siddon && projections.size[1] >= group_rows &&
         !devices.empty() && std::all_of(devices.begin(), devices.end(), [](const DeviceModel& device) {
           return !device.choices.contains(upright_form_choice) && is_hopper(device.platform, device.name);
         });
}

void RayProjection::stack_upright(Slab& slab) const {
  const auto held = static_cast<std::size_t>(slab.extended().count()), depth = upright_->depth(held);
  const std::size_t tile = turning_tile(slab.device());
  slab.launch({"upright_stack.cl", "upright_stack", turning_options(tile)}, {volume_.size[0], depth, volume_.size[1]},
              {tile, tile, 1},
              {in("volume"), out("stacks"), slab.nx(), slab.ny(), number(held), upright_->halo, number(depth)});
}

void RayProjection::project_upright(Slab& slab, Range views) const {
  const auto columns = projections_.size[0], rows = slab.rows().size(),
             depth = upright_->depth(static_cast<std::size_t>(slab.extended().count()));
  const auto group_views = static_cast<std::size_t>(upright_->views);
  const bool narrow = volume_.slice() * depth < std::size_t{1} << 31;
  std::vector<SlabArgument> arguments{in("stacks"),   in("rays"),   inout("projections"), slab.extent(slab.interior()),
                                      upright_->halo, number(depth)};
  add_spacing(arguments, volume_);
  arguments.emplace_back(batch_of(projections_, slab.rows(), views));
  add_widths(arguments, parameters_.projector, table_);
  slab.launch(ray_kernel(parameters_.projector, "project",
                         fmt::format("-D INDEX={}{}", narrow ? "int" : "long", upright_->options()), "upright"),
              {group_rows * parts_of(rows, group_rows), columns,
               group_views * parts_of(static_cast<std::size_t>(views.count()), group_views)},
              {group_rows, 1, group_views}, arguments);
}

}  // namespace halocline

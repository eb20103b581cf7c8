#include <fmt/format.h>

#include <algorithm>

#include "algorithms/geometry/turned_views.hpp"
#include "algorithms/projectors/backprojection.hpp"
#include "algorithms/projectors/projector.hpp"
#include "algorithms/projectors/ray_arguments.hpp"
#include "algorithms/projectors/ray_faces.hpp"
#include "host/opencl/work_groups.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr const char* planes_names[] = {"planes_i", "planes_j", "planes_k"};

// The order in which `pack` views share fetches, if they do.
std::vector<int> shared_order(const Geometry& geometry, const Grid& volume, const Grid& projections,
                              const ProjectionParameters& parameters, int& pack) {
  if (!parameters.hardware_interpolation) return {};
  // four float32 channels take the texture units four times as long as one, two hardly longer
  for (const int views : {4, 2}) {
    pack = views;
    if (views == 4 ? !parameters.half_texels || volume.spacing[0] != volume.spacing[1] : !parameters.texel_pairs)
      continue;
    if (auto order = turned_packs(geometry, volume, projections, views); !order.empty()) return order;
  }
  pack = 1;
  return {};
}

Geometry in_order(Geometry geometry, const std::vector<int>& order) {
  const auto views = geometry.views;
  for (std::size_t n = 0; n < order.size(); ++n) geometry.views[n] = views[static_cast<std::size_t>(order[n])];
  return geometry;
}

bool runs_in_faces(const ProjectionParameters& parameters, const RayTable& table, const Grid& volume,
                   const Grid& projections) {
  return parameters.projector == Projector::siddon && may_run_in_faces(table, volume, projections);
}

}  // namespace

RayProjection::RayProjection(const Geometry& geometry, const Grid& volume, const Grid& projections,
                             const ProjectionParameters& parameters)
    : volume_(volume),
      projections_(projections),
      parameters_(parameters),
      order_(shared_order(geometry, volume, projections, parameters, pack_)),
      table_(make_rays(in_order(geometry, order_), volume, projections)),
      slice_rows_(parameters.slices_innermost ? slice_rows(table_, volume, projections) : std::nullopt),
      upright_(parameters.upright ? upright_form(table_, volume, parameters.projector) : std::nullopt),
      form_(form()),
      faces_(runs_in_faces(parameters, table_, volume, projections)) {
  // alone they gain nothing: see VoxelDriven
  if (pack_ == 1) parameters_.half_texels = false;
  // seen from the source, a cylinder's rows are not those of the plane that touches it
  if (table_.arcs.empty())
    crossed_rows_ = crossed_rows_of(geometry, projections, volume, reach_of(parameters.projector, table_));
  if (parameters.images && parameters.projector == Projector::distance_driven)
    throw InputError("distance-driven projection reads buffers only, so leave the images out");
  const char* const asked = parameters.half_texels ? "`half_texels`" : "`hardware_interpolation`";
  if (parameters.hardware_interpolation && parameters.projector != Projector::joseph)
    throw InputError(fmt::format(
        "hardware interpolation ({}) goes with `projector = joseph`; {} does not interpolate, so leave it out", asked,
        projector_name(parameters.projector)));
  if (parameters.hardware_interpolation && !table_.plain())
    throw InputError(fmt::format("hardware interpolation ({}) does not go with {}; use exact interpolation", asked,
                                 table_.arcs.empty()
                                     ? "a volume that reaches to the source or to the detector, where rays end"
                                     : "a cylindrical detector"));
}

bool RayProjection::turned() const {
  return (form_ == Form::lanes || (form_ == Form::portable && parameters_.gpu)) && table_.any_follows(0) &&
         parameters_.projector == Projector::joseph && !images();
}

RayProjection::Form RayProjection::form() const {
  if (slice_rows_ && parameters_.projector == Projector::joseph && !images()) return Form::slices;
  if (upright_ && !images()) return Form::upright;
  if (parameters_.gpu || images() || !table_.plain()) return Form::portable;
  if (parameters_.projector != Projector::joseph) return Form::lanes;
  // which reads pairs of voxels along x and along y
  return volume_.size[0] > 1 && volume_.size[1] > 1 ? Form::lanes : Form::portable;
}

bool RayProjection::planes_across(int axis) const {
  if (!images()) return false;
  return parameters_.projector == Projector::joseph ? table_.any_follows(axis) : axis == 2;
}

void RayProjection::check_device(const DeviceInfo& device) const {
  if (form_ == Form::upright && device.max_work_group < UprightForm::group)
    throw InputError(fmt::format("{} takes work-groups of up to {}, but columns of rays need {}; leave this form out",
                                 device.name, device.max_work_group, UprightForm::group));
  if (!images()) return;
  const bool hardware = parameters_.hardware_interpolation;
  if (!device.images && !hardware)
    throw InputError(fmt::format("{} has no images; leave them out, for buffers give the same bits", device.name));
  if (!device.images)
    throw InputError(
        fmt::format("{} has no images, so it cannot interpolate in hardware; use exact interpolation", device.name));
  const Requirements all = requirements();
  for (const ArrayNeed& need : all.arrays) {
    if (need.kind != ArrayKind::planes) continue;
    const auto [width, height, layers] = plane_extent(need, all, need.axis == 2 ? 1 : 2);  // of the thinnest slab
    if (width > device.image_width || height > device.image_height || layers > device.image_layers)
      throw InputError(
          fmt::format("{} takes images up to {} x {} in {} layers, but the planes of the volume have {} x {} in {}; {}",
                      device.name, device.image_width, device.image_height, device.image_layers, width, height, layers,
                      hardware ? "use exact interpolation" : "leave images out"));
  }
}

std::string RayProjection::image_options(int axis) const {
  return fmt::format("-D AXIS={} -D PACK={}{}{}{}", axis, pack_,
                     parameters_.hardware_interpolation ? " -D HARDWARE" : "",
                     parameters_.half_texels ? texel_scale(parameters_.largest_voxel, 8) : "", fans_option(table_));
}

Requirements RayProjection::requirements() const {
  Requirements requirements;
  requirements.algorithm = "project";
  requirements.size = volume_.size;
  requirements.form = ProgramForm::ray_sums;
  requirements.stack = projections_.size;
  requirements.arrays = {{.name = "volume", .kind = ArrayKind::volume, .lifetime = Lifetime::input},
                         {.name = "projections", .kind = ArrayKind::projections, .lifetime = Lifetime::output}};
  add_table_arrays(requirements, table_);
  requirements.kernels = {ray_kernel(parameters_.projector, "project", "", form_ == Form::lanes ? "lanes" : "").kernel};
  if (form_ == Form::slices) {
    requirements.kernels = {"joseph_slices_project"};
    requirements.arrays.push_back({.name = "stacks", .kind = ArrayKind::volume, .slice_step = 4});
  }
  if (form_ == Form::upright) {
    requirements.kernels = {"upright_stack", ray_kernel(parameters_.projector, "project", "", "upright").kernel};
    requirements.arrays.push_back({.name = "stacks",
                                   .kind = ArrayKind::volume,
                                   .slice_step = UprightForm::depth_step,
                                   .more_slices = 2 * static_cast<std::size_t>(upright_->halo)});
  }
  if (turned()) requirements.arrays.push_back({.name = "turned", .kind = ArrayKind::volume});
  if (images()) {
    if (parameters_.projector == Projector::joseph) {
      requirements.kernels = {"joseph_image_project"};
      requirements.arrays.push_back({.name = "axes", .kind = ArrayKind::fixed, .elements = table_.axes.size()});
    }
    for (int axis = 0; axis < 3; ++axis)
      if (planes_across(axis))
        requirements.arrays.push_back({.name = planes_names[axis],
                                       .kind = ArrayKind::planes,
                                       .element_bytes = parameters_.half_texels ? std::size_t{2} : std::size_t{4},
                                       .components = static_cast<std::size_t>(pack_),
                                       .axis = axis});
    requirements.batch_step = pack_;
  }
  requirements.halo_high = parameters_.projector == Projector::joseph ? 1 : 0;
  // Measured on an H200 (benchmarks/results/nvidia-h200.md).
  const double bytes = parameters_.projector == Projector::siddon            ? (images() ? 5.9 : 7.3)
                       : parameters_.projector == Projector::distance_driven ? 63
                       : !images()                                           ? 12
                       : pack_ == 4                                          ? 2.4
                       : pack_ == 2                                          ? 4.5
                                                                             : 5.6;
  requirements.cost.name = fmt::format("project {}{}", projector_name(parameters_.projector),
                                       !images()    ? ""
                                       : pack_ == 4 ? " packs of four"
                                       : pack_ == 2 ? " pairs"
                                                    : " images");
  requirements.cost.bytes = bytes;
  if (form_ == Form::slices) {
    if (slice_rows_->aligned) requirements.halo_high = 0;
    requirements.preferred_batch = views_of_batch(projections_, requirements.preferred_batch);
    requirements.cost.name += slice_rows_->aligned ? " aligned slices" : " slices";
    requirements.cost.bytes = slice_rows_->aligned ? 3 : 8.6;  // as measured on an H200
  }
  if (form_ == Form::upright) {
    requirements.halo_high = upright_->halo;
    requirements.cost.name += " upright";
    // as measured on an H200
    requirements.cost.bytes = parameters_.projector == Projector::distance_driven ? 15 : 6;
  }
  return requirements;
}

void RayProjection::start(Slab& slab) const {
  set_table(slab, table_);
  if (images() && parameters_.projector == Projector::joseph)
    slab.set("axes", table_.axes.data(), table_.axes.size() * sizeof(std::int32_t));
}

ViewTables RayProjection::view_tables() const {
  ViewTables tables = halocline::view_tables(table_, projections_.size[0]);
  if (images() && parameters_.projector == Projector::joseph) tables.push_back({"axes", 1});
  return tables;
}

void RayProjection::loaded(Slab& slab) const {
  if (form_ == Form::slices) return stack_slices(slab);
  if (form_ == Form::upright) return stack_upright(slab);
  const auto held = slab.extended().count();
  const std::size_t tile = turning_tile(slab.device());
  if (turned())
    slab.launch({"joseph_turn.cl", "joseph_turn", turning_options(tile)},
                {volume_.size[0], volume_.size[1], static_cast<std::size_t>(held)}, {tile, tile, 1},
                {in("volume"), out("turned"), slab.nx(), slab.ny()});
  for (int axis = 0; axis < 3; ++axis) {
    if (!planes_across(axis)) continue;
    const auto extent = slab.image_extent(planes_names[axis]);
    slab.launch({"joseph_image.cl", "joseph_image_planes", image_options(axis)}, extent,
                {in("volume"), out(planes_names[axis]), slab.nx(), slab.ny(), number(held), number(extent[0]),
                 number(extent[1]), number(extent[2])});
  }
}

void RayProjection::project(Slab& slab, Range views, const Scalars&) const {
  if (form_ == Form::slices) return project_slices(slab, views);
  if (form_ == Form::upright) return project_upright(slab, views);
  const auto held = volume_.slice() * static_cast<std::size_t>(slab.extended().count());
  const bool narrow = held < std::size_t{1} << 30;  // a ray may read a slice beyond before it stops
  const auto columns = projections_.size[0], rows = slab.rows().size();
  const auto count = static_cast<std::size_t>(views.count());
  const auto add_common = [&](std::vector<SlabArgument>& arguments) {
    arguments.emplace_back(in("rays"));
    add_table(arguments, table_, columns);
    arguments.insert(arguments.end(), {inout("projections"), slab.extent(slab.interior())});
    add_spacing(arguments, volume_);
    arguments.emplace_back(batch_of(projections_, slab.rows(), views));
    add_widths(arguments, parameters_.projector, table_);
  };
  const std::string index = fmt::format("-D INDEX={}", narrow ? "int" : "long");
  const auto launch = [&](const std::string& form, std::vector<SlabArgument> arguments) {
    const std::string options = form + faces_option(faces_) + form_options(parameters_.projector, table_);
    add_common(arguments);
    // Views first: those of a detector row, a few degrees apart, read nearly the same voxels, which caches then hold.
    const std::size_t strip = parameters_.projector == Projector::joseph ? 32 : 8;  // STRIP of joseph_lanes.cl
    if (form_ == Form::lanes)
      slab.launch(ray_kernel(parameters_.projector, "project", options, "lanes"),
                  {count, parts_of(columns, strip), rows}, {1, 1, 1}, arguments);
    else
      slab.launch(ray_kernel(parameters_.projector, "project", options + table_options(table_)), {columns, rows, count},
                  arguments);
  };
  if (images() && parameters_.projector == Projector::siddon) {
    launch("-D IMAGE", {in(planes_names[2])});
  } else if (images()) {
    for (int axis = 0; axis < 3; ++axis) {
      if (!planes_across(axis)) continue;
      std::vector<SlabArgument> arguments{in(planes_names[axis]), in("axes")};
      add_common(arguments);
      const auto group = work_group_within({16, 8, 2}, slab.device());  // a tile of pixels, and turns: see the kernel
      const std::size_t turns = count / static_cast<std::size_t>(pack_);
      slab.launch({"joseph_image.cl", "joseph_image_project", image_options(axis)},
                  {parts_of(columns, group[0]) * parts_of(turns, group[2]) * group[0], rows, group[2]}, group,
                  arguments);
    }
  } else if (parameters_.projector == Projector::joseph) {
    if (turned())
      launch(index + " -D TURNED", {in("volume"), in("turned")});
    else
      launch(index, {in("volume")});
  } else {
    launch(form_ == Form::lanes ? index : "", {in("volume")});
  }
}

}  // namespace halocline

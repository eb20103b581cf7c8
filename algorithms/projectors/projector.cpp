#include "algorithms/projectors/projector.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "algorithms/geometry/turned_views.hpp"
#include "algorithms/projectors/backprojection.hpp"
#include "algorithms/projectors/projector_variants.hpp"
#include "algorithms/validation/check_input.hpp"
#include "host/error.hpp"
#include "host/quirks.hpp"
#include "host/work_groups.hpp"
#include "scheduling/execution/device_selection.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

struct Kind {
  const char *name, *stem;  // of the option; of cl/<stem>.cl and its kernels
  int lines;                // float4s that the adjoint keeps of a ray
  double reach;             // voxels from a ray to the centres of those that it may meet, along each axis
  bool widths;              // ... and half of the pixel's width; the kernels take the widths
};
constexpr Kind kinds[] = {{"joseph", "joseph", 1, 1, false},
                          {"siddon", "siddon", 2, 0.5, false},
                          {"distance-driven", "distance_driven", 3, 0.5, true}};

const Kind& kind_of(Projector projector) {
  return kinds[static_cast<int>(projector)];
}

KernelSpec kernel(Projector projector, const char* verb, const std::string& options = {}) {
  const std::string stem = kind_of(projector).stem;
  return {stem + ".cl", stem + "_" + verb, options};
}

constexpr const char* planes_names[] = {"planes_i", "planes_j", "planes_k"};

std::int32_t number(auto value) {
  return static_cast<std::int32_t>(value);
}

void add_spacing(std::vector<SlabArgument>& arguments, const Grid& volume) {
  for (const double spacing : volume.spacing) arguments.emplace_back(static_cast<float>(spacing));
}

void add_widths(std::vector<SlabArgument>& arguments, Projector projector, const RayTable& table) {
  if (kind_of(projector).widths)
    for (const double width : table.widths) arguments.emplace_back(static_cast<float>(width));
}

/// What cylindrical detectors and rays that end in the volume want beside the rays: cl/rays.clh.
std::string table_options(const RayTable& table) {
  return std::string(table.arcs.empty() ? "" : " -D ARC") + (table.sources.empty() ? "" : " -D ENDS");
}

void add_table_arrays(Requirements& requirements, const RayTable& table) {
  const auto add = [&](const char* name, const auto& values) {
    if (!values.empty())
      requirements.arrays.push_back({.name = name, .kind = ArrayKind::fixed, .elements = values.size()});
  };
  add("rays", table.rays);
  add("arcs", table.arcs);
  add("sources", table.sources);
}

void set_table(Slab& slab, const RayTable& table) {
  const auto set = [&](const char* name, const auto& values) {
    if (!values.empty()) slab.set(name, values.data(), values.size() * sizeof(float));
  };
  set("rays", table.rays);
  set("arcs", table.arcs);
  set("sources", table.sources);
}

/// ARC_PARAMETERS, and ENDS_PARAMETERS if the kernel has them.
void add_table(std::vector<SlabArgument>& arguments, const RayTable& table, std::size_t columns, bool ends = true) {
  if (!table.arcs.empty()) {
    const std::size_t arc = 2 * columns + 1;
    arguments.emplace_back(in("arcs"));
    arguments.emplace_back(number(table.arcs.size() == 4 * arc ? 0 : arc));
  }
  if (ends && !table.sources.empty()) arguments.emplace_back(in("sources"));
}

bool all_cpu(const std::vector<DeviceModel>& models) {
  return std::all_of(models.begin(), models.end(), [](const DeviceModel& each) { return each.cpu; });
}

// On an H200 a quarter faster (benchmarks/results/nvidia-h200.md).
bool siddon_from_images(const std::vector<DeviceModel>& models, const Grid& volume) {
  const auto takes = [side = std::max(volume.size[0], volume.size[1]), layers = volume.size[2]](const auto& device) {
    if (device.cpu || side > device.image_side || layers > device.image_layers) return false;
    const auto tuned = device.choices.find(siddon_form_choice);
    return tuned != device.choices.end() ? tuned->second == images_form : is_hopper(device.platform, device.name);
  };
  return !models.empty() && std::all_of(models.begin(), models.end(), takes);
}

ProjectionParameters for_devices(ProjectionParameters parameters, const std::vector<DeviceModel>& models) {
  parameters.gpu = parameters.gpu || !all_cpu(models);
  parameters.texel_pairs = std::all_of(models.begin(), models.end(), [](const auto& each) { return each.texel_pairs; });
  return parameters;
}

// The order in which views share fetches, if they do.
std::vector<int> shared_order(const Geometry& geometry, const Grid& volume, const Grid& projections,
                              const ProjectionParameters& parameters) {
  if (!parameters.hardware_interpolation || !parameters.texel_pairs) return {};
  std::vector<Matrix34> matrices;
  for (const View& view : geometry.views) matrices.push_back(index_to_detector(view, volume, projections));
  return turned_views(matrices, volume.size, 2);
}

Geometry in_order(Geometry geometry, const std::vector<int>& order) {
  const auto views = geometry.views;
  for (std::size_t n = 0; n < order.size(); ++n) geometry.views[n] = views[static_cast<std::size_t>(order[n])];
  return geometry;
}

// Siddon's images need as much memory again: not where that makes more slabs of the volume.
bool images_pay(const Geometry& geometry, const Grid& volume, const Grid& projections, ProjectionParameters parameters,
                const std::vector<DeviceModel>& models, const PlanOptions& options) {
  if (parameters.projector != Projector::siddon || !siddon_from_images(models, volume)) return false;
  const auto slabs = [&](bool images) {
    parameters.images = images;
    return plan_projection(RayProjection(geometry, volume, projections, parameters), models, options).slabs.size();
  };
  try {
    return slabs(true) <= slabs(false);
  } catch (const PlanError&) {  // too little memory for images, or for anything, which the run will tell
    return false;
  }
}

}  // namespace

void check_projection_grids(const Geometry& geometry, const Grid& volume, const Grid& projections) {
  check_grid(volume, "the volume");
  check_projections(projections, "the projections", geometry, "the geometry", DetectorShape::flat_or_cylinder);
  const auto& d = projections.direction;
  if (geometry.radius_cylindrical_detector != 0 && std::max(std::abs(d[1]), std::abs(d[3])) > 1e-4)
    throw InputError(
        "the projections: the direction matrix turns the images in their plane, but a cylindrical detector bends along "
        "their rows; resample the projections along u and v");
}

std::vector<std::string> projector_names() {
  std::vector<std::string> names;
  for (const Kind& kind : kinds) names.emplace_back(kind.name);
  return names;
}

Projector projector_from_name(const std::string& name) {
  for (int n = 0; n < static_cast<int>(std::size(kinds)); ++n)
    if (name == kinds[n].name) return static_cast<Projector>(n);
  throw InputError({.what = "`projector`",
                    .found = '"' + name + '"',
                    .expected = fmt::format("one of: {}", fmt::join(projector_names(), ", "))});
}

std::string projector_name(Projector projector) {
  return kind_of(projector).name;
}

RayProjection::RayProjection(const Geometry& geometry, const Grid& volume, const Grid& projections,
                             const ProjectionParameters& parameters)
    : volume_(volume),
      projections_(projections),
      parameters_(parameters),
      order_(shared_order(geometry, volume, projections, parameters)),
      table_(make_rays(in_order(geometry, order_), volume, projections)),
      form_(form()) {
  if (parameters.images && parameters.projector == Projector::distance_driven)
    throw InputError("distance-driven projection reads buffers only, so leave the images out");
  if (parameters.hardware_interpolation && parameters.projector != Projector::joseph)
    throw InputError(
        fmt::format("hardware interpolation (`hardware_interpolation`) goes with `projector = joseph`; {} does not "
                    "interpolate, so leave it out",
                    projector_name(parameters.projector)));
  if (parameters.hardware_interpolation && !table_.plain())
    throw InputError(
        fmt::format("hardware interpolation (`hardware_interpolation`) does not go with {}; use exact interpolation",
                    table_.arcs.empty() ? "a volume that reaches to the source or to the detector, where rays end"
                                        : "a cylindrical detector"));
}

bool RayProjection::turned() const {
  return (parameters_.gpu || form_ == Form::lanes) && table_.any_follows(0) &&
         parameters_.projector == Projector::joseph && !images();
}

RayProjection::Form RayProjection::form() const {
  if (parameters_.gpu || images() || !table_.plain()) return Form::portable;
  if (parameters_.projector != Projector::joseph) return Form::lanes;
  constexpr std::size_t fewest = 8;  // rows that make a vector
  if (projections_.size[1] >= fewest && table_.axial_rows() > 0) return Form::columns;
  // which reads pairs of voxels along x and along y
  return volume_.size[0] > 1 && volume_.size[1] > 1 ? Form::lanes : Form::portable;
}

bool RayProjection::planes_across(int axis) const {
  if (!images()) return false;
  return parameters_.projector == Projector::joseph ? table_.any_follows(axis) : axis == 2;
}

void RayProjection::check_device(const DeviceInfo& device) const {
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
  return fmt::format("-D IMAGE -D AXIS={} -D PACK={}{}", axis, order_.empty() ? 1 : 2,
                     parameters_.hardware_interpolation ? " -D HARDWARE" : "");
}

Requirements RayProjection::requirements() const {
  Requirements requirements;
  requirements.algorithm = "project";
  requirements.size = volume_.size;
  requirements.over = Domain::ray_sums;
  requirements.stack = projections_.size;
  requirements.arrays = {{.name = "volume", .kind = ArrayKind::volume, .lifetime = Lifetime::input},
                         {.name = "projections", .kind = ArrayKind::projections, .lifetime = Lifetime::output}};
  add_table_arrays(requirements, table_);
  requirements.kernels = {kernel(parameters_.projector, "project").kernel};
  if (form_ == Form::lanes) requirements.kernels = {kernel(parameters_.projector, "project_lanes").kernel};
  if (form_ == Form::columns) {
    requirements.kernels = {"joseph_project_columns"};
    requirements.arrays.push_back({.name = "lines", .kind = ArrayKind::volume});
  }
  if (turned()) requirements.arrays.push_back({.name = "turned", .kind = ArrayKind::volume});
  if (images()) {
    if (parameters_.projector == Projector::joseph) {
      requirements.kernels = {"joseph_project_image"};
      requirements.arrays.push_back({.name = "axes", .kind = ArrayKind::fixed, .elements = table_.axes.size()});
    }
    for (int axis = 0; axis < 3; ++axis)
      if (planes_across(axis))
        requirements.arrays.push_back({.name = planes_names[axis],
                                       .kind = ArrayKind::planes,
                                       .components = order_.empty() ? std::size_t{1} : std::size_t{2},
                                       .axis = axis});
    requirements.batch_step = order_.empty() ? 1 : 2;
  }
  requirements.halo_high = parameters_.projector == Projector::joseph ? 1 : 0;
  // As measured on an H200 (benchmarks/results/nvidia-h200.md).
  const double bytes = parameters_.projector == Projector::siddon            ? (images() ? 5.9 : 7.3)
                       : parameters_.projector == Projector::distance_driven ? 63
                       : !images()                                           ? 12
                       : order_.empty()                                      ? 5.6
                                                                             : 4.5;
  requirements.cost.name = fmt::format("project {}{}", projector_name(parameters_.projector),
                                       !images()        ? ""
                                       : order_.empty() ? " images"
                                                        : " pairs");
  requirements.cost.bytes = bytes;
  return requirements;
}

void RayProjection::start(Slab& slab) const {
  set_table(slab, table_);
  if (images() && parameters_.projector == Projector::joseph)
    slab.set("axes", table_.axes.data(), table_.axes.size() * sizeof(std::int32_t));
}

void RayProjection::loaded(Slab& slab) const {
  const auto held = slab.extended().count();
  std::size_t tile = 16;  // TILE of joseph.cl
  while (tile * tile > std::max<std::size_t>(1, slab.device().max_work_group)) tile /= 2;
  const std::string options = tile < 16 ? fmt::format("-D TILE={}", tile) : "";
  const auto turn = [&](const char* name) {
    slab.launch({"joseph.cl", "joseph_turn", options},
                {volume_.size[0], volume_.size[1], static_cast<std::size_t>(held)}, {tile, tile, 1},
                {in("volume"), out(name), slab.nx(), slab.ny()});
  };
  if (turned()) turn("turned");
  if (form_ == Form::columns && table_.axial_rows() == 1) turn("lines");
  if (form_ == Form::columns && table_.axial_rows() == 2)
    slab.launch({"joseph.cl", "joseph_stand", options},
                {volume_.size[0], static_cast<std::size_t>(held), volume_.size[1]}, {tile, tile, 1},
                {in("volume"), out("lines"), slab.nx(), slab.ny(), number(held)});
  for (int axis = 0; axis < 3; ++axis) {
    if (!planes_across(axis)) continue;
    const auto extent = slab.image_extent(planes_names[axis]);
    slab.launch({"joseph.cl", "joseph_planes", image_options(axis)}, extent,
                {in("volume"), out(planes_names[axis]), slab.nx(), slab.ny(), number(held), number(extent[0]),
                 number(extent[1]), number(extent[2])});
  }
}

void RayProjection::project(Slab& slab, Range views) const {
  const auto held = volume_.slice() * static_cast<std::size_t>(slab.extended().count());
  const bool narrow = held < std::size_t{1} << 30;  // a ray may look a slice beyond before it is told to stop
  const auto columns = projections_.size[0], rows = projections_.size[1];
  const auto count = static_cast<std::size_t>(views.count());
  const auto parts = [](std::size_t all, std::size_t each) { return (all + each - 1) / each; };
  const auto add_common = [&](std::vector<SlabArgument>& arguments) {
    arguments.emplace_back(in("rays"));
    add_table(arguments, table_, columns);
    arguments.insert(arguments.end(), {inout("projections"), slab.nx(), slab.ny(), slab.nz(), slab.offset(),
                                       number(slab.interior().begin), number(slab.interior().end)});
    if (form_ == Form::columns) arguments.emplace_back(number(slab.extended().count()));
    add_spacing(arguments, volume_);
    arguments.insert(arguments.end(), {number(columns), number(rows), number(views.begin), number(count)});
    add_widths(arguments, parameters_.projector, table_);
  };
  const std::string index = fmt::format("-D INDEX={}", narrow ? "int" : "long");
  const auto launch = [&](const std::string& options, std::vector<SlabArgument> arguments) {
    add_common(arguments);
    // Views first: those of a detector row, a few degrees apart, read nearly the same voxels, which caches then hold.
    const std::size_t strip = parameters_.projector == Projector::joseph ? 32 : 8;  // STRIP of joseph_lanes.clh
    if (form_ == Form::lanes)
      slab.launch(kernel(parameters_.projector, "project_lanes", options + " -D LANES"),
                  {count, parts(columns, strip), rows}, {1, 1, 1}, arguments);
    else
      slab.launch(kernel(parameters_.projector, "project", options + table_options(table_)), {columns, rows, count},
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
      const std::size_t turns = count / (order_.empty() ? 1 : 2);
      slab.launch({"joseph.cl", "joseph_project_image", image_options(axis)},
                  {parts(columns, group[0]) * parts(turns, group[2]) * group[0], rows, group[2]}, group, arguments);
    }
  } else if (form_ == Form::columns) {  // STRIP and DEPTH of joseph_columns.clh
    std::vector<SlabArgument> arguments{in("lines")};
    add_common(arguments);
    slab.launch(
        {"joseph.cl", "joseph_project_columns", fmt::format("{} -D COLUMNS -D AXIAL={}", index, table_.axial_rows())},
        {count, parts(columns, 8), parts(rows, 128)}, {1, 1, 1}, arguments);
  } else if (parameters_.projector == Projector::joseph) {
    if (turned())
      launch(index + " -D TURNED", {in("volume"), in("turned")});
    else
      launch(index, {in("volume")});
  } else {
    launch(form_ == Form::lanes ? index : "", {in("volume")});
  }
}

RayBackprojection::RayBackprojection(const Geometry& geometry, const Grid& projections, const Grid& volume,
                                     Projector projector, bool gpu)
    : projections_(projections),
      volume_(volume),
      projector_(projector),
      table_(make_rays(geometry, volume, projections)),
      tiles_(!gpu && projector == Projector::joseph && table_.plain()),
      stacks_(gpu && projector == Projector::joseph && table_.plain() && !table_.any_follows(2)),
      upright_(stacks_ && table_.axial_rows() == 2),
      slices_per_item_(stacks_ ? 16
                       : gpu   ? 4
                               : 8) {
  std::array<double, 3> reach{};
  for (int axis = 0; axis < 3; ++axis)
    reach[axis] = kind_of(projector).reach + (kind_of(projector).widths ? 0.5 * table_.widths[axis] : 0);
  // seen from the source, a cylinder's rows are not those of the plane that touches it
  if (table_.arcs.empty()) detector_rows_ = detector_rows_of(geometry, projections, volume, reach);
  for (const View& view : geometry.views)
    for (const double value : index_to_detector(view, volume, projections))
      matrices_.push_back(static_cast<float>(value));
}

bool RayBackprojection::keeps_ends() const {
  return !table_.sources.empty() && projector_ != Projector::siddon;
}

Requirements RayBackprojection::requirements() const {
  Requirements requirements;
  requirements.algorithm = "backproject";
  requirements.size = volume_.size;
  requirements.over = Domain::voxel_sums;
  requirements.stack = projections_.size;
  requirements.arrays = {{.name = "raw", .kind = ArrayKind::projections, .lifetime = Lifetime::input},
                         {.name = "lines",
                          .kind = ArrayKind::projections,
                          .components = 4 * static_cast<std::size_t>(kind_of(projector_).lines)},
                         {.name = "values", .kind = ArrayKind::projections, .components = keeps_ends() ? 4u : 2u},
                         {.name = "volume", .kind = ArrayKind::volume, .lifetime = Lifetime::output},
                         {.name = "matrices", .kind = ArrayKind::fixed, .elements = matrices_.size()},
                         {.name = "axes", .kind = ArrayKind::fixed, .elements = table_.axes.size()}};
  add_table_arrays(requirements, table_);
  requirements.kernels = {kernel(projector_, "table").kernel, kernel(projector_, tiles_    ? "backproject_tiles"
                                                                                 : stacks_ ? "backproject_stacks"
                                                                                           : "backproject")
                                                                  .kernel};
  requirements.detector_rows = detector_rows_;
  requirements.cost.name = "adjoint " + projector_name(projector_);
  requirements.cost.bytes = projector_ == Projector::distance_driven ? 68 : 35;  // as measured on an H200
  if (stacks_) requirements.cost.name += " stacks", requirements.cost.bytes = 23.5;
  if (upright_) requirements.cost.name += " upright", requirements.cost.bytes = 14.5;
  if (tiles_) requirements.cost.name += " tiles", requirements.cost.bytes = 40;  // on two CPU cores
  return requirements;
}

void RayBackprojection::start(Slab& slab) const {
  set_table(slab, table_);
  slab.set("matrices", matrices_.data(), matrices_.size() * sizeof(float));
  slab.set("axes", table_.axes.data(), table_.axes.size() * sizeof(std::int32_t));
}

void RayBackprojection::filter(Slab& slab, Range views) const {
  const Range rows = slab.rows();
  std::vector<SlabArgument> arguments{in("raw"), in("rays")};
  add_table(arguments, table_, projections_.size[0]);
  arguments.insert(arguments.end(), {out("lines"), out("values"), slab.nx(), slab.ny(), slab.nz()});
  add_spacing(arguments, volume_);
  arguments.insert(arguments.end(), {number(projections_.size[0]), number(projections_.size[1]), number(rows.begin),
                                     number(rows.count()), number(views.begin), number(views.count())});
  slab.launch(kernel(projector_, "table", stacks_ ? "-D STACKS" : table_options(table_)),
              {projections_.size[0], static_cast<std::size_t>(rows.count()), static_cast<std::size_t>(views.count())},
              arguments);
}

void RayBackprojection::accumulate(Slab& slab, Range views, Range slices) const {
  const Range rows = slab.rows();
  std::vector<SlabArgument> arguments{in("lines"), in("values"), in("matrices"), in("axes")};
  add_table(arguments, table_, projections_.size[0], false);
  arguments.insert(arguments.end(), {inout("volume"), slab.nx(), slab.ny(), slab.nz(), slab.offset(),
                                     number(slices.begin - slab.offset()), number(slices.end - slab.offset()),
                                     number(projections_.size[0]), number(rows.begin), number(rows.count()),
                                     number(views.begin), number(views.count())});
  add_widths(arguments, projector_, table_);
  if (tiles_) {
    constexpr std::size_t tile = 16;  // TILE of joseph_tiles.clh
    const auto parts = [](std::size_t all) { return (all + tile - 1) / tile; };
    return slab.launch(
        kernel(projector_, "backproject_tiles", "-D TILES"),
        {parts(volume_.size[0]), parts(volume_.size[1]), parts(static_cast<std::size_t>(slices.count()))}, {1, 1, 1},
        arguments);
  }
  const auto items = static_cast<std::size_t>((slices.count() + slices_per_item_ - 1) / slices_per_item_);
  const std::array<std::size_t, 3> global{volume_.size[0], volume_.size[1], items};
  const std::string options = fmt::format("-D K_UNROLL={}", slices_per_item_);
  if (stacks_) {
    const auto group = work_group_within({8, 16, 1}, slab.device());
    const std::string shape =
        group[1] < 16 ? fmt::format(" -D GROUP_WIDTH={} -D GROUP_HEIGHT={}", group[0], group[1]) : "";
    return slab.launch(
        kernel(projector_, "backproject_stacks", options + " -D STACKS" + (upright_ ? " -D UPRIGHT" : "") + shape),
        global, group, arguments);
  }
  slab.launch(kernel(projector_, "backproject", options + table_options(table_)), global, arguments);
}

namespace {

Plan projection_plan(const Geometry& geometry, const Grid& volume, const Grid& projections,
                     const ProjectionParameters& parameters, const std::vector<DeviceModel>& devices,
                     const PlanOptions& options) {
  ProjectionParameters taken = for_devices(parameters, devices);
  if (images_pay(geometry, volume, projections, taken, devices, options)) taken.images = true;
  return plan_projection(RayProjection(geometry, volume, projections, taken), devices, options);
}

}  // namespace

RunResult project(const Volume& volume, const Geometry& geometry, const Grid& projections,
                  const ProjectionParameters& parameters, const std::vector<Device>& devices,
                  const RunOptions& options) {
  check_devices(devices);
  check_volume(volume, "the volume");
  check_projection_grids(geometry, volume.grid, projections);
  if (parameters.hardware_interpolation)
    require_variant(texture_projection_variant(), devices, "`hardware_interpolation`");
  const auto plan = [&](const std::vector<Device>& used) {
    return projection_plan(geometry, volume.grid, projections, parameters, device_models(used), options.plan);
  };
  return run_on_selection(devices, options, plan, [&](const std::vector<Device>& used, const RunOptions& planned) {
    const auto limits = device_models(used);
    ProjectionParameters taken = for_devices(parameters, limits);
    if (!taken.images && images_pay(geometry, volume.grid, projections, taken, limits, planned.plan))
      taken.images = variant_works(siddon_image_variant(), used, "buffers serve");
    const RayProjection method(geometry, volume.grid, projections, taken);
    for (const Device& device : used) method.check_device(device.info());
    return run_projection(method, volume, projections, used, planned);
  });
}

RunResult project(const Volume& volume, const Geometry& geometry, const Grid& projections,
                  const std::vector<Device>& devices, const RunOptions& options) {
  return project(volume, geometry, projections, ProjectionParameters{}, devices, options);
}

RunResult backproject(const Volume& projections, const Geometry& geometry, const Grid& volume, Projector projector,
                      const std::vector<Device>& devices, const RunOptions& options) {
  check_devices(devices);
  check_volume(projections, "the projections");
  check_projection_grids(geometry, volume, projections.grid);
  const auto method_for = [&](const std::vector<DeviceModel>& used) {
    return RayBackprojection(geometry, projections.grid, volume, projector, !all_cpu(used));
  };
  const auto plan = [&](const std::vector<Device>& used) {
    return plan_backprojection(method_for(device_models(used)), device_models(used), options.plan);
  };
  return run_on_selection(devices, options, plan, [&](const std::vector<Device>& used, const RunOptions& planned) {
    return run_backprojection(method_for(device_models(used)), projections, volume, used, planned);
  });
}

Plan plan_project(const Geometry& geometry, const Grid& volume, const Grid& projections,
                  const ProjectionParameters& parameters, const std::vector<DeviceModel>& models,
                  const PlanOptions& options) {
  check_projection_grids(geometry, volume, projections);
  return plan_on_selection(models, [&](const std::vector<DeviceModel>& used) {
    return projection_plan(geometry, volume, projections, parameters, used, options);
  });
}

Plan plan_backproject(const Geometry& geometry, const Grid& projections, const Grid& volume, Projector projector,
                      const std::vector<DeviceModel>& models, const PlanOptions& options) {
  check_projection_grids(geometry, volume, projections);
  return plan_on_selection(models, [&](const std::vector<DeviceModel>& used) {
    return plan_backprojection(RayBackprojection(geometry, projections, volume, projector, !all_cpu(used)), used,
                               options);
  });
}

}  // namespace halocline

#include "algorithms/projectors/backprojection.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "algorithms/geometry/turned_views.hpp"
#include "algorithms/projectors/batch_argument.hpp"
#include "algorithms/projectors/coordinate_error.hpp"
#include "algorithms/projectors/scan_forms.hpp"
#include "algorithms/projectors/tunables.hpp"
#include "algorithms/support/check_input.hpp"
#include "algorithms/support/kernel_numbers.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/device_selection.hpp"
#include "scheduling/transport/rank_devices.hpp"

namespace halocline {
namespace {

constexpr std::int64_t fewest_rows = 32;

std::vector<Matrix34> matrices_of(const Geometry& geometry, const Grid& projections, const Grid& grid) {
  std::vector<Matrix34> matrices;
  matrices.reserve(geometry.views.size());
  for (const View& view : geometry.views) matrices.push_back(index_to_detector(view, grid, projections));
  return matrices;
}

// Heights on the detector, in rows, between which slices cast their shadows in all views.
class ShadowHeight {
 public:
  // reach: the slices' corners are moved out by so many voxels.
  ShadowHeight(const Geometry& geometry, const Grid& projections, const Grid& grid, const std::array<double, 3>& reach)
      : matrices_(matrices_of(geometry, projections, grid)),
        size_(grid.size),
        reach_(reach),
        fan_stack_(geometry.fan_stack()) {}

  // The lowest and the highest; nothing if a corner is not in front of the source.
  std::optional<std::pair<double, double>> of(Range slices) const {
    constexpr double rounding = 0.1;  // of float32
    const auto centre = [&](int axis) { return 0.5 * (static_cast<double>(size_[axis]) - 1); };
    const double half_x = centre(0) + reach_[0], half_y = centre(1) + reach_[1],
                 low = static_cast<double>(slices.begin) - reach_[2] - centre(2),
                 high = static_cast<double>(slices.end - 1) + reach_[2] - centre(2);
    double lowest = std::numeric_limits<double>::infinity(), highest = -lowest;
    for (const Matrix34& m : matrices_)
      for (int corner = 0; corner < 8; ++corner) {
        const double x = corner & 1 ? half_x : -half_x, y = corner & 2 ? half_y : -half_y, z = corner & 4 ? high : low;
        const double w = m[8] * x + m[9] * y + m[10] * z + m[11];
        if (w <= 0) return std::nullopt;
        const double v = (m[4] * x + m[5] * y + m[6] * z + m[7]) / (fan_stack_ ? 1 : w);
        lowest = std::min(lowest, v);
        highest = std::max(highest, v);
      }
    return std::pair(lowest - rounding, highest + rounding);
  }

 private:
  std::vector<Matrix34> matrices_;
  std::array<std::size_t, 3> size_;
  std::array<double, 3> reach_;
  bool fan_stack_;
};

bool all_chose(std::span<const DeviceModel> devices, const char* choice, const char* form) {
  return !devices.empty() && std::all_of(devices.begin(), devices.end(), [&](const DeviceModel& device) {
    const auto tuned = device.choices.find(choice);
    return tuned != device.choices.end() && tuned->second == form;
  });
}

bool images_were_fastest(std::span<const DeviceModel> devices) {
  return all_chose(devices, exact_form_choice, images_form);
}

}  // namespace

std::function<Range(Range)> detector_rows_of(const Geometry& geometry, const Grid& projections, const Grid& grid,
                                             const std::array<double, 3>& reach) {
  return [shadow = ShadowHeight(geometry, projections, grid, reach),
          limit = static_cast<std::int64_t>(projections.size[1])](Range slices) -> Range {
    const auto heights = shadow.of(slices);
    if (!heights) return {0, limit};
    const auto [lowest, highest] = *heights;
    // both neighbours of a coordinate
    const auto last = static_cast<double>(limit - 1);
    auto begin = static_cast<std::int64_t>(std::clamp(std::floor(lowest), 0.0, last));
    auto end = static_cast<std::int64_t>(std::clamp(std::floor(highest) + 1, 0.0, last)) + 1;
    end = std::max(end, begin + fewest_rows);
    begin = std::max<std::int64_t>(0, std::min(begin, limit - fewest_rows));
    return {begin / 2 * 2, std::min(limit, (end + 1) / 2 * 2)};
  };
}

std::function<Range(Range)> crossed_rows_of(const Geometry& geometry, const Grid& projections, const Grid& grid,
                                            std::array<double, 3> reach) {
  constexpr double within = 0.01;  // voxels, as kernels test where rays enter
  for (double& each : reach) each += within;
  return [shadow = ShadowHeight(geometry, projections, grid, reach),
          limit = static_cast<std::int64_t>(projections.size[1])](Range slices) -> Range {
    const auto heights = shadow.of(slices);
    if (!heights) return {0, limit};
    const auto row = [&](double height) {
      return static_cast<std::int64_t>(std::clamp(height, 0.0, static_cast<double>(limit)));
    };
    return {row(std::ceil(heights->first)), row(std::floor(heights->second) + 1)};
  };
}

std::string texel_scale(double value, int exponent) {
  const double octaves = value > 0 && std::isfinite(value) ? std::log2(value) : 0;
  // steps of four: fewer programs
  const int power = exponent - 4 * static_cast<int>(std::lround(octaves / 4));
  return power == 0 ? "" : fmt::format(" -D TEXEL_SCALE=0x1p{}f", std::clamp(power, -120, 120));
}

VoxelDriven::VoxelDriven(const Geometry& geometry, const Grid& projections, const Grid& grid, const Options& options)
    : projections_(projections),
      grid_(grid),
      options_(options),
      detector_rows_(detector_rows_of(geometry, projections, grid)) {
  check_coordinates(geometry, grid, projections);
  const auto matrices = matrices_of(geometry, projections, grid);
  const auto invariant_along = [&](std::size_t axis) {  // U and W of every view
    return std::all_of(matrices.begin(), matrices.end(),
                       [=](const Matrix34& matrix) { return matrix[axis] == 0 && matrix[8 + axis] == 0; });
  };
  const bool k_invariant = invariant_along(2);
  const bool single_row = projections.size[1] == 1;
  std::string scale;  // of texels
  kernel_ = {"backproject.cl", "backproject_exact", ""};
  layout_options_ = "-D LAYOUT_QUADS";
  order_.resize(matrices.size());
  std::iota(order_.begin(), order_.end(), 0);
  if (options.hardware_interpolation) {
    layout_ = Layout::texels;
    if (options.variance) options_.half_texels = false;
    // four float32 channels take the texture units four times as long as one, two hardly longer
    for (const int views : {4, 2})
      if (views == 4 ? options_.half_texels : options.texel_pairs)
        if (auto order = turned_views(matrices, grid.size, views); pack_ == 1 && !order.empty())
          pack_ = views, order_ = std::move(order);
    // Alone they gain nothing, and one channel of half precision is a texel that OpenCL 1.2 does not promise: PoCL 3.1
    // lists it, but reads the same number everywhere.
    if (pack_ == 1) options_.half_texels = false;
    kernel_ = {"backproject_image.cl", "backproject_image", ""};
    layout_options_ = fmt::format("-D PACK={}{}", pack_, options_.half_texels ? " -D HALF_TEXELS" : "");
    if (options_.half_texels) scale = texel_scale(options.texel_unit, 0);
    layout_options_ += scale;
  } else if (!options.cpu && std::max(projections.size[0], projections.size[1]) <= options.image_side) {
    layout_ = Layout::texels;
    fetched_ = true;
    kernel_ = {"backproject_image.cl", "backproject_image", ""};
    layout_options_ = "-D PACK=1";
  } else if (options.tile && !options.cpu && !single_row && k_invariant) {
    layout_ = Layout::columns;
    tile_ = options.tile;
    tile_->slices = filled_slices(tile_->slices, grid.size[2]);
    kernel_ = {"backproject_tile.cl", "backproject_tile", ""};
    layout_options_ = "-D LAYOUT_COLUMNS";
  } else if (options.cpu && !single_row && (k_invariant || invariant_along(1))) {
    layout_ = Layout::columns;
    axial_ = k_invariant ? 2 : 1;
    kernel_ = {"backproject_columns.cl", "backproject_columns", ""};
    layout_options_ = "-D LAYOUT_COLUMNS";
  } else if (options.cpu) {
    lanes_ = true;
    kernel_ = {"backproject_lanes.cl", "backproject_lanes", ""};
  }
  for (const int view : order_)
    for (const double value : matrices[static_cast<std::size_t>(view)]) matrices_.push_back(static_cast<float>(value));
  kernel_.options = fmt::format("-D DISTANCE_WEIGHT={}{}{}{}{}", options.distance_weight ? 1 : 0,
                                options.variance ? " -D VARIANCE" : "", k_invariant ? " -D K_INVARIANT" : "",
                                single_row ? " -D SINGLE_ROW" : "", geometry.fan_stack() ? " -D FAN_STACK" : "");
  if (tile_)
    kernel_.options += tile_->options();
  else if (layout_ == Layout::columns)
    kernel_.options += fmt::format(" -D AXIAL={}", axial_);
  if (layout_ == Layout::texels) kernel_.options += fmt::format(" -D PACK={}{}", pack_, scale);
  if (fetched_) kernel_.options += " -D EXACT_TEXELS";
}

// MORE_ITEMS of filtered.clh.
std::array<std::size_t, 3> VoxelDriven::filtered_items(const Slab& slab, Range views) const {
  const std::size_t more = layout_ == Layout::texels ? 0 : layout_ == Layout::quads ? 1 : 2;
  return {projections_.size[0] + more, static_cast<std::size_t>(slab.rows().count()) + more,
          static_cast<std::size_t>(views.count())};
}

void VoxelDriven::declare(Requirements& requirements) const {
  requirements.size = grid_.size;
  requirements.form = ProgramForm::voxel_sums;
  requirements.stack = projections_.size;
  // While the last batch is added, slices that are done travel to the host: it has to take as long as that. Textures of
  // more views are slower, too (caches).
  if (!options_.cpu) requirements.preferred_batch *= 4;
  if (layout_ == Layout::texels) {
    const std::size_t bytes = options_.half_texels && !fetched_ ? 2 : 4;
    requirements.arrays.push_back({.name = "filtered", .kind = ArrayKind::projections, .element_bytes = bytes});
    requirements.arrays.push_back({.name = "texture",
                                   .kind = ArrayKind::image,
                                   .element_bytes = bytes,
                                   .components = static_cast<std::size_t>(pack_)});
    requirements.batch_step = pack_;
    if (options_.image_batch > 0) requirements.preferred_batch = options_.image_batch;
  } else {
    // A border of `more` pixels: the room for more rows is spread over the rows held, which are never fewer.
    const std::size_t fewest = std::min<std::size_t>(projections_.size[1], fewest_rows);
    const std::size_t more = layout_ == Layout::quads ? 1 : 2;
    requirements.arrays.push_back(
        {.name = "filtered",
         .kind = ArrayKind::projections,
         .components = layout_ == Layout::quads ? std::size_t{4} : std::size_t{1},
         .row_length = ((projections_.size[0] + more) * (fewest + more) + fewest - 1) / fewest});
    if (layout_ == Layout::quads && !lanes_ && options_.exact_batch > 0)
      requirements.preferred_batch = options_.exact_batch;
  }
  requirements.arrays.push_back({.name = "volume", .kind = ArrayKind::volume, .lifetime = Lifetime::output});
  requirements.arrays.push_back({.name = "matrices", .kind = ArrayKind::fixed, .elements = matrices_.size()});
  requirements.kernels.push_back(kernel_.kernel);
  // Updates a second on an H200, over its copy's rate (benchmarks/results/nvidia-h200.md); columns and lanes on two CPU
  // cores.
  const auto [form, bytes] = tile_                        ? std::pair{"tile", 4.1}
                             : layout_ == Layout::columns ? std::pair{"columns", 110.0}
                             : lanes_                     ? std::pair{"lanes", 40.0}
                             : layout_ == Layout::quads   ? std::pair{"exact", 5.45}
                             : fetched_                   ? std::pair{"images", 12.2}
                             : pack_ == 4                 ? std::pair{"texture of four", 1.41}
                             : pack_ == 2                 ? std::pair{"texture of two", 2.67}
                                                          : std::pair{"texture", 4.5};
  requirements.cost.name = std::string("voxel ") + form;
  requirements.cost.bytes = bytes;
  // Texture units scale coordinates by the image's size before they round them, so bits are the same in all slabs
  // because every slab's image has room for the whole detector; of its rows only those that the slab needs are written.
  requirements.detector_rows = detector_rows_;
}

void VoxelDriven::check_device(const DeviceInfo& device) const {
  if (layout_ != Layout::texels) return;
  if (!device.images && fetched_)
    throw InputError(fmt::format("{} has no images; leave them out, for buffers give the same bits", device.name));
  if (!device.images)
    throw InputError(
        fmt::format("{} has no images, so it cannot interpolate in hardware; use exact interpolation", device.name));
  if (projections_.size[0] > device.image_width || projections_.size[1] > device.image_height)
    throw InputError(fmt::format("{} takes images up to {} x {}, but a projection has {} x {} pixels; {}", device.name,
                                 device.image_width, device.image_height, projections_.size[0], projections_.size[1],
                                 fetched_ ? "leave images out" : "use exact interpolation"));
}

void VoxelDriven::start(Slab& slab) const {
  slab.set("matrices", matrices_.data(), matrices_.size() * sizeof(float));
}

void VoxelDriven::filtered(Slab& slab, Range views) const {
  if (layout_ != Layout::texels) return;
  slab.copy_to_image("filtered", "texture", static_cast<std::size_t>(views.count() / pack_));
}

namespace {

float centre(const Grid& grid, int axis) {
  return static_cast<float>(0.5 * (static_cast<double>(grid.size[axis]) - 1));
}

// Slices a work-item of textures, by what was fastest on an H200. On CPUs image reads are long functions, and nothing
// is gained by writing them out several times.
int unroll_of_textures(const DeviceInfo& device, int pack) {
  return pack > 1 ? 4 : device.cpu() ? 1 : 8;
}

}  // namespace

void VoxelDriven::accumulate(Slab& slab, Range views, Range slices) const {
  const bool texels = layout_ == Layout::texels;
  const Range rows = texels ? Range{0, static_cast<std::int64_t>(projections_.size[1])} : slab.rows();
  const auto count = static_cast<std::size_t>(slices.count());
  const std::array<float, 3> middle{centre(grid_, 0), centre(grid_, 1), centre(grid_, 2)};
  const std::vector<SlabArgument> arguments{in(texels ? "texture" : "filtered"),
                                            in("matrices"),
                                            inout("volume"),
                                            slab.extent(slices),
                                            per_axis(middle),
                                            batch_of(projections_, rows, views),
                                            static_cast<float>(options_.correlation)};
  const auto [nx, ny, nz] = grid_.size;
  if (tile_)
    return slab.launch(kernel_, {nx, ny, parts_of(count, static_cast<std::size_t>(tile_->slices))},
                       {static_cast<std::size_t>(tile_->width), static_cast<std::size_t>(tile_->height), 1}, arguments);
  if (layout_ == Layout::columns)  // STRIP and DEPTH of backproject_columns.cl
    return slab.launch(
        kernel_, {parts_of(nx, 16), axial_ == 2 ? ny : count, axial_ == 2 ? parts_of(count, 64) : parts_of(ny, 64)},
        {1, 1, 1}, arguments);
  if (lanes_)  // a block of 16 x 8 x 8 voxels: backproject_lanes.cl
    return slab.launch(kernel_, {parts_of(nx, 16), parts_of(ny, 8), parts_of(count, 8)}, {1, 1, 1}, arguments);
  const int standard = texels && !fetched_ ? unroll_of_textures(slab.device(), pack_) : 4;
  const std::string key = kernel_.kernel + " " + slices_tunable;
  const auto unroll = static_cast<std::size_t>(filled_slices(candidate_or(standard, key, slab.tuned(key)), nz));
  KernelSpec kernel = kernel_;
  kernel.options += fmt::format(" -D K_UNROLL={}", unroll);
  slab.launch(kernel, {pack_ == 4 ? nx / 2 : nx, pack_ > 1 ? ny / 2 : ny, parts_of(count, unroll)}, arguments);
}

void set_device_options(VoxelDriven::Options& options, std::span<const DeviceModel> any_problem,
                        const Grid& projections, const Grid& grid) {
  const auto devices = models_for(any_problem, grid.size, projections.size);
  options.cpu =
      !devices.empty() && std::all_of(devices.begin(), devices.end(), [](const auto& device) { return device.cpu; });
  options.texel_pairs = !devices.empty() && std::all_of(devices.begin(), devices.end(),
                                                        [](const auto& device) { return device.texel_pairs; });
  if (const LocalTile* tile = fastest_tile(devices)) options.tile = *tile;
  if (images_were_fastest(devices))
    options.image_side = std::min_element(devices.begin(), devices.end(), [](const auto& a, const auto& b) {
                           return a.image_side < b.image_side;
                         })->image_side;
  options.exact_batch = tuned_on_all(devices, std::string("backproject_exact ") + batch_tunable);
  options.image_batch = tuned_on_all(devices, std::string("backproject_image ") + batch_tunable);
}

void check_exact_form(std::vector<DeviceModel>& models, const std::vector<Device>& devices, Ranks& all) {
  const LocalTile* tile = fastest_tile(models);
  if (tile == nullptr && !images_were_fastest(models)) return;
  if (variant_works(tile != nullptr ? tile_variant(*tile) : variant_of("images"), devices, "quads serve", all)) return;
  for (DeviceModel& model : models) model.choices[exact_form_choice] = quads_form;
}

std::vector<DeviceModel> checked_budgets(const std::vector<Device>& devices, const Grid& projections, const Grid& grid,
                                         const PlanOptions& options) {
  auto models = models_for(models_of_all(devices, options), grid.size, projections.size);
  check_exact_form(models, devices, ranks_of(options));
  return models;
}

Backprojection::Backprojection(const Geometry& geometry, const Grid& projections, const Grid& grid,
                               const VoxelDriven::Options& options)
    : projections_(projections), voxels_(geometry, projections, grid, options) {}

Requirements Backprojection::requirements() const {
  Requirements requirements;
  requirements.algorithm = "backproject";
  requirements.arrays.push_back({.name = "raw", .kind = ArrayKind::projections, .lifetime = Lifetime::input});
  requirements.kernels = {"backproject_copy"};
  voxels_.declare(requirements);
  return requirements;
}

void Backprojection::start(Slab& slab) const {
  voxels_.start(slab);
}

void Backprojection::filter(Slab& slab, Range views, const Scalars&) const {
  slab.launch({"backproject_copy.cl", "backproject_copy", voxels_.layout_options()},
              voxels_.filtered_items(slab, views),
              {in("raw"), out("filtered"), static_cast<std::int32_t>(projections_.size[0]),
               static_cast<std::int32_t>(slab.rows().count()), static_cast<std::int32_t>(views.count())});
  voxels_.filtered(slab, views);
}

void Backprojection::accumulate(Slab& slab, Range views, Range slices, const Scalars&) const {
  voxels_.accumulate(slab, views, slices);
}

namespace {

std::shared_ptr<const Backprojection> unfiltered(const Geometry& geometry, const Grid& projections, const Grid& grid,
                                                 const BackprojectionParameters& parameters,
                                                 std::span<const DeviceModel> devices, double largest = 1) {
  VoxelDriven::Options options;
  options.hardware_interpolation = parameters.hardware_interpolation;
  options.half_texels = parameters.half_texels;
  options.texel_unit = largest;
  set_device_options(options, devices, projections, grid);
  return std::make_shared<Backprojection>(geometry, projections, grid, options);
}

}  // namespace

namespace {

// Output: a VolumeSink, or the grid of RunResult::output.
template <class Output>
RunResult backproject_to(const VolumeSource& projections, const Geometry& geometry, Output& output, const Grid& grid,
                         const BackprojectionParameters& parameters, const std::vector<Device>& devices,
                         const RunOptions& options) {
  const Grid& stack = projections.grid();
  check_projections(stack, "the projections", geometry, "the geometry");
  check_grid(grid, "the volume");
  check_fan_stack(geometry, grid, "the volume");
  if (parameters.hardware_interpolation)
    require_textures(true, parameters.half_texels, devices,
                     parameters.half_texels ? "`half_texels`" : "`hardware_interpolation`");
  const double largest = parameters.half_texels ? value_range(projections).largest() : 1;
  const auto program_for = [&](const std::vector<Device>& used) {
    const auto method =
        unfiltered(geometry, stack, grid, parameters, checked_budgets(used, stack, grid, options.plan), largest);
    for (const Device& device : used) method->check_device(device.info());
    return program_of(method);
  };
  return run_on_selection(program_for, {{"raw", &projections}}, output, devices, options);
}

}  // namespace

RunResult backproject(const Volume& projections, const Geometry& geometry, const Grid& grid,
                      const BackprojectionParameters& parameters, const std::vector<Device>& devices,
                      const RunOptions& options) {
  check_devices(devices);
  check_volume(projections, "the projections");
  return backproject_to(MemorySource(projections), geometry, grid, grid, parameters, devices, options);
}

RunResult backproject_into(const VolumeSource& projections, const Geometry& geometry, VolumeSink& volume,
                           const BackprojectionParameters& parameters, const std::vector<Device>& devices,
                           const RunOptions& options) {
  check_devices(devices);
  return backproject_to(projections, geometry, volume, volume.grid(), parameters, devices, options);
}

Plan plan_backproject(const Geometry& geometry, const Grid& projections, const Grid& grid,
                      const BackprojectionParameters& parameters, const std::vector<DeviceModel>& models,
                      const PlanOptions& options) {
  const auto program_for = [&](const std::vector<DeviceModel>& used) {
    return program_of(unfiltered(geometry, projections, grid, parameters, used));
  };
  return plan_on_selection(program_for, models, options);
}

}  // namespace halocline

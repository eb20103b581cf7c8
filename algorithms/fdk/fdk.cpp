#include "algorithms/fdk/fdk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "algorithms/fdk/gridding.hpp"
#include "algorithms/fdk/row_filter.hpp"
#include "algorithms/projectors/scan_forms.hpp"
#include "algorithms/support/check_input.hpp"
#include "host/system/error.hpp"
#include "host/system/log.hpp"
#include "scheduling/execution/device_selection.hpp"
#include "scheduling/transport/rank_devices.hpp"

namespace halocline {
namespace {

VoxelDriven::Options voxel_options(const Geometry& geometry, const Grid& projections, const Grid& grid,
                                   const FdkParameters& parameters, const FdkFilter& filter,
                                   std::span<const DeviceModel> devices) {
  VoxelDriven::Options options;
  options.texel_unit = filter.unit() * parameters.largest_projection;
  options.hardware_interpolation = parameters.hardware_interpolation;
  options.half_texels = parameters.half_texels;
  set_device_options(options, devices, projections, grid);
  options.distance_weight = !geometry.parallel();
  options.variance = parameters.variance.has_value();
  if (options.variance) options.correlation = neighbour_correlation(transfer_of(parameters, filter.rows().length));
  return options;
}

}  // namespace

Fdk::Fdk(const Geometry& geometry, const Grid& projections, const Grid& grid, const FdkParameters& parameters,
         std::span<const DeviceModel> devices)
    : variance_(parameters.variance.has_value()),
      filter_(geometry, projections, parameters),
      voxels_(filter_.rows().geometry, filter_.rows().padded, grid,
              voxel_options(geometry, projections, grid, parameters, filter_, devices)) {
  filter_.take_in_order(voxels_.order());
}

Requirements Fdk::requirements() const {
  Requirements requirements;
  requirements.algorithm = variance_ ? "fdk variance" : "fdk";
  filter_.declare(requirements);
  requirements.kernels.emplace_back("fdk_unpack");
  voxels_.declare(requirements);
  return requirements;
}

void Fdk::start(Slab& slab) const {
  filter_.start(slab);
  voxels_.start(slab);
}

void Fdk::filter(Slab& slab, Range views, const Scalars&) const {
  filter_.run(slab, views);
  filter_.unpack(slab, views, voxels_.layout_options(), voxels_.filtered_items(slab, views));
  voxels_.filtered(slab, views);
}

void Fdk::accumulate(Slab& slab, Range views, Range slices, const Scalars&) const {
  voxels_.accumulate(slab, views, slices);
}

FdkParameters with_row_filter(const FdkParameters& parameters, const std::vector<Device>& devices,
                              std::optional<std::size_t> length, Ranks& all) {
  FdkParameters chosen = parameters;
  if (!chosen.longest_local_rows) chosen.longest_local_rows = longest_local_rows(devices, length, all);
  return chosen;
}

namespace {

std::vector<std::string> checked(const Geometry& geometry, const Grid& projections, const Grid& grid,
                                 const FdkParameters& parameters) {
  check_fdk_parameters(parameters);
  auto notes = check_fdk(geometry, projections, grid, "the projections", "the geometry", parameters.redundancy);
  if (parameters.algorithm == FdkAlgorithm::gridding) check_gridding(geometry, projections, grid, parameters);
  return notes;
}

// Values that replace counts, of a calibration for this stack; nullptr: nothing is replaced.
const ReplacedValues* replaced_of(const FdkParameters& parameters, const Grid& stack) {
  const CountsCalibration* calibration = parameters.counts ? parameters.counts->calibration : nullptr;
  return calibration == nullptr || calibration->size != stack.size || calibration->replaced.empty()
             ? nullptr
             : &calibration->replaced;
}

// A source with the calibration's values in place of counts that were not measured.
class Mended {
 public:
  Mended(const VolumeSource& given, const FdkParameters& parameters, const Grid& stack) : given_(given) {
    if (const ReplacedValues* replaced = replaced_of(parameters, stack)) mended_.emplace(given, *replaced);
  }
  const VolumeSource* source() const { return mended_ ? &*mended_ : &given_; }

 private:
  const VolumeSource& given_;
  std::optional<MendedSource> mended_;
};

// The largest magnitude in a few views: half precision has room for a thousand times more and less. 1 for counts.
double largest_in_some_views(const ArraySource& raw, const Grid& stack, const FdkParameters& parameters) {
  constexpr std::size_t most_views = 4;
  if (!parameters.half_texels || parameters.counts) return 1;
  const std::size_t view = stack.slice(), views = stack.size[2], count = std::min(most_views, views);
  std::vector<float> pixels(view);
  float largest = 0;
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t first = view * (n * views / count);
    if (raw.source != nullptr)
      raw.source->read(first, view, pixels.data());
    else
      std::memcpy(pixels.data(), raw.values + sizeof(float) * first, sizeof(float) * view);
    for (const float pixel : pixels) largest = std::max(largest, std::abs(pixel));
  }
  return largest > 0 ? largest : 1;
}

}  // namespace

Program fdk_program(const Geometry& geometry, const Grid& projections, const Grid& grid,
                    const FdkParameters& parameters, const std::vector<Device>& devices, const PlanOptions& options) {
  if (parameters.algorithm == FdkAlgorithm::gridding) {
    require_one_fft_library(devices, ranks_of(options));
    const auto models = models_of_all(devices, options);
    return program_of(std::make_shared<Gridding>(geometry, projections, grid, parameters, models));
  }
  const std::size_t length = filtered_rows(geometry, projections, parameters).length;
  // One after the other, as ranks agree on both.
  const FdkParameters with_filter = with_row_filter(parameters, devices, length, ranks_of(options));
  const auto budgets = checked_budgets(devices, projections, grid, options);
  const auto method = std::make_shared<Fdk>(geometry, projections, grid, with_filter, budgets);
  for (const Device& device : devices) method->check_device(device.info());
  return program_of(method);
}

namespace {

// Projections as `raw` gives them, in the type that the parameters say, to a sink, or to a volume on a grid.
template <class Output>
RunResult fdk_of(const ArraySource& raw, const Grid& stack, const Geometry& geometry, Output& output, const Grid& grid,
                 const FdkParameters& parameters, const std::vector<Device>& devices, const RunOptions& options) {
  check_devices(devices);
  const auto notes = checked(geometry, stack, grid, parameters);
  if (parameters.counts) {
    if (parameters.counts->calibration == nullptr)
      throw InputError("the projections are counts, but there is no calibration for them");
    require_calibrated(*parameters.counts->calibration, stack, "the projections");
  }
  if (parameters.hardware_interpolation)
    require_textures(true, parameters.half_texels, devices,
                     parameters.half_texels ? "`half_texels`" : "`hardware_interpolation`");
  if (parameters.log_notes && !parameters.variance) {  // which follows the reconstruction
    for (const auto& note : check_fdk_views(geometry, grid)) library_log()->warn("{}", note);
    for (const auto& note : notes) library_log()->warn("{}", note);
  }
  FdkParameters fitted = parameters;
  fitted.largest_projection = largest_in_some_views(raw, stack, parameters);
  const auto program_for = [&](const std::vector<Device>& used) {
    return fdk_program(geometry, stack, grid, fitted, used, options.plan);
  };
  return run_on_selection(program_for, {{"raw", raw}}, output, devices, options);
}

}  // namespace

RunResult fdk(const Volume& projections, const Geometry& geometry, const Grid& grid, const FdkParameters& parameters,
              const std::vector<Device>& devices, const RunOptions& options) {
  check_volume(projections, "the projections");
  FdkParameters stored = parameters;
  if (stored.counts) stored.counts->stored = Component::float32;
  const MemorySource source(projections);
  const Mended mended(source, stored, projections.grid);
  return fdk_of(mended.source(), projections.grid, geometry, grid, grid, stored, devices, options);
}

namespace {

// The projections, with the calibration's values in place of counts that were not measured.
const TypedVolume& mended(const TypedVolume& projections, const FdkParameters& parameters, TypedVolume& keeps) {
  const ReplacedValues* replaced = replaced_of(parameters, projections.grid);
  if (replaced == nullptr || replaced->are_in(projections)) return projections;
  keeps = projections;
  replaced->put(keeps);
  return keeps;
}

FdkParameters stored_in(const TypedVolume& projections, const FdkParameters& parameters) {
  FdkParameters stored = parameters;
  if (stored.counts) stored.counts->stored = projections.component;
  if (!projections.scaling.identity() || projections.component != stored_as(stored))
    throw InputError(fmt::format("the projections are stored as {}; expected float32, or uint16 for counts, not scaled",
                                 component_name(projections.component)));
  return stored;
}

}  // namespace

RunResult fdk(const TypedVolume& projections, const Geometry& geometry, const Grid& grid,
              const FdkParameters& parameters, const std::vector<Device>& devices, const RunOptions& options) {
  const FdkParameters stored = stored_in(projections, parameters);
  TypedVolume keeps;
  return fdk_of(ArraySource(mended(projections, stored, keeps).bytes()), projections.grid, geometry, grid, grid, stored,
                devices, options);
}

RunResult fdk_into(const TypedVolume& projections, const Geometry& geometry, VolumeSink& output,
                   const FdkParameters& parameters, const std::vector<Device>& devices, const RunOptions& options) {
  const FdkParameters stored = stored_in(projections, parameters);
  TypedVolume keeps;
  return fdk_of(ArraySource(mended(projections, stored, keeps).bytes()), projections.grid, geometry, output,
                output.grid(), stored, devices, options);
}

RunResult fdk_into(const VolumeSource& projections, const Grid& stack, const Geometry& geometry, VolumeSink& output,
                   const FdkParameters& parameters, const std::vector<Device>& devices, const RunOptions& options) {
  if (projections.grid().size != stack.size) throw std::logic_error("the source has another size than the stack");
  FdkParameters stored = parameters;
  if (stored.counts) stored.counts->stored = Component::float32;
  const Mended mended(projections, stored, stack);
  return fdk_of(mended.source(), stack, geometry, output, output.grid(), stored, devices, options);
}

Plan plan_fdk(const Geometry& geometry, const Grid& projections, const Grid& grid, const FdkParameters& parameters,
              const std::vector<DeviceModel>& models, const PlanOptions& options) {
  checked(geometry, projections, grid, parameters);
  const auto program_for = [&](const std::vector<DeviceModel>& used) {
    if (parameters.algorithm == FdkAlgorithm::gridding)
      return program_of(std::make_shared<Gridding>(geometry, projections, grid, parameters, used));
    FdkParameters with_filter = parameters;
    if (!parameters.longest_local_rows)
      with_filter.longest_local_rows =
          longest_local_rows(used, filtered_rows(geometry, projections, parameters).length);
    return program_of(std::make_shared<Fdk>(geometry, projections, grid, with_filter, used));
  };
  return plan_on_selection(program_for, models, options);
}

}  // namespace halocline

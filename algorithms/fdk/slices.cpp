#include "algorithms/fdk/slices.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "algorithms/support/kernel_numbers.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "scheduling/planning/plan_text.hpp"
#include "scheduling/profiling/rates.hpp"

namespace halocline {
namespace {

// J_UNROLL of slices.cl, as measured on an H200 (benchmarks/results/nvidia-h200.md).
std::size_t unroll_of(const FdkParameters& parameters) {
  return parameters.hardware_interpolation ? 8 : 4;
}

// Indices into one array of slices are 32-bit numbers on the device.
constexpr std::size_t most_pixels_of_all = std::size_t{1} << 30;

bool same_grid(const Grid& a, const Grid& b) {
  return a.size == b.size && a.spacing == b.spacing && a.origin == b.origin && a.direction == b.direction;
}

// Rounding of the transforms to and from the world (1e-12 voxels) would spoil the bits on planes of voxels.
float coordinate(double value) {
  const double nearest = std::round(2 * value) / 2;
  return static_cast<float>(std::abs(value - nearest) < 1e-9 ? nearest : value);
}

// Plane in the form that slices.cl reads.
std::array<float, 12> plane_of(const Grid& slice, const Grid& volume) {
  const auto index = [&](double i, double j) {
    const auto world = slice.world(i, j, 0);
    return volume.index(world[0], world[1], world[2]);
  };
  const double ci = 0.5 * (static_cast<double>(slice.size[0]) - 1), cj = 0.5 * (static_cast<double>(slice.size[1]) - 1);
  const auto centre = index(ci, cj), next = index(ci + 1, cj), above = index(ci, cj + 1);
  std::array<float, 12> plane{};
  for (int axis = 0; axis < 3; ++axis) {
    plane[axis] = coordinate(centre[axis] - 0.5 * (static_cast<double>(volume.size[axis]) - 1));
    plane[4 + axis] = coordinate(next[axis] - centre[axis]);
    plane[8 + axis] = coordinate(above[axis] - centre[axis]);
  }
  return plane;
}

Grid with_views(Grid stack, std::size_t views) {
  stack.size[2] = views;
  return stack;
}

// Requirements with images as wide and high as the detector and as many as there are views, or quads.
Requirements requirements_of(const FdkFilter& filter, const FdkParameters& parameters, std::size_t most_pixels) {
  const auto [columns, rows, views] = filter.rows().padded.size;
  Requirements requirements;
  requirements.algorithm = parameters.variance ? "slices variance" : "slices";
  requirements.form = ProgramForm::voxel_sums;
  requirements.stack = {columns, rows, views};
  filter.declare(requirements);
  requirements.kernels.emplace_back("slices_keep");
  ArrayNeed resident{.name = "resident", .lifetime = Lifetime::state};
  if (parameters.hardware_interpolation) {
    requirements.size = {columns, rows, views};
    resident.kind = ArrayKind::planes;
    resident.axis = 2;
    requirements.kernels.emplace_back("slices_image");
  } else {
    requirements.size = {columns + 1, rows + 1, views};
    resident.components = 4;
    requirements.kernels.emplace_back("slices_exact");
  }
  requirements.arrays.push_back(resident);
  const auto fixed = [&](const char* name, std::size_t elements) {
    requirements.arrays.push_back({.name = name, .kind = ArrayKind::fixed, .elements = elements});
  };
  fixed("matrices", 12 * views);
  fixed("factors", views);
  fixed("planes", 12 * Slices::most_slices);
  fixed("extents", 4 * Slices::most_slices);
  fixed("slices", most_pixels);
  return requirements;
}

Plan plan_of(const FdkFilter& filter, const FdkParameters& parameters, std::size_t most_pixels,
             const DeviceModel& model) {
  Plan plan = make_plan(requirements_of(filter, parameters, most_pixels), std::span(&model, 1));
  if (plan.slabs.size() == 1) return plan;
  const auto& need = plan.requirements;
  const auto resident = std::find_if(need.arrays.begin(), need.arrays.end(),
                                     [](const ArrayNeed& array) { return array.name == "resident"; });
  const auto bytes = array_bytes(*resident, need, static_cast<std::int64_t>(need.size[2]), 0, 0);
  throw PlanError(fmt::format(
      "slices: the {} filtered projections take {} with {}, and stay on the device together; the budget of {} is {}, "
      "its largest allocation {}. Take fewer views at a time (`window_views`), {}or give more with `device_memory`",
      need.stack[2], bytes_text(static_cast<double>(bytes)),
      parameters.hardware_interpolation ? "hardware interpolation" : "exact interpolation", model.name,
      bytes_text(static_cast<double>(model.memory)), bytes_text(static_cast<double>(model.max_allocation)),
      parameters.hardware_interpolation ? "" : "`hardware_interpolation` (4 bytes a pixel, not 16), "));
}

void check_slice_parameters(const FdkParameters& parameters) {
  check_fdk_parameters(parameters);
  if (parameters.half_texels)
    throw InputError(
        "half precision (`half_texels`) is faster where views share texels, as they do for fdk; slices take "
        "`half_texels = false`");
  if (parameters.algorithm != FdkAlgorithm::direct)
    throw InputError("`algorithm = gridding` makes whole volumes; slices take `algorithm = direct`");
}

void require_circle(const Geometry& window, const FdkParameters& parameters, const std::string& name) {
  const AngularCoverage coverage = angular_coverage(window, parameters.redundancy.allow_incomplete_arc);
  if (!coverage.full_circle)
    throw InputError(fmt::format(
        "{}: {} views cover {:.6g} degrees; a window that moves must cover {} of them, as the weights of a shorter arc "
        "depend on where in it a view lies: choose another number of views (`window_views`)",
        name, window.views.size(), coverage.range * 180 / std::numbers::pi, window.parallel() ? 180 : 360));
}

[[noreturn]] void refuse_gap(const std::string& name) {
  throw InputError(fmt::format(
      "{}: its views leave a gap, whose rays would be taken from the opposite side by weights that depend on where in "
      "the window a view lies; a window that moves must have no gap, so give the views that are missing",
      name));
}

}  // namespace

namespace {

// The parameters with a copy of counts' calibration that is kept here.
FdkParameters with_calibration(FdkParameters parameters, const CountsCalibration& kept) {
  if (parameters.counts) parameters.counts = FdkParameters::Counts{&kept, Component::float32};
  return parameters;
}

CountsCalibration calibration_of(const FdkParameters& parameters, const Grid& projections) {
  if (!parameters.counts) return {};
  if (parameters.counts->calibration == nullptr)
    throw InputError("the projections are counts, but there is no calibration for them");
  require_calibrated(*parameters.counts->calibration, projections, "the projections");
  return *parameters.counts->calibration;
}

// Waits for the device at the end of a block, also after an error: devices that share the host's memory may use it
// after a call has returned, and the slab may outlive the error.
class Pending {
 public:
  explicit Pending(DeviceSlab& slab) : slab_(slab) {}
  Pending(const Pending&) = delete;
  Pending& operator=(const Pending&) = delete;
  ~Pending() {
    if (done_) return;
    try {
      slab_.wait();
    } catch (const std::exception&) {  // the error that ended the block is already on its way
    }
  }
  void wait() {
    slab_.wait();
    done_ = true;
  }

 private:
  DeviceSlab& slab_;
  bool done_ = false;
};

void upload_raw(DeviceSlab& slab, const VolumeSource& projections, std::size_t first, std::size_t pixels) {
  if (slab.copy_from(projections, first, pixels, "raw", 0)) return;
  if (projections.data() != nullptr)
    return slab.upload_bytes("raw", 0, projections.data() + first, sizeof(float) * pixels);
  slab.upload_bytes("raw", sizeof(float) * pixels, [&](std::byte* at, std::size_t begin, std::size_t count) {
    projections.read(first + begin / sizeof(float), count / sizeof(float), reinterpret_cast<float*>(at));
  });
}

// Downloads a slice that begins at pixel `first`. Memory of a sink has all of it after the slab's wait.
void download_slice(DeviceSlab& slab, VolumeSink& sink, std::size_t first) {
  const std::size_t pixels = sink.grid().count(), offset = sizeof(float) * first, bytes = sizeof(float) * pixels;
  sink.begin();
  if (slab.copy_to(sink, 0, pixels, "slices", offset)) return;
  if (sink.data() != nullptr) return slab.download_bytes("slices", offset, sink.data(), bytes);
  slab.download_bytes("slices", offset, bytes, [&](std::byte* at, std::size_t begin, std::size_t count) {
    sink.write(begin / sizeof(float), count / sizeof(float), reinterpret_cast<float*>(at));
  });
}

// The same pixels in the same order, with their one layer along k. Throws InputError for more layers along all axes.
Grid with_layer_along_k(const Grid& slice) {
  for (const std::size_t across : {2, 1, 0}) {
    if (slice.size[across] != 1) continue;
    const std::array<std::size_t, 3> from{across == 0 ? 1u : 0u, across == 2 ? 1u : 2u, across};
    Grid turned = slice;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      turned.size[axis] = slice.size[from[axis]];
      turned.spacing[axis] = slice.spacing[from[axis]];
      for (std::size_t row = 0; row < 3; ++row)
        turned.direction[3 * row + axis] = slice.direction[3 * row + from[axis]];
    }
    return turned;
  }
  throw InputError({.what = "a slice",
                    .found = fmt::format("{} x {} x {} pixels", slice.size[0], slice.size[1], slice.size[2]),
                    .expected = "one layer along one axis"});
}

}  // namespace

Slices::Slices(const Device& device, const VolumeSource& projections, const Geometry& geometry, const Grid& volume,
               const FdkParameters& parameters, std::size_t most_pixels)
    : window_(
          (check_slice_parameters(parameters),
           check_fdk(geometry, projections.grid(), volume, "the projections", "the geometry", parameters.redundancy),
           geometry)),
      stack_(projections.grid()),
      volume_(volume),
      calibration_(calibration_of(parameters, projections.grid())),
      parameters_(with_row_filter(with_calibration(parameters, calibration_), {device})),
      filter_(geometry, projections.grid(), parameters_),
      most_pixels_(most_pixels) {
  const auto& padded = filter_.rows().padded.size;
  if (parameters.hardware_interpolation) {
    const DeviceInfo& info = device.info();
    if (!info.images)
      throw InputError(
          fmt::format("{} has no images, so it cannot interpolate in hardware; use exact interpolation", info.name));
    if (padded[0] > info.image_width || padded[1] > info.image_height || padded[2] > info.image_layers)
      throw InputError(fmt::format(
          "{} takes images up to {} x {} in {} layers, but the projections are {} x {} in {}; use exact "
          "interpolation",
          info.name, info.image_width, info.image_height, info.image_layers, padded[0], padded[1], padded[2]));
  }
  options_ = fmt::format("-D DISTANCE_WEIGHT={} -D {}{}{}{}", geometry.parallel() ? 0 : 1,
                         parameters.hardware_interpolation ? "USE_IMAGE" : "LAYOUT_QUADS",
                         padded[1] == 1 ? " -D SINGLE_ROW" : "", parameters.variance ? " -D VARIANCE" : "",
                         geometry.fan_stack() ? " -D FAN_STACK" : "");
  if (parameters.variance)
    correlation_ = static_cast<float>(neighbour_correlation(transfer_of(parameters, filter_.rows().length)));
  DeviceModel model = device_models({device}).front();
  model.memory -= std::min(model.memory, device.ledger().in_use());  // others' windows remain in memory
  const Plan plan = plan_of(filter_, parameters, most_pixels, model);
  batch_ = plan.batch;
  slab_ = std::make_unique<DeviceSlab>(device, plan, 0);
  gaps_.resize(padded[2]);
  matrices_.resize(12 * padded[2]);
  keep(filter_, projections, 0);
  set_views(filter_, 0);
}

void Slices::add(const VolumeSource& projections, const Geometry& geometry, const std::vector<float>& beams) {
  const std::size_t count = geometry.views.size(), all = window_.views.size();
  check_projections(projections.grid(), "the new projections", geometry, "their geometry",
                    DetectorShape::flat_or_cylinder);
  require_same_grid(with_views(projections.grid(), all), "the new projections", stack_, "those before");
  if (count > all) throw InputError(fmt::format("{} new views are more than the window holds: {}", count, all));
  Geometry window = window_;
  window.views.erase(window.views.begin(), window.views.begin() + static_cast<std::ptrdiff_t>(count));
  window.views.insert(window.views.end(), geometry.views.begin(), geometry.views.end());
  check_fdk(window, stack_, volume_, "the projections", "the new window", parameters_.redundancy);
  require_circle(window_, parameters_, "the window");
  require_circle(window, parameters_, "the new window");
  auto new_beams = calibration_.beams;
  if (parameters_.counts) {
    if (beams.size() != count)
      throw InputError(
          fmt::format("{} new views of counts come with {} beams; expected one each", count, beams.size()));
    new_beams.erase(new_beams.begin(), new_beams.begin() + static_cast<std::ptrdiff_t>(count));
    new_beams.insert(new_beams.end(), beams.begin(), beams.end());
  }
  std::swap(calibration_.beams, new_beams);  // the filter takes them from there
  const FdkFilter filter(window, stack_, parameters_, &filter_);
  if (filter.redundancy().kind == Redundancy::Kind::gaps) {
    std::swap(calibration_.beams, new_beams);
    refuse_gap("the new window");
  }
  if (!filter.fits(filter_)) {
    std::swap(calibration_.beams, new_beams);
    throw InputError(
        "the new views do not go on with the scan: the detector is displaced, bent or tilted in another way than "
        "before; begin with a new window");
  }
  window_ = std::move(window);
  oldest_ = slot(count);
  keep(filter, projections, all - count);
  set_views(filter, all - count);
}

// Uploads and filters views `first` to the last of the window, batch by batch, up to the end of the ring.
void Slices::keep(const FdkFilter& filter, const VolumeSource& projections, std::size_t first) {
  const std::size_t all = window_.views.size(), pixels = stack_.slice();
  const auto [columns, rows, views] = filter.rows().padded.size;
  Pending pending(*slab_);  // the caller's projections may go away
  filter.start(*slab_);
  for (std::size_t view = first; view < all;) {
    check_interrupt();
    const std::size_t end = std::min({all, view + static_cast<std::size_t>(batch_), view + all - slot(view)});
    upload_raw(*slab_, projections, pixels * (view - first), pixels * (end - view));
    filter.run(*slab_, {static_cast<std::int64_t>(view), static_cast<std::int64_t>(end)});
    const std::size_t border = parameters_.hardware_interpolation ? 0 : 1;  // MORE_ITEMS of filtered.clh
    slab_->launch({"slices.cl", "slices_keep", options_}, {columns + border, rows + border, end - view},
                  {in("spectrum"), out("resident"), number(columns), number(rows), number(filter.rows().length),
                   number((rows + 1) / 2), number(slot(view)), number(end - view)});
    slab_->mark_step();
    view = end;
  }
  pending.wait();
}

// Matrices of the views from `first` on, and what the others' gaps have become.
void Slices::set_views(const FdkFilter& filter, std::size_t first) {
  const std::size_t all = window_.views.size();
  const AngularCoverage coverage = coverage_for(filter_.redundancy(), window_);
  std::vector<float> factors(all);
  for (std::size_t view = 0; view < all; ++view) {
    const std::size_t at = slot(view);
    if (view >= first) {
      gaps_[at] = coverage.gaps[view];
      const Matrix34 matrix = index_to_detector(filter.rows().geometry.views[view], volume_, filter_.rows().padded);
      std::copy(matrix.begin(), matrix.end(), matrices_.begin() + static_cast<std::ptrdiff_t>(12 * at));
    }
    const double factor = coverage.gaps[view] / gaps_[at];
    factors[at] = static_cast<float>(parameters_.variance ? factor * factor : factor);
  }
  k_invariant_ = true;
  for (std::size_t at = 0; at < all; ++at)
    k_invariant_ = k_invariant_ && matrices_[12 * at + 2] == 0 && matrices_[12 * at + 10] == 0;
  loaded_.clear();
  slab_->set("matrices", matrices_.data(), matrices_.size() * sizeof(float));
  slab_->set("factors", factors.data(), factors.size() * sizeof(float));
}

void Slices::load(std::span<const Grid> slices) {
  if (slices.empty() || slices.size() > most_slices)
    throw InputError(fmt::format("{} slices at a time; expected 1 to {}", slices.size(), most_slices));
  if (std::equal(slices.begin(), slices.end(), loaded_.begin(), loaded_.end(), same_grid)) return;
  std::vector<float> planes;
  std::vector<std::int32_t> extents;
  std::size_t pixels = 0;
  std::array<std::size_t, 3> items{0, 0, slices.size()};
  const std::size_t unroll = unroll_of(parameters_);
  for (const Grid& given : slices) {
    check_grid(given, "a slice");
    const Grid slice = with_layer_along_k(given);
    const auto plane = plane_of(slice, volume_);
    planes.insert(planes.end(), plane.begin(), plane.end());
    const bool column = k_invariant_ && plane[8] == 0 && plane[9] == 0;
    extents.insert(extents.end(), {number(slice.size[0]), number(slice.size[1]), number(pixels), column ? 1 : 0});
    pixels += slice.count();
    items[0] = std::max(items[0], slice.size[0]);
    items[1] = std::max(items[1], (slice.size[1] + unroll - 1) / unroll);
  }
  if (pixels > std::min(most_pixels_, most_pixels_of_all))
    throw InputError(fmt::format("the slices have {} pixels together; there is room for {}", pixels,
                                 std::min(most_pixels_, most_pixels_of_all)));
  slab_->set("planes", planes.data(), planes.size() * sizeof(float));
  slab_->set("extents", extents.data(), extents.size() * sizeof(std::int32_t));
  items_ = items;
  loaded_.assign(slices.begin(), slices.end());
}

void Slices::enqueue(std::span<const Grid> slices) {
  load(slices);
  const auto [columns, rows, views] = filter_.rows().padded.size;
  slab_->launch({"slices.cl", parameters_.hardware_interpolation ? "slices_image" : "slices_exact",
                 fmt::format("{} -D J_UNROLL={}", options_, unroll_of(parameters_))},
                items_,
                {in("resident"), in("matrices"), in("factors"), in("planes"), in("extents"), out("slices"),
                 number(columns), number(rows), number(oldest_), number(views), correlation_});
}

std::vector<Volume> Slices::reconstruct(std::span<const Grid> slices) {
  std::vector<Volume> result;
  for (const Grid& slice : slices) result.push_back(Volume::uninitialised(slice));
  std::vector<MemorySink> memory(result.begin(), result.end());
  std::vector<VolumeSink*> sinks;
  for (MemorySink& sink : memory) sinks.push_back(&sink);
  reconstruct(sinks);
  return result;
}

void Slices::reconstruct(std::span<VolumeSink* const> slices) {
  std::vector<Grid> grids;
  for (const VolumeSink* slice : slices) grids.push_back(slice->grid());
  Pending pending(*slab_);  // goes before the results do
  enqueue(grids);
  std::size_t first = 0;
  for (VolumeSink* slice : slices) {
    download_slice(*slab_, *slice, first);
    first += slice->grid().count();
  }
  pending.wait();
  for (VolumeSink* slice : slices)
    if (slice->data() != nullptr) slice->write(0, slice->grid().count(), slice->data());
}

Plan plan_slices(const Geometry& geometry, const Grid& projections, const Grid& volume, const FdkParameters& parameters,
                 std::size_t most_pixels, const DeviceModel& model) {
  check_slice_parameters(parameters);
  check_fdk(geometry, projections, volume, "the projections", "the geometry", parameters.redundancy);
  return plan_of(FdkFilter(geometry, projections, parameters), parameters, most_pixels, model);
}

Geometry views_of(const Geometry& geometry, Range views) {
  Geometry part = geometry;
  part.views.assign(geometry.views.begin() + views.begin, geometry.views.begin() + views.end);
  return part;
}

std::vector<Range> windows_of(std::size_t views, std::size_t window_views, std::size_t step) {
  if (window_views < 1 || window_views > views)
    throw InputError({.what = "`window_views`",
                      .found = fmt::to_string(window_views),
                      .expected = fmt::format("1 to {}, the views that there are", views)});
  if (step < 1 || step > window_views)
    throw InputError({.what = "`step`",
                      .found = fmt::to_string(step),
                      .expected = fmt::format("1 to {}, the views of a window (`window_views`)", window_views)});
  std::vector<Range> windows;
  for (std::size_t first = 0; first + window_views <= views; first += step)
    windows.push_back({static_cast<std::int64_t>(first), static_cast<std::int64_t>(first + window_views)});
  return windows;
}

std::vector<std::string> check_windows(const Geometry& geometry, const Grid& projections, const Grid& volume,
                                       const FdkParameters& parameters, std::span<const Range> windows,
                                       const std::string& projections_name, const std::string& geometry_name) {
  check_slice_parameters(parameters);
  if (windows.empty()) return {};
  // Checks all windows at once: a wrong view may be in none but the last, and it has its number in the scan.
  std::vector<std::string> notes = check_fdk_views(views_of(geometry, {0, windows.back().end}), volume, geometry_name);
  for (const Range& each : windows) {
    const Geometry window = views_of(geometry, each);
    const std::string name = windows.size() == 1
                                 ? geometry_name
                                 : fmt::format("{}, views {} to {}", geometry_name, each.begin, each.end - 1);
    if (windows.size() > 1) {
      require_circle(window, parameters, name);
      const Grid stack = with_views(projections, window.views.size());
      if (redundancy_of(window, stack, parameters.redundancy, name).kind == Redundancy::Kind::gaps) refuse_gap(name);
    }
    const auto found = check_fdk(window, with_views(projections, window.views.size()), volume, projections_name, name,
                                 parameters.redundancy);
    if (each == windows.front()) notes.insert(notes.end(), found.begin(), found.end());
  }
  return notes;
}

}  // namespace halocline

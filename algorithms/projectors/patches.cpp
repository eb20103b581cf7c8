#include "algorithms/projectors/patches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "algorithms/projectors/tunables.hpp"
#include "algorithms/support/check_input.hpp"
#include "algorithms/support/kernel_numbers.hpp"
#include "host/opencl/tuned_values.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr std::size_t sums_of_voxel = 64, adjoint_parts = 16;  // PARTS and ADJOINT_PARTS of patches.cl
constexpr std::size_t most_voxels = std::size_t{1} << 30, most_checks = 1000000;
// Voxels that a column of the detector serves, from where on pairs of pixels are worth the time to make them: measured
// on an H100 (benchmarks/results/nvidia-h200-patches.md).
constexpr std::size_t voxels_of_pairs = 200;

// The place of a box in voxels from the volume's middle: centre and steps along its axes, four numbers each.
std::array<float, 16> place_of(const Grid& box, const Grid& volume) {
  std::array<double, 3> middle{};
  for (int axis = 0; axis < 3; ++axis) middle[axis] = 0.5 * (static_cast<double>(box.size[axis]) - 1);
  const auto index = [&](std::array<double, 3> at) {
    const auto world = box.world(at[0], at[1], at[2]);
    return volume.index(world[0], world[1], world[2]);
  };
  const auto centre = index(middle);
  std::array<float, 16> place{};
  for (int axis = 0; axis < 3; ++axis) {
    place[axis] = static_cast<float>(centre[axis] - 0.5 * (static_cast<double>(volume.size[axis]) - 1));
    auto next = middle;
    next[axis] += 1;
    const auto stepped = index(next);
    for (int along = 0; along < 3; ++along)
      place[4 + 4 * axis + along] = static_cast<float>(stepped[along] - centre[along]);
  }
  return place;
}

struct Extremes {
  double nearest, steepest;  // smallest w, largest |v|
};

Extremes extremes_of(const Matrix34& matrix, const std::array<float, 16>& place,
                     const std::array<std::int32_t, 4>& size) {
  Extremes result{std::numeric_limits<double>::infinity(), 0};
  for (int corner = 0; corner < 8; ++corner) {
    std::array<double, 3> point{place[0], place[1], place[2]};
    for (int axis = 0; axis < 3; ++axis) {
      const double reach = ((corner >> axis & 1) != 0 ? 0.5 : -0.5) * (size[axis] - 1);
      for (int along = 0; along < 3; ++along) point[along] += reach * place[4 + 4 * axis + along];
    }
    const auto row = [&](int n) {
      return matrix[4 * n] * point[0] + matrix[4 * n + 1] * point[1] + matrix[4 * n + 2] * point[2] + matrix[4 * n + 3];
    };
    result.nearest = std::min(result.nearest, row(2));
    result.steepest = std::max(result.steepest, std::abs(row(1) / row(2)));
  }
  return result;
}

// The place of the smallest box along the volume's axes that holds all of these; it has two voxels along each axis.
std::array<float, 16> hull_of(const std::vector<std::array<float, 16>>& places,
                              const std::vector<std::array<std::int32_t, 4>>& sizes) {
  std::array<float, 16> hull{};
  for (int along = 0; along < 3; ++along) {
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (std::size_t n = 0; n < places.size(); ++n) {
      double reach = 0;
      for (int axis = 0; axis < 3; ++axis)
        reach += 0.5 * (sizes[n][axis] - 1) * std::abs(places[n][4 + 4 * axis + along]);
      low = std::min(low, places[n][along] - reach), high = std::max(high, places[n][along] + reach);
    }
    hull[along] = static_cast<float>(0.5 * (low + high)), hull[4 + 5 * along] = static_cast<float>(high - low);
  }
  return hull;
}

// True where the points of a box have exactly z = 0.
bool is_in_plane(const std::array<float, 16>& place, const std::array<std::int32_t, 4>& size) {
  const auto flat = [&](int axis) { return size[axis] == 1 || place[4 + 4 * axis + 2] == 0; };
  return place[2] == 0 && flat(0) && flat(1) && flat(2);
}

void require_count(std::size_t found, std::size_t expected, const char* what) {
  if (found != expected)
    throw InputError(
        {.what = what, .found = fmt::format("{} numbers", found), .expected = fmt::format("{}", expected)});
}

void require_room(const Buffer& array, std::size_t numbers, const char* what) {
  if (array.bytes() < numbers * sizeof(float))
    throw InputError({.what = what,
                      .found = fmt::format("{} bytes long", array.bytes()),
                      .expected = fmt::format("{} numbers of float32", numbers)});
}

std::vector<int> all_views(std::size_t count) {
  std::vector<int> views(count);
  std::iota(views.begin(), views.end(), 0);
  return views;
}

}  // namespace

// Few voxels get all parts at once, to hide latencies; many share what they read of a view, and need fewer work-items a
// voxel; detectors with rows mostly have few views, of which parts get one or two. As measured on an H100
// (benchmarks/results/nvidia-h200-patches.md), or as tuned.
Patches::GroupShape Patches::group_shape(std::size_t voxels) const {
  const std::size_t most = device_.info().max_work_group;
  GroupShape shape = voxels <= 30000 && most >= 8 * sums_of_voxel ? GroupShape{8, 2, 1}
                     : projections_.size[1] == 1                  ? GroupShape{32, 4, 4}
                     : voxels <= 2000000                          ? GroupShape{32, 4, 16}
                                                                  : GroupShape{128, 4, 64};
  const auto tuned = [&](const char* name, std::size_t& value) {
    const std::string key = std::string("patches_backproject ") + name;
    value = static_cast<std::size_t>(candidate_or(static_cast<int>(value), key, tuned_number(device_, key)));
  };
  tuned("FOLD", shape.fold);
  tuned("UNROLL", shape.unroll);
  tuned("GROUP", shape.group);
  while (shape.fold < sums_of_voxel && sums_of_voxel / shape.fold > most) shape.fold *= 4;
  shape.group = std::min(shape.group, most / (sums_of_voxel / shape.fold));
  return shape;
}

Patches::Patches(const Device& device, const Geometry& geometry, const Grid& volume, const Grid& projections)
    : device_(device), geometry_(geometry), volume_(volume), projections_(projections) {
  check_grid(volume, "the volume");
  check_projections(projections, "the projections", geometry, "the geometry", DetectorShape::flat);
  const std::size_t most = device.info().max_work_group;
  if (most < sums_of_voxel / 4)
    throw InputError(
        fmt::format("{} takes groups of {} work-items; patches need {}", device.info().name, most, sums_of_voxel / 4));
  check_fan_stack(geometry, volume, "the volume");
  options_ = fmt::format("-D DISTANCE_WEIGHT=0{}{}", projections.size[1] == 1 ? " -D SINGLE_ROW" : "",
                         geometry.fan_stack() ? " -D FAN_STACK" : "");
  const std::vector<float> none(12 * geometry.views.size(), 0.0f);
  matrices_ = filled("matrices", none.data(), none.size() * sizeof(float));
  replace_views(0, geometry);
  set_views({});
}

Buffer Patches::filled(const std::string& name, const void* values, std::size_t bytes) {
  Buffer buffer = device_.buffer("patches: " + name, bytes);
  device_.write(buffer, 0, values, bytes).wait();
  return buffer;
}

void Patches::set_places(const std::vector<std::array<float, 16>>& places, const std::vector<Shape>& shapes) {
  std::vector<std::array<std::int32_t, 4>> sizes;
  std::vector<std::array<std::int32_t, 2>> strides;
  largest_ = 0;
  std::array<std::size_t, 3> box{};
  for (const Shape& shape : shapes) {
    sizes.push_back(shape.size_and_offset);
    strides.push_back(shape.strides);
    const auto& size = shape.size_and_offset;
    const std::array<std::size_t, 3> each{static_cast<std::size_t>(size[0]), static_cast<std::size_t>(size[1]),
                                          static_cast<std::size_t>(size[2])};
    if (each[0] * each[1] * each[2] > largest_) box = each, largest_ = each[0] * each[1] * each[2];
  }
  // The class of boxes like the largest, one behind another.
  device_.set_problem(problem_class({box[0], box[1], box[2] * shapes.size()}, projections_.size));
  group_ = group_shape(largest_ * shapes.size());
  device_.finish();  // calls before still use those that are replaced
  places_ = filled("places", places.data(), places.size() * sizeof places[0]);
  shapes_ = filled("shapes", sizes.data(), sizes.size() * sizeof sizes[0]);
  strides_ = filled("strides", strides.data(), strides.size() * sizeof strides[0]);
  count_ = places.size();
  box_places_ = places, box_sizes_ = sizes, hull_ = hull_of(places, sizes);
  in_plane_ = true;
  for (std::size_t n = 0; n < places.size(); ++n) in_plane_ = in_plane_ && is_in_plane(places[n], sizes[n]);
  sight_ = sight_of(geometry_.views);
  voxels_a_column_ = largest_ * count_ / projections_.size[0];
  set_view_options();
}

Patches::Sight Patches::sight_of(std::span<const View> views) const {
  const bool counts_boxes = box_places_.size() * views.size() <= most_checks;
  Sight all{projections_.size[1] == 1 && !geometry_.fan_stack(), true};
  for (const View& view : views) {
    const Matrix34 matrix = index_to_detector(view, volume_, projections_);
    const auto look = [&](const std::array<float, 16>& place, const std::array<std::int32_t, 4>& size, Sight& sight) {
      const Extremes seen = extremes_of(matrix, place, size);
      sight.in_front = sight.in_front && seen.nearest > 0.01;  // margins for float32
      sight.in_row = sight.in_row && sight.in_front && seen.steepest < 0.499;
    };
    Sight of_view = all;
    look(hull_, {2, 2, 2, 0}, of_view);
    if (counts_boxes && (!of_view.in_front || of_view.in_row != all.in_row)) {
      of_view = all;
      for (std::size_t n = 0; n < box_places_.size() && of_view.in_front; ++n)
        look(box_places_[n], box_sizes_[n], of_view);
    }
    if (!of_view.in_front) return {false, false};
    all = of_view;
  }
  return all;
}

void Patches::set_view_options() {
  paired_ = sight_.in_row && sight_.in_front && voxels_a_column_ >= voxels_of_pairs;
  view_options_ = fmt::format("{}{}{}{}", all_views_ ? " -D ALL_VIEWS" : "", sight_.in_row ? " -D IN_ROW" : "",
                              sight_.in_front ? " -D IN_FRONT" : "", in_plane_ ? " -D IN_PLANE" : "");
}

void Patches::set_boxes(std::span<const Grid> boxes) {
  if (boxes.empty()) throw InputError({.what = "the list of boxes", .found = "empty", .expected = "at least one box"});
  std::vector<std::array<float, 16>> places;
  std::vector<Shape> shapes;
  std::size_t voxels = 0;
  for (const Grid& box : boxes) {
    check_grid(box, "a box");
    const auto& size = box.size;
    places.push_back(place_of(box, volume_));
    shapes.push_back({{number(size[0]), number(size[1]), number(size[2]), number(voxels)},
                      {number(size[0]), number(size[0] * size[1])}});
    voxels += box.count();
    if (voxels > most_voxels)
      throw InputError(
          {.what = "the list of boxes", .found = "more than 2^30 voxels", .expected = "fewer, in several calls"});
  }
  const std::lock_guard lock(mutex_);
  set_places(places, shapes);
  boxes_.assign(boxes.begin(), boxes.end());
  voxels_ = voxels;
}

void Patches::set_parts(std::span<const Part> parts_of_volume) {
  if (parts_of_volume.empty())
    throw InputError({.what = "the list of parts", .found = "empty", .expected = "at least one part of the volume"});
  if (volume_.count() > most_voxels)
    throw InputError(
        {.what = "the volume", .found = "more than 2^30 voxels", .expected = "boxes in arrays of their own"});
  std::vector<std::array<float, 16>> places;
  std::vector<Shape> shapes;
  std::vector<Grid> boxes;
  for (const Part& part : parts_of_volume) {
    Grid box = volume_;
    for (int axis = 0; axis < 3; ++axis)
      if (part.size[axis] == 0 || part.first[axis] + part.size[axis] > volume_.size[axis])
        throw InputError(
            {.what = "the list of parts",
             .found = fmt::format("{} voxels from {} on along axis {}", part.size[axis], part.first[axis], axis),
             .expected = fmt::format("a part of the {} of the volume", volume_.size[axis])});
    box.size = part.size;
    const auto origin = volume_.world(static_cast<double>(part.first[0]), static_cast<double>(part.first[1]),
                                      static_cast<double>(part.first[2]));
    std::copy(origin.begin(), origin.end(), box.origin.begin());
    const std::size_t first = part.first[0] + volume_.size[0] * (part.first[1] + volume_.size[1] * part.first[2]);
    places.push_back(place_of(box, volume_));
    shapes.push_back({{number(part.size[0]), number(part.size[1]), number(part.size[2]), number(first)},
                      {number(volume_.size[0]), number(volume_.size[0] * volume_.size[1])}});
    boxes.push_back(box);
  }
  const std::lock_guard lock(mutex_);
  set_places(places, shapes);
  boxes_ = std::move(boxes);
  voxels_ = volume_.count();
}

void Patches::set_views(std::span<const int> views) {
  const std::lock_guard lock(mutex_);
  const auto count = static_cast<int>(geometry_.views.size());
  const std::vector<int> list =
      views.empty() ? all_views(geometry_.views.size()) : std::vector(views.begin(), views.end());
  for (const int view : list)
    if (view < 0 || view >= count)
      throw InputError({.what = "the list of views",
                        .found = std::to_string(view),
                        .expected = fmt::format("numbers from 0 to {}", count - 1)});
  if (list.size() > geometry_.views.size())
    throw InputError({.what = "the list of views",
                      .found = fmt::format("{} numbers", list.size()),
                      .expected = fmt::format("at most {}, the views of the geometry", count)});
  const std::size_t bytes = list.size() * sizeof(int);
  if (views_.bytes() < bytes) views_ = device_.buffer("patches: views", geometry_.views.size() * sizeof(int));
  device_.finish();
  device_.write(views_, 0, list.data(), bytes).wait();
  views_used_ = list.size();
  all_views_ = list == all_views(geometry_.views.size());
  set_view_options();
}

void Patches::replace_views(std::size_t first, const Geometry& geometry) {
  const std::vector<View>& views = geometry.views;
  if (geometry.radius_cylindrical_detector != 0)
    throw InputError("the new views have a cylindrical detector; patches have flat ones");
  if (geometry.fan_stack() != geometry_.fan_stack())
    throw InputError("the new views and those there are are not both of a stack of fans; give views of one kind");
  if (first > geometry_.views.size() || views.size() > geometry_.views.size() - first)
    throw InputError({.what = "the new views",
                      .found = fmt::format("{} from {} on", views.size(), first),
                      .expected = fmt::format("a part of the {} there are", geometry_.views.size())});
  std::vector<float> matrices;
  for (const View& view : views)
    for (const double value : index_to_detector(view, volume_, projections_))
      matrices.push_back(static_cast<float>(value));
  const std::lock_guard lock(mutex_);
  std::copy(views.begin(), views.end(), geometry_.views.begin() + static_cast<std::ptrdiff_t>(first));
  const Sight sight = sight_of(views);
  sight_ = {sight_.in_row && sight.in_row, sight_.in_front && sight.in_front};
  set_view_options();
  device_.finish();
  device_.write(matrices_, 12 * first * sizeof(float), matrices.data(), matrices.size() * sizeof(float)).wait();
}

void Patches::require_arrays(const Buffer& boxes, const Buffer& projections) const {
  if (count_ == 0) throw InputError("there are no boxes; call set_boxes() or set_parts() before");
  require_room(boxes, voxels(), "the array of boxes");
  require_room(projections, pixels(), "the array of projections");
}

const Buffer& Patches::samples(const Buffer& projections, std::vector<Event>& waits) {
  const std::size_t width = projections_.size[0] + 2, bytes = 8 * width * geometry_.views.size();
  if (paired_ && pairs_.bytes() == 0) {
    const MemoryLedger& ledger = device_.ledger();
    paired_ = bytes <= device_.max_allocation() && bytes <= (ledger.budget() - ledger.in_use()) / 4;
    if (paired_) pairs_ = device_.buffer("patches: pairs", bytes);
  }
  if (!paired_) return projections;
  const std::array<KernelArgument, 5> arguments{&projections, &views_, &pairs_, number(views_used_),
                                                number(projections_.size[0])};
  waits = {device_.launch({"patches.cl", "patches_pairs", options_ + view_options_}, {width, views_used_, 1}, arguments,
                          waits)};
  return pairs_;
}

Event Patches::backproject(const Buffer& projections, const Buffer& boxes, bool add, std::span<const Event> waits) {
  const std::lock_guard lock(mutex_);
  require_arrays(boxes, projections);
  std::vector<Event> ready(waits.begin(), waits.end());
  const Buffer& sampled = samples(projections, ready);
  const std::array<KernelArgument, 10> arguments{&sampled,
                                                 &matrices_,
                                                 &views_,
                                                 &places_,
                                                 &shapes_,
                                                 &strides_,
                                                 &boxes,
                                                 number(views_used_),
                                                 number(projections_.size[0]),
                                                 number(projections_.size[1])};
  const std::size_t rows = sums_of_voxel / group_.fold;
  const std::string options =
      fmt::format("{}{}{}{} -D GROUP={} -D UNROLL={} -D FOLD={}", options_, view_options_, paired_ ? " -D PAIRS" : "",
                  add ? " -D ADD" : "", group_.group, group_.unroll, group_.fold);
  return device_.launch({"patches.cl", "patches_backproject", options},
                        {parts_of(largest_, group_.group * group_.unroll) * group_.group, rows, count_}, arguments,
                        ready, std::array<std::size_t, 3>{group_.group, rows, 1});
}

Event Patches::project(const Buffer& boxes, const Buffer& projections, std::span<const Event> waits) {
  const std::lock_guard lock(mutex_);
  require_arrays(boxes, projections);
  if (fixed_.bytes() == 0) fixed_ = device_.buffer("patches: sums", 8 * pixels());
  if (partial_.bytes() == 0) partial_ = device_.buffer("patches: largest", 4);
  std::vector<Event> done(waits.begin(), waits.end());
  done.push_back(device_.fill(fixed_, 0, 0, fixed_.bytes(), waits));
  done.push_back(device_.fill(partial_, 0, 0, partial_.bytes(), waits));
  const std::array<KernelArgument, 4> of_largest{&boxes, &shapes_, &strides_, &partial_};
  const Event known =
      device_.launch({"patches.cl", "patches_largest", options_}, {largest_, 1, count_}, of_largest, done);
  const std::array<KernelArgument, 11> arguments{&boxes,
                                                 &matrices_,
                                                 &views_,
                                                 &places_,
                                                 &shapes_,
                                                 &strides_,
                                                 &partial_,
                                                 &fixed_,
                                                 number(views_used_),
                                                 number(projections_.size[0]),
                                                 number(projections_.size[1])};
  const Event added = device_.launch({"patches.cl", "patches_project", options_ + view_options_},
                                     {largest_, adjoint_parts, count_}, arguments, std::span(&known, 1));
  const std::array<KernelArgument, 4> of_pixels{&fixed_, &partial_, &projections, static_cast<std::int64_t>(pixels())};
  return device_.launch({"patches.cl", "patches_pixels", options_}, {pixels(), 1, 1}, of_pixels, std::span(&added, 1));
}

std::vector<float> Patches::backproject(std::span<const float> projections) {
  const std::lock_guard lock(mutex_);  // the boxes are the same to the end
  require_count(projections.size(), pixels(), "the projections");
  const Buffer from = filled("projections", projections.data(), projections.size_bytes());
  const Buffer to = device_.buffer("patches: boxes", 4 * voxels());
  const Event zero = device_.fill(to, 0, 0, to.bytes());
  const Event done = backproject(from, to, false, std::span(&zero, 1));
  std::vector<float> result(voxels());
  device_.read(to, 0, result.data(), to.bytes(), std::span(&done, 1)).wait();
  return result;
}

std::vector<float> Patches::project(std::span<const float> boxes) {
  const std::lock_guard lock(mutex_);
  require_count(boxes.size(), voxels(), "the boxes");
  const Buffer from = filled("boxes", boxes.data(), boxes.size_bytes());
  const Buffer to = device_.buffer("patches: projections", 4 * pixels());
  const Event done = project(from, to);
  std::vector<float> result(pixels());
  device_.read(to, 0, result.data(), to.bytes(), std::span(&done, 1)).wait();
  return result;
}

}  // namespace halocline

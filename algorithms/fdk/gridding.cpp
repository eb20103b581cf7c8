#include "algorithms/fdk/gridding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "algorithms/support/kernel_numbers.hpp"
#include "host/opencl/work_groups.hpp"

namespace halocline {
namespace {

constexpr std::size_t sample_bytes = 2 * sizeof(float);

FdkParameters in_device_memory(FdkParameters parameters) {
  parameters.longest_local_rows = 0;  // between the transforms stands what is gridded
  return parameters;
}

std::size_t least_length(const Geometry& geometry, const Grid& projections, const Grid& grid,
                         const FdkParameters& parameters) {
  const FilteredRows rows = filtered_rows(geometry, projections, in_device_memory(parameters));
  return gridding_length(rows.geometry, rows.padded, grid);
}

// Samples of a pair of rows: in the rows' transforms, on the Cartesian grid, and after the transform along y.
struct Samples {
  std::size_t spectrum, grid, turned;
  std::size_t bytes() const { return sample_bytes * (spectrum + grid + turned); }
};
Samples samples_of(const FilteredRows& rows, const GriddingFrame& frame, const Grid& grid) {
  return {rows.padded.size[2] * rows.length, frame.width * frame.height, frame.width * grid.size[1]};
}

// An eighth of the memory: the rest is for projections and volume. Fewer change no bit.
std::size_t pairs_together(const Samples& samples, std::size_t rows, std::span<const DeviceModel> devices) {
  // The frequencies in the middle gather all views: work-items that the others of a launch have to hide. The pieces in
  // which a volume leaves have an eighth of its slices.
  const std::size_t most_pairs = std::clamp<std::size_t>(std::bit_ceil(parts_of(rows, 16)), 16, 64);
  std::size_t most_bytes = std::size_t{1} << 28;
  if (!devices.empty())
    most_bytes = std::min_element(devices.begin(), devices.end(),
                                  [](const DeviceModel& a, const DeviceModel& b) { return a.memory < b.memory; })
                     ->memory /
                 8;
  return std::min(std::bit_floor(std::clamp<std::size_t>(most_bytes / samples.bytes(), 1, most_pairs)),
                  parts_of(rows, 2));
}

// Bytes of a pair's kernels by the formulas: every value once a kernel, but a sample for each frequency of the grid
// that gathers it: neighbours share it in caches, but weighing it takes as long as reading it would.
double bytes_of(const Samples& samples, const Grid& grid) {
  constexpr double gathered = 4 * gridding_reach * gridding_reach;
  const double values = (6 + gathered) * static_cast<double>(samples.spectrum) + 4 * static_cast<double>(samples.grid) +
                        4 * static_cast<double>(samples.turned) + 3 * static_cast<double>(grid.size[0] * grid.size[1]);
  return sample_bytes * values;
}

}  // namespace

Gridding::Gridding(const Geometry& geometry, const Grid& projections, const Grid& grid, const FdkParameters& parameters,
                   std::span<const DeviceModel> devices)
    : grid_(grid),
      filter_(geometry, projections, in_device_memory(parameters), nullptr,
              least_length(geometry, projections, grid, parameters)),
      frame_(gridding_frame(filter_.rows().geometry, filter_.rows().padded, grid, filter_.rows().length)),
      pairs_(pairs_together(samples_of(filter_.rows(), frame_, grid), filter_.rows().padded.size[1], devices)) {
  filter_.take_in_order(frame_.order);
}

Requirements Gridding::requirements() const {
  const FilteredRows& rows = filter_.rows();
  const Samples samples = samples_of(rows, frame_, grid_);
  Requirements requirements;
  requirements.algorithm = "fdk gridding";
  requirements.size = grid_.size;
  requirements.form = ProgramForm::voxel_sums;
  requirements.stack = rows.padded.size;
  filter_.declare_tables(requirements);
  const auto fixed = [&](const char* name, std::size_t bytes, std::size_t elements) {
    requirements.arrays.push_back(
        {.name = name, .kind = ArrayKind::fixed, .element_bytes = bytes, .elements = elements});
  };
  fixed("spectrum", sample_bytes, pairs_ * samples.spectrum);
  fixed("grid", sample_bytes, pairs_ * samples.grid);
  fixed("turned", sample_bytes, pairs_ * samples.turned);
  fixed("lines", sizeof(float), frame_.lines.size());
  fixed("corrections", sizeof(float), frame_.corrections.size());
  fixed("slice_rows", sizeof(float), frame_.slice_rows.size());
  requirements.arrays.push_back({.name = "volume", .kind = ArrayKind::volume, .lifetime = Lifetime::output});
  for (const char* name :
       {filter_.weight_kernel(), "gridding_filter", "gridding_gather", "gridding_turn", "gridding_store"})
    requirements.kernels.emplace_back(name);
  requirements.preferred_batch = requirements.batch_step = number(rows.padded.size[2]);
  requirements.cost.bytes =
      bytes_of(samples, grid_) / static_cast<double>(2 * grid_.size[0] * grid_.size[1] * rows.padded.size[2]);
  requirements.detector_rows = [frame = frame_, all = static_cast<std::int64_t>(rows.padded.size[1])](Range slices) {
    const Range wanted = frame.rows_of(slices, all);
    if (wanted.empty()) return Range{0, std::min<std::int64_t>(all, 2)};
    return Range{wanted.begin / 2 * 2, std::min(all, (wanted.end + 1) / 2 * 2)};  // whole pairs
  };
  return requirements;
}

void Gridding::start(Slab& slab) const {
  filter_.start(slab);
  for (const auto& [name, values] :
       {std::pair{"lines", &frame_.lines}, {"corrections", &frame_.corrections}, {"slice_rows", &frame_.slice_rows}})
    slab.set(name, values->data(), values->size() * sizeof(float));
}

KernelSpec Gridding::kernel(const char* name, const DeviceInfo& device) const {
  return {"gridding.cl", name, fmt::format("-D PAIRS={} -D REACH={:.1f}f", pairs_an_item(device), gridding_reach)};
}

// Two slices a pair in "turned", but for the corrections. Pairs are counted from the slab's first.
void Gridding::make_images(Slab& slab, Range views, Range pairs) const {
  const std::size_t length = filter_.rows().length, count = pairs.size(), ny = grid_.size[1];
  const auto [width, height] = std::pair{frame_.width, frame_.height};
  filter_.transform(slab, views, pairs);
  slab.launch(kernel("gridding_filter", slab.device()), {length, count, views.size()},
              {inout("spectrum"), in("filter"), in("lines"), number(length), number(count), number(views.count())});
  slab.launch(kernel("gridding_gather", slab.device()), {height, width, parts_of(count, pairs_an_item(slab.device()))},
              work_group_within({32, 4, 1}, slab.device()),
              {in("spectrum"), in("lines"), out("grid"), number(length), number(views.count()), number(count),
               number(width), number(height), frame_.limits, frame_.beta});
  slab.fft("grid", height, count * width, true);
  slab.launch(kernel("gridding_turn", slab.device()), {ny, width, count}, work_group_within({8, 8, 1}, slab.device()),
              {in("grid"), out("turned"), number(width), number(height), number(ny), number(count)});
  slab.fft("turned", width, count * ny, true);
}

void Gridding::accumulate(Slab& slab, Range views, Range slices, const Scalars&) const {
  const std::int64_t all = slab.rows().end, first = slab.rows().begin / 2;
  const Range wanted = frame_.rows_of(slices, all);
  if (wanted.empty()) return;
  const Range pairs{wanted.begin / 2, (wanted.end + 1) / 2};
  for (std::int64_t pair = pairs.begin; pair < pairs.end; pair += static_cast<std::int64_t>(pairs_)) {
    const Range now{pair, std::min(pairs.end, pair + static_cast<std::int64_t>(pairs_))};
    const Range rows{2 * now.begin, std::min(2 * now.end, all)};
    make_images(slab, views, {now.begin - first, now.end - first});
    Range between = slices;  // those that these rows add to
    const auto touched = [&](std::int64_t z) { return !common(frame_.rows_of({z, z + 1}, all), rows).empty(); };
    while (!between.empty() && !touched(between.begin)) ++between.begin;
    while (!between.empty() && !touched(between.end - 1)) --between.end;
    slab.launch(kernel("gridding_store", slab.device()), between,
                {in("turned"), in("corrections"), in("slice_rows"), inout("volume"), slab.extent(between),
                 number(frame_.width), number(rows.begin), number(rows.count())});
  }
}

}  // namespace halocline

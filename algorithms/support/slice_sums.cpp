#include "algorithms/support/slice_sums.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "host/opencl/work_groups.hpp"

namespace halocline {
namespace {

constexpr std::size_t march_x = 32;       // MARCH_X there
constexpr std::size_t march_z = 4;        // MARCH_Z, where groups may be as large
constexpr std::size_t segment_rows = 32;  // SEGMENT_ROWS there
static_assert(segment_rows == rows_of_sum);
constexpr std::size_t reduce_items = 64;  // REDUCE_ITEMS of cl/reduce.cl

}  // namespace

SliceSums::SliceSums(const std::array<std::size_t, 3>& size, int components, KernelVariants variants, int beside)
    : components_(components),
      values_(components + beside),
      nx_(size[0]),
      groups_((size[0] + lanes - 1) / lanes),
      segments_(static_cast<int>((size[1] + segment_rows - 1) / segment_rows)),
      variants_(variants) {}

SliceSums SliceSums::of_largest() const {
  SliceSums result = *this;
  result.kind_ = " -D LARGEST";
  return result;
}

SliceSums SliceSums::of_views() const {
  SliceSums result = *this;
  result.parts_ = segments_;
  return result;
}

SliceSums SliceSums::behind(int before) const {
  SliceSums result = *this;
  result.before_ = before;
  result.values_ = before + components_;
  return result;
}

void SliceSums::declare(Requirements& requirements) const {
  const auto array = [](std::string name, Lifetime lifetime, std::size_t elements) {
    ArrayNeed need;
    need.name = std::move(name);
    need.kind = ArrayKind::slice;
    need.lifetime = lifetime;
    need.element_bytes = 8;  // a double or two floats
    need.elements = elements;
    return need;
  };
  requirements.arrays.push_back(array("partials", Lifetime::scratch, partials()));
  requirements.arrays.push_back(array("sums", Lifetime::sums, 2 * static_cast<std::size_t>(values_)));
  requirements.kernels.push_back("reduce_slices");
}

void SliceSums::declare_views(Requirements& requirements) const {
  const auto add = [&](std::string name, std::size_t elements) {
    requirements.arrays.push_back({.name = std::move(name),
                                   .kind = ArrayKind::projections,
                                   .element_bytes = 8,
                                   .row_length = elements,
                                   .rows = 1});
  };
  add("view_partials", partials());
  add("view_sums", 2 * static_cast<std::size_t>(components_) * segments());
}

void SliceSums::declare_largest(Requirements& requirements) const {
  requirements.arrays.push_back({.name = "largest", .kind = ArrayKind::slice, .elements = nx_});
  requirements.kernels.emplace_back("reduce_largest");
}

void SliceSums::largest(Slab& slab, const std::string& volume, Range slices) const {
  const auto count = static_cast<std::size_t>(slices.count());
  slab.launch({"reduce.cl", "reduce_columns", fp64_option(slab)}, {nx_, count, 1},
              {in(volume), out("largest"), slab.extent(slices)});
  slab.launch({"reduce.cl", "reduce_largest", fp64_option(slab)}, {count, 1, 1},
              {in("largest"), out("sums"), static_cast<std::int32_t>(nx_), slab.extent(slices)});
}

std::size_t SliceSums::partials() const {
  return static_cast<std::size_t>(components_) *
         std::max(lanes * segments(), std::max(groups_ * segments(), march({}, {0, 1}, 1).sets));
}

SliceSums::March SliceSums::march(const DeviceInfo& device, Range slices, int depth) const {
  March result;
  result.columns = nx_ % 4 == 0 ? 4 : nx_ % 2 == 0 ? 2 : 1;
  result.group = work_group_within({march_x, 1, march_z}, device);
  const std::size_t z = result.group[2];
  result.options = fmt::format("-D COLUMNS={}{}", result.columns, z < march_z ? fmt::format(" -D MARCH_Z={}", z) : "");
  const auto columns = static_cast<std::size_t>(result.columns), layers = z * static_cast<std::size_t>(depth);
  const std::size_t groups = (nx_ / columns + march_x - 1) / march_x;
  const auto count = static_cast<std::size_t>(slices.count());
  result.global = {groups * march_x, segments(), (count + layers - 1) / layers * z};
  result.sets = groups * segments();
  return result;
}

void SliceSums::launch(Slab& slab, const std::string& file, const std::string& kernel, Range slices,
                       const std::vector<SlabArgument>& arguments, const std::string& options) const {
  launch(slab, file, kernel, slices, slab.offset(), arguments, options);
}

void SliceSums::launch(Slab& slab, const std::string& file, const std::string& kernel, Range slices,
                       std::int32_t offset, const std::vector<SlabArgument>& arguments,
                       const std::string& options) const {
  const auto count = static_cast<std::size_t>(slices.count());
  const std::size_t groups = on_cpu(slab) ? 1 : groups_, items = on_cpu(slab) ? 1 : lanes;
  slab.launch({file, kernel, fp64_option(slab) + " " + lane_option(slab) + kind_ + " " + options},
              {items * groups, segments(), count}, {items, 1, 1}, arguments);
  add_up(slab, slices, offset, segments() * (on_cpu(slab) ? lanes : groups_), components_);
}

void SliceSums::add_up(Slab& slab, Range slices, std::int32_t offset, std::size_t sets, int components) const {
  const auto count = static_cast<std::size_t>(slices.count());
  const std::size_t items = work_group_within({reduce_items, 1, 1}, slab.device())[0];
  slab.launch({"reduce.cl", "reduce_slices", fp64_option(slab) + kind_},
              {items, static_cast<std::size_t>(components), count * static_cast<std::size_t>(parts_)}, {items, 1, 1},
              {in("partials"), out("sums"), static_cast<std::int32_t>(sets) / parts_, components_, before_, values_,
               parts_, offset, static_cast<std::int32_t>(slices.begin)});
}

}  // namespace halocline

#include "algorithms/slice_sums.hpp"

#include <algorithm>

namespace halocline {
namespace {

constexpr std::size_t lanes = 64;         // LANES of cl/sums.clh
constexpr std::size_t segment_rows = 32;  // SEGMENT_ROWS there
constexpr std::size_t reduce_items = 64;  // REDUCE_ITEMS of cl/reduce.cl

}  // namespace

SliceSums::SliceSums(const std::array<std::size_t, 3>& size, int components, KernelVariants variants)
    : components_(components),
      groups_((size[0] + lanes - 1) / lanes),
      segments_(static_cast<int>((size[1] + segment_rows - 1) / segment_rows)),
      variants_(variants) {}

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
  const auto components = static_cast<std::size_t>(components_);
  requirements.arrays.push_back(
      array("partials", Lifetime::scratch, components * std::max(lanes, groups_) * segments()));
  requirements.arrays.push_back(array("sums", Lifetime::sums, 2 * components));
  requirements.kernels.push_back("reduce_slices");
}

void SliceSums::launch(Slab& slab, const std::string& file, const std::string& kernel, Range slices,
                       const std::vector<SlabArgument>& arguments, const std::string& options) const {
  const std::string fp64 = variants_.fp64 && slab.device().fp64 ? "-D USE_FP64" : "";
  const auto count = static_cast<std::size_t>(slices.count());
  const std::size_t groups = on_cpu(slab) ? 1 : groups_, items = on_cpu(slab) ? 1 : lanes;
  slab.launch({file, kernel, options + fp64 + " " + lane_option(slab)}, {items * groups, segments(), count},
              {items, 1, 1}, arguments);
  const std::size_t sets = segments() * (on_cpu(slab) ? lanes : groups_);
  slab.launch({"reduce.cl", "reduce_slices", fp64}, {reduce_items, static_cast<std::size_t>(components_), count},
              {reduce_items, 1, 1},
              {in("partials"), out("sums"), static_cast<std::int32_t>(sets), components_, slab.offset(),
               static_cast<std::int32_t>(slices.begin)});
}

}  // namespace halocline

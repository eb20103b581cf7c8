#include "algorithms/slice_sums.hpp"

#include <algorithm>

namespace halocline {
namespace {

constexpr std::size_t most_lanes = 64;    // work-items along x: enough for coalesced reads, few enough for small arrays
constexpr std::size_t segment_rows = 32;  // SEGMENT_ROWS of cl/sums.clh

}  // namespace

SliceSums::SliceSums(const std::array<std::size_t, 3>& size, int components, bool fp64)
    : components_(components),
      lanes_(static_cast<int>(std::min(size[0], most_lanes))),
      segments_(static_cast<int>((size[1] + segment_rows - 1) / segment_rows)),
      fp64_(fp64) {}

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
  const auto components = static_cast<std::size_t>(components_), lanes = static_cast<std::size_t>(lanes_);
  requirements.arrays.push_back(
      array("partials", Lifetime::scratch, components * lanes * static_cast<std::size_t>(segments_)));
  requirements.arrays.push_back(array("lane_sums", Lifetime::scratch, components * lanes));
  requirements.arrays.push_back(array("sums", Lifetime::sums, 2 * components));
  requirements.kernels.push_back("reduce_partials");
  requirements.kernels.push_back("reduce_lanes");
}

std::string SliceSums::options(const Slab& slab) const {
  return fp64_ && slab.device().fp64 ? "-D USE_FP64" : "";
}

void SliceSums::launch(Slab& slab, const KernelSpec& spec, Range slices,
                       const std::vector<SlabArgument>& arguments) const {
  slab.launch(spec,
              {static_cast<std::size_t>(lanes_), static_cast<std::size_t>(segments_),
               static_cast<std::size_t>(slices.count())},
              arguments);
}

void SliceSums::finish(Slab& slab, Range slices) const {
  const std::string fp64 = options(slab);
  const auto begin = static_cast<std::int32_t>(slices.begin), end = static_cast<std::int32_t>(slices.end);
  const auto count = static_cast<std::size_t>(slices.count()), components = static_cast<std::size_t>(components_);
  slab.launch({"reduce.cl", "reduce_partials", fp64}, {static_cast<std::size_t>(lanes_), components, count},
              {in("partials"), out("lane_sums"), lanes_, segments_, components_, slab.offset(), begin, end});
  slab.launch({"reduce.cl", "reduce_lanes", fp64}, {components, count, 1},
              {in("lane_sums"), out("sums"), lanes_, components_, slab.offset(), begin, end});
}

}  // namespace halocline

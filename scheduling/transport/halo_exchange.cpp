#include "scheduling/transport/halo_exchange.hpp"

#include <algorithm>

namespace halocline {

HaloExchange::HaloExchange(const Plan& plan) : border_slices_(plan.requirements.border_slices) {
  for (const auto& slab : plan.slabs) slabs_.emplace(slab.device, slab);
}

void HaloExchange::begin(std::int64_t low, std::int64_t high) {
  low_ = low;
  high_ = high;
  forget_offers();
}

std::vector<Range> HaloExchange::halos(int device) const {
  const auto& slab = slabs_.at(device);
  return {{std::max(slab.extended.begin, slab.interior.begin - low_), slab.interior.begin},
          {slab.interior.end, std::min(slab.extended.end, slab.interior.end + high_)}};
}

std::vector<Range> HaloExchange::shared(int from, int to) const {
  std::vector<Range> result;
  for (const Range& halo : halos(to))
    if (const Range slices = common(halo, slabs_.at(from).interior); !slices.empty()) result.push_back(slices);
  return result;
}

std::vector<Range> HaloExchange::parts(int device) const {
  const Range interior = slabs_.at(device).interior;
  Range bottom{interior.begin, interior.begin}, top{interior.end, interior.end};
  for (const auto& [other, unused] : slabs_) {
    if (other == device) continue;
    for (const Range& wanted : shared(device, other)) {
      if (wanted.begin == interior.begin)
        bottom.end = std::max(bottom.end, wanted.end);
      else
        top.begin = std::min(top.begin, wanted.begin);
    }
  }
  const std::int64_t least = std::min(border_slices_, interior.count() / 4);
  if (!bottom.empty()) bottom.end = std::max(bottom.end, interior.begin + least);
  if (!top.empty()) top.begin = std::min(top.begin, interior.end - least);
  if (bottom.end >= top.begin) return {interior};
  std::vector<Range> result;
  for (const Range& part : {bottom, top, Range{bottom.end, top.begin}})
    if (!part.empty()) result.push_back(part);
  return result;
}

}  // namespace halocline

#include "scheduling/transport/share_volume.hpp"

#include "scheduling/transport/rank_devices.hpp"

namespace halocline {
namespace {

constexpr int volume_tag = 32766;  // above those of rank_exchange.cpp

}  // namespace

void share_volume(const Plan& plan, const Grid& grid, float* voxels) {
  Ranks& ranks = ranks_of(plan);
  if (!ranks.several()) return;
  std::vector<Message> messages;
  for (const SlabPlan& slab : plan.slabs) {
    auto* const at = reinterpret_cast<std::byte*>(voxels + grid.slice() * unsigned_count(slab.interior.begin));
    const std::size_t bytes = sizeof(float) * grid.slice() * slab.interior.size();
    const int owner = plan.rank_of(slab.device);
    if (owner != ranks.rank()) {
      messages.push_back(ranks.receive(owner, volume_tag, {at, bytes}));
      continue;
    }
    for (int other = 0; other < ranks.size(); ++other)
      if (other != owner) messages.push_back(ranks.send(other, volume_tag, {at, bytes}, nullptr));
  }
  for (Message& message : messages) message.wait();
}

Range slices_to_write(const Grid& grid, const Ranks& ranks) {
  const auto slices = static_cast<std::int64_t>(grid.size[2]), count = std::int64_t{ranks.size()};
  return {slices * ranks.rank() / count, slices * (ranks.rank() + 1) / count};
}

}  // namespace halocline

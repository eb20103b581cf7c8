#include "scheduling/transport/share_volume.hpp"

#include <fmt/format.h>

#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "scheduling/transport/tags.hpp"

namespace halocline {

void PartOfRank::write(std::size_t first, std::size_t count, float* from) {
  whole_.write(first, count, from);
  const std::lock_guard lock(mutex_);
  made_.add(range_of(first, count));
}

void share_volume(Ranks& ranks, const RangeSet& here, std::size_t count, float* voxels) {
  if (!ranks.several()) return;
  const Range all{0, static_cast<std::int64_t>(count)};
  std::string own;
  for (const Range& range : here.missing(all)) own += fmt::format("{} {} ", range.begin, range.end);
  const auto lacking = ranks.gather("voxels that others have", own);
  std::vector<Message> messages;
  RangeSet shared;  // by ranks before
  for (int owner = 0; owner < ranks.size(); ++owner) {
    RangeSet lacks;
    std::istringstream text(lacking[static_cast<std::size_t>(owner)]);
    for (Range range; text >> range.begin >> range.end;) lacks.add(range);
    for (const Range& has : lacks.missing(all)) {
      for (const Range& part : shared.missing(has)) {
        const MemoryBlocks at{reinterpret_cast<std::byte*>(voxels + part.begin), sizeof(float) * part.size()};
        if (owner != ranks.rank()) messages.push_back(ranks.receive(owner, volume_tag, at));
        for (int other = 0; owner == ranks.rank() && other < ranks.size(); ++other)
          if (other != owner) messages.push_back(ranks.send(other, volume_tag, at, nullptr));
      }
      shared.add(has);
    }
  }
  if (!shared.contains(all)) throw std::logic_error("there are voxels that no rank has");
  for (Message& message : messages) message.wait();
}

Range slices_to_write(const Grid& grid, const Ranks& ranks) {
  const auto slices = static_cast<std::int64_t>(grid.size[2]), count = std::int64_t{ranks.size()};
  return {slices * ranks.rank() / count, slices * (ranks.rank() + 1) / count};
}

}  // namespace halocline

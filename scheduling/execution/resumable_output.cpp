#include "scheduling/execution/resumable_output.hpp"

#include <fmt/format.h>

namespace halocline {
namespace {

std::int64_t count_of(const std::vector<Range>& ranges) {
  std::int64_t count = 0;
  for (const Range& range : ranges) count += range.count();
  return count;
}

}  // namespace

ResumableOutput::ResumableOutput(VolumeSink& output, OutputStore* store) : output_(output), store_(store) {
  output_.begin();
  if (store_ != nullptr) voxels_ = store_->give_back(output_);
  missing_first_ = count_of(missing());
}

void ResumableOutput::write(std::size_t first, std::size_t count, float* from) {
  const auto parts = [&] {
    const std::lock_guard lock(mutex_);
    return voxels_.missing(range_of(first, count));
  }();
  const auto at = [&](const Range& part) { return from + (static_cast<std::size_t>(part.begin) - first); };
  if (store_ != nullptr)
    for (const auto& part : parts) store_->keep(static_cast<std::size_t>(part.begin), part.size(), at(part));
  try {
    end_if_failed();
    // New values may have overwritten the old ones in memory, so the sink gets all of them.
    if (output_.data() != nullptr)
      output_.write(first, count, from);
    else
      for (const auto& part : parts) output_.write(static_cast<std::size_t>(part.begin), part.size(), at(part));
  } catch (...) {
    if (store_ == nullptr) throw;
    const std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
    return;
  }
  const std::lock_guard lock(mutex_);
  voxels_.add(range_of(first, count));
}

void ResumableOutput::take_from(const DevicePlace& from, std::size_t first, std::size_t count,
                                std::span<const Event> waits, const VoxelWork& then) {
  output_.take_from(from, first, count, waits, then);
  const std::lock_guard lock(mutex_);
  voxels_.add(range_of(first, count));
}

void ResumableOutput::end_if_failed() {
  const std::lock_guard lock(mutex_);
  if (failure_) std::rethrow_exception(failure_);
}

std::vector<Range> ResumableOutput::missing() const {
  const auto slice = static_cast<std::int64_t>(output_.grid().slice());
  std::vector<Range> result;
  const std::lock_guard lock(mutex_);
  for (const auto& voxels : voxels_.missing(range_of(0, output_.grid().count()))) {
    const Range lacking{voxels.begin / slice, (voxels.end + slice - 1) / slice};
    if (!result.empty() && lacking.begin <= result.back().end)
      result.back().end = std::max(result.back().end, lacking.end);
    else
      result.push_back(lacking);
  }
  return result;
}

std::string ResumableOutput::text() const {
  const std::int64_t done = missing_first_ - count_of(missing());
  return done > 0 ? fmt::format("{} of {} slices are done", done, missing_first_) : std::string();
}

}  // namespace halocline

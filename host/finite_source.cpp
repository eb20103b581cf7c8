#include "host/finite_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <mutex>

#include "host/error.hpp"
#include "host/thread_pool.hpp"

namespace halocline {
namespace {

bool finite(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7f800000) != 0x7f800000;
}

// How many are not. Without a branch, which keeps up with memory.
std::size_t count_nonfinite(const float* values, std::size_t count) {
  std::uint32_t bad = 0;
  for (std::size_t n = 0; n < count; ++n) bad += finite(values[n]) ? 0 : 1;
  return bad;
}

}  // namespace

void require_finite(const VolumeSource& source, const std::string& name) {
  std::mutex mutex;
  std::size_t bad = 0, first_bad = source.grid().count();
  parallel_ranges(source.grid().count(), voxels_in_a_piece, [&](std::size_t first, std::size_t count) {
    UninitialisedVector<float> piece(source.data() == nullptr ? count : 0);
    const float* values = source.data() == nullptr ? piece.data() : source.data() + first;
    if (source.data() == nullptr) source.read(first, count, piece.data());
    const std::size_t here = count_nonfinite(values, count);
    if (here == 0) return;
    const std::lock_guard lock(mutex);
    bad += here;
    first_bad = std::min(
        first_bad, first + static_cast<std::size_t>(
                               std::find_if(values, values + count, [](float v) { return !finite(v); }) - values));
  });
  if (bad == 0) return;
  const auto& size = source.grid().size;
  throw InputError(
      fmt::format("{}: {} {} NaN or infinite, the first at index ({},{},{}); mend the file, or give "
                  "`allow_nonfinite` to set them to 0",
                  name, bad, bad == 1 ? "value is" : "values are", first_bad % size[0], first_bad / size[0] % size[1],
                  first_bad / source.grid().slice()));
}

void FiniteSource::read(std::size_t first, std::size_t count, float* to) const {
  source_->read(first, count, to);
  if (count_nonfinite(to, count) == 0) return;
  if (!allow_nonfinite_) {
    const std::lock_guard lock(mutex_);
    if (error_) std::rethrow_exception(error_);
    try {
      require_finite(*source_, name_);
    } catch (...) {
      error_ = std::current_exception();
      throw;
    }
  }
  const std::lock_guard lock(mutex_);
  zeroed_.resize(grid().count());
  for (std::size_t n = 0; n < count; ++n) {
    if (finite(to[n])) continue;
    to[n] = 0;
    if (!zeroed_[first + n]) ++*replaced_;
    zeroed_[first + n] = true;
  }
}

bool FiniteSource::on_devices() const {
  std::call_once(looked_, [&] {
    facts_ = source_->facts();
    if (facts_ && facts_->not_finite > 0) facts_.reset();
  });
  return facts_.has_value();
}

std::optional<VoxelFacts> FiniteSource::facts() const {
  return on_devices() ? facts_ : std::nullopt;
}

std::optional<std::vector<RunSums>> FiniteSource::sums_of_runs(std::span<const VoxelRange> runs) const {
  if (!on_devices()) return std::nullopt;
  return source_->sums_of_runs(runs);
}

}  // namespace halocline

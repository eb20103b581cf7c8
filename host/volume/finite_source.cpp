#include "host/volume/finite_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <mutex>

#include "host/system/error.hpp"
#include "host/system/thread_pool.hpp"

namespace halocline {
namespace {

bool finite(float value) {
  return (std::bit_cast<std::uint32_t>(value) & 0x7f800000) != 0x7f800000;
}

// Number of values that are not finite, without a branch, which is as fast as memory.
std::size_t count_nonfinite(const float* values, std::size_t count) {
  std::uint32_t bad = 0;
  for (std::size_t n = 0; n < count; ++n) bad += finite(values[n]) ? 0 : 1;
  return bad;
}

bool too_large(float value) {
  return std::abs(value) > largest_ray;
}

// Number of values that are not finite or too large.
std::size_t count_no_rays(const float* values, std::size_t count) {
  std::uint32_t bad = 0;
  for (std::size_t n = 0; n < count; ++n) bad += std::abs(values[n]) <= largest_ray ? 0 : 1;
  return bad;
}

struct Found {
  std::size_t count = 0, first = 0;
  float value = 0;  // the first
};

/// Values for which `is_bad` holds. count_here(values, count): whether there may be some in a piece.
template <class CountHere, class IsBad>
Found find(const VolumeSource& source, const CountHere& count_here, const IsBad& is_bad) {
  std::mutex mutex;
  Found found{0, source.grid().count(), 0};
  parallel_ranges(source.grid().count(), voxels_in_a_piece, [&](std::size_t first, std::size_t count) {
    UninitialisedVector<float> piece(source.data() == nullptr ? count : 0);
    const float* values = source.data() == nullptr ? piece.data() : source.data() + first;
    if (source.data() == nullptr) source.read(first, count, piece.data());
    if (count_here(values, count) == 0) return;
    const auto here = static_cast<std::size_t>(std::count_if(values, values + count, is_bad));
    if (here == 0) return;
    const float* at = std::find_if(values, values + count, is_bad);
    const std::lock_guard lock(mutex);
    found.count += here;
    if (const std::size_t place = first + static_cast<std::size_t>(at - values); place < found.first)
      found.first = place, found.value = *at;
  });
  return found;
}

std::string index_text(const VolumeSource& source, std::size_t at) {
  const auto& size = source.grid().size;
  return fmt::format("({},{},{})", at % size[0], at / size[0] % size[1], at / source.grid().slice());
}

void require_finite(const VolumeSource& source, const std::string& name, const char* remedy) {
  const Found bad = find(source, count_nonfinite, [](float value) { return !finite(value); });
  if (bad.count == 0) return;
  throw InputError(fmt::format("{}: {} {} NaN or infinite, the first at index {}; {}", name, bad.count,
                               bad.count == 1 ? "value is" : "values are", index_text(source, bad.first), remedy));
}

}  // namespace

void require_finite(const VolumeSource& source, const std::string& name) {
  require_finite(source, name, may_allow_nonfinite);
}

void require_rays(const VolumeSource& source, const std::string& name, bool allow_nonfinite, const char* remedy) {
  const auto is_bad = [&](float value) { return finite(value) ? too_large(value) : !allow_nonfinite; };
  const Found bad = find(source, count_no_rays, is_bad);
  if (bad.count == 0) return;
  if (!finite(bad.value)) return require_finite(source, name, remedy);
  throw InputError(
      fmt::format("{}: {} {} beyond {:g}, {:g} at index {} the first: no line integrals and no counts are; "
                  "check the file's type and byte order",
                  name, bad.count, bad.count == 1 ? "value lies" : "values lie", largest_ray, bad.value,
                  index_text(source, bad.first)));
}

void FiniteSource::read(std::size_t first, std::size_t count, float* to) const {
  source_->read(first, count, to);
  if (rays_ ? count_no_rays(to, count) == 0 : count_nonfinite(to, count) == 0) return;
  if (!allow_nonfinite_ || (rays_ && std::any_of(to, to + count, too_large))) {
    const std::lock_guard lock(mutex_);
    if (error_) std::rethrow_exception(error_);
    try {
      rays_ ? require_rays(*source_, name_, allow_nonfinite_) : require_finite(*source_, name_);
    } catch (...) {
      error_ = std::current_exception();
      throw;
    }
  }
  if (rays_) return;
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
    const auto beyond = [&] { return too_large(facts_->range.least) || too_large(facts_->range.greatest); };
    if (facts_ && (facts_->not_finite > 0 || (rays_ && beyond()))) facts_.reset();
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

// A half-open range of slices, rows or views.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace halocline {

/// A number of slices, rows or views as a factor of bytes.
constexpr std::size_t unsigned_count(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

struct Range {
  std::int64_t begin = 0, end = 0;

  std::int64_t count() const { return end - begin; }
  std::size_t size() const { return unsigned_count(count()); }
  bool empty() const { return end <= begin; }
  bool contains(std::int64_t n) const { return n >= begin && n < end; }
  /// Longer by `low` below and `high` above, cut to [0, limit).
  Range grown(std::int64_t low, std::int64_t high, std::int64_t limit) const {
    return {std::max<std::int64_t>(0, begin - low), std::min(limit, end + high)};
  }
  bool operator==(const Range&) const = default;
};

/// So many from `first` on.
inline Range range_of(std::size_t first, std::size_t count) {
  return {static_cast<std::int64_t>(first), static_cast<std::int64_t>(first + count)};
}

/// The intersection, perhaps empty.
inline Range common(Range a, Range b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

}  // namespace halocline

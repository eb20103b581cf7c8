#include "algorithms/preprocessing/ring_reduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/preprocessing/rings.hpp"
#include "algorithms/support/parallel_slices.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/plural.hpp"
#include "host/volume/finite_source.hpp"

namespace halocline {
namespace {

constexpr std::size_t most_held = std::size_t{256} << 20;  // bytes of line integrals

}  // namespace

DetectorOffsets ring_offsets(const VolumeSource& line_integrals, int width, const std::string& name) {
  check_ring_width(width, line_integrals.grid(), name);
  const auto [columns, rows, views] = line_integrals.grid().size;
  std::vector<float> details(columns * rows), means(columns * rows);
  const std::size_t at_once = std::clamp<std::size_t>(most_held / (columns * views * sizeof(float)), 1, rows);
  std::vector<float> block(at_once * columns * views);  // of rows, view after view
  for (std::size_t first = 0; first < rows; first += at_once) {
    const std::size_t count = std::min(at_once, rows - first), values = count * columns;
    for (std::size_t view = 0; view < views; ++view) {
      check_interrupt();
      line_integrals.read((view * rows + first) * columns, values, block.data() + view * values);
    }
    const auto end = block.begin() + static_cast<std::ptrdiff_t>(values * views);
    if (!std::all_of(block.begin(), end, [](float each) { return std::isfinite(each); }))
      require_finite(line_integrals, name);
    parallel_slices(count, [&, columns, views](std::size_t row) {
      std::vector<float> lines;
      for (std::size_t view = 0; view < views; ++view) {
        const auto line = block.begin() + static_cast<std::ptrdiff_t>(view * values + row * columns);
        lines.insert(lines.end(), line, line + static_cast<std::ptrdiff_t>(columns));
      }
      const auto found = still_details(lines, columns, views, width);
      const auto at = static_cast<std::ptrdiff_t>((first + row) * columns);
      std::copy(found.begin(), found.end(), details.begin() + at);
      const auto mean = column_means(lines, columns, views);
      std::copy(mean.begin(), mean.end(), means.begin() + at);
    });
  }
  DetectorOffsets out{ring_offsets(details, means, columns, width), 0, 0};
  double squares = 0;
  for (const double each : out.pixels) {
    squares += each * each;
    if (each != 0) ++out.count;
  }
  out.rms = std::sqrt(squares / static_cast<double>(out.pixels.size()));
  return out;
}

void take_off(const DetectorOffsets& offsets, std::size_t first, std::size_t count, float* values) {
  const std::size_t pixels = offsets.pixels.size();
  for (std::size_t n = 0; n < count; ++n) values[n] -= offsets.pixels[(first + n) % pixels];
}

void RingFreeSource::read(std::size_t first, std::size_t count, float* to) const {
  source_->read(first, count, to);
  take_off(offsets_, first, count, to);
}

void check_ring_width(int width, const Grid& projections, const std::string& name) {
  if (width > 0 && projections.size[2] < fewest_views_for_rings)
    throw InputError(
        fmt::format("{}: rings (`ring_width`) are told from the object by what moves over the views, and {} "
                    "too few; at least {} are needed",
                    name, plural(projections.size[2], "view is", "views are"), fewest_views_for_rings));
  if (width < 0 || (width > 0 && 4 * static_cast<std::size_t>(width) + 3 > projections.size[0]))
    throw InputError(
        fmt::format("{}: rings {} pixels wide (`ring_width`) need a detector of {} columns or more, and it has {}",
                    name, width, 4 * width + 3, projections.size[0]));
}

}  // namespace halocline

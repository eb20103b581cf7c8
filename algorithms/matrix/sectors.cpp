#include "algorithms/matrix/sectors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr double tolerance = 1e-4;  // columns

[[noreturn]] void refuse(const std::string& found) {
  throw InputError("`operator = symmetric` needs a scan that quarters of a turn and mirrors map to itself; " + found +
                   ", or use `operator = matrix`");
}

struct Point {
  double x, y;  // voxels from the slice's middle
};

Point turned(Point at, std::uint32_t turn) {
  const Point along = (turn & 1) != 0 ? Point{at.y, at.x} : at;
  return {(turn & 2) != 0 ? -along.x : along.x, (turn & 4) != 0 ? -along.y : along.y};
}

// Columns from the detector's middle where views see points of the slice.
class Shadows {
 public:
  Shadows(const Geometry& geometry, const Grid& volume, const Grid& projections)
      : middle_(0.5 * (static_cast<double>(projections.size[0]) - 1)) {
    for (const View& view : geometry.views) matrices_.push_back(index_to_detector(view, volume, projections));
  }
  double of(Point at, std::size_t view) const {
    const Matrix34& m = matrices_[view];
    return (m[0] * at.x + m[1] * at.y + m[3]) / (m[8] * at.x + m[9] * at.y + m[11]) - middle_;
  }
  bool parallel() const {
    return std::all_of(matrices_.begin(), matrices_.end(), [](const Matrix34& m) {
      return std::max(std::abs(m[8]), std::abs(m[9])) < 1e-12 * std::abs(m[11]);
    });
  }

 private:
  std::vector<Matrix34> matrices_;
  double middle_;
};

// Largest distance, in columns, of where a sector's views see turned points and where they should.
double error_of(const Shadows& shadows, const Sectors& sectors, std::uint32_t sector, std::uint32_t turn, double half) {
  constexpr std::int32_t columns = 1 << 20;  // an off-centre column, which shows whether it was flipped
  double most = 0;
  for (std::uint32_t view = 0; view < sectors.stored_views; ++view) {
    const SectorRay ray = ray_of_sector(sectors, columns, columns - 1, static_cast<std::int32_t>(view), sector);
    if (ray.column < 0) continue;
    const double sign = ray.column == 0 ? -1 : 1;
    for (const Point at : {Point{half, half}, Point{half, -half}, Point{-half, half}, Point{0.5 * half, 0}})
      most = std::max(most, std::abs(shadows.of(turned(at, turn), static_cast<std::size_t>(ray.view)) -
                                     sign * shadows.of(at, view)));
  }
  return most;
}

// Refuses a detector or a slice off the axis of rotation.
void check_centred(const Shadows& shadows, std::size_t views) {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (std::size_t view = 0; view < views; ++view) {
    const double at = shadows.of({0, 0}, view);
    least = std::min(least, at), most = std::max(most, at);
  }
  if (std::max(std::abs(least), std::abs(most)) <= 0.5 * tolerance) return;  // error_of() has it twice
  if (most - least <= tolerance)
    refuse(
        fmt::format("the detector's middle is {:.4g} columns off the axis of rotation. Resample the projections so "
                    "that it is on it",
                    0.5 * (least + most)));
  refuse("the slice's middle is off the axis of rotation. Move `origin`");
}

}  // namespace

SectorRay ray_of_sector(const Sectors& sectors, std::int32_t columns, std::int32_t column, std::int32_t view,
                        std::uint32_t sector) {
  const bool mirrored = (sector & 1) != 0;
  const auto quarters = static_cast<std::int32_t>(sector >> 1), quarter = static_cast<std::int32_t>(sectors.quarter);
  if (mirrored && (view == 0 || 2 * view == quarter)) return {-1, 0};
  if (!sectors.fan && quarters >= 2 && 2 * column == columns - 1) return {-1, 0};
  std::int32_t angle = ((mirrored ? 4 * quarter - view : view) + quarters * quarter) % (4 * quarter);
  bool flipped = mirrored;
  if (!sectors.fan && angle >= 2 * quarter) angle -= 2 * quarter, flipped = !flipped;
  return {flipped ? columns - 1 - column : column, angle};
}

Sectors sectors_of(const Geometry& geometry, const Grid& volume, const Grid& projections) {
  if (volume.size[0] != volume.size[1] || volume.spacing[0] != volume.spacing[1])
    refuse(fmt::format("the slice has {} x {} voxels of {:g} x {:g} mm. Take a square one", volume.size[0],
                       volume.size[1], volume.spacing[0], volume.spacing[1]));
  const Shadows shadows(geometry, volume, projections);
  const std::size_t views = geometry.views.size();
  Sectors sectors;
  sectors.fan = !shadows.parallel();
  const std::size_t quarters = sectors.fan ? 4 : 2;
  if (views % quarters != 0) refuse(fmt::format("{} views are no multiple of {}. Take such a number", views, quarters));
  check_centred(shadows, views);
  sectors.quarter = static_cast<std::uint32_t>(views / quarters);
  sectors.stored_views = sectors.quarter / 2 + 1;
  if (!sectors.fan) sectors.first_column = static_cast<std::uint32_t>(projections.size[0] / 2);
  const double half = 0.5 * static_cast<double>(volume.size[0]);
  for (std::uint32_t sector = 0; sector < Sectors::count; ++sector) {
    std::array<double, 8> errors{};
    for (std::uint32_t turn = 0; turn < 8; ++turn) errors[turn] = error_of(shadows, sectors, sector, turn, half);
    const auto best = std::min_element(errors.begin(), errors.end());
    if (!(*best <= tolerance))
      refuse(
          fmt::format("views are not at equal steps over {} from a multiple of 45 degrees on, or the source is off the "
                      "line through the axis and the detector's middle ({:.3g} columns off). Resample the projections "
                      "to such a scan",
                      sectors.fan ? "a full turn" : "half a turn", *best));
    sectors.turns |= static_cast<std::uint32_t>(best - errors.begin()) << 3 * sector;
  }
  return sectors;
}

}  // namespace halocline

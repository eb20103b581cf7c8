#include "algorithms/fdk/half_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "host/system/error.hpp"

namespace halocline {

namespace {

// Reverses the order of every second group of views that stand at one angle, or opposite. True if there are any.
bool alternate_sides(std::vector<std::size_t>& round, const std::vector<double>& betas) {
  bool any = false, odd = false;
  for (auto begin = round.begin(); begin != round.end(); odd = !odd) {
    const auto end = std::find_if(begin, round.end(), [&](std::size_t view) { return betas[view] != betas[*begin]; });
    any = any || end - begin > 1;
    if (odd) std::reverse(begin, end);
    begin = end;
  }
  return any;
}

}  // namespace

std::array<HalfScan, 2> half_scans(const Geometry& geometry) {
  const std::size_t count = geometry.views.size();
  if (count < 2)
    throw InputError(fmt::format("the scan has {} view{}; two halves need two or more", count, count == 1 ? "" : "s"));
  std::vector<std::size_t> round(count);  // the views round the circle
  std::iota(round.begin(), round.end(), 0);
  const auto sort_by = [&](const std::vector<double>& betas) {
    std::stable_sort(round.begin(), round.end(), [&](std::size_t a, std::size_t b) { return betas[a] < betas[b]; });
  };
  const auto betas = angular_coverage(geometry, true).betas;
  sort_by(betas);
  // For a whole turn of a parallel beam both halves are whole turns, too, as a displaced detector needs it.
  if (const auto turn = angular_coverage(geometry, true, true); geometry.parallel() && turn.full_circle)
    if (!alternate_sides(round, betas)) sort_by(turn.betas);
  std::array<HalfScan, 2> halves;
  for (std::size_t n = 0; n < count; ++n) halves[n % 2].views.push_back(round[n]);
  for (auto& half : halves) {
    std::sort(half.views.begin(), half.views.end());
    half.geometry = select_views(geometry, half.views);
  }
  return halves;
}

TypedVolume select_views(const TypedVolume& projections, const std::vector<std::size_t>& views) {
  Grid grid = projections.grid;
  grid.size[2] = views.size();
  TypedVolume out(grid, projections.component, projections.scaling);
  const auto bytes = static_cast<std::ptrdiff_t>(grid.slice() * component_bytes(projections.component));
  std::byte* to = out.bytes();
  for (const std::size_t view : views)
    to = std::copy_n(projections.bytes() + static_cast<std::ptrdiff_t>(view) * bytes, bytes, to);
  return out;
}

Volume select_views(const Volume& projections, const std::vector<std::size_t>& views) {
  Grid grid = projections.grid;
  grid.size[2] = views.size();
  Volume out(grid);
  const auto pixels = static_cast<std::ptrdiff_t>(grid.slice());
  auto to = out.voxels.begin();
  for (const std::size_t view : views)
    to = std::copy_n(projections.voxels.begin() + static_cast<std::ptrdiff_t>(view) * pixels, pixels, to);
  return out;
}

}  // namespace halocline

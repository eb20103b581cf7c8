#include "algorithms/fdk/gridding_frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "host/opencl/fft.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

using std::numbers::pi;
constexpr double noticeable = 0.01;   // pixels
constexpr double rounding = 1e-6;     // pixels: rows so near to a slice are on it
constexpr double widest_voxel = 128;  // columns: a frequency of the grid gathers its square of periods
constexpr std::size_t fewest_frequencies = 16;
const char* const or_direct = "or use `algorithm = direct`";

// The column and the row that voxels (x, y, z), counted from the volume's centre, are seen in.
struct Coordinate {
  double x, y, z, centre;
};
struct ViewCoordinates {
  Coordinate column, row;
};

ViewCoordinates coordinates_of(const View& view, const Grid& grid, const Grid& detector) {
  const Matrix34 m = index_to_detector(view, grid, detector);
  return {{m[0], m[1], m[2], m[3]}, {m[4], m[5], m[6], m[7]}};
}

double half(std::size_t size) {
  return 0.5 * (static_cast<double>(size) - 1);
}

void check_views(const Geometry& geometry, const Grid& projections, const Grid& grid) {
  const double nx = 2 * half(grid.size[0]), ny = 2 * half(grid.size[1]), nz = 2 * half(grid.size[2]);
  const Coordinate first = coordinates_of(geometry.views.front(), grid, projections).row;
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    const auto [column, row] = coordinates_of(geometry.views[n], grid, projections);
    const double wide = std::max(std::abs(column.x), std::abs(column.y));
    if (wide > widest_voxel)
      throw InputError(
          fmt::format("`algorithm = gridding` is for voxels of up to {} columns of the detector, but in projection {} "
                      "they are {:.3g} wide; give smaller voxels, {}",
                      widest_voxel, n, wide, or_direct));
    const double tilt = std::max(std::abs(column.z) * nz, std::abs(row.x) * nx + std::abs(row.y) * ny);
    if (tilt > noticeable)
      throw InputError(fmt::format(
          "`algorithm = gridding` needs slices across the rotation axis, each seen by rows of the detector, but in "
          "projection {} they lie {:.3g} pixels aslant; give a volume whose axis k is the rotation axis y and a "
          "geometry without tilts, {}",
          n, tilt, or_direct));
    const double moved = std::abs(row.centre - first.centre) + std::abs(row.z - first.z) * nz / 2;
    if (moved > noticeable)
      throw InputError(
          fmt::format("`algorithm = gridding` needs a detector at one height, but that of projection {} is moved by "
                      "{:.3g} rows from that of projection 0; give views of one height, {}",
                      n, moved, or_direct));
  }
}

std::size_t frequencies_of(std::size_t voxels) {
  const auto least = static_cast<std::size_t>(std::ceil(gridding_oversampling * static_cast<double>(voxels)));
  return fft_length(std::max(fewest_frequencies, least));
}

// Factors of voxels along an axis: the inverse transform divides by `frequencies`.
void add_corrections(std::vector<float>& corrections, std::size_t voxels, std::size_t frequencies, double beta,
                     double scale) {
  const auto count = static_cast<double>(frequencies);
  for (std::size_t n = 0; n < voxels; ++n) {
    const double at = static_cast<double>(n) - static_cast<double>(voxels / 2);
    corrections.push_back(static_cast<float>(scale * count / gridding_transform(beta, at / count)));
  }
}

// The row below each slice, and the share of the next. A single row is constant over its height, as in
// cl/backproject.cl.
std::vector<float> slice_rows_of(const Coordinate& row, std::size_t slices, std::size_t rows) {
  std::vector<float> result;
  for (std::size_t z = 0; z < slices; ++z) {
    double at = row.z * (static_cast<double>(z) - half(slices)) + row.centre;
    if (rows == 1) at = std::abs(at) <= 0.5 + rounding ? 0 : -2;
    if (std::abs(at - std::round(at)) < rounding) at = std::round(at);
    at = std::clamp(at, -2.0, static_cast<double>(rows) + 1);
    result.push_back(static_cast<float>(std::floor(at)));
    result.push_back(static_cast<float>(at - std::floor(at)));
  }
  return result;
}

}  // namespace

void check_gridding(const Geometry& geometry, const Grid& projections, const Grid& grid,
                    const FdkParameters& parameters) {
  const auto refuse = [](const std::string& what) { throw InputError(fmt::format("`algorithm = gridding` {}", what)); };
  if (!geometry.parallel())
    refuse(fmt::format("is for parallel beams, but the geometry has a {}; use `algorithm = direct`",
                       geometry.fan_stack() ? "stack of fans" : "divergent beam"));
  if (geometry.radius_cylindrical_detector > 0)
    refuse("is for flat detectors, but the geometry's is a cylinder; use `algorithm = direct`");
  if (parameters.variance) refuse("makes no variance; leave the variance out, or use `algorithm = direct`");
  if (parameters.hardware_interpolation)
    refuse("interpolates by itself; leave `interpolation` out, or use `algorithm = direct`");
  check_views(geometry, projections, grid);
}

std::size_t gridding_length(const Geometry& geometry, const Grid& detector, const Grid& grid) {
  double low = 0, high = 2 * half(detector.size[0]);
  for (const View& view : geometry.views) {
    const Coordinate column = coordinates_of(view, grid, detector).column;
    const double reach = std::abs(column.x) * half(grid.size[0]) + std::abs(column.y) * half(grid.size[1]);
    low = std::min(low, column.centre - reach);
    high = std::max(high, column.centre + reach);
  }
  return fft_length(static_cast<std::size_t>(std::ceil(high - low)) + 2);
}

double gridding_beta(double oversampling) {
  return 0.976 * pi * 2 * gridding_reach * (1 - 1 / (2 * oversampling));
}

double gridding_transform(double beta, double frequency) {
  constexpr int steps = 200;  // Simpson's rule over t = reach sin(angle)
  double sum = 0;
  for (int n = 0; n <= steps; ++n) {
    const double angle = pi / 2 * n / steps, c = std::cos(angle), t = gridding_reach * std::sin(angle);
    const double weight = n == 0 || n == steps ? 1 : n % 2 == 1 ? 4 : 2;
    sum += weight * std::exp(beta * (c - 1)) * std::cos(2 * pi * frequency * t) * gridding_reach * c;
  }
  return 2 * sum * pi / 2 / steps / 3;
}

Range GriddingFrame::rows_of(Range slices, std::int64_t rows) const {
  std::int64_t low = rows, high = 0;
  for (std::int64_t z = slices.begin; z < slices.end; ++z) {
    const auto at = 2 * static_cast<std::size_t>(z);
    const auto row = static_cast<std::int64_t>(slice_rows[at]);
    low = std::min(low, std::max<std::int64_t>(row, 0));
    high = std::max(high, std::min(rows, row + (slice_rows[at + 1] > 0 ? 2 : 1)));
  }
  return {low, std::max(low, high)};
}

namespace {

// 0 has a large one: what it multiplies is at least half a frequency.
double reciprocal(double step) {
  constexpr double least = 1e-30;
  return 1 / std::copysign(std::max(std::abs(step), least), step);
}

}  // namespace

GriddingFrame gridding_frame(const Geometry& geometry, const Grid& detector, const Grid& grid, std::size_t length) {
  GriddingFrame frame;
  const auto [nx, ny, nz] = grid.size;
  frame.width = frequencies_of(nx);
  frame.height = frequencies_of(ny);
  const auto samples = static_cast<double>(length);
  struct Line {
    double angle, dx, dy, place;
  };
  std::vector<Line> lines;
  double most_x = 0, most_y = 0;
  for (const View& view : geometry.views) {
    const Coordinate column = coordinates_of(view, grid, detector).column;
    // voxels are counted from (nx/2, ny/2)
    const double x = static_cast<double>(nx / 2) - half(nx), y = static_cast<double>(ny / 2) - half(ny);
    Line line{0, column.x * static_cast<double>(frame.width) / samples,
              column.y * static_cast<double>(frame.height) / samples, column.centre + column.x * x + column.y * y};
    line.angle = std::atan2(line.dy, line.dx);
    line.angle -= pi * std::floor(line.angle / pi);
    most_x = std::max(most_x, std::abs(line.dx));
    most_y = std::max(most_y, std::abs(line.dy));
    lines.push_back(line);
  }
  frame.order.resize(lines.size());
  std::iota(frame.order.begin(), frame.order.end(), 0);
  const auto line_of = [&](int view) { return lines[static_cast<std::size_t>(view)]; };
  std::stable_sort(frame.order.begin(), frame.order.end(),
                   [&](int a, int b) { return line_of(a).angle < line_of(b).angle; });
  for (const int view : frame.order) {
    const auto [angle, dx, dy, place] = line_of(view);
    const double whole = std::round(place);
    for (const double value : {angle, whole, place - whole, 0.0, dx, dy, reciprocal(dx), reciprocal(dy)})
      frame.lines.push_back(static_cast<float>(value));
  }
  const auto limit_of = [&](double most) { return static_cast<float>(most * samples / 2 + gridding_reach); };
  frame.limits = {limit_of(most_x), limit_of(most_y)};
  const auto beta_of = [](std::size_t frequencies, std::size_t voxels) {
    return gridding_beta(static_cast<double>(frequencies) / static_cast<double>(voxels));
  };
  const double beta_x = beta_of(frame.width, nx), beta_y = beta_of(frame.height, ny);
  frame.beta = {static_cast<float>(std::numbers::log2e * beta_x), static_cast<float>(std::numbers::log2e * beta_y)};
  add_corrections(frame.corrections, nx, frame.width, beta_x, 1 / samples);
  add_corrections(frame.corrections, ny, frame.height, beta_y, 1);
  const Coordinate row = coordinates_of(geometry.views.front(), grid, detector).row;
  frame.slice_rows = slice_rows_of(row, nz, detector.size[1]);
  return frame;
}

}  // namespace halocline

#include "apps/bench/matrix_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace halocline {
namespace {

constexpr std::uint8_t black = 0, grey = 128, white = 255;

// Places of elements of which a panel shows some.
struct Axis {
  std::uint32_t first, end;
  std::function<std::uint32_t(std::uint32_t x, std::uint32_t y)> place_of;
};

// About the place `middle`, from a multiple of `step` on.
Axis panel_axis(std::uint32_t places, std::uint32_t middle, std::uint32_t step,
                std::function<std::uint32_t(std::uint32_t x, std::uint32_t y)> place_of) {
  const std::uint32_t side = std::min(panel_side, places);
  const std::uint32_t first = std::min(middle - std::min(middle, side / 2), places - side);
  return {first / step * step, first / step * step + side, std::move(place_of)};
}

Axis row_by_row(const Size2& size, const Size2& middle) {
  const auto place_of = [across = size[0]](std::uint32_t x, std::uint32_t y) { return x + across * y; };
  return panel_axis(size[0] * size[1], place_of(middle[0], middle[1]), 1, place_of);
}

Axis in_order(const TileOrder& order, const Size2& middle) {
  const auto place_of = [order](std::uint32_t x, std::uint32_t y) { return order.place_of(x, y); };
  return panel_axis(order.places(), place_of(middle[0], middle[1]), order.elements_of_tile() * order.tiles_of_group(),
                    place_of);
}

void mark(const SliceRays& rays, std::uint32_t column, std::uint32_t view, const Axis& pixels, std::uint8_t* line) {
  const SliceRay ray = rays.ray(column, view);
  for (int plane = 0; plane < ray.planes; ++plane) {
    const MetVoxels met = ray.met(plane, plane, 0);
    for (int other = met.first; other <= met.last; ++other) {
      const auto a = static_cast<std::uint32_t>(plane), b = static_cast<std::uint32_t>(other);
      const std::uint32_t place = ray.axis == 0 ? pixels.place_of(a, b) : pixels.place_of(b, a);
      if (place >= pixels.first && place < pixels.end) line[place - pixels.first] = black;
    }
  }
}

void draw(GreyImage& image, std::size_t left, const SliceRays& rays, const Axis& of_rays, const Axis& of_pixels) {
  const std::size_t width = of_pixels.end - of_pixels.first, height = of_rays.end - of_rays.first;
  for (std::size_t row = 0; row < height; ++row) std::fill_n(&image.pixels[left + image.width * row], width, white);
  for (std::uint32_t view = 0; view < rays.views(); ++view)
    for (std::uint32_t column = 0; column < rays.columns(); ++column) {
      const std::uint32_t place = of_rays.place_of(column, view);
      if (place < of_rays.first || place >= of_rays.end) continue;
      mark(rays, column, view, of_pixels, &image.pixels[left + image.width * (place - of_rays.first)]);
    }
}

}  // namespace

std::string MatrixProblem::text() const {
  return fmt::format("{0} x {0} pixels, {1} x {2} rays, {3} beam, {4}", size, views, columns, fan ? "fan" : "parallel",
                     projector_name(projector));
}

Scan scan_of(const MatrixProblem& problem, std::size_t slices) {
  const auto width = static_cast<double>(problem.size);  // mm: voxels are 1 mm wide
  CircularOptions options;
  options.sid = 2 * width, options.sdd = problem.fan ? 4 * width : 0;
  options.arc = problem.fan ? 360 : 180, options.projections = problem.views;
  options.fan_stack = problem.fan;
  const double pitch = (problem.fan ? 2 : 1) * width / static_cast<double>(problem.columns);
  Scan scan;
  scan.geometry = circular_geometry(options);
  scan.volume = default_grid({problem.size, problem.size, slices}, {1, 1, 1});
  scan.stack.size = {problem.columns, slices, problem.views};
  scan.stack.spacing = {pitch, 1, 1};
  scan.stack.origin = {-0.5 * pitch * (static_cast<double>(problem.columns) - 1),
                       -0.5 * (static_cast<double>(slices) - 1), 0};
  return scan;
}

SliceRays rays_of(const MatrixProblem& problem) {
  const Scan scan = scan_of(problem, 1);
  return {scan.geometry, scan.volume, scan.stack, problem.projector};
}

GreyImage sparsity_picture(const SliceRays& rays, const Size2& shape) {
  constexpr std::size_t gap = 16;
  const Size2 of_rays{rays.columns(), rays.views()}, of_pixels{rays.nx(), rays.ny()};
  const Size2 ray{of_rays[0] / 2, of_rays[1] / 8}, pixel{of_pixels[0] / 2, of_pixels[1] / 2};
  const Axis rows[] = {row_by_row(of_rays, ray), in_order(ray_order(rays, shape), ray)},
             columns[] = {row_by_row(of_pixels, pixel), in_order(pixel_order(rays), pixel)};
  const std::size_t left = columns[0].end - columns[0].first, right = columns[1].end - columns[1].first;
  GreyImage image;
  image.width = left + gap + right;
  image.height = std::max(rows[0].end - rows[0].first, rows[1].end - rows[1].first);
  image.pixels.assign(image.width * image.height, grey);
  draw(image, 0, rays, rows[0], columns[0]);
  draw(image, left + gap, rays, rows[1], columns[1]);
  return image;
}

}  // namespace halocline

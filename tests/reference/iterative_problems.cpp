#include "tests/reference/iterative_problems.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>

#include "algorithms/projectors/float64_reference.hpp"
#include "tests/reference/projector_reference.hpp"

namespace halocline::reference {

Scene parallel_scene(std::size_t n, std::size_t views, std::size_t columns, double pitch) {
  CircularOptions options{.sid = 1000, .sdd = 0, .projections = views, .arc = 180};
  return {"parallel", circular_geometry(options), detector(columns, 1, views, pitch, pitch),
          default_grid({n, n, 1}, {pitch, pitch, pitch})};
}

Scene small_parallel_scene() {
  return parallel_scene(32, 24, 47);
}

Scene large_parallel_scene() {
  return parallel_scene(256, 90, 367);
}

Vector toft_phantom(const Grid& grid) {
  // value, half axes, centre, degrees; in half widths of the picture
  constexpr double ellipses[][6] = {{1, .69, .92, 0, 0, 0},        {-.8, .6624, .874, 0, -.0184, 0},
                                    {-.2, .11, .31, .22, 0, -18},  {-.2, .16, .41, -.22, 0, 18},
                                    {.1, .21, .25, 0, .35, 0},     {.1, .046, .046, 0, .1, 0},
                                    {.1, .046, .046, 0, -.1, 0},   {.1, .046, .023, -.08, -.605, 0},
                                    {.1, .023, .023, 0, -.606, 0}, {.1, .023, .046, .06, -.605, 0}};
  constexpr std::size_t fine = 4;  // points along each edge of a pixel
  const std::size_t nx = grid.size[0], ny = grid.size[1];
  const auto coordinate = [](std::size_t n, std::size_t size) {
    return (static_cast<double>(n) + 0.5) / static_cast<double>(fine * size) * 2 - 1;
  };
  Vector picture(nx * ny, 0.0);
  for (std::size_t j = 0; j < ny * fine; ++j)
    for (std::size_t i = 0; i < nx * fine; ++i) {
      const double x = coordinate(i, nx), y = -coordinate(j, ny);
      double value = 0;
      for (const auto& [grey, a, b, cx, cy, degrees] : ellipses) {
        const double angle = degrees * std::numbers::pi / 180,
                     u = (x - cx) * std::cos(angle) + (y - cy) * std::sin(angle),
                     v = -(x - cx) * std::sin(angle) + (y - cy) * std::cos(angle);
        if (u * u / (a * a) + v * v / (b * b) <= 1) value += grey;
      }
      picture[i / fine + nx * (j / fine)] += value / (fine * fine);
    }
  return picture;
}

Counted counted(const Vector& line_integrals, double photons, unsigned seed) {
  std::mt19937_64 random(seed);
  Counted result;
  for (const double p : line_integrals) {
    std::poisson_distribution<long> poisson(photons * std::exp(-p));
    const double count = std::max(1.0, static_cast<double>(poisson(random)));
    result.b.push_back(-std::log(count / photons));
    result.w.push_back(count);
  }
  return result;
}

PenalisedScan penalised_scan(std::size_t n, std::size_t views, const Counted& counts) {
  const auto columns = 2 * static_cast<std::size_t>(std::ceil(static_cast<double>(n) * std::numbers::sqrt2 / 2)) + 1;
  const Scene scene = parallel_scene(n, views, columns, 2);
  Vector truth = toft_phantom(scene.grid);
  for (double& each : truth) each *= 0.02;
  return {scene, truth, {RayMatrix(scene), counts.b, counts.w, {scene.grid.size, scene.grid.spacing}, 1200, 0, 0.1}};
}

PenalisedScan penalised_scan(std::size_t n, std::size_t views, double photons, unsigned seed) {
  PenalisedScan scan = penalised_scan(n, views, {});
  const auto counts = counted(scan.problem.A.times(scan.truth), photons, seed);
  scan.problem.b = counts.b, scan.problem.w = counts.w;
  return scan;
}

Vector scaled_fdk(const PenalisedScan& scan) {
  const Penalised& problem = scan.problem;
  Vector x = fdk(volume_of(scan.scene.projections, problem.b), scan.scene.geometry, scan.scene.grid, {});
  const Vector projected = problem.A.times(x), weighted = product(projected, problem.w);
  const double scale = dot(weighted, problem.b) / dot(weighted, projected);
  for (double& each : x) each = std::clamp(scale * each, problem.lower, problem.upper);
  return x;
}

RaySubsets rays_of(const Scene& scene, const ViewSubsets& subsets, const std::vector<int>& order) {
  const std::size_t slice = scene.projections.slice();
  RaySubsets result;
  for (const int s : order) {
    auto& rays = result.emplace_back();
    const Range range = subsets.range(s);
    for (auto n = range.begin; n < range.end; ++n) {
      const auto view = static_cast<std::size_t>(subsets.order()[static_cast<std::size_t>(n)]);
      for (std::size_t ray = 0; ray < slice; ++ray) rays.push_back(view * slice + ray);
    }
  }
  return result;
}

RaySubsets rays_of(const Scene& scene, int subsets) {
  std::vector<int> order(static_cast<std::size_t>(subsets));
  std::iota(order.begin(), order.end(), 0);
  return rays_of(scene, ViewSubsets(static_cast<int>(scene.geometry.views.size()), subsets), order);
}

Vector line_integrals(const Scene& scene, const Vector& x) {
  const auto& size = scene.grid.size;
  const auto value = [&](std::size_t i, std::size_t j, std::size_t k) { return x[i + size[0] * (j + size[1] * k)]; };
  const ExactScan scan{scene.geometry, scene.grid, scene.projections};
  Vector b;
  Index3 pixel;
  for (pixel[2] = 0; pixel[2] < scene.projections.size[2]; ++pixel[2])
    for (pixel[1] = 0; pixel[1] < scene.projections.size[1]; ++pixel[1])
      for (pixel[0] = 0; pixel[0] < scene.projections.size[0]; ++pixel[0])
        b.push_back(exact_projection(scan, Projector::joseph, pixel, value).value);
  return b;
}

}  // namespace halocline::reference

#include "tests/reference/shepp_logan.hpp"

#include <cmath>

namespace halocline::reference {

// Value, half axes, centre, angle; in half widths of the picture.
Volume shepp_logan(const Grid& grid) {
  constexpr double ellipses[][6] = {{1, .69, .92, 0, 0, 0},        {-.8, .6624, .874, 0, -.0184, 0},
                                    {-.2, .11, .31, .22, 0, -18},  {-.2, .16, .41, -.22, 0, 18},
                                    {.1, .21, .25, 0, .35, 0},     {.1, .046, .046, 0, .1, 0},
                                    {.1, .046, .046, 0, -.1, 0},   {.1, .046, .023, -.08, -.605, 0},
                                    {.1, .023, .023, 0, -.606, 0}, {.1, .023, .046, .06, -.605, 0}};
  constexpr int fine = 4;  // points along each edge of a pixel
  Volume picture(grid);
  const std::size_t nx = grid.size[0], ny = grid.size[1];
  for (std::size_t n = 0; n < nx * ny * fine * fine; ++n) {
    const std::size_t i = n % (nx * fine), j = n / (nx * fine);
    const double x = (static_cast<double>(i) + 0.5) / fine / static_cast<double>(nx) * 2 - 1,
                 y = (static_cast<double>(j) + 0.5) / fine / static_cast<double>(ny) * 2 - 1;
    double value = 0;
    for (const auto& [grey, a, b, cx, cy, degrees] : ellipses) {
      const double angle = degrees * M_PI / 180, u = (x - cx) * std::cos(angle) + (y - cy) * std::sin(angle),
                   v = -(x - cx) * std::sin(angle) + (y - cy) * std::cos(angle);
      if (u * u / (a * a) + v * v / (b * b) <= 1) value += grey;
    }
    picture.voxels[i / fine + nx * (j / fine)] += static_cast<float>(value / (fine * fine));
  }
  return picture;
}

Scene small_parallel_scan() {
  CircularOptions options;
  options.sid = 1000;
  options.sdd = 0;
  options.projections = 24;
  options.arc = 180;
  return {"T0", circular_geometry(options), detector(47, 1, 24, 1, 1), default_grid({32, 32, 1}, {1, 1, 1})};
}

}  // namespace halocline::reference

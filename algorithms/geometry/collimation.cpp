#include "algorithms/geometry/collimation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "host/system/error.hpp"

namespace halocline {
namespace {

/// Bounds, in mm, of the points where the rays of the detector's outermost pixels meet the jaws' plane.
struct Field {
  double low_u = INFINITY, high_u = -INFINITY, low_v = INFINITY, high_v = -INFINITY;

  void include(const Ray& ray, bool parallel) {
    const auto& d = ray.direction;
    auto p = ray.origin;
    const double height = parallel ? 0 : p[1];
    double x = parallel ? -d[0] : p[0], z = parallel ? -d[2] : p[2];  // towards the source, in the plane across y
    const double length = std::hypot(x, z);
    x /= length, z /= length;
    const double t = -(p[0] * x + p[2] * z) / (d[0] * x + d[2] * z);
    for (int axis = 0; axis < 3; ++axis) p[axis] += t * d[axis];
    const double u = z * p[0] - x * p[2], v = p[1] - height;
    low_u = std::min(low_u, u);
    high_u = std::max(high_u, u);
    low_v = std::min(low_v, v);
    high_v = std::max(high_v, v);
  }
};

Field field_of(const View& view, double radius, const Grid& projections) {
  const ViewRays rays(view, radius);
  const auto& d = projections.direction;
  Field field;
  const auto include = [&](std::size_t column, std::size_t row) {
    const double a = static_cast<double>(column) * projections.spacing[0],
                 b = static_cast<double>(row) * projections.spacing[1];
    field.include(rays.to(projections.origin[0] + d[0] * a + d[1] * b, projections.origin[1] + d[3] * a + d[4] * b),
                  view.parallel());
  };
  const std::size_t last_column = projections.size[0] - 1, last_row = projections.size[1] - 1;
  for (std::size_t column = 0; column <= last_column; ++column)
    for (const std::size_t row : {std::size_t{0}, last_row}) include(column, row);
  for (std::size_t row = 0; row <= last_row; ++row)
    for (const std::size_t column : {std::size_t{0}, last_column}) include(column, row);
  return field;
}

}  // namespace

void require_open_jaws(const Grid& projections, const Geometry& geometry, const std::string& geometry_name) {
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    const View &view = geometry.views[n], open;
    if (view.collimation_u_inf == open.collimation_u_inf && view.collimation_u_sup == open.collimation_u_sup &&
        view.collimation_v_inf == open.collimation_v_inf && view.collimation_v_sup == open.collimation_v_sup)
      continue;
    const Field field = field_of(view, geometry.radius_cylindrical_detector, projections);
    const auto require = [&](const char* name, double jaw, double reach, int axis) {
      if (reach < jaw) return;
      throw InputError(fmt::format(
          "{}: in projection {} <Collimation{}> is {:.6g} mm, but the {} reach to {:.6g} mm there; what jaws hide is "
          "not left out, so keep to {} that the jaws leave (`Cutout`, or a smaller detector), or remove the entry from "
          "the file if all pixels count",
          geometry_name, n, name, jaw, axis == 0 ? "columns" : "rows", reach, axis == 0 ? "columns" : "rows"));
    };
    require("UInf", view.collimation_u_inf, -field.low_u, 0);
    require("USup", view.collimation_u_sup, field.high_u, 0);
    require("VInf", view.collimation_v_inf, -field.low_v, 1);
    require("VSup", view.collimation_v_sup, field.high_v, 1);
  }
}

}  // namespace halocline

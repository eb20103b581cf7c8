#include "algorithms/projectors/ray_faces.hpp"

#include <cmath>

#include "algorithms/support/vector3.hpp"

namespace halocline {
namespace {

constexpr double face_slack = 2e-3;  // voxels: twice that of cl/siddon_faces.clh

/// The rays of one view of a flat detector, as the kernels have them, and the faces of one index axis.
class ViewAcross {
 public:
  ViewAcross(const float* rays, bool fan_stack, const Grid& volume, const Grid& projections, int axis)
      : rays_(rays),
        fan_stack_(fan_stack),
        axis_(axis),
        faces_(static_cast<double>(volume.size[axis])),
        half_way_(0.5 * std::hypot(static_cast<double>(volume.size[0]), static_cast<double>(volume.size[1]),
                                   fan_stack ? 1 : static_cast<double>(volume.size[2]))),
        columns_(static_cast<double>(projections.size[0])),
        rows_(static_cast<double>(projections.size[1])) {}

  bool any_in_face() const {
    const double left = -0.5 * (columns_ - 1), per_column = rays_[6 + axis_];
    for (double v = -0.5 * (rows_ - 1); v <= 0.5 * (rows_ - 1); ++v) {
      const double first = direction(left, v)[axis_];
      // the columns whose rays move less than the face_slack across the axis: all, or those near to the one that does
      // not
      double begin = 0, end = columns_ - 1;
      if (std::abs(per_column) * (columns_ - 1) > 1e-12 * length(direction(left, v))) {
        const double within = face_slack / half_way_ * length(direction(0, v)) / std::abs(per_column) * 2;
        begin = std::max(begin, std::ceil(-first / per_column - within));
        end = std::min(end, std::floor(-first / per_column + within));
      } else if (!along(left, v)) {
        continue;
      }
      if (begin > end) continue;
      const double a = at(left + begin, v), b = at(left + end, v);
      const bool same = std::abs(b - a) < face_slack;
      if (same ? in_face(a) || in_face(b) : std::max(a, b) > -face_slack && std::min(a, b) < faces_ + face_slack) {
        if (same || end - begin < 1) return true;
        for (double n = begin; n <= end; ++n)
          if (along(left + n, v) && in_face(at(left + n, v))) return true;
      }
    }
    return false;
  }

 private:
  Vector3 vector(int first, double u, double v) const {
    Vector3 out;
    for (int n = 0; n < 3; ++n)
      out[n] = static_cast<double>(rays_[first + n]) + u * rays_[first + 6 + n] + v * rays_[first + 12 + n];
    return out;
  }
  Vector3 direction(double u, double v) const {
    Vector3 d = vector(0, u, v);
    if (fan_stack_) d[2] = 0;
    return d;
  }
  /// True if the ray does not move across the axis.
  bool along(double u, double v) const {
    const Vector3 d = direction(u, v);
    return std::abs(d[axis_]) * half_way_ < face_slack * length(d);
  }
  /// Coordinate of the ray's point nearest to the volume's middle, from the first face.
  double at(double u, double v) const {
    const Vector3 d = direction(u, v);
    if (fan_stack_ && axis_ == 2) return vector(0, u, v)[2] + 0.5 * faces_;
    return cross(d, vector(3, u, v))[axis_] / dot(d, d) + 0.5 * faces_;
  }
  bool in_face(double at) const {
    const double face = std::round(at);
    return std::abs(at - face) < face_slack && face >= 0 && face <= faces_;
  }

  const float* rays_;
  bool fan_stack_;
  int axis_;
  double faces_, half_way_, columns_, rows_;
};

}  // namespace

bool may_run_in_faces(const RayTable& table, const Grid& volume, const Grid& projections) {
  if (!table.arcs.empty()) return true;
  for (std::size_t at = 0; at < table.rays.size(); at += 18)
    for (int axis = 0; axis < 3; ++axis)
      if (ViewAcross(&table.rays[at], table.fan_stack, volume, projections, axis).any_in_face()) return true;
  return false;
}

}  // namespace halocline

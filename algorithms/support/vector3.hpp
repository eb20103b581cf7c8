// Arithmetic on positions and directions in three dimensions.
#pragma once

#include <array>
#include <cmath>

namespace halocline {

using Vector3 = std::array<double, 3>;

inline double dot(const Vector3& a, const Vector3& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
inline Vector3 cross(const Vector3& a, const Vector3& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}
inline double length(const Vector3& a) {
  return std::hypot(a[0], a[1], a[2]);
}
/// a + s b
inline Vector3 add_scaled(const Vector3& a, double s, const Vector3& b) {
  return {a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]};
}
inline Vector3 scaled(double s, const Vector3& a) {
  return {s * a[0], s * a[1], s * a[2]};
}

}  // namespace halocline

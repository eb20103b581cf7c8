#include "algorithms/projectors/mirrored_rows.hpp"

#include <algorithm>
#include <cmath>

#include "algorithms/geometry/turned_views.hpp"

namespace halocline {
namespace {

// The matrix of the mirrored volume, and that of the mirrored detector: (v', w) = (sum - v, w).
Matrix34 with_z_mirrored(Matrix34 m) {
  for (const int element : {2, 6, 10}) m[element] = -m[element];
  return m;
}
Matrix34 with_rows_mirrored(Matrix34 m, double sum) {
  for (int column = 0; column < 4; ++column) m[4 + column] = sum * m[8 + column] - m[4 + column];
  return m;
}

}  // namespace

int MirroredRows::pairs(std::size_t rows) const {
  return std::max(static_cast<int>(rows) - 1, sum) - sum / 2 + 1;
}

std::optional<MirroredRows> mirrored_rows(const std::vector<Matrix34>& matrices, const std::array<std::size_t, 3>& size,
                                          std::size_t rows) {
  if (matrices.empty()) return std::nullopt;
  const Matrix34& first = matrices.front();
  const double sum = std::round(2 * first[7] / first[11]), upwards = first[6];
  const bool meets = first[11] > 0 && sum >= 0 && sum <= 2 * (static_cast<double>(rows) - 1);
  const bool mirrored = meets && std::all_of(matrices.begin(), matrices.end(), [&](const Matrix34& m) {
                          return m[6] * upwards > 0 && agree(with_z_mirrored(m), with_rows_mirrored(m, sum), size);
                        });
  if (!mirrored) return std::nullopt;
  return MirroredRows{static_cast<int>(sum), upwards > 0};
}

}  // namespace halocline

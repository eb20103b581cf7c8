#include "algorithms/metrics/metrics.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "algorithms/support/parallel_slices.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

// First pass over both images.
struct Sums {
  double image = 0, reference = 0, squares = 0, difference = 0, largest = 0;
  double minimum = HUGE_VAL, maximum = -HUGE_VAL;  // range of the reference
};

Sums sums_of(const Volume& image, const Volume& reference) {
  const std::size_t slice = image.grid.slice(), slices = image.grid.size[2];
  std::vector<Sums> parts(slices);
  parallel_slices(slices, [&](std::size_t k) {
    Sums sums;
    for (std::size_t n = k * slice; n < (k + 1) * slice; ++n) {
      const double a = image.voxels[n], b = reference.voxels[n], d = a - b;
      sums.image += a;
      sums.reference += b;
      sums.difference += d;
      sums.squares += d * d;
      sums.largest = std::max(sums.largest, std::abs(d));
      sums.minimum = std::min(sums.minimum, b);
      sums.maximum = std::max(sums.maximum, b);
    }
    parts[k] = sums;
  });
  Sums all;
  for (const Sums& part : parts) {
    all.image += part.image;
    all.reference += part.reference;
    all.difference += part.difference;
    all.squares += part.squares;
    all.largest = std::max(all.largest, part.largest);
    all.minimum = std::min(all.minimum, part.minimum);
    all.maximum = std::max(all.maximum, part.maximum);
  }
  return all;
}

// Second pass, about the means: no cancellation.
double correlation_of(const Volume& image, const Volume& reference, const Sums& sums) {
  struct Moments {
    double aa = 0, bb = 0, ab = 0;
  };
  const std::size_t slice = image.grid.slice(), slices = image.grid.size[2];
  const auto count = static_cast<double>(image.voxels.size());
  const double mean_a = sums.image / count, mean_b = sums.reference / count;
  std::vector<Moments> parts(slices);
  parallel_slices(slices, [&](std::size_t k) {
    Moments moments;
    for (std::size_t n = k * slice; n < (k + 1) * slice; ++n) {
      const double a = image.voxels[n] - mean_a, b = reference.voxels[n] - mean_b;
      moments.aa += a * a;
      moments.bb += b * b;
      moments.ab += a * b;
    }
    parts[k] = moments;
  });
  Moments all;
  for (const Moments& part : parts) {
    all.aa += part.aa;
    all.bb += part.bb;
    all.ab += part.ab;
  }
  return all.aa > 0 && all.bb > 0 ? all.ab / std::sqrt(all.aa) / std::sqrt(all.bb) : nan;
}

constexpr int window_radius = 5, taps_of_window = 2 * window_radius + 1;

// The window at each output position along one axis.
struct AxisWindow {
  struct Taps {
    std::size_t first = 0;  // input index of the first weight
    int count = 0;
    std::array<double, taps_of_window> weights{};
  };
  std::vector<Taps> positions;

  explicit AxisWindow(std::size_t size) {
    const bool fits = size >= taps_of_window;
    const std::size_t begin = fits ? window_radius : 0, end = fits ? size - window_radius : size;
    for (std::size_t centre = begin; centre < end; ++centre) {
      Taps taps;
      taps.first = centre < window_radius ? 0 : centre - window_radius;
      const std::size_t last = std::min(size - 1, centre + window_radius);
      taps.count = static_cast<int>(last - taps.first + 1);
      double sum = 0;
      for (int t = 0; t < taps.count; ++t) {
        const double away = static_cast<double>(taps.first) + t - static_cast<double>(centre);
        sum += taps.weights[t] = std::exp(-0.5 * away * away / (1.5 * 1.5));
      }
      for (int t = 0; t < taps.count; ++t) taps.weights[t] /= sum;
      positions.push_back(taps);
    }
  }
};

// Weighted means of a, b, aa, bb and ab along one row.
using Rows = std::array<std::vector<double>, 5>;

// The sum of SSIM over one output slice. Filters along z, then x, row by row, into a ring of 11 rows, then along y: the
// memory is some rows, whatever the volume is. `shift` is subtracted first, so that the moments do not cancel.
class SimilarityOfSlice {
 public:
  SimilarityOfSlice(const Volume& image, const Volume& reference, const std::array<AxisWindow, 3>& windows,
                    double shift, double range)
      : image_(image), reference_(reference), windows_(windows), shift_(shift) {
    c1_ = 0.01 * range * 0.01 * range;
    c2_ = 0.03 * range * 0.03 * range;
  }

  double operator()(std::size_t position) const {
    const auto& along_y = windows_[1].positions;
    const std::size_t columns = windows_[0].positions.size();
    Rows along_z;
    for (auto& row : along_z) row.resize(image_.grid.size[0]);
    std::array<Rows, taps_of_window> ring;
    for (auto& rows : ring)
      for (auto& row : rows) row.resize(columns);
    Rows means;
    for (auto& row : means) row.resize(columns);
    std::size_t filled = 0;  // input rows in the ring so far
    double sum = 0;
    for (const auto& taps : along_y) {
      for (; filled < taps.first + static_cast<std::size_t>(taps.count); ++filled) {
        filter_z(windows_[2].positions[position], filled, along_z);
        filter_x(along_z, ring[filled % ring.size()]);
      }
      for (int m = 0; m < 5; ++m) {
        std::fill(means[m].begin(), means[m].end(), 0.0);
        for (int t = 0; t < taps.count; ++t)
          add_scaled(taps.weights[t], ring[(taps.first + static_cast<std::size_t>(t)) % ring.size()][m].data(),
                     means[m]);
      }
      for (std::size_t i = 0; i < columns; ++i)
        sum += similarity({means[0][i], means[1][i], means[2][i], means[3][i], means[4][i]});
    }
    return sum;
  }

 private:
  void filter_z(const AxisWindow::Taps& taps, std::size_t row, Rows& out) const {
    const std::size_t width = image_.grid.size[0];
    for (auto& values : out) std::fill(values.begin(), values.end(), 0.0);
    for (int t = 0; t < taps.count; ++t) {
      const double weight = taps.weights[t];
      const std::size_t start = (taps.first + static_cast<std::size_t>(t)) * image_.grid.slice() + row * width;
      const float *from_a = image_.voxels.data() + start, *from_b = reference_.voxels.data() + start;
      for (std::size_t i = 0; i < width; ++i) {
        const double a = from_a[i] - shift_, b = from_b[i] - shift_;
        out[0][i] += weight * a;
        out[1][i] += weight * b;
        out[2][i] += weight * (a * a);
        out[3][i] += weight * (b * b);
        out[4][i] += weight * (a * b);
      }
    }
  }

  void filter_x(const Rows& in, Rows& out) const {
    const auto& along_x = windows_[0].positions;
    for (int m = 0; m < 5; ++m) {
      std::fill(out[m].begin(), out[m].end(), 0.0);
      if (image_.grid.size[0] >=
          taps_of_window) {  // the weights are the same everywhere: loops over whole rows vectorise
        for (int t = 0; t < taps_of_window; ++t) add_scaled(along_x[0].weights[t], in[m].data() + t, out[m]);
      } else {
        for (std::size_t i = 0; i < along_x.size(); ++i)
          for (int t = 0; t < along_x[i].count; ++t)
            out[m][i] += along_x[i].weights[t] * in[m][along_x[i].first + static_cast<std::size_t>(t)];
      }
    }
  }

  static void add_scaled(double weight, const double* from, std::vector<double>& to) {
    double* const out = to.data();
    const std::size_t count = to.size();
    for (std::size_t i = 0; i < count; ++i) out[i] += weight * from[i];
  }

  double similarity(const std::array<double, 5>& mean) const {
    const double variance_a = mean[2] - mean[0] * mean[0], variance_b = mean[3] - mean[1] * mean[1];
    const double covariance = mean[4] - mean[0] * mean[1];
    const double a = mean[0] + shift_, b = mean[1] + shift_;
    return (2 * a * b + c1_) * (2 * covariance + c2_) / ((a * a + b * b + c1_) * (variance_a + variance_b + c2_));
  }

  const Volume& image_;
  const Volume& reference_;
  const std::array<AxisWindow, 3>& windows_;
  double shift_, c1_ = 0, c2_ = 0;
};

double ssim_of(const Volume& image, const Volume& reference, const Sums& sums) {
  const double range = sums.maximum - sums.minimum;
  if (!(range > 0)) return nan;
  const auto& size = image.grid.size;
  const std::array<AxisWindow, 3> windows{AxisWindow(size[0]), AxisWindow(size[1]), AxisWindow(size[2])};
  const double shift = sums.reference / static_cast<double>(image.voxels.size());
  const SimilarityOfSlice slice(image, reference, windows, shift, range);
  std::vector<double> parts(windows[2].positions.size());
  parallel_slices(parts.size(), [&](std::size_t k) { parts[k] = slice(k); });
  double sum = 0;
  for (const double part : parts) sum += part;
  return sum / static_cast<double>(windows[0].positions.size() * windows[1].positions.size() * parts.size());
}

double ratio_to_noise(double above, double below) {
  if (below > 0) return above / below;
  return above == 0 ? nan : std::copysign(HUGE_VAL, above);
}

}  // namespace

Box make_box(const std::array<long long, 6>& numbers, const Grid& grid, const std::string& name) {
  Box box;
  for (int a = 0; a < 3; ++a) {
    const long long lower = numbers[a], upper = numbers[a + 3];
    if (lower < 0 || upper <= lower || upper > static_cast<long long>(grid.size[a]))
      throw InputError(
          fmt::format("{} {}: the box runs from {} to {} along axis {}; expected 0 <= lower < upper <= {} (X0,Y0,Z0,"
                      "X1,Y1,Z1 are voxel indices, and X1,Y1,Z1 are the first ones outside)",
                      name, fmt::join(numbers, ","), lower, upper, "xyz"[a], grid.size[a]));
    box.lower[a] = static_cast<std::size_t>(lower);
    box.upper[a] = static_cast<std::size_t>(upper);
  }
  return box;
}

void check_box(const Box& box, const Grid& grid, const std::string& name) {
  std::array<long long, 6> numbers{};
  for (int a = 0; a < 3; ++a) {
    numbers[a] = static_cast<long long>(box.lower[a]);
    numbers[a + 3] = static_cast<long long>(box.upper[a]);
  }
  make_box(numbers, grid, name);
}

BoxStatistics box_statistics(const Volume& volume, const Box& box) {
  check_box(box, volume.grid, "box");
  BoxStatistics out;
  out.count = box.count();
  out.minimum = HUGE_VAL;
  out.maximum = -HUGE_VAL;
  const auto each = [&](const auto& action) {
    double all = 0;
    for (std::size_t k = box.lower[2]; k < box.upper[2]; ++k) {
      double slice = 0;
      for (std::size_t j = box.lower[1]; j < box.upper[1]; ++j)
        for (std::size_t i = box.lower[0]; i < box.upper[0]; ++i)
          slice += action(static_cast<double>(volume.at(i, j, k)));
      all += slice;
    }
    return all;
  };
  const auto count = static_cast<double>(out.count);
  out.mean = each([&](double value) {
               out.minimum = std::min(out.minimum, value);
               out.maximum = std::max(out.maximum, value);
               return value;
             }) /
             count;
  const double squares = each([&](double value) { return (value - out.mean) * (value - out.mean); });
  // a constant box has no deviation, though its mean may be rounded
  out.deviation = out.count > 1 && out.minimum < out.maximum ? std::sqrt(squares / (count - 1)) : 0;
  out.snr = ratio_to_noise(out.mean, out.deviation);
  return out;
}

double contrast_to_noise(const BoxStatistics& a, const BoxStatistics& b) {
  const double noise = std::sqrt((a.deviation * a.deviation + b.deviation * b.deviation) / 2);
  return ratio_to_noise(std::abs(a.mean - b.mean), noise);
}

double peak_signal_to_noise(double peak, double mse) {
  if (!(peak > 0)) return nan;
  return mse == 0 ? HUGE_VAL : 10 * std::log10(peak * peak / mse);
}

Comparison compare_images(const Volume& image, const Volume& reference, const std::string& image_name,
                          const std::string& reference_name) {
  require_same_grid(image.grid, image_name, reference.grid, reference_name);
  const Sums sums = sums_of(image, reference);
  const auto count = static_cast<double>(image.voxels.size());
  Comparison out;
  out.mse = sums.squares / count;
  out.rmse = std::sqrt(out.mse);
  out.psnr = peak_signal_to_noise(sums.maximum, out.mse);
  out.ssim = ssim_of(image, reference, sums);
  out.correlation = correlation_of(image, reference, sums);
  out.mean_difference = sums.difference / count;
  out.largest_difference = sums.largest;
  return out;
}

}  // namespace halocline

#include "algorithms/double_wedge.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <optional>

#include "algorithms/fourier.hpp"
#include "algorithms/opposite_views.hpp"
#include "algorithms/parallel_slices.hpp"
#include "algorithms/rings.hpp"
#include "host/error.hpp"
#include "host/interrupt.hpp"

namespace halocline {
namespace {

using Complex = std::complex<double>;

constexpr double pi = std::numbers::pi;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::size_t most_rows = 16;
constexpr std::size_t views_a_side = 12;
constexpr std::size_t most_views_for_rings = 360;
constexpr int ring_width = 2;
constexpr double reach = 1.5;          // R, in widths of the detector
constexpr double least_noise = 1e-3;   // of the power at a frequency: no model is better
constexpr double least_signal = 0.05;  // of the noise
constexpr double narrowest = 0.1;      // half of what both ends see, in widths of the detector
constexpr double step = 0.25;          // columns

struct SeamView {
  std::size_t view;
  double angle;  // from the seam, radians, as if mirrored views went before the first
  bool mirrored;
  double axis;  // the column on which the geometry has it
};

/// The angle after the largest gap, radians.
double arc_start(const Geometry& geometry) {
  std::vector<double> angles;
  for (const View& view : geometry.views) {
    const double angle = std::fmod(view.gantry_angle, 360.0);
    angles.push_back(angle < 0 ? angle + 360 : angle);
  }
  std::sort(angles.begin(), angles.end());
  double start = angles.front(), widest = angles.front() + 360 - angles.back();
  for (std::size_t n = 0; n + 1 < angles.size(); ++n)
    if (angles[n + 1] - angles[n] > widest) {
      widest = angles[n + 1] - angles[n];
      start = angles[n + 1];
    }
  return start;
}

/// Those nearest to where the first view and the mirrored last one meet.
std::vector<SeamView> seam_views(const Geometry& geometry, const Grid& grid) {
  const double start = arc_start(geometry);
  std::array<std::vector<SeamView>, 2> sides;
  for (std::size_t n = 0; n < geometry.views.size(); ++n) {
    const View& view = geometry.views[n];
    const double from_start = view.gantry_angle - start;
    const double angle = std::remainder(from_start, 180.0);
    const bool mirrored = std::lround((from_start - angle) / 180) % 2 != 0;
    const double axis = (-view.projection_offset_x - grid.origin[0]) / grid.spacing[0];
    sides[mirrored].push_back({n, angle * pi / 180, mirrored, axis});
  }
  std::vector<SeamView> out;
  for (auto& side : sides) {
    const std::size_t count = std::min({sides[0].size(), sides[1].size(), views_a_side});
    std::sort(side.begin(), side.end(),
              [](const SeamView& a, const SeamView& b) { return std::abs(a.angle) < std::abs(b.angle); });
    out.insert(out.end(), side.begin(), side.begin() + static_cast<std::ptrdiff_t>(count));
  }
  return out;
}

/// Rows of the views beside the seam, without constant offsets of columns: [(row * views + view) * columns].
struct SeamRows {
  std::vector<SeamView> views;
  std::size_t columns, rows;
  std::vector<float> values;

  SeamRows(const Volume& projections, const Geometry& geometry)
      : views(seam_views(geometry, projections.grid)), columns(projections.grid.size[0]) {
    const auto taken = spread(projections.grid.size[1], most_rows);
    rows = taken.size();
    values.resize(rows * views.size() * columns);
    parallel_slices(rows, [&](std::size_t r) {
      const auto offsets = offsets_of(projections, taken[r]);
      for (std::size_t n = 0; n < views.size(); ++n)
        for (std::size_t i = 0; i < columns; ++i)
          values[(r * views.size() + n) * columns + i] = projections.at(i, taken[r], views[n].view) - offsets[i];
    });
  }

 private:
  static std::vector<float> offsets_of(const Volume& projections, std::size_t row) {
    const std::size_t columns = projections.grid.size[0];
    const auto taken = spread(projections.grid.size[2], most_views_for_rings);
    if (taken.size() < fewest_views_for_rings) return std::vector<float>(columns, 0);
    std::vector<float> lines;
    for (const std::size_t view : taken)
      for (std::size_t i = 0; i < columns; ++i) lines.push_back(projections.at(i, row, view));
    return ring_offsets(lines, columns, taken.size(), ring_width);
  }
};

/// y of A y = b, with A symmetric and positive definite (rows of count; its lower triangle becomes Cholesky's factor).
class CholeskyFactor {
 public:
  CholeskyFactor(std::vector<double> matrix, std::size_t count) : a_(std::move(matrix)), count_(count) {
    for (std::size_t i = 0; i < count_; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = a_[i * count_ + j];
        for (std::size_t k = 0; k < j; ++k) sum -= a_[i * count_ + k] * a_[j * count_ + k];
        a_[i * count_ + j] = i == j ? std::sqrt(sum) : sum / a_[j * count_ + j];
      }
  }
  void solve(std::vector<Complex>& b) const {
    for (std::size_t i = 0; i < count_; ++i) {
      for (std::size_t k = 0; k < i; ++k) b[i] -= a_[i * count_ + k] * b[k];
      b[i] /= a_[i * count_ + i];
    }
    for (std::size_t i = count_; i-- > 0;) {
      for (std::size_t k = i + 1; k < count_; ++k) b[i] -= a_[k * count_ + i] * b[k];
      b[i] /= a_[i * count_ + i];
    }
  }

 private:
  std::vector<double> a_;
  std::size_t count_;
};

/// Of a point in a disc that is seen under two angles.
double wedge_correlation(double x) {
  return std::abs(x) < 1e-6 ? 1 : 2 * j1(x) / x;
}

/// The logarithm of the likelihood that the axis lies `shift` columns from the geometry's, but for a constant:
/// sum over frequencies w of Re(terms exp(4 pi i w (shift - centre))). Rows are tapered about the axis at `centre`.
class Likelihood {
 public:
  Likelihood(const SeamRows& rows, double centre, double half) : rows_(rows), centre_(centre), half_(half) {
    length_ = 1;
    while (static_cast<double>(length_) < 3 * half) length_ *= 2;
    transform();
    const std::size_t count = length_ / 2 + 1;
    std::vector<double> power(count, 0.0);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t line = 0; line < lines_.size(); ++line) power[i] += std::norm(lines_[line][i]);
      power[i] /= static_cast<double>(lines_.size());
    }
    double noise = 0;  // that of the highest fifth
    const std::size_t high = 2 * length_ / 5;
    for (std::size_t i = high; i < count; ++i) noise += power[i] / static_cast<double>(count - high);
    terms_.assign(count, 0.0);
    // the first two waves of the window are the taper's
    const auto first = static_cast<std::size_t>(static_cast<double>(length_) / half);
    parallel_slices(count - 1 - std::min(first, count - 1), [&](std::size_t n) {
      const std::size_t i = first + n;
      double smooth = 0;
      for (std::size_t k = i - 2; k <= i + 2; ++k) smooth += k < count ? power[k] / 5 : 0;
      if (smooth - noise > least_signal * noise)
        terms_[i] = term(i, smooth - noise, std::max(noise, least_noise * smooth));
    });
  }

  double at(double shift) const {
    double sum = 0;
    for (std::size_t i = 1; i < terms_.size(); ++i)
      if (terms_[i] != 0.0) sum += std::real(turned(i, shift));
    return sum;
  }
  /// Slope and minus the curvature at `shift`, and the variance of the slope from the scatter of its terms.
  struct Shape {
    double slope = 0, curvature = 0, scatter = 0;
  };
  Shape shape(double shift) const {
    constexpr std::size_t block = 4;  // neighbours share what the taper spreads
    Shape out;
    double together = 0;
    for (std::size_t i = 1; i < terms_.size(); ++i) {
      const Complex value = turned(i, shift);
      const double rate = 4 * pi * frequency(i);
      out.slope -= rate * value.imag();
      out.curvature += rate * rate * value.real();
      together -= rate * value.imag();
      if (i % block != 0 && i + 1 != terms_.size()) continue;
      out.scatter += together * together;
      together = 0;
    }
    return out;
  }
  /// How far it stands out of what terms without any order would add up to.
  double order(double shift) const {
    double squares = 0;
    for (const Complex& term : terms_) squares += std::norm(term);
    return squares > 0 ? at(shift) / std::sqrt(0.5 * squares) : 0;
  }

 private:
  double frequency(std::size_t i) const { return static_cast<double>(i) / static_cast<double>(length_); }
  Complex turned(std::size_t i, double shift) const {
    return terms_[i] * std::polar(1.0, 4 * pi * frequency(i) * (shift - centre_));
  }

  /// lines_: the tapered lines' spectra, with the axis as origin; conjugated where mirrored.
  void transform() {
    lines_.resize(rows_.rows * rows_.views.size());
    double squares = 0, fourths = 0;
    for (double x = -std::floor(half_); x <= half_; ++x) {
      const double taper = weight(x);
      squares += taper * taper;
      fourths += taper * taper * taper * taper;
    }
    independent_ = squares * squares / fourths / static_cast<double>(length_);
    parallel_slices(lines_.size(), [&](std::size_t line) {
      const SeamView& view = rows_.views[line % rows_.views.size()];
      const float* values = rows_.values.data() + line * rows_.columns;
      const double axis = view.axis + centre_;
      const auto first = static_cast<std::size_t>(std::max(0.0, std::ceil(axis - half_)));
      const std::size_t end = std::min(rows_.columns, static_cast<std::size_t>(std::floor(axis + half_)) + 1);
      double sum = 0, weights = 0;
      for (std::size_t i = first; i < end; ++i) {
        sum += weight(static_cast<double>(i) - axis) * values[i];
        weights += weight(static_cast<double>(i) - axis);
      }
      std::vector<Complex> spectrum(length_);
      for (std::size_t i = first; i < end; ++i)
        spectrum[i - first] = weight(static_cast<double>(i) - axis) * (values[i] - sum / weights);
      fourier_transform(spectrum);
      spectrum.resize(length_ / 2 + 1);
      for (std::size_t i = 0; i < spectrum.size(); ++i) {
        spectrum[i] *= std::polar(1.0, -2 * pi * frequency(i) * (static_cast<double>(first) - axis));
        if (view.mirrored) spectrum[i] = std::conj(spectrum[i]);
      }
      lines_[line] = std::move(spectrum);
    });
  }
  double weight(double from_axis) const {
    const double c = std::cos(pi * from_axis / (2 * half_ + 2));
    return c * c;
  }

  /// -2 b^H (C^-1) a, of the direct views a and the mirrored b: what depends on the axis in -z^H C^-1 z of all.
  Complex term(std::size_t i, double signal, double noise) const {
    const auto& views = rows_.views;
    const std::size_t count = views.size();
    const double rate = 2 * pi * frequency(i) * reach * static_cast<double>(rows_.columns);
    std::vector<double> covariance(count * count);
    for (std::size_t n = 0; n < count; ++n)
      for (std::size_t m = 0; m <= n; ++m)
        covariance[n * count + m] =
            signal * wedge_correlation(rate * (views[n].angle - views[m].angle)) + (n == m ? noise : 0);
    const CholeskyFactor factor(std::move(covariance), count);
    Complex sum = 0;
    for (std::size_t row = 0; row < rows_.rows; ++row) {
      std::vector<Complex> direct(count);
      for (std::size_t n = 0; n < count; ++n)
        if (!views[n].mirrored) direct[n] = lines_[row * count + n][i];
      factor.solve(direct);
      for (std::size_t n = 0; n < count; ++n)
        if (views[n].mirrored) sum -= 2.0 * std::conj(lines_[row * count + n][i]) * direct[n];
    }
    return sum * independent_;
  }

  const SeamRows& rows_;
  double centre_, half_;
  std::size_t length_;
  double independent_ = 1;  // share of the frequencies that tell something new
  std::vector<std::vector<Complex>> lines_;
  std::vector<Complex> terms_;
};

struct Found {
  double shift, uncertainty, order;  // columns; order: Likelihood::order
};

/// The best shift from `low` to `high`, with rows tapered about it; they are cut about `centre` at first.
std::optional<Found> look_about(const SeamRows& rows, double centre, double low, double high) {
  constexpr int most_rounds = 6;
  constexpr double near = 10, close = 0.03;  // columns
  std::optional<Found> found;
  for (int round = 0; round < most_rounds; ++round) {
    check_interrupt();
    double half = infinity;
    for (const SeamView& view : rows.views) {
      const double axis = view.axis + centre;
      half = std::min({half, axis, static_cast<double>(rows.columns) - 1 - axis});
    }
    if (half < std::max(8.0, narrowest * static_cast<double>(rows.columns))) return found;
    const Likelihood likelihood(rows, centre, half);
    double best = low, most = -infinity;
    const auto steps = static_cast<int>(std::floor((high - low) / step + 1e-9));
    for (int n = 0; n <= steps; ++n)
      if (const double value = likelihood.at(low + n * step); value > most) {
        most = value;
        best = low + n * step;
      }
    auto shape = likelihood.shape(best);
    for (int n = 0; n < 3 && shape.curvature > 0; ++n) {  // Newton's steps
      best = std::clamp(best + std::clamp(shape.slope / shape.curvature, -step, step), low, high);
      shape = likelihood.shape(best);
    }
    const double own = shape.curvature > 0 ? 1 / std::sqrt(shape.curvature) : infinity,
                 scatter = shape.curvature > 0 ? std::sqrt(shape.scatter) / shape.curvature : infinity;
    found = Found{best, std::max(own, scatter), likelihood.order(best)};
    if (std::abs(best - centre) < close) break;
    centre = best;
    low = std::max(low, best - near);
    high = std::min(high, best + near);
  }
  return found;
}

}  // namespace

bool is_half_turn(const Geometry& geometry) {
  return geometry.parallel() && 2 * opposed_views(geometry).size() < geometry.views.size();
}

AxisEstimate axis_by_double_wedge(const Volume& projections, const Geometry& geometry, const AxisSearch& search) {
  check_axis_stack(projections.grid, geometry);
  if (!geometry.parallel())
    throw InputError("the double wedge of the sinogram tells the axis of a parallel beam only, and this one diverges");
  if (opposed_views(geometry).empty())
    throw InputError("no view has one opposite to it, so the ends of the scan do not go on into each other");
  if (projections.grid.size[0] < 16)
    throw InputError("the detector has less than 16 columns; the axis cannot be told from their frequencies");
  const SeamRows rows(projections, geometry);
  const double pixel = projections.grid.spacing[0], middle = search.centre / pixel, range = search.range / pixel;
  // what both ends see changes with the axis: looked at anew after each eighth of the detector
  const double part = 0.125 * static_cast<double>(rows.columns);
  const int parts = static_cast<int>(std::ceil(range / part - 0.5));
  std::optional<Found> best;
  for (int n = -parts; n <= parts; ++n) {
    const double centre = middle + n * part;
    const auto found = look_about(rows, centre, std::max(middle - range, centre - 0.6 * part),
                                  std::min(middle + range, centre + 0.6 * part));
    if (found && (!best || found->order > best->order)) best = found;
  }
  AxisEstimate out;
  out.shift = search.centre;
  out.uncertainty = infinity;
  if (!best) return out;
  out.shift = best->shift * pixel;
  out.uncertainty = best->uncertainty * pixel;
  out.at_end = std::abs(best->shift - middle) > range - 0.5 * step;
  return out;
}

double double_wedge_bytes(const Grid& projections) {
  const auto columns = static_cast<double>(projections.size[0]),
             rows = static_cast<double>(std::min(projections.size[1], most_rows));
  const double views = 2.0 * static_cast<double>(views_a_side),
               seen = static_cast<double>(std::min(projections.size[2], most_views_for_rings));
  // lines, their spectra, and what ring_offsets() takes of each row
  return rows * columns * (views * (sizeof(float) + 1.5 * sizeof(Complex)) + 2 * seen * sizeof(float));
}

}  // namespace halocline

#include "algorithms/alignment/seam_likelihood.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "algorithms/support/fourier.hpp"
#include "algorithms/support/parallel_slices.hpp"

namespace halocline {
namespace {

using Complex = std::complex<double>;

using std::numbers::pi;
constexpr double wedge_reach = 1.5;    // R, in widths of the detector
constexpr double least_noise = 1e-3;   // of the power at a frequency: no model is better
constexpr double least_signal = 0.05;  // of the noise

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

/// Correlation of a point in a disc that is seen under two angles.
double wedge_correlation(double x) {
  return std::abs(x) < 1e-6 ? 1 : 2 * j1(x) / x;
}

}  // namespace

SeamLikelihood::SeamLikelihood(const SeamRows& rows, double centre, double half)
    : rows_(rows), centre_(centre), half_(half) {
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

double SeamLikelihood::at(double shift) const {
  double sum = 0;
  for (std::size_t i = 1; i < terms_.size(); ++i)
    if (terms_[i] != 0.0) sum += std::real(turned(i, shift));
  return sum;
}

SeamLikelihood::Shape SeamLikelihood::shape(double shift) const {
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

double SeamLikelihood::order(double shift) const {
  double squares = 0;
  for (const Complex& term : terms_) squares += std::norm(term);
  return squares > 0 ? at(shift) / std::sqrt(0.5 * squares) : 0;
}

SeamLikelihood::Complex SeamLikelihood::turned(std::size_t i, double shift) const {
  return terms_[i] * std::polar(1.0, 4 * pi * frequency(i) * (shift - centre_));
}

void SeamLikelihood::transform() {
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

double SeamLikelihood::weight(double from_axis) const {
  const double c = std::cos(pi * from_axis / (2 * half_ + 2));
  return c * c;
}

SeamLikelihood::Complex SeamLikelihood::term(std::size_t i, double signal, double noise) const {
  const auto& views = rows_.views;
  const std::size_t count = views.size();
  const double rate = 2 * pi * frequency(i) * wedge_reach * static_cast<double>(rows_.columns);
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

}  // namespace halocline

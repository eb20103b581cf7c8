#include "algorithms/noise/noise.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "algorithms/support/parallel_slices.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr double largest_mean = 1e10;  // beyond it, the double-precision acceptance test below gets coarse
using std::numbers::pi;

// ln(k!) for whole k >= 0. std::lgamma writes a global variable and must not run in several threads.
double log_factorial(double k) {
  static constexpr std::array<double, 10> small{0,
                                                0,
                                                0.69314718055994530942,
                                                1.7917594692280550008,
                                                3.1780538303479456197,
                                                4.7874917427820459943,
                                                6.5792512120101009951,
                                                8.5251613610654143002,
                                                10.604602902745250228,
                                                12.801827480081469611};
  if (k < 10) return small[static_cast<std::size_t>(k)];
  // Stirling's series: the next term is below 1e-12 from k = 10 on
  const double r = 1 / k, rr = r * r;
  return (k + 0.5) * std::log(k) - k + 0.5 * std::log(2 * pi) +
         r * (1.0 / 12 - rr * (1.0 / 360 - rr * (1.0 / 1260 - rr * (1.0 / 1680 - rr / 1188))));
}

// Sums up the probabilities until they pass a uniform number.
double poisson_by_inversion(double mean, PhiloxStream& random) {
  double left = random.uniform(), probability = std::exp(-mean), k = 0;
  // far out, rounding may leave more than all probabilities together; 200 is beyond 1e-100 for means below 10
  while (left > probability && k < 200) {
    left -= probability;
    ++k;
    probability *= mean / k;
  }
  return k;
}

double poisson_by_rejection(double mean, PhiloxStream& random) {
  const double b = 0.931 + 2.53 * std::sqrt(mean), a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), squeeze = 0.9277 - 3.6224 / (b - 2);
  const double log_mean = std::log(mean);
  while (true) {
    const double u = random.uniform() - 0.5, v = random.uniform(), us = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= squeeze) return k;
    if (k < 0 || (us < 0.013 && v > us)) continue;
    if (std::log(v * inverse_alpha / (a / (us * us) + b)) <= k * log_mean - mean - log_factorial(k)) return k;
  }
}

}  // namespace

double poisson(double mean, PhiloxStream& random) {
  return mean < 10 ? poisson_by_inversion(mean, random) : poisson_by_rejection(mean, random);
}

double standard_normal(PhiloxStream& random) {
  const double radius = std::sqrt(-2 * std::log(random.uniform()));
  return radius * std::cos(2 * pi * random.uniform());
}

NoiseReport add_noise(Volume& projections, double photons, double electronic_sigma, std::uint64_t seed,
                      std::uint64_t first_pixel) {
  if (!(photons > 0 && photons <= largest_mean))
    throw InputError(
        fmt::format("photons per pixel: {}; expected more than 0 and at most {:g}", photons, largest_mean));
  if (!(electronic_sigma >= 0 && std::isfinite(electronic_sigma)))
    throw InputError(fmt::format("electronic noise: sigma {} counts; expected 0 or more", electronic_sigma));
  enum Purpose : std::uint32_t { quantum, electronic };  // apart, so that the quantum noise does not depend on sigma
  const std::size_t slice = projections.grid.slice(), slices = projections.grid.size[2];
  std::vector<std::size_t> nonpositive(slices, 0);
  parallel_slices(slices, [&](std::size_t view) {
    for (std::size_t n = view * slice; n < (view + 1) * slice; ++n) {
      float& p = projections.voxels[n];
      const double mean = photons * std::exp(-static_cast<double>(p));
      if (!(mean <= largest_mean))
        throw InputError(
            fmt::format("noise: the line integral {} of pixel {} in view {} would mean {:g} photons, more than "
                        "{:g}; the input must be line integrals (-ln of the transmission)",
                        p, n % slice, view, mean, largest_mean));
      PhiloxStream random(seed, first_pixel + n, quantum);
      double counts = poisson(mean, random);
      if (electronic_sigma > 0) {
        PhiloxStream more(seed, first_pixel + n, electronic);
        counts += electronic_sigma * standard_normal(more);
      }
      if (counts <= 0) {
        counts = 0.5;
        ++nonpositive[view];
      }
      p = static_cast<float>(-std::log(counts / photons));
    }
  });
  NoiseReport report;
  report.pixels = projections.voxels.size();
  for (const std::size_t count : nonpositive) report.nonpositive += count;
  return report;
}

}  // namespace halocline

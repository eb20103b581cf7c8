#include "algorithms/denoise/halves_streaks.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "algorithms/support/axis_filter.hpp"

namespace halocline {
namespace {

constexpr double fine_width = 0.7, coarse_width = 2;  // voxels
constexpr int most_rounds = 3;                        // more take what f has of coarse noise, too
constexpr double settled = 0.02;

using Bands = std::array<Volume, 3>;
using Levels = std::array<double, 3>;

Volume sum_of(const Volume& a, double factor, const Volume& b) {
  Volume out(a.grid);
  for (std::size_t n = 0; n < out.voxels.size(); ++n)
    out.voxels[n] = static_cast<float>(a.voxels[n] + factor * b.voxels[n]);
  return out;
}

Bands bands_of(const Volume& volume) {
  const Volume less_fine = gaussian_smoothed(volume, fine_width);
  Volume rest = gaussian_smoothed(volume, coarse_width);
  return {sum_of(volume, -1, less_fine), sum_of(less_fine, -1, rest), std::move(rest)};
}

double rms(const Volume& volume) {
  double sum = 0;
  for (const float value : volume.voxels) sum += static_cast<double>(value) * value;
  return std::sqrt(sum / static_cast<double>(volume.voxels.size()));
}

Levels levels_of(const Bands& bands) {
  return {rms(bands[0]), rms(bands[1]), rms(bands[2])};
}

// d less what is taken off its bands.
Volume mix(const Volume& d, const Bands& bands, const Levels& shares) {
  Volume out = d;
  for (std::size_t band = 0; band < bands.size(); ++band)
    if (shares[band] < 1) out = sum_of(out, shares[band] - 1, bands[band]);
  return out;
}

}  // namespace

Volume noise_without_streaks(const Volume& f, const Volume& d, double lambda, const Smoothing& smooth) {
  const Bands bands = bands_of(d);
  const double whole = rms(d);
  const auto lost = [&](const Volume& from, double at) {
    return levels_of(bands_of(sum_of(from, -1, smooth(from, at))));
  };
  Levels shares{1, 1, 1};
  Volume noise = d;
  for (int round = 0; round < most_rounds; ++round) {
    const double at = lambda * rms(noise) / whole;
    const Volume object = smooth(f, at);
    const Levels wanted = levels_of(bands_of(sum_of(f, -1, object)));
    const Levels up = lost(sum_of(object, 1, noise), at), down = lost(sum_of(object, -1, noise), at);
    double change = 0;
    for (std::size_t band = 0; band < bands.size(); ++band) {
      const double seen = 0.5 * (up[band] + down[band]);
      if (!(seen > 0)) continue;
      const double share = std::min(1.0, shares[band] * wanted[band] / seen);
      change = std::max(change, std::abs(share - shares[band]));
      shares[band] = share;
    }
    noise = mix(d, bands, shares);
    if (change < settled) break;
  }
  return noise;
}

}  // namespace halocline

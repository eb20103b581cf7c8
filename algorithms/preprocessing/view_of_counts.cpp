#include "algorithms/preprocessing/view_of_counts.hpp"

#include <algorithm>
#include <cmath>

#include "algorithms/preprocessing/flat_fields.hpp"

namespace halocline {
namespace {

constexpr double clear_light = 20;    // floors
constexpr double clear_of_noise = 3;  // darkest signals, where the dark field's noise makes them
constexpr double far_below = 10;      // floors, below the dark field
constexpr double above_beam = 1.05;   // of saturated ones
constexpr double brighter = 2;        // than the beam, and than its surroundings
constexpr double least_share = 0.5;   // of the light around, of pixels that see light
constexpr double most_seeing = 0.9;   // of a group that sees light
constexpr double noise_levels = 4;    // standard deviations
constexpr double most_noise = 0.01;   // of the beam
constexpr std::ptrdiff_t most_dropped = 4;

/// Least value that sees light clearly: as many standard deviations of photons above the darkest signal as 20 floors
/// are above one, where a floor is half a photon.
double clear_signal(double floor, double darkest) {
  if (darkest <= floor) return clear_light * floor;
  const double root = std::sqrt(darkest) + (std::sqrt(clear_light) - 1) * std::sqrt(floor);
  return std::max(root * root, clear_of_noise * darkest);
}

}  // namespace

double darkest_signal(const CountsCalibration& calibration) {
  if (!(calibration.dark_noise > 0)) return calibration.floor;
  std::vector<double> open;
  for (const auto& pixel : calibration.pixels) open.push_back(pixel.open);
  const double noise = std::min<double>(calibration.dark_noise, most_noise * median_of(open));
  return std::max<double>(calibration.floor, noise_levels * noise);
}

ViewOfCounts::ViewOfCounts(const VolumeSource& counts, const CountsCalibration& calibration,
                           const std::vector<char>& bad, float saturation, double darkest, std::size_t view)
    : calibration_(calibration),
      columns_(static_cast<std::ptrdiff_t>(calibration.size[0])),
      rows_(static_cast<std::ptrdiff_t>(calibration.size[1])),
      signal_(calibration.size[0] * calibration.size[1]),
      of_beam_(signal_.size()),
      kinds_(signal_.size()),
      beam_(calibration.beams[view]),
      darkest_(darkest),
      clear_(clear_signal(calibration.floor, darkest)) {
  counts.read(view * signal_.size(), signal_.size(), signal_.data());
  for (std::size_t n = 0; n < signal_.size(); ++n) {
    const auto& [dark, open] = calibration.pixels[n];
    kinds_[n] = kind_of(n, bad[n] != 0, signal_[n] >= saturation);
    signal_[n] -= dark;
    of_beam_[n] = static_cast<float>(std::max<double>(signal_[n], darkest_) / (open * beam_));
  }
}

CountKind ViewOfCounts::kind_of(std::size_t n, bool bad, bool saturated) const {
  if (bad) return CountKind::bad;
  if (!std::isfinite(signal_[n])) return CountKind::lost;
  const auto& [dark, open] = calibration_.pixels[n];
  const double signal = static_cast<double>(signal_[n]) - dark;
  const double floor = calibration_.floor;
  if (dark > 2 * far_below * floor && signal_[n] < dark / 2 && signal < -std::max(far_below * floor, 2 * darkest_))
    return CountKind::lost;
  if (signal < darkest_) return CountKind::low;
  const double of_beam = signal / (open * beam_);
  return of_beam > brighter || (saturated && of_beam > above_beam) ? CountKind::bright : CountKind::measured;
}

std::vector<std::uint32_t> ViewOfCounts::lost() const {
  std::vector<std::uint32_t> found;
  for (std::size_t n = 0; n < kinds_.size(); ++n)
    if (kinds_[n] == CountKind::lost) found.push_back(static_cast<std::uint32_t>(n));
  return found;
}

bool ViewOfCounts::lost_a_part(std::size_t most) const {
  std::vector<char> seen(kinds_.size(), 0);
  for (const std::uint32_t pixel : lost()) {
    if (seen[pixel] != 0) continue;
    const CountGroup group = group_from(pixel, seen);
    if (group.pixels.size() > most && !crosses(group)) return true;
  }
  return false;
}

std::vector<CountGroup> ViewOfCounts::groups() const {
  std::vector<CountGroup> found;
  std::vector<char> seen(kinds_.size(), 0);
  for (std::size_t n = 0; n < kinds_.size(); ++n) {
    if (seen[n] != 0 || (kinds_[n] != CountKind::low && kinds_[n] != CountKind::bright)) continue;
    CountGroup group = group_from(static_cast<std::uint32_t>(n), seen);
    group.stands_out = stands_out(group);
    found.push_back(std::move(group));
  }
  return found;
}

bool ViewOfCounts::crosses(const CountGroup& group) const {
  const std::ptrdiff_t wide = group.right - group.left + 1, high = group.bottom - group.top + 1;
  const auto pixels = static_cast<std::ptrdiff_t>(group.pixels.size());
  return (wide == columns_ && high <= most_dropped && rows_ > most_dropped && pixels <= 2 * columns_) ||
         (high == rows_ && wide <= most_dropped && rows_ > most_dropped && columns_ > most_dropped &&
          pixels <= 2 * rows_);
}

bool ViewOfCounts::see_light(const std::vector<std::uint32_t>& pixels) const {
  std::vector<double> own, beside;
  for (const std::uint32_t pixel : pixels) {
    if (kinds_[pixel] == CountKind::measured && signal_[pixel] >= clear_) own.push_back(of_beam_[pixel]);
    around(pixel, 1, [&](std::uint32_t next) {
      if (kinds_[next] == CountKind::measured && !std::binary_search(pixels.begin(), pixels.end(), next))
        beside.push_back(of_beam_[next]);
    });
  }
  return static_cast<double>(own.size()) >= most_seeing * static_cast<double>(pixels.size()) &&
         median_of(own) >= least_share * median_of(beside);
}

CountGroup ViewOfCounts::group_from(std::uint32_t first, std::vector<char>& seen) const {
  CountGroup group{kinds_[first], {first}, columns_, -1, rows_, -1};
  seen[first] = 1;
  for (std::size_t n = 0; n < group.pixels.size(); ++n) {
    const std::uint32_t pixel = group.pixels[n];
    const auto column = static_cast<std::ptrdiff_t>(pixel) % columns_,
               row = static_cast<std::ptrdiff_t>(pixel) / columns_;
    group.left = std::min(group.left, column), group.right = std::max(group.right, column);
    group.top = std::min(group.top, row), group.bottom = std::max(group.bottom, row);
    around(pixel, 1, [&](std::uint32_t next) {
      if (seen[next] != 0 || kinds_[next] != group.kind) return;
      seen[next] = 1;
      group.pixels.push_back(next);
    });
  }
  return group;
}

bool ViewOfCounts::stands_out(const CountGroup& group) const {
  std::vector<double> signals;
  float least = INFINITY, most = 0;
  for (const std::uint32_t pixel : group.pixels) {
    least = std::min(least, of_beam_[pixel]);
    around(pixel, 1, [&](std::uint32_t next) {
      if (kinds_[next] != CountKind::measured) return;
      signals.push_back(signal_[next]);
      most = std::max(most, of_beam_[next]);
    });
  }
  if (signals.empty()) return false;
  return group.kind == CountKind::low ? median_of(signals) >= clear_ : brighter * most < least;
}

}  // namespace halocline

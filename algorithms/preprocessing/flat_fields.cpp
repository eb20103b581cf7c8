#include "algorithms/preprocessing/flat_fields.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numbers>

namespace halocline {
namespace {

constexpr std::size_t most_for_median = 1 << 16;  // pixels of an image
constexpr double far_flat = 1.5, far_dark = 0.2, far_noise = 20;
constexpr int bits_of_detectors[] = {8, 10, 12, 14, 16};
constexpr double least_clipped = 0.01;           // of all values
constexpr std::size_t fewest_differences = 100;  // that noise is estimated from
constexpr double least_step = 0.005, clear_step = 4, most_drift = 0.3;

using Images = std::vector<const float*>;

void add_images(const Volume& stack, Images& images) {
  for (std::size_t n = 0; n < stack.grid.size[2]; ++n) images.push_back(stack.voxels.data() + n * stack.grid.slice());
}

/// The one in the middle, of an even number the lower one; NaN of none.
double lower_median(std::vector<double>& values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double level_of(const float* image, const std::vector<double>& dark) {
  const std::size_t stride = (dark.size() + most_for_median - 1) / most_for_median;
  std::vector<double> some;
  for (std::size_t n = 0; n < dark.size(); n += stride)
    if (std::isfinite(image[n]) && std::isfinite(dark[n])) some.push_back(image[n] - dark[n]);
  return median_of(some);
}

/// Mean of what is left. The images differ in level if levels are not 1.
double mean_of(const std::vector<double>& values, const std::vector<char>& taken, const std::vector<double>& levels,
               double dark) {
  double sum = 0, scaled = 0, level = 0;
  std::size_t count = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    level += levels[i] / static_cast<double>(levels.size());
    if (taken[i] == 0) continue;
    sum += values[i];
    scaled += (values[i] - dark) / levels[i];
    ++count;
  }
  if (count == 0) return std::numeric_limits<double>::quiet_NaN();
  const auto number = static_cast<double>(count);
  return count == values.size() ? sum / number : dark + scaled / number * level;
}

/// is_far(value, middle, image) of finite values.
template <class IsFar>
FieldMean mean_without(const Images& images, const std::vector<double>& levels, const std::vector<double>& dark,
                       const IsFar& is_far) {
  FieldMean out{std::vector<double>(dark.size()), 0, {}};
  std::vector<double> values(images.size()), finite;
  std::vector<char> taken(images.size());
  for (std::size_t n = 0; n < dark.size(); ++n) {
    finite.clear();
    for (std::size_t i = 0; i < images.size(); ++i) {
      values[i] = images[i][n];
      if (std::isfinite(values[i])) finite.push_back((values[i] - dark[n]) / levels[i]);
    }
    const double middle = lower_median(finite);
    for (std::size_t i = 0; i < images.size(); ++i) {
      taken[i] = std::isfinite(values[i]) && !is_far((values[i] - dark[n]) / levels[i], middle);
      if (taken[i] == 0) ++out.left_out;
    }
    out.pixels[n] = mean_of(values, taken, levels, dark[n]);
  }
  return out;
}

/// Standard deviation from differences of two values each, of which 90 in 100 are below 1.645 standard deviations of
/// theirs.
double noise_of(std::vector<double>& differences) {
  if (differences.size() < fewest_differences) return 0;
  const auto ninth = differences.begin() + static_cast<std::ptrdiff_t>(9 * (differences.size() - 1) / 10);
  std::nth_element(differences.begin(), ninth, differences.end());
  return *ninth / (1.645 * std::numbers::sqrt2);
}

double noise_of_darks(const Images& images, std::size_t columns, std::size_t slice) {
  const std::size_t stride = (slice + most_for_median - 1) / most_for_median;
  std::vector<double> differences;
  const auto add = [&](float one, float other) {
    if (std::isfinite(one) && std::isfinite(other)) differences.push_back(std::abs(static_cast<double>(one) - other));
  };
  for (std::size_t i = 1; i < images.size(); ++i)
    for (std::size_t n = 0; n < slice; n += stride) add(images[i - 1][n], images[i][n]);
  if (images.size() == 1)
    for (std::size_t n = 1; n < slice; n += stride)
      if (n % columns != 0) add(images[0][n - 1], images[0][n]);
  return noise_of(differences);
}

double mean(const std::vector<double>& values, std::size_t first, std::size_t last) {
  double sum = 0;
  for (std::size_t n = first; n < last; ++n) sum += values[n];
  return sum / static_cast<double>(last - first);
}

double spread(const std::vector<double>& values, std::size_t first, std::size_t last) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first),
             end = values.begin() + static_cast<std::ptrdiff_t>(last);
  return *std::max_element(begin, end) - *std::min_element(begin, end);
}

}  // namespace

double median_of(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

FieldMean mean_of_darks(const Volume& darks) {
  Images images;
  add_images(darks, images);
  const std::vector<double> none(darks.grid.slice(), 0.0), levels(images.size(), 1.0);
  double noise = INFINITY;
  if (images.size() > 2) {
    std::vector<double> distances, values;
    const std::size_t stride = (none.size() + most_for_median - 1) / most_for_median;
    for (std::size_t n = 0; n < none.size(); n += stride) {
      values.clear();
      for (const float* image : images)
        if (std::isfinite(image[n])) values.push_back(image[n]);
      const double middle = lower_median(values);
      for (const double value : values) distances.push_back(std::abs(value - middle));
    }
    noise = median_of(distances);
  }
  FieldMean out = mean_without(images, levels, none, [&](double value, double middle) {
    return std::abs(value - middle) > std::max(far_noise * noise, far_dark * std::abs(middle));
  });
  out.noise = noise_of_darks(images, darks.grid.size[0], none.size());
  return out;
}

FieldMean mean_of_flats(const Volume& flats, const Volume* after, const std::vector<double>& dark) {
  Images images;
  add_images(flats, images);
  if (after != nullptr) add_images(*after, images);
  std::vector<double> levels;
  for (const float* image : images) levels.push_back(level_of(image, dark));
  const bool lit = std::all_of(levels.begin(), levels.end(), [](double each) { return each > 0; });
  FieldMean out = mean_without(images, lit ? levels : std::vector<double>(images.size(), 1.0), dark,
                               [&](double value, double middle) {
                                 return lit && middle > 0 && (value > far_flat * middle || far_flat * value < middle);
                               });
  out.levels = std::move(levels);
  return out;
}

std::optional<ClippedFlats> clipped_in(const Volume& flats, const Volume* after, std::optional<double> saturation) {
  float greatest = -INFINITY;
  std::size_t there = 0, all = 0;
  for (const Volume* stack : {&flats, after}) {
    if (stack == nullptr) continue;
    for (const float value : stack->voxels) {
      if (!std::isfinite(value)) continue;
      ++all;
      if (value > greatest) greatest = value, there = 0;
      if (value == greatest) ++there;
    }
  }
  const bool is_limit = std::any_of(std::begin(bits_of_detectors), std::end(bits_of_detectors),
                                    [&](int bits) { return static_cast<double>(greatest) == std::exp2(bits) - 1; });
  if (all == 0 || least_clipped * static_cast<double>(all) > static_cast<double>(there) ||
      !(is_limit || (saturation && greatest >= *saturation)))
    return {};
  return ClippedFlats{static_cast<double>(there) / static_cast<double>(all), greatest};
}

double BeamLevels::at(std::size_t n, std::size_t views) const {
  const double share = views > 1 ? static_cast<double>(n) / static_cast<double>(views - 1) : 0.5;
  return (1 - share) * before + share * after;
}

std::optional<BeamLevels> levels_before_and_after(const std::vector<double>& levels, std::size_t before) {
  if (before == 0 || before >= levels.size() ||
      !std::all_of(levels.begin(), levels.end(), [](double each) { return each > 0; }))
    return {};
  const double all = mean(levels, 0, levels.size());
  return BeamLevels{mean(levels, 0, before) / all, mean(levels, before, levels.size()) / all};
}

std::optional<LevelStep> step_in(const std::vector<double>& levels) {
  const std::size_t count = levels.size();
  for (std::size_t at = 1; at < count; ++at) {
    const auto found = levels_before_and_after(levels, at);
    if (!found) return {};
    const double apart = std::max(spread(levels, 0, at), spread(levels, at, count)) / mean(levels, 0, count);
    if (std::abs(found->after - found->before) > std::max(least_step, clear_step * apart))
      return LevelStep{at, count, *found};
  }
  return {};
}

bool LevelStep::is_of_a_scan() const {
  const auto [low, high] = std::minmax(levels.before, levels.after);
  const bool alike = images == 2 || 3 * std::min(before, images - before) >= images;
  return alike && low > (1 - most_drift) * high;
}

}  // namespace halocline

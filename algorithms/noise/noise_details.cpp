#include "algorithms/noise/noise_details.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>

namespace halocline {

DetailStencil::DetailStencil(const Grid& grid) {
  const double half = std::sqrt(0.5), sixth = std::sqrt(1.0 / 6);
  std::array<std::vector<double>, 3> differences;
  for (int axis = 0; axis < 3; ++axis) {
    extent_[axis] = std::min<std::size_t>(3, grid.size[axis]);
    if (extent_[axis] == 3) {
      differences[axis] = {sixth, -2 * sixth, sixth};
    } else if (extent_[axis] == 2) {
      differences[axis] = {-half, half};
    } else {
      differences[axis] = {1};
    }
  }
  detail_ = product(grid, differences);
  // Mirrored voxels have the same index along axes with two voxels and the same distance from the middle along others.
  const std::size_t strides[] = {1, grid.size[0], grid.slice()};
  std::map<std::array<std::size_t, 3>, std::vector<std::size_t>> alike;
  std::map<std::pair<int, std::size_t>, std::vector<std::size_t>> layers;
  const auto voxels = extent_[0] * extent_[1] * extent_[2];
  for (std::size_t n = 0; n < voxels; ++n) {
    std::array<std::size_t, 3> at{n % extent_[0], n / extent_[0] % extent_[1], n / extent_[0] / extent_[1]};
    const std::size_t offset = at[0] * strides[0] + at[1] * strides[1] + at[2] * strides[2];
    for (int axis = 0; axis < 3; ++axis)
      if (extent_[axis] == 3 && at[axis] != 1) layers[{axis, at[axis]}].push_back(offset);
    for (std::size_t& index : at) index = index == 2 ? 0 : index;
    alike[at].push_back(offset);
  }
  for (auto& [at, offsets] : alike) {
    differences_ += offsets.size() - 1;
    if (offsets.size() > 1) mirrored_.push_back(std::move(offsets));
  }
  for (auto& [at, offsets] : layers)
    if (offsets.size() > 2) faces_.push_back(std::move(offsets));
  if (!faces_.empty()) return;
  faces_.emplace_back();
  for (const Tap& tap : detail_) faces_[0].push_back(tap.offset);
}

DetailStencil::Filter DetailStencil::product(const Grid& grid, const std::array<std::vector<double>, 3>& factors) {
  const std::size_t strides[] = {1, grid.size[0], grid.slice()};
  Filter filter{{0, 1.0}};
  for (int axis = 0; axis < 3; ++axis) {
    Filter longer;
    for (const auto& tap : filter)
      for (std::size_t n = 0; n < factors[axis].size(); ++n)
        if (factors[axis][n] != 0) longer.push_back({tap.offset + n * strides[axis], tap.factor * factors[axis][n]});
    filter = longer;
  }
  return filter;
}

double DetailStencil::apply(const Filter& filter, const float* at) {
  double sum = 0;
  for (const auto& tap : filter) sum += tap.factor * at[tap.offset];
  return sum;
}

bool DetailStencil::filled(const float* first) const {
  return std::any_of(faces_.begin(), faces_.end(), [&](const std::vector<std::size_t>& face) {
    return std::all_of(face.begin(), face.end(), [&](std::size_t offset) { return first[offset] == first[face[0]]; });
  });
}

double DetailStencil::detail(const float* first) const {
  return apply(detail_, first);
}

double DetailStencil::roughness(const float* first) const {
  double squares = 0;
  for (const auto& offsets : mirrored_) {
    double mean = 0;
    for (const std::size_t offset : offsets) mean += first[offset];
    mean /= static_cast<double>(offsets.size());
    for (const std::size_t offset : offsets) squares += (first[offset] - mean) * (first[offset] - mean);
  }
  return differences_ > 0 ? std::sqrt(squares / static_cast<double>(differences_)) : 0;
}

double median_sigma(std::vector<float>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  const float median = *middle;
  const auto tied = std::count(values.begin(), values.end(), median);
  double shift = 0;
  if (tied > 1) {  // spread evenly over the distance to the next larger value
    float next = std::numeric_limits<float>::infinity();
    for (const float value : values)
      if (value > median) next = std::min(next, value);
    const auto below = std::count_if(values.begin(), values.end(), [&](float value) { return value < median; });
    const double share =
        (0.5 * static_cast<double>(values.size()) - static_cast<double>(below)) / static_cast<double>(tied);
    // zeros count as half a step only: they are absolute values
    if (std::isfinite(next)) shift = (static_cast<double>(next) - median) * (median > 0 ? share - 0.5 : 0.5 * share);
  }
  return (median + shift) / 0.67448975;
}

namespace {

// Roughness of white noise of standard deviation 1: quantiles of chi / sqrt(n) with n degrees of freedom, for all n
// that a stencil can have.
struct NoiseRoughness {
  std::size_t differences;
  double low, usual, most;  // 5 %, 75 %, 99 %
};
constexpr NoiseRoughness noise_roughness[] = {{1, 0.0627, 1.1503, 2.5758},  {2, 0.2265, 1.1774, 2.1460},
                                              {4, 0.4215, 1.1603, 1.8219},  {5, 0.4786, 1.1511, 1.7370},
                                              {10, 0.6277, 1.1202, 1.5235}, {19, 0.7297, 1.0935, 1.3801}};

// Rougher places than that are edges.
double roughness_limit(const std::vector<DetailSample>& samples, std::size_t differences, EdgesOut edges) {
  const auto noise = std::find_if(std::begin(noise_roughness), std::end(noise_roughness),
                                  [&](const NoiseRoughness& each) { return each.differences == differences; });
  if (noise == std::end(noise_roughness)) return std::numeric_limits<double>::infinity();
  std::vector<float> values;
  values.reserve(samples.size());
  for (const auto& sample : samples) values.push_back(sample.roughness);
  const auto low = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 20);
  std::nth_element(values.begin(), low, values.end());
  return *low / noise->low * (edges == EdgesOut::faint ? noise->usual : noise->most);
}

}  // namespace

std::vector<float> smooth_details(const std::vector<DetailSample>& samples, std::size_t differences, EdgesOut edges) {
  if (samples.empty()) return {};
  const double limit = roughness_limit(samples, differences, edges);
  std::vector<float> details;
  for (const auto& sample : samples)
    if (sample.roughness <= limit) details.push_back(sample.detail);
  return details;
}

double detail_smoothness(const std::vector<DetailPair>& pairs, const std::vector<DetailSample>& samples,
                         std::size_t differences) {
  if (samples.empty()) return 0;
  const double limit = roughness_limit(samples, differences, EdgesOut::clear);
  std::vector<float> sums, details;
  for (const auto& pair : pairs) {
    if (pair.roughness > limit) continue;
    sums.push_back(pair.sum);
    details.push_back(pair.one);
    details.push_back(pair.other);
  }
  const double together = median_sigma(sums), alone = median_sigma(details);
  return together > 0 && alone > 0 ? std::log(together / alone) - 0.5 * std::log(2.0 / 3) : 0;
}

NoiseWindows::NoiseWindows(const Grid& grid) : grid_(grid.size) {
  constexpr std::size_t least_voxels = 12 * 12 * 12, most_windows = 1 << 16;
  const std::size_t least = std::min(least_voxels, grid.count());
  std::size_t edge = 0;
  do {
    ++edge;
    for (int axis = 0; axis < 3; ++axis) {
      size_[axis] = std::min(edge, grid_[axis]);
      const std::size_t beyond = grid_[axis] - size_[axis], half = std::max<std::size_t>(1, size_[axis] / 2);
      counts_[axis] = (beyond + half - 1) / half + 1;
    }
  } while (size_[0] * size_[1] * size_[2] < least || count() > most_windows);
}

NoiseWindow NoiseWindows::at(std::size_t n) const {
  const std::size_t index[] = {n % counts_[0], n / counts_[0] % counts_[1], n / counts_[0] / counts_[1]};
  NoiseWindow window{{0, 0, 0}, size_};
  for (int axis = 0; axis < 3; ++axis)
    if (counts_[axis] > 1) window.first[axis] = index[axis] * (grid_[axis] - size_[axis]) / (counts_[axis] - 1);
  return window;
}

double NoiseWindows::step(int axis) const {
  return counts_[axis] > 1 ? static_cast<double>(grid_[axis] - size_[axis]) / static_cast<double>(counts_[axis] - 1)
                           : 1;
}

WindowNoise look_at(const Volume& volume, const Volume* weights, const DetailStencil& stencil,
                    const NoiseWindow& window, std::size_t most_places, Look look) {
  constexpr std::size_t distance = 3;
  const Grid& grid = volume.grid;
  const std::size_t strides[] = {1, grid.size[0], grid.slice()};
  std::array<std::size_t, 3> places;
  for (int axis = 0; axis < 3; ++axis)
    places[axis] = std::max(window.size[axis], stencil.extent()[axis]) - stencil.extent()[axis] + 1;
  const std::size_t count = places[0] * places[1] * places[2];
  // odd, so that places of windows with even sizes do not line up in columns
  const std::size_t step = count <= most_places ? 1 : (count / most_places + 1) | 1;
  // 1 / sqrt(w) where the stencil is; 0 where nothing counts
  const auto scale_at = [&](std::size_t first) {
    if (stencil.filled(volume.voxels.data() + first)) return 0.0;
    if (weights == nullptr) return 1.0;
    const float weight = weights->voxels[first + stencil.middle()];
    return weight > 0 ? 1 / std::sqrt(static_cast<double>(weight)) : 0.0;
  };
  WindowNoise found;
  std::array<std::array<std::vector<float>, distance>, 3> differences;
  for (std::size_t n = 0; n < count; n += step) {
    const std::size_t at[] = {window.first[0] + n % places[0], window.first[1] + n / places[0] % places[1],
                              window.first[2] + n / places[0] / places[1]};
    const std::size_t first = at[0] + grid.size[0] * (at[1] + grid.size[1] * at[2]);
    const float* voxel = volume.voxels.data() + first;
    ++found.looked_at;
    const double scale = scale_at(first);
    if (!(scale > 0)) continue;
    const double detail = scale * stencil.detail(voxel);
    if (!std::isfinite(detail)) continue;
    const double roughness = scale * stencil.roughness(voxel);
    found.details.push_back({static_cast<float>(std::abs(detail)), static_cast<float>(roughness)});
    for (int axis = 0; axis < 3 && look == Look::pairs; ++axis) {
      if (stencil.extent()[axis] < 3 || at[axis] + 1 >= window.first[axis] + places[axis]) continue;
      const std::size_t next = first + strides[axis];
      const float* beside = volume.voxels.data() + next;
      const double factor = scale_at(next), other = factor * stencil.detail(beside);
      if (!(factor > 0) || !std::isfinite(other)) continue;
      found.pairs[axis].push_back({static_cast<float>(std::abs(detail + other)), static_cast<float>(std::abs(detail)),
                                   static_cast<float>(std::abs(other)),
                                   static_cast<float>(std::max(roughness, factor * stencil.roughness(beside)))});
    }
    for (int axis = 0; axis < 3 && look == Look::distances; ++axis) {
      if (grid.size[axis] < 4 * distance || at[axis] + distance >= grid.size[axis]) continue;
      for (std::size_t lag = 1; lag <= distance; ++lag) {
        const double difference = scale * std::abs(static_cast<double>(voxel[lag * strides[axis]]) - voxel[0]);
        if (std::isfinite(difference)) differences[axis][lag - 1].push_back(static_cast<float>(difference));
      }
    }
  }
  for (int axis = 0; axis < 3; ++axis) {
    if (differences[axis][distance - 1].empty()) continue;
    for (std::size_t lag = 1; lag <= distance; ++lag)
      found.apart[axis][lag - 1] = median_sigma(differences[axis][lag - 1]) / std::sqrt(2.0);
    const double sigma = found.apart[axis][distance - 1];
    if (found.distant == 0 || sigma < found.distant) found.distant = sigma;
  }
  return found;
}

}  // namespace halocline

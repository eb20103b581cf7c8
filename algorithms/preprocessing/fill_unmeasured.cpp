#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>

#include "algorithms/preprocessing/bad_pixel_pattern.hpp"
#include "algorithms/preprocessing/ridge_regression.hpp"
#include "algorithms/preprocessing/unmeasured.hpp"
#include "algorithms/support/parallel_slices.hpp"
#include "host/system/error.hpp"
#include "host/volume/finite_source.hpp"

namespace halocline {
namespace {

constexpr std::size_t most_held_to_fill = std::size_t{256} << 20;  // bytes of line integrals
constexpr std::ptrdiff_t fewest_views_to_learn = 16;               // in which something can be learned
constexpr std::size_t most_samples = 4000;
constexpr std::size_t most_learned = 20000;  // bad pixels; it takes some milliseconds for each
constexpr std::ptrdiff_t most_shift = 3;  // views that a line through a sinogram moves by from side to side, each way
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// Line integrals of one pixel in all views; NaN where it fails.
using PixelSeries = const float*;

/// One way to fill a pixel, at the pixel itself or at an example.
class PatternAt {
 public:
  PatternAt(const PixelPattern& pattern, std::vector<PixelSeries> series, std::ptrdiff_t views)
      : pattern_(pattern), series_(std::move(series)), views_(views) {}

  double line(std::ptrdiff_t view) const {
    const auto pair = [&](std::size_t low) {
      const auto side = [&](std::size_t n) {
        return pattern_.distance[n] > 0 ? series_[pattern_.nearest[n]][view] : unknown;
      };
      return NeighbourPair{side(low), side(low + 1), static_cast<double>(pattern_.distance[low]),
                           static_cast<double>(pattern_.distance[low + 1])};
    };
    const std::array pairs{pair(0), pair(2)};
    return between(pairs);
  }

  /// Takes the features less the line's value. Returns whether all are known.
  bool take_features(std::ptrdiff_t view, double line, std::vector<double>& features) const {
    std::size_t n = 0;
    for (const auto& [pixel, offset] : pattern_.features)
      features[n++] = series_[pixel][std::clamp<std::ptrdiff_t>(view + offset, 0, views_ - 1)] - line;
    if (pattern_.has_row()) features[n++] = along_best_fit(view, line) - line;
    return std::all_of(features.begin(), features.end(), [](double each) { return std::isfinite(each); });
  }

 private:
  // Interpolates between the sides in views of which the later one is on the right, or on the left.
  double along_best_fit(std::ptrdiff_t view, double line) const {
    const auto left = static_cast<double>(pattern_.distance[0]), right = static_cast<double>(pattern_.distance[1]);
    const PixelSeries low = series_[pattern_.nearest[0]], high = series_[pattern_.nearest[1]];
    double least = INFINITY, value = line;
    const auto look = [&](std::ptrdiff_t shift) {
      const auto by = [&](double share) {
        return static_cast<std::ptrdiff_t>(std::lround(2 * share / (left + right) * static_cast<double>(shift)));
      };
      const std::ptrdiff_t i = view - by(left), j = view + by(right);
      if (std::min(i, j) < 1 || std::max(i, j) + 1 >= views_) return;
      double misfit = 0;
      for (const std::ptrdiff_t n : {-1, 0, 1}) misfit += std::abs(static_cast<double>(low[i + n]) - high[j + n]);
      if (!(misfit < least)) return;
      least = misfit;
      value = (right * low[i] + left * high[j]) / (left + right);
    };
    look(0);
    for (std::ptrdiff_t shift = 1; shift <= most_shift; ++shift) {
      look(-shift);
      look(shift);
    }
    return value;
  }

  const PixelPattern& pattern_;
  std::vector<PixelSeries> series_;
  std::ptrdiff_t views_;
};

class BadPixels {
 public:
  BadPixels(const VolumeSource& stack, const Unmeasured& unmeasured, const RayValues& values, bool learns)
      : stack_(stack),
        unmeasured_(unmeasured),
        values_(values),
        slice_(stack.grid().slice()),
        views_(stack.grid().size[2]),
        learns_(learns && static_cast<std::ptrdiff_t>(views_) >= fewest_views_to_learn),
        known_(unmeasured.bad.size()) {
    for (std::size_t n = 0; n < known_.size(); ++n) {
      known_[n] = unmeasured.bad[n] == 0;
      if (unmeasured.bad[n] != 0) pending_.push_back(n);
    }
    good_ = known_;
    learns_ = learns_ && pending_.size() <= most_learned;
  }

  // Fills pixels that have known pixels in their row or column; then, with these known, the others.
  void fill_all(const std::string& name) {
    for (bool first = true; !pending_.empty(); first = false) {
      std::vector<PixelPattern> patterns;
      std::vector<std::size_t> others;
      for (const std::size_t pixel : pending_) {
        PixelPattern pattern = nearest_pixels(pixel, pixels(known_));
        if (pattern.pixels.empty()) {
          others.push_back(pixel);
          continue;
        }
        if (first && learns_) add_features(pattern, pixels(good_));
        patterns.push_back(std::move(pattern));
      }
      if (patterns.empty())
        throw InputError(
            fmt::format("{}: all pixels of the detector are bad, so that there is nothing to interpolate them from; "
                        "give the map of bad pixels yourself (`bad_pixels`)",
                        name));
      fill_in_batches(patterns);
      for (const auto& pattern : patterns) known_[pattern.at] = 1;
      pending_ = std::move(others);
    }
  }

  FilledValues result() const {
    FilledValues out{.replaced = {slice_, std::vector<std::vector<ReplacedValues::Value>>(views_)}};
    std::vector<std::size_t> order;
    for (std::size_t n = 0; n < unmeasured_.bad.size(); ++n)
      if (unmeasured_.bad[n] != 0) order.push_back(n);
    parallel_slices(views_, [&](std::size_t view) {
      auto& values = out.replaced.views[view];
      for (const std::size_t pixel : order)
        values.push_back({static_cast<std::uint32_t>(pixel), values_.stored(pixel, view, filled_.at(pixel)[view])});
    });
    if (learned_ > 0) out.rms = std::sqrt(squares_ / static_cast<double>(learned_));
    out.edges = lost_edges();
    return out;
  }

 private:
  KnownPixels pixels(const std::vector<char>& marks) const {
    return {marks, static_cast<std::ptrdiff_t>(stack_.grid().size[0]),
            static_cast<std::ptrdiff_t>(stack_.grid().size[1])};
  }

  std::size_t at(const PixelPattern& pattern, const PixelPattern::Offset& from,
                 const PixelPattern::Offset& offset) const {
    return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(pattern.at) + from.column + offset.column +
                                    static_cast<std::ptrdiff_t>(stack_.grid().size[0]) * (from.row + offset.row));
  }

  void fill_in_batches(const std::vector<PixelPattern>& patterns) {
    const std::size_t most = std::max<std::size_t>(1, most_held_to_fill / (views_ * sizeof(float)));
    for (std::size_t first = 0; first < patterns.size();) {
      places_.clear();
      std::size_t last = first;
      for (; last < patterns.size() && (last == first || places_.size() < most); ++last) need(patterns[last]);
      gather();
      fill(patterns, first, last);
      first = last;
    }
  }

  LostEdges lost_edges() const {
    const std::size_t columns = stack_.grid().size[0], rows = stack_.grid().size[1];
    const auto is_lost = [&](std::size_t column) {
      for (std::size_t row = 0; row < rows; ++row)
        if (unmeasured_.bad[row * columns + column] == 0) return false;
      return true;
    };
    LostEdges out;
    const auto take = [&](std::size_t column) {
      ++out.columns;
      for (std::size_t view = 0; view < views_; ++view) {
        double sum = 0;
        for (std::size_t row = 0; row < rows; ++row) sum += filled_.at(row * columns + column)[view];
        out.integral = std::max(out.integral, sum / static_cast<double>(rows));
      }
    };
    for (std::size_t column = 0; column < columns && is_lost(column); ++column) take(column);
    for (std::size_t column = columns; column-- > 0 && is_lost(column);) take(column);
    return out;
  }

  void need(const PixelPattern& pattern) {
    const auto need_at = [&](std::size_t pixel) {
      if (good_[pixel] != 0) places_.try_emplace(pixel, places_.size());
    };
    for (const auto& offset : pattern.pixels) need_at(at(pattern, {0, 0}, offset));
    for (const auto& example : pattern.examples) {
      need_at(at(pattern, example, {0, 0}));
      for (const auto& offset : pattern.pixels) need_at(at(pattern, example, offset));
    }
  }

  void gather() {
    held_.assign(places_.size() * views_, 0.0f);
    parallel_slices(views_, [&](std::size_t view) {
      std::vector<float> stored(slice_);
      stack_.read(view * slice_, slice_, stored.data());
      std::vector<char> fails;
      if (!unmeasured_.failing[view].empty()) {
        fails.assign(slice_, 0);
        for (const std::uint32_t pixel : unmeasured_.failing[view]) fails[pixel] = 1;
      }
      for (const auto& [pixel, place] : places_)
        held_[place * views_ + view] = !fails.empty() && fails[pixel] != 0
                                           ? std::numeric_limits<float>::quiet_NaN()
                                           : static_cast<float>(values_.integral(pixel, view, stored[pixel]));
    });
  }

  PixelSeries series(std::size_t pixel) const {
    return good_[pixel] != 0 ? held_.data() + places_.at(pixel) * views_ : filled_.at(pixel).data();
  }

  PatternAt place(const PixelPattern& pattern, const PixelPattern::Offset& from) const {
    std::vector<PixelSeries> all;
    for (const auto& offset : pattern.pixels) all.push_back(series(at(pattern, from, offset)));
    return {pattern, std::move(all), static_cast<std::ptrdiff_t>(views_)};
  }

  void fill(const std::vector<PixelPattern>& patterns, std::size_t first, std::size_t last) {
    std::vector<std::vector<float>> filled(last - first);
    std::vector<double> misses(last - first, -1);
    parallel_slices(last - first, [&](std::size_t n) { filled[n] = filled_series(patterns[first + n], misses[n]); });
    for (std::size_t n = 0; n < filled.size(); ++n) {
      filled_.insert_or_assign(patterns[first + n].at, std::move(filled[n]));
      if (misses[n] < 0) continue;
      squares_ += misses[n] * misses[n];
      ++learned_;
    }
  }

  // miss: root mean square of what is missed at the examples, unchanged where there is nothing to learn from.
  std::vector<double> learned_weights(const PixelPattern& pattern, std::size_t features, double& miss) const {
    RidgeRegression regression(features);
    const std::size_t all = pattern.examples.size() * views_, stride = (all + most_samples - 1) / most_samples;
    std::vector<double> values(features);
    std::size_t sample = 0;
    for (const auto& example : pattern.examples) {
      const PatternAt there = place(pattern, example);
      const PixelSeries truth = series(at(pattern, example, {0, 0}));
      for (std::size_t view = 0; view < views_; ++view) {
        if (sample++ % stride != 0) continue;
        const auto number = static_cast<std::ptrdiff_t>(view);
        const double line = there.line(number);
        if (std::isfinite(truth[view]) && there.take_features(number, line, values))
          regression.add(values, truth[view] - line);
      }
    }
    auto weights = regression.weights();
    if (std::any_of(weights.begin(), weights.end(), [](double each) { return each != 0; }))
      miss = regression.residual(weights);
    return weights;
  }

  std::vector<float> filled_series(const PixelPattern& pattern, double& miss) const {
    const PatternAt here = place(pattern, {0, 0});
    const std::size_t features = pattern.features.empty() ? 0 : pattern.features.size() + (pattern.has_row() ? 1 : 0);
    std::vector<double> weights, values(features);
    if (features > 0) weights = learned_weights(pattern, features, miss);
    std::vector<float> out(views_);
    for (std::size_t view = 0; view < views_; ++view) {
      const auto number = static_cast<std::ptrdiff_t>(view);
      const double line = here.line(number);
      double value = line;
      if (features > 0 && here.take_features(number, line, values)) {
        double more = 0, most = 0;
        for (std::size_t n = 0; n < features; ++n) {
          more += weights[n] * values[n];
          most = std::max(most, std::abs(values[n]));
        }
        value += std::clamp(more, -most, most);
      }
      out[view] = static_cast<float>(value);
    }
    take_from_other_views(out);
    return out;
  }

  // Takes the value of the nearest other view where all pixels around one fail in a view.
  static void take_from_other_views(std::vector<float>& series) {
    const auto count = static_cast<std::ptrdiff_t>(series.size());
    const auto found = series;
    for (std::ptrdiff_t n = 0; n < count; ++n) {
      if (std::isfinite(found[n])) continue;
      series[n] = 0;
      for (std::ptrdiff_t away = 1; away < count; ++away) {
        const auto there = [&](std::ptrdiff_t at) { return at >= 0 && at < count && std::isfinite(found[at]); };
        const std::ptrdiff_t at = there(n - away) ? n - away : n + away;
        if (!there(at)) continue;
        series[n] = found[at];
        break;
      }
    }
  }

  const VolumeSource& stack_;
  const Unmeasured& unmeasured_;
  const RayValues& values_;
  std::size_t slice_, views_;
  bool learns_;
  std::vector<char> known_, good_;  // known: good or filled
  std::vector<std::size_t> pending_;
  std::unordered_map<std::size_t, std::size_t> places_;  // of pixels in held_
  std::vector<float> held_;
  std::unordered_map<std::size_t, std::vector<float>> filled_;
  double squares_ = 0;
  std::size_t learned_ = 0;
};

/// Line integrals without a transformation.
class PlainIntegrals : public RayValues {
 public:
  double integral(std::size_t, std::size_t, float stored) const override { return stored; }
  float stored(std::size_t, std::size_t, double integral) const override { return static_cast<float>(integral); }
};

}  // namespace

bool Unmeasured::any() const {
  return std::any_of(bad.begin(), bad.end(), [](char each) { return each != 0; }) ||
         std::any_of(failing.begin(), failing.end(), [](const auto& view) { return !view.empty(); });
}

double between(std::span<const NeighbourPair> pairs) {
  constexpr double noise = 0.01;
  double sum = 0, weights = 0, nearest = INFINITY, near_sum = 0, near_count = 0;
  for (const auto& [low, high, to_low, to_high] : pairs) {
    const bool has_low = std::isfinite(low), has_high = std::isfinite(high);
    if (has_low && has_high) {
      const double width = to_low + to_high, root = (std::abs(high - low) + noise) * width, weight = 1 / (root * root);
      sum += weight * (to_high * low + to_low * high) / width;
      weights += weight;
    } else if (has_low || has_high) {
      const double away = has_low ? to_low : to_high;
      if (away < nearest) nearest = away, near_sum = near_count = 0;
      if (away == nearest) near_sum += has_low ? low : high, ++near_count;
    }
  }
  return weights > 0 ? sum / weights : near_count > 0 ? near_sum / near_count : unknown;
}

FilledValues fill_unmeasured(const VolumeSource& stack, const Unmeasured& unmeasured, const RayValues& values,
                             bool within_views, const std::string& name) {
  if (!unmeasured.any()) return {.replaced = {stack.grid().slice(), {}}};
  BadPixels pixels(stack, unmeasured, values, !within_views);
  pixels.fill_all(name);
  FilledValues out = pixels.result();
  fill_failing(stack, unmeasured, values, within_views, out.replaced);
  return out;
}

FilledValues fill_nonfinite(const VolumeSource& line_integrals, bool within_views, const std::string& name) {
  const std::size_t slice = line_integrals.grid().slice(), views = line_integrals.grid().size[2];
  Unmeasured unmeasured{std::vector<char>(slice, 0), std::vector<std::vector<std::uint32_t>>(views)};
  parallel_slices(views, [&](std::size_t view) {
    std::vector<float> values(slice);
    line_integrals.read(view * slice, slice, values.data());
    for (std::size_t n = 0; n < slice; ++n)
      if (!std::isfinite(values[n])) unmeasured.failing[view].push_back(static_cast<std::uint32_t>(n));
  });
  if (!unmeasured.any()) return {.replaced = {slice, {}}};
  std::vector<std::size_t> failures(slice, 0);
  for (const auto& view : unmeasured.failing)
    for (const std::uint32_t pixel : view) ++failures[pixel];
  for (std::size_t n = 0; n < slice && !within_views; ++n) unmeasured.bad[n] = failures[n] == views;
  for (auto& view : unmeasured.failing) std::erase_if(view, [&](std::uint32_t n) { return unmeasured.bad[n] != 0; });
  return fill_unmeasured(line_integrals, unmeasured, PlainIntegrals(), within_views, name);
}

}  // namespace halocline

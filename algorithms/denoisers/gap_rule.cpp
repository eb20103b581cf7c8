#include "algorithms/denoisers/gap_rule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace halocline {
namespace {

constexpr int first_look = 5, no_iteration = 1 << 30;
constexpr double usual_exponent = 2.5, least_exponent = 2, most_exponent = 4;
// Limits for a gap that falls slower than n^-1/2 and has stalled; below 1e-5, where float32 may be the reason, so may
// one that falls slower than it should.
constexpr double stalling_exponent = 0.5, near_floor = 1e-5, at_floor = 1e-6;

int next_fixed(int done) {
  const int every = done < 50 ? 5 : done < 200 ? 10 : 25;
  return done < 0 ? every : (done / every + 1) * every;
}

}  // namespace

// p of gap ~ n^-p, from the last two.
double GapRule::exponent() const {
  if (points_.size() < 2) return usual_exponent;
  const auto &before = points_[points_.size() - 2], &last = points_.back();
  if (!(last.gap < before.gap)) return 0;
  return std::log(before.gap / last.gap) / std::log(static_cast<double>(last.done) / before.done);
}

double GapRule::factor() const {
  const double likely = std::clamp(exponent(), least_exponent, most_exponent);
  return std::max(1.0, std::pow(points_.back().gap / target_, 1 / likely));
}

int GapRule::next(int done) const {
  if (target_ < 0) return no_iteration;
  if (!(target_ > 0)) return next_fixed(done);
  if (points_.empty()) return std::max(first_look, done + 1);
  const auto& last = points_.back();
  double factor = 2;
  if (last.gap > 0 && std::isfinite(last.gap)) {
    // Near the target the line is exact; far from it, it is bent, and 0.7 of the way cannot be too far.
    factor = this->factor();
    if (factor > 1.5) factor = std::min(3.0, std::pow(factor, 0.7));
    if (exponent() < least_exponent && last.gap < near_floor) factor = std::min(factor, 1.5);
    if (exponent() < stalling_exponent) factor = std::min(factor, 1.25);
  }
  const int number = static_cast<int>(std::min(1e9, std::ceil(last.done * factor - 1e-9)));
  return std::max({number, last.done + std::max(1, last.done / 64), done + 1});
}

bool GapRule::stalled() const {
  constexpr std::size_t evaluations = 3;
  if (!(target_ > 0)) return false;
  double lowest = std::numeric_limits<double>::infinity(), highest = 0;
  std::size_t since = 0;  // evaluations after points_[n]
  for (std::size_t n = points_.size(); n-- > 0; ++since) {
    const auto& point = points_[n];
    const double ratio = static_cast<double>(points_.back().done) / point.done;
    if (since >= evaluations && ratio >= 2) {
      for (std::size_t m = 0; m < n; ++m) highest = std::max(highest, points_[m].gap);
      // A gap that still rises, as that of the seed schedule in its first iterations, is no floor.
      const bool low = point.gap <= 0.1 * highest || point.gap < at_floor;
      return low && lowest > point.gap * std::pow(ratio, -stalling_exponent);
    }
    lowest = std::min(lowest, point.gap);
  }
  return false;
}

double GapRule::expected() const {
  if (!(target_ > 0) || points_.empty()) return 0;
  const auto& last = points_.back();
  if (!(last.gap > 0) || !std::isfinite(last.gap)) return 0;
  return last.done * factor();
}

std::vector<int> GapRule::estimate(int iterations) const {
  std::vector<int> numbers;
  GapRule rule(target_);
  int n = rule.next(-1);
  bool reached = false;
  while (n < iterations) {
    numbers.push_back(n);
    if (target_ > 0) {
      const double gap = 0.1 * std::pow(n / 5.0, -usual_exponent);  // typical of a cold start
      reached = reached || gap <= target_;
      rule.found(n, gap);
    }
    n = reached ? n + std::max(1, n / 4) : rule.next(n);
  }
  return numbers;
}

}  // namespace halocline

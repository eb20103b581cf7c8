#include "algorithms/gap_rule.hpp"

#include <algorithm>
#include <cmath>

namespace halocline {
namespace {

constexpr int first = 5;
constexpr double usual_exponent = 2.5, least_exponent = 2, most_exponent = 4;
constexpr double gain = 0.9;  // less than this times the gap before is an improvement

int next_fixed(int done) {
  const int every = done < 50 ? 5 : done < 200 ? 10 : 25;
  return done < 0 ? every : (done / every + 1) * every;
}

}  // namespace

// p of gap ~ n^-p.
double GapRule::exponent() const {
  if (points_.size() < 2) return usual_exponent;
  const auto &before = points_[points_.size() - 2], &last = points_.back();
  if (!(last.gap < before.gap)) return least_exponent;
  return std::clamp(std::log(before.gap / last.gap) / std::log(static_cast<double>(last.done) / before.done),
                    least_exponent, most_exponent);
}

int GapRule::next(int done) const {
  if (!(target_ > 0)) return next_fixed(done);
  if (points_.empty()) return std::max(first, done + 1);
  const auto& last = points_.back();
  double factor = 2;
  if (last.gap > 0 && std::isfinite(last.gap)) {
    // Near the target the line is exact; far from it, it is bent, and 0.7 of the way cannot be too far.
    factor = std::max(1.0, std::pow(last.gap / target_, 1 / exponent()));
    if (factor > 1.5) factor = std::min(3.0, std::pow(factor, 0.7));
    const bool improved = points_.size() < 2 || last.gap < gain * points_[points_.size() - 2].gap;
    if (!improved) factor = std::min(factor, 1.25);
  }
  const int number = static_cast<int>(std::min(1e9, std::ceil(last.done * factor - 1e-9)));
  return std::max({number, last.done + std::max(1, last.done / 64), done + 1});
}

bool GapRule::stalled() const {
  if (!(target_ > 0) || points_.size() < 5) return false;
  const Point *best = &points_.front(), *worst = best;
  std::size_t since = 0;  // evaluations after the best
  for (const auto& point : points_) {
    ++since;
    if (point.gap < gain * best->gap) best = &point, since = 0;
    if (point.gap > worst->gap) worst = &point;
  }
  // A gap that still rises, as that of the seed schedule in its first iterations, is no floor.
  const bool came_down = worst->done < best->done && best->gap <= 0.1 * worst->gap;
  return since >= 4 && points_.back().done >= 2 * best->done && (came_down || best->gap < 1e-6);
}

double GapRule::expected() const {
  if (!(target_ > 0) || points_.empty()) return 0;
  const auto& last = points_.back();
  if (!(last.gap > 0) || !std::isfinite(last.gap)) return 0;
  return last.done * std::max(1.0, std::pow(last.gap / target_, 1 / exponent()));
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

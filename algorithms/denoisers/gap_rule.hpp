// Rule for when the duality gap is worth evaluating, from the gaps found so far.
#pragma once

#include <vector>

namespace halocline {

/// |q| <= lambda holds to rounding only, which moves the bound by as much: of relative gaps below this float32 is not
/// certain, and they count as it.
constexpr double least_certain_gap = 0x1p-23;

/// An evaluation costs about half an iteration and a wait for the device, an iteration too many costs an iteration. The
/// relative gap falls like n^-p with p between 2 and 4, so the next evaluation is where the line through the last two
/// in log-log meets the target; if that is far, not all the way there. On two balls and blocks a target of 1e-3 takes 3
/// or 4 evaluations and is overshot by at most 6 %. The numbers follow from the gaps alone, which do not depend on
/// slabs or devices.
class GapRule {
 public:
  /// target: relative gap to stop at; 0: none, the gap is then evaluated every 5 iterations up to 50, every 10 up to
  /// 200, and every 25 from there; below 0: none, and it is never evaluated on the way.
  explicit GapRule(double target) : target_(target) {}

  /// Records the relative gap after so many iterations (more than at the last call).
  void found(int done, double gap) { points_.push_back({done, gap}); }
  /// The first number of iterations after `done` at which the gap is to be evaluated.
  int next(int done) const;
  /// The gap has stopped to improve: float32 (or the type of the duals) allows no smaller one. True if three or more
  /// evaluations over twice the iterations brought less than the square root of that.
  bool stalled() const;
  /// Iterations that the target is expected to take; 0 where nothing is known.
  double expected() const;
  /// Numbers below `iterations` at which evaluations may be expected before there is any: for the planner.
  std::vector<int> estimate(int iterations) const;

 private:
  struct Point {
    int done;
    double gap;
  };
  double exponent() const;
  double factor() const;  // times the iterations until now

  double target_;
  std::vector<Point> points_;
};

}  // namespace halocline

#include "algorithms/solvers/certificate.hpp"

#include <cmath>
#include <limits>

#include "algorithms/support/slice_sums.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr double headroom = 1.5;  // of the maximum where it is not given, in the largest voxel
constexpr int start_steps = 300;  // of start_dual()
constexpr double infinite = std::numeric_limits<double>::infinity();

// Iterations from the last look until the relative gap is `target`, if it falls by the same factor in each of them as
// from the look before; infinite where that says nothing.
double iterations_to_gap(const Scalars& known, double target) {
  const double gap = known.at("relative_gap"), fallen = std::log(known.at("relative_gap before") / gap);
  if (!(target > 0) || !std::isfinite(fallen) || !(fallen > 0)) return infinite;
  return (known.at("certified") - known.at("certified before")) * std::log(gap / target) / fallen;
}

}  // namespace

Certificate::Certificate(Solver& solver, TvTerm& penalty, Arrays arrays, bool may_diverge)
    : s_(solver),
      penalty_(penalty),
      arrays_(std::move(arrays)),
      may_diverge_(may_diverge),
      data_(s_.number("data")),
      mismatch_(s_.number("mismatch")),
      maximum_(s_.number("maximum")),
      variation_(s_.number("variation")),
      primal_(s_.number("primal", infinite)),
      dual_(s_.number("dual", -infinite)),
      dual_maximum_(s_.number("dual maximum")),
      gap_(s_.number("gap", infinite)),
      relative_gap_(s_.number("relative_gap", infinite)),
      certified_(s_.number("certified", -1)),
      gap_before_(s_.number("relative_gap before", infinite)),
      certified_before_(s_.number("certified before", -1)) {
  auto& needs = s_.program().needs;
  if (!std::isfinite(penalty.maximum())) SliceSums(needs.size, 1).declare_largest(needs);
  needs.kernels.emplace_back("pdu_variant_certificate");
  if (s_.parameters.gap_map) penalty.keep_polished();  // the map is of the last look, in whatever iteration
}

void Certificate::start_dual() {
  const bool given = std::isfinite(penalty_.maximum());
  if (!given) find_maximum();
  arrays_.u = s_.x;
  for (int n = 0; n < start_steps; ++n)
    penalty_.improve(arrays_.z, arrays_.u, arrays_.ubar, given ? Scalar(penalty_.maximum()) : maximum_);
}

// 1.5 times the largest voxel.
void Certificate::find_maximum() {
  Step step{.name = "largest", .arrays = {in(name_of(s_.x))}, .largest = true};
  step.work = [x = name_of(s_.x), sums = SliceSums(s_.program().needs.size, 1)](
                  Slab& slab, const WorkRange& part, const Scalars&) { sums.largest(slab, x, part.slices); };
  const Scalar largest = s_.sums(std::move(step)).front();
  const double lowest = penalty_.minimum();
  maximum_ = where(largest, headroom * largest, max(largest, lowest + std::abs(lowest)));
}

// Sums the data term, and the mismatch of the dual r of the rays.
void Certificate::sum_data() {
  const Array &r = arrays_.r, &w = s_.w, misfit = arrays_.p - s_.b;
  data_ = s_.square(misfit) / 2;
  if (w.empty()) {
    const Array rest = misfit - r;
    mismatch_ = dot(rest, rest) / 2;
  } else {
    const Array rest = fma(w, misfit, -r);
    mismatch_ = dot(rest, where(w, rest / w, 0)) / 2;
  }
  if (std::isfinite(penalty_.maximum())) maximum_ = penalty_.maximum();
}

// The best dual value of all looks at this maximum is one, too: a bound for a smaller box is none for a larger one.
void Certificate::sum_volume() {
  const TvTerm::GapTerms terms = penalty_.gap_terms(s_.x, arrays_.z);
  const Scalar gap = mismatch_ + terms.bound + maximum_ * terms.below - terms.below_x;
  variation_ = terms.variation;
  primal_ = data_ + penalty_.lambda() * terms.variation;
  certified_before_ = certified_;
  gap_before_ = relative_gap_;
  certified_ = s_.number([](const Scalars& known) { return known.at(iteration_scalar); });
  const Scalar finite = (infinite > abs(primal_)) * (infinite > abs(gap));
  objective_ = where(finite, primal_, infinite);
  if (!may_diverge_)
    s_.then(finite, [](double is_finite, Scalars&) {
      if (!(is_finite > 0))
        throw InputError(
            "the iterations diverge: the objective is not finite. Check the projections, the weights (`weights`) and "
            "`lambda` for values that float32 does not hold, and scale them");
    });
  const Scalar lower = primal_ - gap, other_box = abs(dual_maximum_ - maximum_);
  dual_ = where(finite, where(other_box, lower, max(dual_, lower)), dual_);
  dual_maximum_ = where(finite, maximum_, dual_maximum_);
  gap_ = where(finite, max(0, primal_ - dual_), gap_);
  relative_gap_ = where(finite, ratio(gap_, primal_), relative_gap_);
}

std::function<bool(const Scalars&)> Certificate::due(std::function<bool(const Scalars&)> ends_pass, int every) const {
  return [ends_pass = std::move(ends_pass), every, target = s_.parameters.gap](const Scalars& known) {
    const int now = static_cast<int>(known.at(iteration_scalar)), last = static_cast<int>(known.at("certified"));
    if (now == last) return true;  // in the look
    if (!ends_pass(known)) return false;
    return (now + 1) % every == 0 || ((last + 1) % every == 0 && now - last >= iterations_to_gap(known, target));
  };
}

void Certificate::look(bool projected) {
  if (!projected) arrays_.p = s_.A * s_.x;
  sum_data();
  if (!std::isfinite(penalty_.maximum())) find_maximum();
  arrays_.u = s_.x;
  penalty_.copy_dual();
  for (int n = 0; n < s_.parameters.polish_steps; ++n) penalty_.polish(arrays_.z, arrays_.u, arrays_.ubar, maximum_);
  sum_volume();
  s_.compare(s_.x);
}

void Certificate::end(const std::function<void()>& look, const std::function<void()>& more) {
  s_.last([&] {
    s_.when([](const Scalars& known) { return known.at("certified") != known.at(iteration_scalar) - 1; }, look);
    if (more) more();
    if (s_.parameters.gap_map) penalty_.gap_map(s_.x, arrays_.z, arrays_.ubar, maximum_);
  });
  s_.program().ends = [gap = s_.parameters.gap](int done, const Scalars& known) {
    return gap > 0 && known.at("certified") == done - 1 && known.at("relative_gap") <= gap;
  };
}

}  // namespace halocline

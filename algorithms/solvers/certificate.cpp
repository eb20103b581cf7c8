#include "algorithms/solvers/certificate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/support/slice_sums.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr double room = 1.5;      // of the maximum where it is not given, in the largest voxel
constexpr int start_steps = 300;  // of start_dual()

}  // namespace

Certificate::Certificate(expressions::Recording& on, const expressions::LinearOperator& A, TvTerm& penalty,
                         const CertificateParameters& parameters, Arrays arrays)
    : on_(on),
      A_(A),
      penalty_(penalty),
      parameters_(parameters),
      arrays_(std::move(arrays)),
      data_(on.number("data")),
      mismatch_(on.number("mismatch")),
      maximum_(on.number("maximum")) {
  Program& program = on.program();
  if (!std::isfinite(penalty.maximum())) SliceSums(program.needs.size, 1).declare_largest(program.needs);
  constexpr double unknown = std::numeric_limits<double>::infinity();
  for (const char* name : {"primal", "gap", "relative_gap"}) program.scalars[name] = unknown;
  program.scalars["dual"] = -unknown;
  for (const char* name : {"variation", "dual maximum"}) program.scalars[name] = 0;
  program.scalars["certified"] = -1;
  program.needs.kernels.emplace_back("pdu_variant_certificate");
  if (parameters_.gap_map) penalty.keep_polished();  // the map is of the last look, in whatever iteration
}

void Certificate::start_dual() {
  const auto maximum = [most = penalty_.maximum()](const Scalars& known) {
    return std::isfinite(most) ? most : known.at("maximum");
  };
  if (!std::isfinite(penalty_.maximum())) find_maximum();
  arrays_.u = arrays_.x;
  for (int n = 0; n < start_steps; ++n) penalty_.improve(arrays_.z, arrays_.u, arrays_.ubar, maximum);
}

// 1.5 times the largest voxel.
void Certificate::find_maximum() {
  Step step{.name = "largest", .arrays = {in(name_of(arrays_.x))}, .largest = true};
  const auto& size = on_.program().needs.size;
  step.work = [x = name_of(arrays_.x), sums = SliceSums(size, 1)](Slab& slab, const WorkRange& part, const Scalars&) {
    sums.largest(slab, x, part.slices);
  };
  step.reduced = [lowest = penalty_.minimum()](std::span<const double> largest, Scalars& known) {
    known["maximum"] = largest[0] > 0 ? room * largest[0] : std::max(largest[0], lowest + std::abs(lowest));
  };
  on_.step(std::move(step));
}

// Sums the data term, and the mismatch of the dual r of the rays.
void Certificate::sum_data() {
  const auto& [x, z, u, ubar, p, r, b, w] = arrays_;
  const Array misfit = p - b;
  if (w.empty()) {
    data_ = dot(misfit, misfit) / 2;
    const Array rest = misfit - r;
    mismatch_ = dot(rest, rest) / 2;
  } else {
    data_ = dot(misfit, misfit, w) / 2;
    const Array rest = fma(w, misfit, -r);
    mismatch_ = dot(rest, where(w, rest / w, 0)) / 2;
  }
  if (std::isfinite(penalty_.maximum())) maximum_ = penalty_.maximum();
}

// The best dual value of all looks at this maximum is one, too: a bound for a smaller box is none for a larger one.
void Certificate::sum_volume() const {
  const auto receives = [lambda = penalty_.lambda(), judge = parameters_.judge](std::span<const double> sums,
                                                                                Scalars& known) {
    const double gap = known["mismatch"] + sums[0] + known["maximum"] * sums[1] - sums[2];
    known["variation"] = sums[3];
    known["primal"] = known["data"] + lambda * sums[3];
    known["certified"] = known[iteration_scalar];
    const bool number = std::isfinite(known["primal"]) && std::isfinite(gap);
    if (judge) judge(number ? known["primal"] : std::numeric_limits<double>::infinity(), known);
    if (!number && judge) return;
    if (!number)
      throw InputError(
          "the iterations diverge: the objective is not finite. Check the projections, the weights (`weights`) "
          "and `lambda` for values that float32 does not hold, and scale them");
    const bool same_box = known["dual maximum"] == known["maximum"];
    known["dual"] = same_box ? std::max(known["dual"], known["primal"] - gap) : known["primal"] - gap;
    known["dual maximum"] = known["maximum"];
    known["gap"] = std::max(0.0, known["primal"] - known["dual"]);
    known["relative_gap"] = known["primal"] > 0 ? known["gap"] / known["primal"] : 0;
  };
  penalty_.certificate(arrays_.x, arrays_.z, receives);
}

void Certificate::look(bool projected) {
  const auto maximum = [](const Scalars& known) { return known.at("maximum"); };
  if (!projected) arrays_.p = A_ * arrays_.x;
  sum_data();
  if (!std::isfinite(penalty_.maximum())) find_maximum();
  arrays_.u = arrays_.x;
  penalty_.copy_dual();
  for (int n = 0; n < parameters_.polish_steps; ++n) penalty_.polish(arrays_.z, arrays_.u, arrays_.ubar, maximum);
  sum_volume();
}

void Certificate::end(const std::function<void()>& look, const std::function<void()>& more) {
  on_.last([&] {
    on_.when([](const Scalars& known) { return known.at("certified") != known.at(iteration_scalar) - 1; }, look);
    if (more) more();
    if (parameters_.gap_map)
      penalty_.gap_map(arrays_.x, arrays_.z, arrays_.ubar, [](const Scalars& known) { return known.at("maximum"); });
  });
  on_.program().ends = [gap = parameters_.gap](int done, const Scalars& known) {
    return gap > 0 && known.at("certified") == done - 1 && known.at("relative_gap") <= gap;
  };
}

}  // namespace halocline

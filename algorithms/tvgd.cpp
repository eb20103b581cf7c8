#include "algorithms/tvgd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace halocline {

Tvgd::Tvgd(const MethodParameters& parameters)
    : parameters_(parameters),
      epsilon2_(static_cast<float>(parameters.epsilon * parameters.epsilon)),
      count_(static_cast<double>(parameters.size[0]) * static_cast<double>(parameters.size[1]) *
             static_cast<double>(parameters.size[2])),
      sums_(parameters.size, 4, parameters.variants) {
  for (int axis = 0; axis < 3; ++axis) inverse_[axis] = static_cast<float>(1 / parameters.spacing[axis]);
}

Requirements Tvgd::requirements() const {
  Requirements need;
  need.algorithm = "tvgd";
  need.size = parameters_.size;
  need.arrays = {volume_array("f", Lifetime::input), volume_array("u", Lifetime::output),
                 volume_array("v", Lifetime::scratch)};
  need.kernels = {"tvgd_step", "copy_slices", "tvgd_sums"};
  sums_.declare(need);
  need.iterations = parameters_.iterations;
  need.halo_low = need.halo_high = 1;
  need.reduction_halo = 1;
  need.reduction_every_iteration = true;
  return need;
}

void Tvgd::begin() {
  DenoiseMethod::begin();
  factor_ = 0;
}

void Tvgd::start(Slab& slab) const {
  const auto begin = static_cast<std::int32_t>(slab.extended().begin),
             end = static_cast<std::int32_t>(slab.extended().end);
  slab.launch({"copy.cl", "copy_slices", ""}, slab.extended(),
              {in("f"), out("v"), slab.nx(), slab.ny(), slab.offset(), begin, end});
}

void Tvgd::iterate(Slab& slab, int, Range core) const {
  const auto begin = static_cast<std::int32_t>(core.begin), end = static_cast<std::int32_t>(core.end);
  // the kernel for GPUs marches along segments of y
  const std::size_t rows = sums_.on_cpu(slab) ? parameters_.size[1] : sums_.segments();
  slab.launch({"tvgd.cl", "tvgd_step", sums_.lane_option(slab)},
              {parameters_.size[0], rows, static_cast<std::size_t>(core.count())},
              {in("u"), out("v"), slab.nx(), slab.ny(), slab.nz(), slab.offset(), begin, end, inverse_[0], inverse_[1],
               inverse_[2], epsilon2_, static_cast<float>(factor_)});
}

// Every iteration ends with a reduction, so that is where the step becomes the state: it costs less than a copy.
void Tvgd::reduce(Slab& slab, Range interior) const {
  sums_.launch(slab, "tvgd.cl", "tvgd_sums", interior,
               {in("v"), in("f"), out("u"), out("partials"), slab.nx(), slab.ny(), slab.nz(), slab.offset(),
                static_cast<std::int32_t>(interior.begin), static_cast<std::int32_t>(interior.end), inverse_[0],
                inverse_[1], inverse_[2], epsilon2_});
}

double Tvgd::next_factor(double gradient2, double fidelity2, double product) const {
  const double left = parameters_.target_rms - std::sqrt(fidelity2 / count_);
  const double step = std::min(parameters_.step, std::max(0.3 * left, parameters_.step / 20));
  const double factor = step * std::sqrt(count_ / gradient2);
  // ||u - factor g - f||^2 = target^2 N has the root where the step meets the target
  const double missing = parameters_.target_rms * parameters_.target_rms * count_ - fidelity2;
  if (missing >= factor * factor * gradient2 - 2 * factor * product) return factor;
  const double root = std::sqrt(product * product + gradient2 * missing);
  return product > 0 ? (product + root) / gradient2 : missing / (root - product);
}

bool Tvgd::reduced(int done, std::span<const double> sums) {
  const double gradient2 = SliceSums::value(sums, 0), fidelity2 = SliceSums::value(sums, 1);
  IterationRecord now;
  now.iteration = done;
  now.total_variation = SliceSums::value(sums, 3);
  now.fidelity = now.weighted_fidelity = std::sqrt(fidelity2);
  history_.push_back(now);
  const bool aims = std::isfinite(parameters_.target_rms);
  const bool reached = aims && std::sqrt(fidelity2 / count_) >= (1 - 1e-5) * parameters_.target_rms;
  const bool flat = !(gradient2 > 0);  // nothing left to descend
  converged_ = reached || (!aims && (flat || done == parameters_.iterations));
  stalled_ = flat && !converged_;
  if (reached || flat) return true;
  factor_ = next_factor(gradient2, fidelity2, SliceSums::value(sums, 2));
  return false;
}

std::string Tvgd::note() const {
  return history_.empty() ? std::string() : fmt::format("||u - f|| {:.4g}", history_.back().fidelity);
}

}  // namespace halocline

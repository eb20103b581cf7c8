#include "algorithms/denoisers/tvgd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace halocline {
namespace {

constexpr int records = 32;                 // iterations whose sums the device keeps
constexpr std::size_t slices_at_once = 16;  // SLICES_AT_ONCE of cl/tvgd_rows.clh
constexpr std::size_t steer_items = 64;     // STEER_ITEMS of cl/tvgd.cl
constexpr std::size_t row_lanes = 16;       // WIDTH of cl/rows.clh

ArrayNeed fixed_array(std::string name, std::size_t bytes) {
  ArrayNeed need;
  need.name = std::move(name);
  need.kind = ArrayKind::fixed;
  need.element_bytes = 1;
  need.elements = bytes;
  return need;
}

}  // namespace

Tvgd::Tvgd(const MethodParameters& parameters)
    : parameters_(parameters),
      epsilon2_(static_cast<float>(parameters.epsilon * parameters.epsilon)),
      sums_(parameters.size, 4, parameters.variants, parameters.compared ? 1 : 0),
      count_(static_cast<double>(parameters.size[0]) * static_cast<double>(parameters.size[1]) *
             static_cast<double>(parameters.size[2])) {
  for (int axis = 0; axis < 3; ++axis) inverse_[axis] = static_cast<float>(1 / parameters.spacing[axis]);
}

Requirements Tvgd::requirements() const {
  Requirements need;
  need.algorithm = "tvgd";
  need.size = parameters_.size;
  need.arrays = {volume_array("f", Lifetime::input), volume_array("u", Lifetime::output),
                 volume_array("v", Lifetime::scratch), fixed_array("control", 8), fixed_array("records", records * 64)};
  need.kernels = {"tvgd_step", "tvgd_sums", "tvgd_steer"};
  sums_.declare(need);
  need.iterations = parameters_.iterations;
  need.halo_low = need.halo_high = 1;
  need.reduction_halo = 1;
  need.reduction_every_iteration = true;
  need.takes_parts = true;
  need.border_slices = 32;  // of 1024^2 voxels they keep an H200 busy; one takes half as long as all of them
  need.cost = {.name = "tvgd", .bytes = 20.5};  // 12 at 59 % of a copy's rate on an H200
  return need;
}

void Tvgd::begin() {
  DenoiseMethod::begin();
  factor_ = 0;
  ended_at_ = -1;
}

void Tvgd::start(Slab& slab) const {
  slab.fill("control", 0);
  slab.launch({"copy.cl", "copy_slices", ""}, slab.extended(), {in("f"), out("u"), slab.extent(slab.extended())});
}

Tvgd::Shape Tvgd::shape(const Slab& slab, Range slices, int depth) const {
  if (sums_.on_cpu(slab))
    return {{1, sums_.segments(), (static_cast<std::size_t>(slices.count()) + slices_at_once - 1) / slices_at_once},
            {1, 1, 1},
            sums_.lane_option(slab),
            sums_.segments() * row_lanes};
  const auto march = sums_.march(slab.device(), slices, depth);
  return {march.global, march.group, fmt::format("{} -D SLICES={}", march.options, depth), march.sets};
}

void Tvgd::push_factor(std::vector<SlabArgument>& arguments, const Slab& slab) const {
  arguments.insert(arguments.end(), {in("control"), std::int32_t{window(slab) != 0}, static_cast<float>(factor_)});
}

void Tvgd::iterate(Slab& slab, int iteration, Range core) const {
  if (core.empty()) return;
  if (takes_parts(slab)) return iterate_parts(slab, iteration, 1, std::span(&core, 1), [](std::size_t) {});
  std::vector<SlabArgument> arguments{in("v"), inout("u")};
  push_factor(arguments, slab);
  arguments.emplace_back(slab.extent(core));
  slab.launch({"tvgd.cl", "tvgd_add", sums_.lane_option(slab)},
              {1, parameters_.size[1], static_cast<std::size_t>(core.count())}, {1, 1, 1}, arguments);
}

void Tvgd::iterate_parts(Slab& slab, int, int, std::span<const Range> parts,
                         const std::function<void(std::size_t)>& launched) const {
  for (std::size_t n = 0; n < parts.size(); ++n) {
    step(slab, parts[n]);
    launched(n);
  }
  slab.swap("u", "v");
}

void Tvgd::step(Slab& slab, Range core) const {
  const auto [global, group, options, sets] = shape(slab, core, 2);
  std::vector<SlabArgument> arguments{in("u"), out("v")};
  push_factor(arguments, slab);
  arguments.insert(arguments.end(), {slab.extent(core), per_axis(inverse_), epsilon2_});
  slab.launch({"tvgd.cl", "tvgd_step", options}, global, group, arguments);
}

// A CPU keeps the gradient from the sums for the step. Slabs of a part need it beyond their interior as well, where the
// sums do not compute it.
bool Tvgd::keeps(const Slab& slab) const {
  return sums_.on_cpu(slab) && slab.interior().count() == slab.nz();
}

// The norm alone steers without a target; the result of the descent is measured at the end.
bool Tvgd::measures(int done) const {
  return std::isfinite(parameters_.target_rms) || done == 0 || done == parameters_.iterations || done == ended_at_;
}

bool Tvgd::ends_early(int done) {
  const bool measured = measures(done);
  ended_at_ = done;
  return !measured;
}

void Tvgd::reduce(Slab& slab, int done, Range interior) const {
  const bool all = measures(done);
  const auto [global, group, options, sets] = shape(slab, interior, all ? 2 : 1);
  std::vector<SlabArgument> arguments{in("u"), in("f"), out("partials")};
  if (keeps(slab)) arguments.emplace_back(out("v"));
  arguments.insert(arguments.end(), {slab.extent(interior), per_axis(inverse_), epsilon2_});
  slab.launch({"tvgd.cl", "tvgd_sums",
               fmt::format("{} {}{}{}", options, sums_.fp64_option(slab), all ? " -D FIDELITY" : "",
                           keeps(slab) ? " -D KEEP" : "")},
              global, group, arguments);
  sums_.add_up(slab, interior, sets, all ? 4 : 1);
}

// Iterations that the device can do alone: none where the host has to see every iteration's sums, as it sets the factor
// of the next one, or where there are more sums than the device keeps.
int Tvgd::window(const Slab& slab) const {
  const bool takes = slab.device().max_work_group >= steer_items;
  return takes && !parameters_.compared && sums_.on_fp64(slab) && slab.interior().count() == slab.nz() ? records : 0;
}

void Tvgd::steer(Slab& slab, int done) const {
  const std::size_t items = steer_items;
  slab.launch({"tvgd.cl", "tvgd_steer", sums_.fp64_option(slab)}, {items, 1, 1}, {items, 1, 1},
              {in("sums"), inout("control"), inout("records"), slab.nz(), measures(done) ? 4 : 1, done % records,
               count_, parameters_.step, std::isfinite(parameters_.target_rms) ? parameters_.target_rms : 0.0,
               std::isfinite(parameters_.target_rms) ? 1 : 0});
}

std::vector<std::vector<double>> Tvgd::sums(Slab& slab, int done, int count) const {
  std::vector<double> values(8 * records);
  slab.read("records", values.data(), sizeof(double) * values.size());
  std::vector<std::vector<double>> result;
  for (int n = done - count + 1; n <= done; ++n) {
    const auto* from = &values[8 * static_cast<std::size_t>(n % records)];
    result.emplace_back(from, from + 8);
  }
  return result;
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
  const bool measured = measures(done);
  const double gradient2 = SliceSums::value(sums, 0), fidelity2 = measured ? SliceSums::value(sums, 1) : 0;
  IterationRecord now;
  now.iteration = done;
  now.total_variation = measured ? SliceSums::value(sums, 3) : std::numeric_limits<double>::quiet_NaN();
  now.fidelity = measured ? std::sqrt(fidelity2) : std::numeric_limits<double>::quiet_NaN();
  now.weighted_fidelity = parameters_.statistical ? std::numeric_limits<double>::quiet_NaN() : now.fidelity;
  history_.push_back(now);
  const bool aims = std::isfinite(parameters_.target_rms);
  const bool reached = aims && std::sqrt(fidelity2 / count_) >= (1 - 1e-5) * parameters_.target_rms;
  const bool flat = !(gradient2 > 0);  // nothing left to descend
  converged_ = reached || (!aims && (flat || done == parameters_.iterations));
  stalled_ = flat && !converged_;
  if (reached || (flat && measured)) return true;
  factor_ = flat ? 0 : next_factor(gradient2, fidelity2, measured ? SliceSums::value(sums, 2) : 0);
  return false;
}

std::string Tvgd::note() const {
  if (history_.empty() || !std::isfinite(history_.back().fidelity)) return {};
  return fmt::format("||u - f|| {:.4g}", history_.back().fidelity);
}

}  // namespace halocline

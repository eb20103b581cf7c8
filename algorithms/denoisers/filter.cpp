#include "algorithms/denoisers/filter.hpp"

#include <fmt/format.h>

#include <cmath>

namespace halocline {
namespace {

constexpr std::size_t lanes = SliceSums::lanes;

}  // namespace

Filter::Filter(std::string name, const MethodParameters& parameters, const std::array<int, 3>& reach)
    : name_(std::move(name)),
      parameters_(parameters),
      reach_(reach),
      sums_(parameters.size, 1, parameters.variants, parameters.compared ? 1 : 0) {}

std::array<int, 3> Filter::along_axes(const std::array<std::size_t, 3>& size, int radius) {
  std::array<int, 3> result;
  for (int axis = 0; axis < 3; ++axis) result[axis] = size[axis] > 1 ? radius : 0;
  return result;
}

Requirements Filter::requirements() const {
  Requirements need;
  need.algorithm = name_;
  need.size = parameters_.size;
  need.arrays = {volume_array("f", Lifetime::input), volume_array("u", Lifetime::output)};
  need.kernels = {"filter_fidelity"};
  sums_.declare(need);
  need.iterations = 1;
  need.halo_low = need.halo_high = reach_[2];
  return need;
}

void Filter::reduce(Slab& slab, int, Range slices) const {
  sums_.launch(slab, "filter.cl", "filter_fidelity", slices, {in("u"), in("f"), out("partials"), slab.extent(slices)});
}

bool Filter::reduced(int done, std::span<const double> sums) {
  IterationRecord now;
  now.iteration = done;
  now.fidelity = now.weighted_fidelity = std::sqrt(SliceSums::value(sums, 0));
  history_.push_back(now);
  converged_ = true;
  return true;
}

std::size_t Filter::pitch() const {
  return (parameters_.size[0] + lanes - 1) / lanes * lanes + 2 * static_cast<std::size_t>(reach_[0]);
}

void Filter::declare_padded(Requirements& need) const {
  ArrayNeed padded;
  padded.name = "padded";
  padded.kind = ArrayKind::slice;
  padded.lifetime = Lifetime::scratch;
  padded.elements = pitch() * rows();
  need.arrays.push_back(padded);
  need.kernels.insert(need.kernels.begin(), "filter_pad");
}

void Filter::pad(Slab& slab, Range slices) const {
  if (slices.empty()) return;
  slab.launch({"filter.cl", "filter_pad", ""}, {pitch(), rows(), static_cast<std::size_t>(slices.count())},
              {in("f"), out("padded"), slab.extent(slices), static_cast<std::int32_t>(pitch()),
               static_cast<std::int32_t>(rows()), reach_[0], reach_[1]});
}

void Filter::launch_rows(Slab& slab, const KernelSpec& spec, Range slices,
                         const std::vector<SlabArgument>& arguments) const {
  if (slices.empty()) return;
  const std::size_t ny = parameters_.size[1], count = static_cast<std::size_t>(slices.count());
  if (sums_.on_cpu(slab))
    slab.launch(spec, {(parameters_.size[0] + lanes - 1) / lanes, ny, count}, {1, 1, 1}, arguments);
  else
    slab.launch(spec, {parameters_.size[0], ny, count}, arguments);
}

void Filter::launch_on_padded(Slab& slab, const std::string& file, const std::string& kernel, Range core,
                              const std::string& options, const std::vector<SlabArgument>& more) const {
  std::vector<SlabArgument> arguments{in("padded"), out("u"), slab.extent(core), static_cast<std::int32_t>(pitch()),
                                      static_cast<std::int32_t>(rows())};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const KernelSpec spec{
      file, kernel,
      fmt::format("{} -D PAD_X={} -D PAD_Y={} {}", options, reach_[0], reach_[1], sums_.lane_option(slab))};
  launch_rows(slab, spec, core, arguments);
}

}  // namespace halocline

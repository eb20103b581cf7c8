#include "algorithms/denoisers/tvgd_variant.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace halocline {
namespace {

constexpr const char* tvgd_file = "tvgd_variant.cl";

}  // namespace

TvgdVariant::TvgdVariant(const MethodParameters& parameters) : Tvgd(parameters) {}

Requirements TvgdVariant::requirements() const {
  Requirements need = Tvgd::requirements();
  if (parameters_.statistical) need.arrays.insert(need.arrays.begin() + 1, volume_array("w", Lifetime::input));
  need.kernels[0] = "tvgd_variant_step";
  need.kernels[1] = "tvgd_variant_sums";
  need.cost.name = parameters_.adaptive_delta ? "tvgd adaptive" : "tvgd statistical";
  need.cost.bytes = parameters_.adaptive_delta ? 131 : 79;  // computes neighbours' directions again
  return need;
}

std::string TvgdVariant::options() const {
  return std::string(parameters_.adaptive_delta ? "-D ADAPTIVE " : "") +
         (parameters_.statistical ? "-D WEIGHTED " : "");
}

void TvgdVariant::push_input(Arguments& arguments) const {
  if (parameters_.statistical) arguments.emplace_back(in("w"));
}

void TvgdVariant::push_rest(Arguments& arguments, const Slab& slab, Range slices) const {
  arguments.insert(arguments.end(), {slab.extent(slices), per_axis(inverse_), epsilon2_});
  if (!parameters_.adaptive_delta) return;
  constexpr double most = std::numeric_limits<float>::max();  // infinity times a difference of 0 would be no number
  arguments.emplace_back(static_cast<float>(std::min(1 / *parameters_.adaptive_delta, most)));
}

void TvgdVariant::step(Slab& slab, Range core) const {
  Arguments arguments{in("u")};
  push_input(arguments);
  arguments.emplace_back(out("v"));
  push_factor(arguments, slab);
  push_rest(arguments, slab, core);
  const KernelSpec kernel{tvgd_file, "tvgd_variant_step", options() + sums_.lane_option(slab)};
  if (!sums_.on_cpu(slab)) return slab.launch(kernel, core, arguments);
  const auto [global, group, lanes, sets] = shape(slab, core, 1);
  slab.launch(kernel, global, group, arguments);
}

// All four sums every time: next to the gradient they cost nothing.
void TvgdVariant::reduce(Slab& slab, int, Range interior) const {
  Arguments arguments{in("u"), in("f")};
  push_input(arguments);
  arguments.emplace_back(out("partials"));
  if (keeps(slab)) arguments.emplace_back(out("v"));
  push_rest(arguments, slab, interior);
  if (!sums_.on_cpu(slab)) return sums_.launch(slab, tvgd_file, "tvgd_variant_sums", interior, arguments, options());
  const auto [global, group, lanes, sets] = shape(slab, interior, 1);
  slab.launch({tvgd_file, "tvgd_variant_sums",
               fmt::format("{}{} {}{}", options(), lanes, sums_.fp64_option(slab), keeps(slab) ? " -D KEEP" : "")},
              global, group, arguments);
  sums_.add_up(slab, interior, sets, 4);
}

}  // namespace halocline

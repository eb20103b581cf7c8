#include "algorithms/denoisers/tvgd_variant.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "host/opencl/work_groups.hpp"

namespace halocline {
namespace {

constexpr const char* tvgd_file = "tvgd_variant.cl";

// Groups of cl/tvgd_group.clh: MARCH_X work-items along x and MARCH_Z along z, of SLICES slices each. The last column
// and the last slice of a group serve their neighbours alone.
constexpr std::size_t march_x = 32, march_z = 4, depth = 2;

std::size_t groups_along_x(std::size_t columns) {
  return (columns + march_x - 2) / (march_x - 1);
}

}  // namespace

TvgdVariant::TvgdVariant(const MethodParameters& parameters) : Tvgd(parameters) {}

Requirements TvgdVariant::requirements() const {
  Requirements need = Tvgd::requirements();
  if (parameters_.statistical) need.arrays.insert(need.arrays.begin() + 1, volume_array("w", Lifetime::input));
  need.kernels[0] = "tvgd_variant_step";
  need.kernels[1] = "tvgd_variant_sums";
  for (auto& array : need.arrays)  // 4 sums a set
    if (array.name == "partials")
      array.elements = std::max(array.elements, 4 * groups_along_x(parameters_.size[0]) * sums_.segments());
  need.cost.name = parameters_.adaptive_delta ? "tvgd adaptive" : "tvgd statistical";
  need.cost.bytes = parameters_.adaptive_delta ? 36 : 42;  // bound by arithmetic: as measured on an H200
  return need;
}

Tvgd::Shape TvgdVariant::group_shape(const Slab& slab, Range slices) const {
  if (sums_.on_cpu(slab)) return shape(slab, slices, 1);
  const auto group = work_group_within({march_x, 1, march_z}, slab.device());
  const std::size_t along_x = groups_along_x(parameters_.size[0]), results = group[2] * depth - 1,
                    along_z = (static_cast<std::size_t>(slices.count()) + results - 1) / results;
  return {{march_x * along_x, sums_.segments(), group[2] * along_z},
          group,
          fmt::format("-D MARCH_Z={} -D SLICES={}", group[2], depth),
          along_x * sums_.segments()};
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
  const double decay = std::sqrt(std::numbers::log2e) / *parameters_.adaptive_delta;
  arguments.emplace_back(static_cast<float>(std::min(decay, most)));
}

void TvgdVariant::step(Slab& slab, Range core) const {
  Arguments arguments{in("u")};
  push_input(arguments);
  arguments.emplace_back(out("v"));
  push_factor(arguments, slab);
  push_rest(arguments, slab, core);
  const auto [global, group, form, sets] = group_shape(slab, core);
  slab.launch({tvgd_file, "tvgd_variant_step", options() + form}, global, group, arguments);
}

// All four sums every time: next to the gradient they cost nothing.
void TvgdVariant::reduce(Slab& slab, int, Range interior) const {
  Arguments arguments{in("u"), in("f")};
  push_input(arguments);
  arguments.emplace_back(out("partials"));
  if (keeps(slab)) arguments.emplace_back(out("v"));
  push_rest(arguments, slab, interior);
  const auto [global, group, form, sets] = group_shape(slab, interior);
  slab.launch({tvgd_file, "tvgd_variant_sums",
               fmt::format("{}{} {}{}", options(), form, sums_.fp64_option(slab), keeps(slab) ? " -D KEEP" : "")},
              global, group, arguments);
  sums_.add_up(slab, interior, sets, 4);
}

}  // namespace halocline

#include "algorithms/solvers/ramp_filter.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "host/system/error.hpp"
#include "scheduling/slabs/slab.hpp"

namespace halocline {
namespace {

constexpr std::size_t ramp_lanes = 16;  // voxels a work-item on CPUs

constexpr const char* kernel_table = "ramp kernel";
constexpr const char* sums_table = "ramp sums";

double ramp(std::int64_t n) {
  if (n == 0) return 0.25;
  return n % 2 == 0 ? 0 : -1 / (std::pow(std::numbers::pi * static_cast<double>(n), 2));
}

// Kernel h_n for n = 1 - length to length - 1, so that the OpenCL kernel need not distinguish the sides.
std::vector<float> both_sides(std::size_t length) {
  std::vector<float> table;
  const auto last = static_cast<std::int64_t>(length) - 1;
  for (std::int64_t n = -last; n <= last; ++n) table.push_back(static_cast<float>(ramp(n)));
  return table;
}

// Appends for each place along an axis the sum of the kernel over the axis, from float32 values.
void append_sums(std::vector<float>& table, std::size_t length) {
  for (std::size_t at = 0; at < length; ++at) {
    double sum = 0;
    for (std::size_t n = 0; n < length; ++n)
      sum += static_cast<float>(ramp(static_cast<std::int64_t>(n) - static_cast<std::int64_t>(at)));
    table.push_back(static_cast<float>(sum));
  }
}

}  // namespace

RampFilter::RampFilter(expressions::Recording& on) : on_(on), size_(on.volumes().grid().size), scale_{} {
  const Grid volume = on.volumes().grid();
  Program& program = on.program();
  for (std::size_t axis = 0; axis < 2; ++axis) scale_[axis] = static_cast<float>(1 / volume.spacing[axis]);
  if (std::abs(volume.direction[5]) < 0.99)
    throw InputError({.what = "`precondition`",
                      .found = "a volume whose slices do not lie across the rotation axis y",
                      .expected = "axis k of the volume along y, for the ramp filters slice by slice",
                      .remedy = "take another grid, or leave it out"});
  const std::vector<float> kernel = both_sides(std::max(size_[0], size_[1]));
  std::vector<float> sums;
  append_sums(sums, size_[0]);
  append_sums(sums, size_[1]);
  program.needs.arrays.push_back({.name = kernel_table, .kind = ArrayKind::fixed, .elements = kernel.size()});
  program.needs.arrays.push_back({.name = sums_table, .kind = ArrayKind::fixed, .elements = sums.size()});
  program.needs.kernels.emplace_back("ramp_filter");
  program.start.push_back([kernel, sums](Slab& slab) {
    slab.set(kernel_table, kernel.data(), kernel.size() * sizeof(float));
    slab.set(sums_table, sums.data(), sums.size() * sizeof(float));
  });
}

void RampFilter::filter(const expressions::Array& source, const expressions::Array& target) const {
  const std::string &from = name_of(source), &to = name_of(target);
  const auto middle = static_cast<std::int32_t>(std::max(size_[0], size_[1]) - 1);
  on_.step({.name = "ramp_filter",
            .over = Domain::slices,
            .arrays = {in(from), out(to)},
            .work = [=, size = size_, scale = scale_](Slab& slab, const WorkRange& part, const Scalars&) {
              const std::vector<SlabArgument> arguments{
                  in(from), out(to), in(kernel_table), in(sums_table), slab.extent(part.slices), middle, scale};
              if (!slab.device().cpu()) return slab.launch({"ramp.cl", "ramp_filter", ""}, part.slices, arguments);
              slab.launch(
                  {"ramp.cl", "ramp_filter", fmt::format("-D LANES={}", ramp_lanes)},
                  {(size[0] + ramp_lanes - 1) / ramp_lanes, size[1], static_cast<std::size_t>(part.slices.count())},
                  {1, 1, 1}, arguments);
            }});
}

}  // namespace halocline

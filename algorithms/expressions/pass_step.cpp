// A pass as a step of the executor.
#include <fmt/format.h>

#include "algorithms/expressions/job_numbers.hpp"
#include "algorithms/expressions/pass.hpp"

namespace halocline::expressions {
namespace {

// Elements of a work-item: the compilers of CPUs make vectors of loops.
constexpr std::size_t elements_of_cpus = 4096;
const std::string cpu_option = fmt::format("-D ELEMENTS={}", elements_of_cpus), gpu_option = "-D ELEMENTS=1";

Access access_of(const Role& role) {
  return !role.stored ? Access::in : role.loaded ? Access::inout : Access::out;
}

}  // namespace

Step step_of(const PassKernel& kernel, const std::vector<std::string>& names, std::vector<Number> numbers,
             ArrayKind kind, const std::array<std::size_t, 3>& size, KernelVariants variants) {
  const bool volume = kind == ArrayKind::volume;
  Step step{.name = "expression", .over = volume ? Domain::slices : Domain::views};
  for (std::size_t n = 0; n < names.size(); ++n)
    if (kernel.roles.arrays[n].is_argument()) step.arrays.push_back({names[n], access_of(kernel.roles.arrays[n])});
  step.halo_low = kernel.roles.halo_low;
  step.halo_high = kernel.roles.halo_high;
  step.by_rows = !volume && !kernel.roles.neighbours;
  const int sums = kernel.roles.sums;
  if (sums > 0) step.sums = sums;
  step.largest = kernel.roles.largest > 0;
  if (sums > 0 && !volume) step.names = {{"partials", "view_partials"}, {"sums", "view_sums"}};
  step.work = [file = kernel.file, wide_file = kernel.wide_file, neighbours = kernel.roles.neighbours, sums,
               largest = step.largest, volume, reads_numbers = kernel.roles.reads_numbers(), size, variants,
               arrays = step.arrays,
               numbers = std::move(numbers)](Slab& slab, const WorkRange& part, const Scalars& known) {
    const Range range = volume ? part.slices : part.views;
    const std::size_t rows = volume ? size[1] : slab.rows().size();
    const std::int32_t offset = volume ? slab.offset() : number(range.begin);
    std::vector<SlabArgument> arguments;
    arguments.reserve(arrays.size() + numbers.size() + 3);
    arguments.insert(arguments.end(), arrays.begin(), arrays.end());
    for (const Number& each : numbers)
      arguments.push_back(each.on_device < 0 ? SlabArgument(each(known)) : SlabArgument(number(each.on_device)));
    if (reads_numbers) arguments.emplace_back(in(rounded_numbers));
    const auto count = static_cast<std::size_t>(range.count());
    const bool cpu = slab.device().cpu() && !variants.gpu;
    const std::size_t own = cpu ? elements_of_cpus : 1;
    const std::string option = cpu ? cpu_option : gpu_option;
    if (sums == 0 && !neighbours) {
      const std::size_t layer = size[0] * rows, first = layer * static_cast<std::size_t>(range.begin - offset);
      const bool wide = !cpu && layer * count % 4 == 0 && first % 4 == 0;
      const std::size_t elements = wide ? layer * count / 4 : layer * count, begin = wide ? first / 4 : first;
      arguments.emplace_back(std::uint64_t{begin});
      arguments.emplace_back(std::uint64_t{begin + elements});
      return slab.launch({wide ? wide_file : file, "expression", option}, {(elements + own - 1) / own, 1, 1},
                         arguments);
    }
    const structs::Extent extent{number(size[0]), number(rows),        number(size[2]),
                                 offset,          number(range.begin), number(range.end)};
    if (sums > 0) arguments.emplace_back(out("partials"));
    arguments.emplace_back(argument_struct(extent));
    SliceSums reduction({size[0], rows, size[2]}, sums, variants);
    if (!volume) reduction = reduction.of_views();
    if (sums > 0)
      (largest ? reduction.of_largest() : reduction).launch(slab, file, "expression", range, offset, arguments);
    else
      slab.launch({file, "stencil", option}, {(size[0] + own - 1) / own, rows, count}, arguments);
  };
  return step;
}

}  // namespace halocline::expressions

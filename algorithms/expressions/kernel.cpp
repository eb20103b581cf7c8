#include "algorithms/expressions/kernel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "algorithms/expressions/expression.hpp"
#include "algorithms/expressions/pass.hpp"
#include "algorithms/expressions/recorder.hpp"
#include "algorithms/support/user_text.hpp"
#include "host/opencl/kernel_arguments.hpp"
#include "host/opencl/program_cache.hpp"
#include "host/system/error.hpp"
#include "host/system/plural.hpp"

namespace halocline::expressions {
namespace {

constexpr const char* before_source = R"(#pragma OPENCL FP_CONTRACT OFF
#include "extent.clh"
#define AT(x, y, z) ((size_t)(x) + (size_t)extent.nx * ((size_t)(y) + (size_t)extent.ny * (size_t)((z) - extent.offset)))
)";

// Empty where a kernel can take this array there.
std::string wrong_array(const DeclaredArgument& found, Access access) {
  return takes_floats(found, access != Access::in) ? ""
         : access == Access::in                    ? "__global const float*"
                                                   : "__global float*";
}

// Throws InputError where the kernel's arguments are not its arrays and tables (the last `tables` of `arrays`), the
// numbers of a call and the extent.
void check_arguments(const DeclaredArguments& declared, const std::string& name, const std::vector<ArrayAccess>& arrays,
                     std::size_t tables, std::size_t numbers) {
  const std::string what = "the kernel " + name;
  const auto& list = declared.list;
  const auto refuse = [&](std::size_t n, const std::string& wanted, const std::string& remedy) {
    throw InputError({.what = fmt::format("argument {} of {}", n + 1, what),
                      .found = '"' + text_of(list[n]) + '"',
                      .expected = wanted,
                      .remedy = remedy});
  };
  for (std::size_t n = 0; n < list.size() && n < arrays.size(); ++n)
    if (const auto wanted = wrong_array(list[n], arrays[n].access); !wanted.empty())
      refuse(n, fmt::format("\"{} {}\"", wanted, arrays[n].name),
             "its arguments are the arrays in their order, the tables, the numbers, and \"Extent extent\"");
  const std::size_t first = arrays.size(), last = declared.count == 0 ? 0 : declared.count - 1;
  if (!list.empty() && (last < first || list[last].type != "Extent"))
    refuse(last, "\"Extent extent\"", "it is the last argument, after the arrays, tables and numbers");
  std::vector<std::string> names;
  for (std::size_t n = first; n < last && n < list.size(); ++n) {
    if (list[n].type != "float" || list[n].is_constant)
      refuse(n, fmt::format("\"float {}\"", list[n].name), "numbers are float; kernels convert them to other types");
    names.push_back(list[n].name);
  }
  const std::string of_kernel = names.empty() ? "" : fmt::format(" ({})", fmt::join(names, ", "));
  if (declared.count != arrays.size() + numbers + 1)
    throw InputError({.what = "the call of " + what,
                      .found = fmt::format("one with {}", plural(numbers, "number", "numbers")),
                      .expected = last < first ? fmt::format("a kernel that takes {}{} and \"Extent extent\"",
                                                             plural(arrays.size() - tables, "array", "arrays"),
                                                             tables > 0 ? ", " + plural(tables, "table", "tables") : "")
                                               : plural(last - first, "number", "numbers") + of_kernel,
                      .remedy = "after its arrays and tables a kernel gets the numbers of a call, in its order"});
}

DeclaredArguments arguments_on(Device& device, const KernelSpec& spec) {
  try {
    return declared_arguments(device, spec);
  } catch (const BuildError& error) {
    if (error.refused()) throw TextError(error.what());
    throw;
  }
}

}  // namespace

Kernel::Kernel(const std::string& source, const std::string& name, std::vector<ArrayAccess> arrays,
               KernelOptions options)
    : name_(name), arrays_(std::move(arrays)), group_(options.group), halo_(options.halo) {
  const std::string of_kernel = " of the kernel " + name;
  file_ = keep_kernel_text("kernel " + name,
                           before_source + macro_text("`macros`" + of_kernel, options.macros) + "#line 1\n" + source);
  std::set<std::string> names;
  for (const auto& each : arrays_)
    if (!names.insert(each.name).second)
      throw InputError({.what = "`arrays` of the kernel " + name, .found = each.name + " twice", .expected = "names"});
  for (auto& [table, values] : options.tables) {
    check_identifier("`tables`" + of_kernel, table);
    if (values.empty() || !names.insert(table).second)
      throw InputError({.what = "`tables`" + of_kernel,
                        .found = table + (values.empty() ? " without numbers" : " twice"),
                        .expected = values.empty() ? "at least one" : "names that no array has"});
    tables_.push_back({table, std::make_shared<const std::vector<float>>(std::move(values))});
  }
  const auto zeros = std::count(group_.begin(), group_.end(), 0u);
  if (zeros != 0 && zeros != 3)
    throw InputError({.what = "`group`" + of_kernel,
                      .found = fmt::format("{}", fmt::join(group_, " x ")),
                      .expected = "work-items along x, y and z, such as 16 x 8 x 1"});
  const auto has = [&](Access access) {
    return std::any_of(arrays_.begin(), arrays_.end(), [&](const ArrayAccess& each) { return each.access == access; });
  };
  if (!has(Access::out) && !has(Access::inout))
    throw InputError({.what = "`arrays` of the kernel " + name, .found = "none that it writes", .expected = "one"});
  if (halo_ < 0 || (halo_ > 0 && has(Access::inout)))
    throw InputError({.what = "`halo` of the kernel " + name,
                      .found = std::to_string(halo_),
                      .expected = "0 where it reads what it writes, at least 0 elsewhere",
                      .remedy = "write to another array"});
}

Space Kernel::space_of(const std::map<std::string, Array*>& arrays) const {
  for (const auto& [name, array] : arrays) {
    const bool known =
        std::any_of(arrays_.begin(), arrays_.end(), [&n = name](const auto& each) { return each.name == n; });
    if (!known)
      throw InputError({.what = "`arrays` of the kernel " + name_, .found = name, .expected = "a name of its own"});
  }
  std::optional<Space> space;
  for (const auto& each : arrays_) {
    const auto found = arrays.find(each.name);
    if (found == arrays.end())
      throw InputError({.what = "`arrays` of the kernel " + name_, .found = "no " + each.name, .expected = "one"});
    if (each.access == Access::out && found->second->empty()) continue;
    const Space& own = found->second->space();
    if (space && *space != own)
      throw InputError({.what = "`arrays` of the kernel " + name_,
                        .found = space->text() + " and " + own.text(),
                        .expected = "arrays of one space"});
    space = own;
  }
  if (!space) space = arrays.begin()->second->space();  // throws
  return *space;
}

void Kernel::operator()(const std::map<std::string, Array*>& arrays, const std::vector<Scalar>& numbers) const {
  const Space space = space_of(arrays);
  Recorder& recorder = space.recorder();
  std::vector<ArrayAccess> declared = arrays_;
  for (const Table& table : tables_) declared.push_back(in(table.name));
  for (Device device : recorder.devices())
    check_arguments(arguments_on(device, {file_, name_, with_argument_names}), name_, declared, tables_.size(),
                    numbers.size());
  std::vector<ArrayAccess> tables;
  for (const Table& table : tables_) tables.push_back(in(recorder.table(table.values)));
  StepStatement statement;
  std::vector<std::pair<bool, std::size_t>> order;  // of the arguments: written, number among these
  for (const auto& each : arrays_) {
    Array& array = *arrays.at(each.name);
    order.emplace_back(each.access != Access::in,
                       (each.access == Access::in ? statement.reads : statement.writes).size());
    if (each.access == Access::in) {
      statement.reads.push_back(array.storage());
    } else if (each.access == Access::out) {
      if (array.empty() || !array.storage()->declared) array = Array();  // its old value may be read
      array.overwrite(space);
      statement.writes.push_back(array.storage());
    } else {
      if (array.is_shared()) array = 1 * array;
      statement.writes.push_back(array.storage());
    }
  }
  const bool volume = space.kind() == ArrayKind::volume;
  const auto size = space.grid().size;
  statement.scalars = numbers;
  statement.make = [=, *this](const std::vector<std::string>& reads, const std::vector<std::string>& writes,
                              const std::vector<Number>& known) {
    Step step{.name = name_, .over = volume ? Domain::slices : Domain::views};
    for (std::size_t n = 0; n < order.size(); ++n)
      step.arrays.push_back({(order[n].first ? writes : reads)[order[n].second], arrays_[n].access});
    step.halo_low = step.halo_high = volume ? halo_ : 0;
    auto arguments = step.arrays;
    arguments.insert(arguments.end(), tables.begin(), tables.end());
    step.work = [volume, size, known, arguments, group = group_, file = file_, name = name_](
                    Slab& slab, const WorkRange& part, const Scalars& scalars) {
      const Range range = volume ? part.slices : part.views;
      const std::int32_t offset = volume ? slab.offset() : number(range.begin);
      std::vector<SlabArgument> all(arguments.begin(), arguments.end());
      for (const Number& each : known) all.emplace_back(each(scalars));
      all.emplace_back(argument_struct(structs::Extent{number(size[0]), number(size[1]), number(size[2]), offset,
                                                       number(range.begin), number(range.end)}));
      launch_in_groups(slab, {file, name, with_argument_names},
                       {size[0], size[1], static_cast<std::size_t>(range.count())}, group, all);
    };
    return step;
  };
  recorder.record(std::move(statement));
}

LinearOperator kernel_operator(const Space& space, const Kernel& forward, const Kernel& adjoint,
                               const std::vector<Scalar>& numbers) {
  const auto apply = [numbers](const Kernel& kernel, const char* read, const char* written) {
    return [=](const Array& from) {
      Array source = from, result;
      kernel({{read, &source}, {written, &result}}, numbers);
      return result;
    };
  };
  return {space, space, apply(forward, "x", "y"), apply(adjoint, "y", "x")};
}

}  // namespace halocline::expressions

#include "algorithms/projectors/user_arguments.hpp"

#include <fmt/format.h>

#include "algorithms/support/user_text.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

std::string array_name(const std::string& table) {
  return "table " + table;
}

// The name that a compiler's log says is undeclared; "" for none.
std::string undeclared_in(const std::string& log) {
  constexpr const char* letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
  const auto at = log.find("undeclared", log.find('\n'));  // after the line that names the text
  if (at == log.npos) return {};
  const auto end = log.find('\n', at);
  std::string rest = log.substr(at + std::string("undeclared").size(), end == log.npos ? end : end - at);
  if (const auto word = rest.find("identifier"); word != rest.npos) rest.erase(0, word + 10);
  const auto first = rest.find_first_of(letters);
  if (first == rest.npos) return {};
  return rest.substr(first, rest.find_first_not_of(letters, first) - first);
}

}  // namespace

RayTable whole_rays(const UserProjector& projector, const Geometry& geometry, const Grid& volume,
                    const Grid& projections) {
  RayTable table = make_rays(geometry, volume, projections);
  if (!table.sources.empty())
    throw InputError({.what = projector.name(),
                      .found = "a volume that reaches to the source or to the detector, where rays end",
                      .expected = "rays that pass the whole volume",
                      .remedy = "take a smaller volume, or `rays = through` for a virtual detector"});
  return table;
}

void add_user_tables(Requirements& requirements, const UserProjector& projector) {
  for (const auto& [name, values] : projector.tables())
    requirements.arrays.push_back({.name = array_name(name), .kind = ArrayKind::fixed, .elements = values.size()});
}

void set_user_tables(Slab& slab, const UserProjector& projector) {
  for (const auto& [name, values] : projector.tables())
    slab.set(array_name(name), values.data(), values.size() * sizeof(float));
}

void add_user_tables(std::vector<SlabArgument>& arguments, const UserProjector& projector) {
  for (const auto& table : projector.tables()) arguments.emplace_back(in(array_name(table.first)));
}

void launch_user_kernel(Slab& slab, const UserProjector& projector, const std::string& kernel,
                        const std::string& options, const std::array<std::size_t, 3>& global,
                        const std::vector<SlabArgument>& arguments) {
  try {
    launch_in_groups(slab, {projector.file(), kernel, projector.build_options() + options}, global, projector.group(),
                     arguments);
  } catch (const BuildError& error) {
    const std::string name = undeclared_in(error.what());
    if (name.empty()) throw;
    throw BuildError(
        error.what() +
            (projector.tables().contains(name)
                 ? fmt::format("\n{} is a table: functions take it by TRACE_PARAMETERS or TABLE_PARAMETERS", name)
                 : fmt::format("\nif {} is a table, give it: `projector_table`", name)),
        error.device());
  }
}

}  // namespace halocline

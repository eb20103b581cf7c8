#include "algorithms/projectors/user_arguments.hpp"

#include <fmt/format.h>

#include "algorithms/projectors/ray_arguments.hpp"
#include "algorithms/support/user_text.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr const char* numbers_array = "numbers of views";

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

KernelSpec spec_of(const UserProjector& projector, const std::string& kernel, const std::string& options) {
  return {projector.file(), kernel, projector.build_options() + options};
}

[[noreturn]] void throw_text_error(const BuildError& error, const UserProjector& projector) {
  if (!error.refused()) throw BuildError(error);
  const std::string name = undeclared_in(error.what());
  throw TextError(error.what() +
                  (name.empty() ? ""
                   : projector.tables().contains(name)
                       ? fmt::format("\n{} is a table: functions take it by TRACE_PARAMETERS or TABLE_PARAMETERS", name)
                       : fmt::format("\nif {} is a table, give it: `projector_table`", name)));
}

RayTable rays_of(const UserProjector& projector, const Geometry& geometry, const Grid& volume,
                 const Grid& projections) {
  RayTable table = make_rays(geometry, volume, projections);
  if (!table.sources.empty() && !projector.knows_ends())
    throw InputError({.what = projector.name(),
                      .found = "a text without segment, where the volume reaches to the source or to the detector "
                               "and rays end within it",
                      .expected = "weights that keep to the ends of rays",
                      .remedy = "multiply them by part_of_plane() as docs/projectors/joseph.cl does, take a smaller "
                                "volume, or `rays = through` for a virtual detector"});
  return table;
}

}  // namespace

UserArrays::UserArrays(const UserProjector& projector, const Geometry& geometry, const Grid& volume,
                       const Grid& projections)
    : projector_(projector),
      columns_(projections.size[0]),
      table_(rays_of(projector, geometry, volume, projections)),
      numbers_(view_numbers(geometry)) {}

void UserArrays::declare(Requirements& requirements) const {
  add_table_arrays(requirements, table_);
  const auto add = [&](const std::string& name, std::size_t elements) {
    requirements.arrays.push_back({.name = name, .kind = ArrayKind::fixed, .elements = elements});
  };
  add(numbers_array, numbers_.size());
  for (const auto& [name, values] : projector_.tables()) add(array_name(name), values.size());
}

void UserArrays::start(Slab& slab) const {
  set_table(slab, table_);
  slab.set(numbers_array, numbers_.data(), numbers_.size() * sizeof(std::int32_t));
  for (const auto& [name, values] : projector_.tables())
    slab.set(array_name(name), values.data(), values.size() * sizeof(float));
}

ViewTables UserArrays::view_tables() const {
  ViewTables tables = halocline::view_tables(table_, columns_);
  tables.push_back({numbers_array, 1});
  return tables;
}

void UserArrays::add_rays(std::vector<SlabArgument>& arguments) const {
  arguments.insert(arguments.end(), {in("rays"), in(numbers_array)});
  add_table(arguments, table_, columns_);
}

void UserArrays::add_tables(std::vector<SlabArgument>& arguments) const {
  for (const auto& table : projector_.tables()) arguments.emplace_back(in(array_name(table.first)));
}

std::string UserArrays::options() const {
  return table_options(table_) + fans_option(table_);
}

DeclaredArguments user_kernel_arguments(Slab& slab, const UserProjector& projector, const std::string& kernel,
                                        const std::string& options) {
  try {
    return slab.declared_arguments(spec_of(projector, kernel, options));
  } catch (const BuildError& error) {
    throw_text_error(error, projector);
  }
}

void launch_user_kernel(Slab& slab, const UserProjector& projector, const std::string& kernel,
                        const std::string& options, const std::array<std::size_t, 3>& global,
                        const std::vector<SlabArgument>& arguments) {
  try {
    launch_in_groups(slab, spec_of(projector, kernel, options), global, projector.group(), arguments);
  } catch (const BuildError& error) {
    throw_text_error(error, projector);
  }
}

}  // namespace halocline

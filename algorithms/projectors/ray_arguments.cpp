#include "algorithms/projectors/ray_arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "algorithms/projectors/user_projector.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr ProjectorKind kinds[] = {{"joseph", "joseph", 1, 1, false},
                                   {"siddon", "siddon", 2, 0.5, false},
                                   {"distance-driven", "distance_driven", 3, 0.5, true}};

std::size_t points_of_arc(std::size_t columns) {
  return 2 * columns + 1;
}

bool has_arcs_of_views(const RayTable& table, std::size_t columns) {
  return table.arcs.size() > 4 * points_of_arc(columns);
}

}  // namespace

const ProjectorKind& kind_of(const Projector& projector) {
  return kinds[projector.named()];
}

std::array<double, 3> reach_of(const Projector& projector, const RayTable& table) {
  const ProjectorKind& kind = kind_of(projector);
  std::array<double, 3> reach{};
  for (int axis = 0; axis < 3; ++axis) reach[axis] = kind.reach + (kind.widths ? 0.5 * table.widths[axis] : 0);
  return reach;
}

KernelSpec ray_kernel(Projector projector, const std::string& verb, const std::string& options,
                      const std::string& form) {
  const std::string stem = kind_of(projector).stem, file = form.empty() ? stem : stem + "_" + form;
  return {file + ".cl", file + "_" + verb, options};
}

std::size_t turning_tile(const DeviceInfo& device) {
  std::size_t tile = 16;
  while (tile * tile > std::max<std::size_t>(1, device.max_work_group)) tile /= 2;
  return tile;
}

std::string turning_options(std::size_t tile) {
  return tile < 16 ? fmt::format("-D TILE={}", tile) : "";
}

Projector::Projector(UserProjector users) : users_(std::make_shared<const UserProjector>(std::move(users))) {}

Projector::Named Projector::named() const {
  if (users_ != nullptr) throw std::logic_error(users_->name() + " has no kernels of the library");
  return named_;
}

std::vector<std::string> projector_names() {
  std::vector<std::string> names;
  for (const ProjectorKind& kind : kinds) names.emplace_back(kind.name);
  return names;
}

Projector projector_from_name(const std::string& name) {
  for (int n = 0; n < static_cast<int>(std::size(kinds)); ++n)
    if (name == kinds[n].name) return static_cast<Projector::Named>(n);
  if (is_projector_file(name)) return UserProjector::from_file(name);
  throw InputError({.what = "`projector`",
                    .found = '"' + name + '"',
                    .expected = fmt::format("one of: {}, or a file of OpenCL C that ends in .cl",
                                            fmt::join(projector_names(), ", "))});
}

std::string projector_name(const Projector& projector) {
  return projector.users() != nullptr ? projector.users()->name() : kind_of(projector).name;
}

std::string projector_text(const Projector& projector) {
  return projector.users() != nullptr ? projector.users()->name() : "the projector " + projector_name(projector);
}

void add_spacing(std::vector<SlabArgument>& arguments, const Grid& volume) {
  arguments.emplace_back(per_axis(volume.spacing));
}

void add_widths(std::vector<SlabArgument>& arguments, Projector projector, const RayTable& table) {
  if (kind_of(projector).widths) arguments.emplace_back(per_axis(table.widths));
}

std::string table_options(const RayTable& table) {
  return std::string(table.arcs.empty() ? "" : " -D ARC") + (table.sources.empty() ? "" : " -D ENDS");
}

void add_table_arrays(Requirements& requirements, const RayTable& table) {
  const auto add = [&](const char* name, const auto& values) {
    if (!values.empty())
      requirements.arrays.push_back({.name = name, .kind = ArrayKind::fixed, .elements = values.size()});
  };
  add("rays", table.rays);
  add("arcs", table.arcs);
  add("sources", table.sources);
}

ViewTables view_tables(const RayTable& table, std::size_t columns) {
  const std::size_t views = table.axes.size();
  ViewTables tables{{"rays", table.rays.size() / views}};
  if (has_arcs_of_views(table, columns)) tables.push_back({"arcs", table.arcs.size() / views});
  if (!table.sources.empty()) tables.push_back({"sources", table.sources.size() / views});
  return tables;
}

void set_table(Slab& slab, const RayTable& table) {
  const auto set = [&](const char* name, const auto& values) {
    if (!values.empty()) slab.set(name, values.data(), values.size() * sizeof(float));
  };
  set("rays", table.rays);
  set("arcs", table.arcs);
  set("sources", table.sources);
}

void add_table(std::vector<SlabArgument>& arguments, const RayTable& table, std::size_t columns, bool ends) {
  if (!table.arcs.empty()) {
    arguments.emplace_back(in("arcs"));
    arguments.emplace_back(number(has_arcs_of_views(table, columns) ? points_of_arc(columns) : 0));
  }
  if (ends && !table.sources.empty()) arguments.emplace_back(in("sources"));
}

}  // namespace halocline

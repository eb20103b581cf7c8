#include "algorithms/projectors/ray_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/projectors/ray_arguments.hpp"
#include "algorithms/projectors/user_arguments.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr const char* fixed = "fixed";
constexpr const char* status = "status";

Requirements common_requirements(const UserProjector& projector, const RayTable& table) {
  Requirements requirements;
  add_table_arrays(requirements, table);
  add_user_tables(requirements, projector);
  requirements.arrays.push_back({.name = status, .kind = ArrayKind::fixed, .elements = 1});
  return requirements;
}

void start_common(Slab& slab, const UserProjector& projector, const RayTable& table) {
  set_table(slab, table);
  set_user_tables(slab, projector);
  slab.fill(status, 0);
}

// Throws InputError if a ray of the kernels before had a larger weight than fixed point has room for.
void check_weights(Slab& slab, const UserProjector& projector, const Grid& volume) {
  std::int32_t bad = 0;
  slab.read(status, &bad, sizeof bad);
  if (bad == 0) return;
  slab.fill(status, 0);
  throw InputError({.what = "a weight of " + projector.name(),
                    .found = "not finite, or too large",
                    .expected = fmt::format("at most {:.6g} mm", projector.largest_weight(volume)),
                    .remedy = "write #define PROJECTOR_LARGEST_WEIGHT with the largest one, in mm"});
}

FixedPoint fixed_point_of(const UserProjector& projector, const Grid& volume, const Scalars& scalars,
                          const char* what) {
  const auto norm = scalars.find(input_norm);
  return {projector.largest_weight(volume), norm == scalars.end() ? 1 : norm->second,
          fmt::format("{} that {} gets", what, projector.name())};
}

}  // namespace

FixedPoint::FixedPoint(double largest_weight, double norm, const std::string& what) {
  if (!std::isfinite(norm))
    throw InputError({.what = what, .found = "values that are not finite", .expected = "numbers"});
  constexpr int bits = 50, most = 120;  // of a term; of a factor's exponent
  int exponent = 0;
  std::frexp(largest_weight * norm, &exponent);
  const int up = norm > 0 ? std::clamp(bits - exponent, -2 * most, 2 * most) : 0;
  const int one = std::clamp(up, -most, most), two = up - one;
  scale = {static_cast<float>(largest_weight), std::ldexp(1.0f, one), std::ldexp(1.0f, two), 0.0f};
  down = {std::ldexp(1.0f, -one), std::ldexp(1.0f, -two)};
}

RayModelProjection::RayModelProjection(const UserProjector& projector, const Geometry& geometry, const Grid& volume,
                                       const Grid& projections)
    : projector_(projector),
      volume_(volume),
      projections_(projections),
      table_(whole_rays(projector, geometry, volume, projections)) {}

Requirements RayModelProjection::requirements() const {
  Requirements requirements = common_requirements(projector_, table_);
  requirements.algorithm = "project";
  requirements.size = volume_.size;
  requirements.form = ProgramForm::ray_sums;
  requirements.stack = projections_.size;
  const auto add = [&](ArrayNeed need) { requirements.arrays.push_back(std::move(need)); };
  add({.name = "volume", .kind = ArrayKind::volume, .lifetime = Lifetime::input});
  add({.name = "projections", .kind = ArrayKind::projections, .lifetime = Lifetime::output});
  add({.name = fixed, .kind = ArrayKind::projections, .components = 2});
  requirements.kernels = {"ray_model_project"};
  requirements.cost.bytes = 40;
  return requirements;
}

void RayModelProjection::start(Slab& slab) const {
  start_common(slab, projector_, table_);
}

void RayModelProjection::project(Slab& slab, Range views, const Scalars& scalars) const {
  const FixedPoint point = fixed_point_of(projector_, volume_, scalars, "the volume");
  std::vector<SlabArgument> arguments{in("volume"), in("rays")};
  add_table(arguments, table_, projections_.size[0], false);
  const Range rows{0, static_cast<std::int64_t>(projections_.size[1])};
  arguments.insert(arguments.end(),
                   {inout(fixed), inout("projections"), inout(status), slab.extent(slab.interior()),
                    per_axis(volume_.spacing), batch_of(projections_, rows, views), point.scale, point.down});
  add_user_tables(arguments, projector_);
  launch_user_kernel(slab, projector_, "ray_model_project", table_options(table_),
                     {projections_.size[0], projections_.size[1], views.size()}, arguments);
  check_weights(slab, projector_, volume_);
}

RayModelBackprojection::RayModelBackprojection(const UserProjector& projector, const Geometry& geometry,
                                               const Grid& volume, const Grid& projections)
    : projector_(projector),
      volume_(volume),
      projections_(projections),
      table_(whole_rays(projector, geometry, volume, projections)) {}

Requirements RayModelBackprojection::requirements() const {
  Requirements requirements = common_requirements(projector_, table_);
  requirements.algorithm = "backproject";
  requirements.size = volume_.size;
  requirements.form = ProgramForm::voxel_sums;
  requirements.stack = projections_.size;
  const auto add = [&](ArrayNeed need) { requirements.arrays.push_back(std::move(need)); };
  add({.name = "raw", .kind = ArrayKind::projections, .lifetime = Lifetime::input});
  add({.name = "volume", .kind = ArrayKind::volume, .lifetime = Lifetime::output});
  add({.name = fixed, .kind = ArrayKind::volume, .components = 2});
  requirements.kernels = {"ray_model_backproject", "ray_model_voxels"};
  requirements.cost.bytes = 80;
  return requirements;
}

void RayModelBackprojection::start(Slab& slab) const {
  start_common(slab, projector_, table_);
}

void RayModelBackprojection::filter(Slab& slab, Range views, const Scalars& scalars) const {
  const FixedPoint point = fixed_point_of(projector_, volume_, scalars, "the projections");
  std::vector<SlabArgument> arguments{in("raw"), in("rays")};
  add_table(arguments, table_, projections_.size[0], false);
  const Range rows = slab.rows();
  arguments.insert(arguments.end(), {inout(fixed), inout(status), slab.extent(slab.interior()),
                                     per_axis(volume_.spacing), batch_of(projections_, rows, views), point.scale});
  add_user_tables(arguments, projector_);
  launch_user_kernel(slab, projector_, "ray_model_backproject", " -D ADJOINT" + table_options(table_),
                     {projections_.size[0], rows.size(), views.size()}, arguments);
  check_weights(slab, projector_, volume_);
}

void RayModelBackprojection::accumulate(Slab& slab, Range, Range slices, const Scalars& scalars) const {
  const FixedPoint point = fixed_point_of(projector_, volume_, scalars, "the projections");
  slab.launch({projector_.file(), "ray_model_voxels", projector_.build_options() + " -D ADJOINT"}, slices,
              {in(fixed), out("volume"), slab.extent(slices), point.down});
}

}  // namespace halocline

#include "algorithms/projectors/ray_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "algorithms/projectors/batch_argument.hpp"
#include "host/system/error.hpp"

namespace halocline {
namespace {

constexpr const char* fixed = "fixed";
constexpr const char* status = "status";

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

RayModel::RayModel(const UserProjector& projector, const Geometry& geometry, const Grid& volume,
                   const Grid& projections)
    : projector_(projector),
      volume_(volume),
      projections_(projections),
      arrays_(projector, geometry, volume, projections) {}

Requirements RayModel::requirements(const std::string& algorithm, ProgramForm form) const {
  Requirements requirements;
  requirements.algorithm = algorithm;
  requirements.size = volume_.size;
  requirements.form = form;
  requirements.stack = projections_.size;
  arrays_.declare(requirements);
  requirements.arrays.push_back({.name = status, .kind = ArrayKind::fixed, .elements = 1});
  return requirements;
}

void RayModel::start(Slab& slab) const {
  arrays_.start(slab);
  slab.fill(status, 0);
}

FixedPoint RayModel::fixed_point(const Scalars& scalars, const std::string& what) const {
  const auto norm = scalars.find(input_norm);
  return {projector_.largest_weight(volume_), norm == scalars.end() ? 1 : norm->second,
          fmt::format("{} that {} gets", what, projector_.name())};
}

void RayModel::launch(Slab& slab, const std::string& kernel, const std::string& options, Range rows, Range views,
                      const std::string& read, const std::vector<SlabArgument>& between,
                      const std::vector<SlabArgument>& after) const {
  std::vector<SlabArgument> arguments{in(read)};
  arrays_.add_rays(arguments);
  arguments.insert(arguments.end(), between.begin(), between.end());
  arguments.insert(arguments.end(), {inout(status), slab.extent(slab.interior()), per_axis(volume_.spacing),
                                     batch_of(projections_, rows, views)});
  arguments.insert(arguments.end(), after.begin(), after.end());
  arrays_.add_tables(arguments);
  launch_user_kernel(slab, projector_, kernel, options + arrays_.options(),
                     {projections_.size[0], rows.size(), views.size()}, arguments);
  check_weights(slab);
}

// The kernel notes rays whose weights have no room in fixed point.
void RayModel::check_weights(Slab& slab) const {
  std::int32_t bad = 0;
  slab.read(status, &bad, sizeof bad);
  if (bad == 0) return;
  slab.fill(status, 0);
  throw InputError({.what = "a weight of " + projector_.name(),
                    .found = "not finite, or too large",
                    .expected = fmt::format("at most {:.6g} mm", projector_.largest_weight(volume_)),
                    .remedy = "write #define PROJECTOR_LARGEST_WEIGHT with the largest one, in mm"});
}

Requirements RayModelProjection::requirements() const {
  Requirements requirements = model_.requirements("project", ProgramForm::ray_sums);
  const auto add = [&](ArrayNeed need) { requirements.arrays.push_back(std::move(need)); };
  add({.name = "volume", .kind = ArrayKind::volume, .lifetime = Lifetime::input});
  add({.name = "projections", .kind = ArrayKind::projections, .lifetime = Lifetime::output});
  add({.name = fixed, .kind = ArrayKind::projections, .components = 2});
  requirements.kernels = {"ray_model_project"};
  requirements.cost.bytes = 40;
  return requirements;
}

void RayModelProjection::project(Slab& slab, Range views, const Scalars& scalars) const {
  const FixedPoint point = model_.fixed_point(scalars, "the volume");
  const Range rows{0, static_cast<std::int64_t>(model_.projections().size[1])};
  model_.launch(slab, "ray_model_project", "", rows, views, "volume", {inout(fixed), inout("projections")},
                {point.scale, point.down});
}

Requirements RayModelBackprojection::requirements() const {
  Requirements requirements = model_.requirements("backproject", ProgramForm::voxel_sums);
  const auto add = [&](ArrayNeed need) { requirements.arrays.push_back(std::move(need)); };
  add({.name = "raw", .kind = ArrayKind::projections, .lifetime = Lifetime::input});
  add({.name = "volume", .kind = ArrayKind::volume, .lifetime = Lifetime::output});
  add({.name = fixed, .kind = ArrayKind::volume, .components = 2});
  requirements.kernels = {"ray_model_backproject", "ray_model_voxels"};
  requirements.cost.bytes = 80;
  return requirements;
}

void RayModelBackprojection::filter(Slab& slab, Range views, const Scalars& scalars) const {
  const FixedPoint point = model_.fixed_point(scalars, "the projections");
  model_.launch(slab, "ray_model_backproject", " -D ADJOINT", slab.rows(), views, "raw", {inout(fixed)}, {point.scale});
}

void RayModelBackprojection::accumulate(Slab& slab, Range, Range slices, const Scalars& scalars) const {
  const FixedPoint point = model_.fixed_point(scalars, "the projections");
  const UserProjector& projector = model_.projector();
  slab.launch({projector.file(), "ray_model_voxels", projector.build_options() + " -D ADJOINT"}, slices,
              {in(fixed), out("volume"), slab.extent(slices), point.down});
}

}  // namespace halocline

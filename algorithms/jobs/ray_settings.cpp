#include "algorithms/jobs/ray_settings.hpp"

#include <optional>
#include <utility>

#include "algorithms/projectors/default_projector.hpp"
#include "algorithms/projectors/ray_ends.hpp"
#include "algorithms/projectors/user_projector.hpp"
#include "host/system/error.hpp"
#include "host/system/log.hpp"

namespace halocline {

void add_ray_settings(Settings& settings, RaySettings& rays, const std::string& about,
                      const std::vector<std::string>& more) {
  auto names = projector_choices();
  names.insert(names.end(), more.begin(), more.end());
  settings
      .add("projector", rays.projector,
           about +
               ". automatic: joseph, or distance-driven where voxels are finer than the rays. FILE.cl: one of your own")
      .one_of(std::move(names))
      .or_file(".cl");
  settings
      .add("projector-table", rays.tables,
           "For `projector = FILE.cl`: an array of numbers that it reads by this name, the voxels of an image. Once a "
           "table")
      .unit("NAME=FILE");
  settings
      .add("rays", rays.rays,
           "Rays end at the detector, or run through a virtual one. automatic: through where the detector cuts the "
           "field of view")
      .one_of(ray_ends_names());
}

namespace {

std::optional<Projector> chosen_projector(const RaySettings& rays, const NumbersOf& numbers_of) {
  if (!is_projector_file(rays.projector)) {
    if (!rays.tables.empty())
      throw InputError("`projector_table` belongs to a projector of your own, `projector = FILE.cl`");
    return projector_choice(rays.projector);
  }
  UserProjectorOptions options;
  for (const std::string& each : rays.tables) {
    const auto equals = each.find('=');
    if (equals == 0 || equals == each.npos || equals + 1 == each.size())
      throw InputError({.what = "`projector_table`", .found = '"' + each + '"', .expected = "NAME=FILE"});
    const bool first = options.tables.emplace(each.substr(0, equals), numbers_of(each.substr(equals + 1))).second;
    if (!first)
      throw InputError({.what = "`projector_table`", .found = each.substr(0, equals) + " twice", .expected = "one"});
  }
  return UserProjector::from_file(rays.projector, std::move(options));
}

}  // namespace

RayChoices choose_rays(const RaySettings& rays, bool hardware, Geometry geometry, const Grid& volume,
                       const std::string& name, const Grid& projections, const NumbersOf& numbers_of) {
  const RayEnds given = ray_ends_from_name(rays.rays);
  if (given != RayEnds::automatic) geometry.ray_ends = given;
  for (const std::string& note : notes_on_ray_ends(geometry, volume, name, projections))
    library_log()->warn("{}", note);
  RayChoices choices{with_ray_ends(std::move(geometry), volume, projections)};
  std::optional<Projector> chosen = chosen_projector(rays, numbers_of);
  if (!chosen && hardware) chosen = Projector::joseph;
  const std::string note = note_on_fine_voxels(chosen, choices.geometry, volume, projections);
  if (!note.empty()) library_log()->warn("{}", note);
  choices.projector = projector_of(chosen, hardware, choices.geometry, volume, projections);
  return choices;
}

}  // namespace halocline

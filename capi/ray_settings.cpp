#include "capi/ray_settings.hpp"

#include <utility>

#include "algorithms/projectors/default_projector.hpp"
#include "algorithms/projectors/ray_ends.hpp"
#include "host/system/log.hpp"

namespace halocline::capi {

void RaySettings::add_rays(Settings& settings) {
  settings.add("rays",
               [this](const SettingValue& value) { ends = ray_ends_from_name(value.one_of(ray_ends_names())); });
}

void RaySettings::add_projector(Settings& settings) {
  settings.add("projector",
               [this](const SettingValue& value) { projector = projector_choice(value.one_of(projector_choices())); });
}

Geometry RaySettings::choose(bool hardware, Geometry geometry, const Grid& volume, const Grid& projections) {
  if (ends != RayEnds::automatic) geometry.ray_ends = ends;
  for (const std::string& note : notes_on_ray_ends(geometry, volume, "the volume", projections))
    library_log()->warn("{}", note);
  geometry = with_ray_ends(std::move(geometry), volume, projections);
  if (!projector && hardware) projector = Projector::joseph;
  const std::string note = note_on_fine_voxels(projector, geometry, volume, projections);
  if (!note.empty()) library_log()->warn("{}", note);
  projector = projector_of(projector, hardware, geometry, volume, projections);
  return geometry;
}

}  // namespace halocline::capi

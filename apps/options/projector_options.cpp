#include "apps/options/projector_options.hpp"

#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "algorithms/projectors/default_projector.hpp"
#include "algorithms/projectors/ray_ends.hpp"

namespace halocline {

std::vector<CLI::Option*> add_projector_options(CLI::App& sub, ProjectorOptions& options, const std::string& about,
                                                const std::vector<std::string>& more) {
  auto names = projector_choices();
  names.insert(names.end(), more.begin(), more.end());
  return {sub.add_option("--projector", options.name,
                         about + ". automatic: joseph, or distance-driven where voxels are finer than the rays")
              ->check(CLI::IsMember(names)),
          sub.add_option("--rays", options.rays,
                         "Rays end at the detector, or run through a virtual one. automatic: through where the "
                         "detector cuts the field of view")
              ->check(CLI::IsMember(ray_ends_names()))};
}

RayChoices choose_rays(const ProjectorOptions& options, bool hardware, Geometry geometry, const Grid& volume,
                       const std::string& name, const Grid& projections) {
  const RayEnds given = ray_ends_from_name(options.rays);
  if (given != RayEnds::automatic) geometry.ray_ends = given;
  for (const std::string& note : notes_on_ray_ends(geometry, volume, name, projections)) spdlog::warn("{}", note);
  RayChoices choices{with_ray_ends(std::move(geometry), volume, projections)};
  std::optional<Projector> chosen = projector_choice(options.name);
  if (!chosen && hardware) chosen = Projector::joseph;
  const std::string note = note_on_fine_voxels(chosen, choices.geometry, volume, projections);
  if (!note.empty()) spdlog::warn("{}", note);
  choices.projector = projector_of(chosen, hardware, choices.geometry, volume, projections);
  return choices;
}

}  // namespace halocline

#include "algorithms/jobs/project_settings.hpp"

#include <fmt/format.h>

#include "host/system/error.hpp"

namespace halocline {

void add_project_settings(Settings& settings, ProjectSettings& project) {
  add_ray_settings(settings, project.rays,
                   "joseph: bilinear interpolation on the planes that a ray crosses; siddon: exact lengths in voxels; "
                   "distance-driven: the overlap of pixels and voxels");
  settings
      .add("interpolation", project.interpolation,
           "For `projector = joseph`. exact: float32; hardware: texture units (8-bit fractions on most GPUs); half: "
           "the same of a volume in half precision")
      .one_of({"exact", "hardware", "half"});
}

ProjectionParameters ProjectSettings::parameters(const Projector& projector) const {
  ProjectionParameters parameters{projector, hardware()};
  parameters.half_texels = interpolation == "half";
  return parameters;
}

BackprojectionParameters BackprojectSettings::parameters() const {
  const bool half = interpolation == "half";
  return {half || interpolation == "hardware", half};
}

void BackprojectSettings::check() const {
  if (interpolation != "exact" && !voxels())
    throw InputError(
        fmt::format("`interpolation = {}` goes with `projector = voxel`; the adjoints of joseph, siddon and "
                    "distance-driven are exact, so leave it out",
                    interpolation));
}

void add_backproject_settings(Settings& settings, BackprojectSettings& backproject) {
  add_ray_settings(
      settings, backproject.rays,
      "The projector whose exact adjoint this is; or voxel: bilinear at the projected voxel centres, as in "
      "fdk, the adjoint of none",
      {voxel_driven});
  settings
      .add("interpolation", backproject.interpolation,
           "For `projector = voxel`. exact: float32; hardware: texture units (8-bit fractions on most GPUs); half: the "
           "same of projections in half precision")
      .one_of({"exact", "hardware", "half"});
}

}  // namespace halocline

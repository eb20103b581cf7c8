// The verbs project and backproject.
#include "algorithms/projectors/backprojection.hpp"
#include "algorithms/projectors/default_projector.hpp"
#include "capi/ray_settings.hpp"
#include "capi/verb.hpp"
#include "host/system/error.hpp"

namespace halocline::capi {
namespace {

class Project : public Verb {
 public:
  Project() {
    rays_.add_projector(settings_);
    rays_.add_rays(settings_);
    settings_.add("interpolation", [this](const SettingValue& value) {
      parameters_.hardware_interpolation = value.one_of({"exact", "hardware"}) == "hardware";
    });
  }
  std::vector<std::string> inputs() const override { return {"volume"}; }
  std::vector<std::string> outputs() const override { return {"projections"}; }
  nlohmann::json run(Work& work) override {
    const VolumeSource& volume = work.required_input("volume");
    VolumeSink& projections = work.required_output("projections");
    check_projection_grids(work.geometry(), volume.grid(), projections.grid());
    RaySettings rays = rays_;
    ProjectionParameters parameters = parameters_;
    const Geometry geometry =
        rays.choose(parameters.hardware_interpolation, work.geometry(), volume.grid(), projections.grid());
    parameters.projector = *rays.projector;
    nlohmann::json results;
    put_run(results, project_into(volume, geometry, projections, parameters, work.devices, work.options));
    return results;
  }

 private:
  ProjectionParameters parameters_;
  RaySettings rays_;
};

constexpr const char* voxel_driven = "voxel";

class Backproject : public Verb {
 public:
  Backproject() {
    settings_.add("projector", [this](const SettingValue& value) {
      auto names = projector_choices();
      names.emplace_back(voxel_driven);
      voxels_ = value.one_of(names) == voxel_driven;
      rays_.projector = voxels_ ? std::nullopt : projector_choice(value.text());
    });
    rays_.add_rays(settings_);
    settings_.add("interpolation", [this](const SettingValue& value) {
      interpolation_ = value.one_of({"exact", "hardware", "half"});
    });
  }
  std::vector<std::string> inputs() const override { return {"projections"}; }
  std::vector<std::string> outputs() const override { return {"volume"}; }
  nlohmann::json run(Work& work) override {
    nlohmann::json results;
    put_run(results, back(work, work.required_input("projections"), work.required_output("volume")));
    return results;
  }

 private:
  RunResult back(Work& work, const VolumeSource& projections, VolumeSink& volume) const {
    if (voxels_) {
      const bool half = interpolation_ == "half";
      return backproject_into(projections, work.geometry(), volume,
                              BackprojectionParameters{half || interpolation_ == "hardware", half}, work.devices,
                              work.options);
    }
    if (interpolation_ != "exact")
      throw InputError({.what = "`interpolation`",
                        .found = interpolation_ + " without `projector` = " + voxel_driven,
                        .expected = "exact, as adjoints of projectors are"});
    check_projection_grids(work.geometry(), volume.grid(), projections.grid());
    RaySettings rays = rays_;
    const Geometry geometry = rays.choose(false, work.geometry(), volume.grid(), projections.grid());
    return backproject_into(projections, geometry, volume, *rays.projector, work.devices, work.options);
  }

  RaySettings rays_;
  bool voxels_ = false;
  std::string interpolation_ = "exact";
};

}  // namespace

std::unique_ptr<Verb> make_project() {
  return std::make_unique<Project>();
}

std::unique_ptr<Verb> make_backproject() {
  return std::make_unique<Backproject>();
}

}  // namespace halocline::capi

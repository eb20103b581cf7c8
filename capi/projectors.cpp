// The verbs project and backproject.
#include "algorithms/jobs/project_settings.hpp"
#include "capi/verb.hpp"

namespace halocline::capi {
namespace {

class Project : public Verb {
 public:
  Project() { add_project_settings(settings_, project_); }
  std::vector<std::string> inputs() const override { return {"volume"}; }
  std::vector<std::string> outputs() const override { return {"projections"}; }
  nlohmann::json run(Work& work) override {
    const VolumeSource& volume = work.required_input("volume");
    VolumeSink& projections = work.required_output("projections");
    check_projection_grids(work.geometry(), volume.grid(), projections.grid());
    const RayChoices rays = choose_rays(project_.rays, project_.hardware(), work.geometry(), volume.grid(),
                                        "the volume", projections.grid(), no_tables);
    nlohmann::json results;
    put_run(results, project_into(volume, rays.geometry, projections, project_.parameters(rays.projector), work.devices,
                                  work.options));
    return results;
  }

 private:
  ProjectSettings project_;
};

class Backproject : public Verb {
 public:
  Backproject() { add_backproject_settings(settings_, backproject_); }
  std::vector<std::string> inputs() const override { return {"projections"}; }
  std::vector<std::string> outputs() const override { return {"volume"}; }
  nlohmann::json run(Work& work) override {
    backproject_.check();
    nlohmann::json results;
    put_run(results, back(work, work.required_input("projections"), work.required_output("volume")));
    return results;
  }

 private:
  RunResult back(Work& work, const VolumeSource& projections, VolumeSink& volume) const {
    if (backproject_.voxels())
      return backproject_into(projections, work.geometry(), volume, backproject_.parameters(), work.devices,
                              work.options);
    check_projection_grids(work.geometry(), volume.grid(), projections.grid());
    const RayChoices rays = choose_rays(backproject_.rays, false, work.geometry(), volume.grid(), "the volume",
                                        projections.grid(), no_tables);
    return backproject_into(projections, rays.geometry, volume, rays.projector, work.devices, work.options);
  }

  BackprojectSettings backproject_;
};

}  // namespace

std::unique_ptr<Verb> make_project() {
  return std::make_unique<Project>();
}

std::unique_ptr<Verb> make_backproject() {
  return std::make_unique<Backproject>();
}

}  // namespace halocline::capi

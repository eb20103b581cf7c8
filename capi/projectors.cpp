// The verbs project and backproject.
#include "algorithms/projectors/backprojection.hpp"
#include "algorithms/projectors/projector.hpp"
#include "capi/verb.hpp"
#include "host/error.hpp"

namespace halocline::capi {
namespace {

class Project : public Verb {
 public:
  Project() {
    settings_.add("projector", [this](const SettingValue& value) {
      parameters_.projector = projector_from_name(value.one_of(projector_names()));
    });
    settings_.add("interpolation", [this](const SettingValue& value) {
      parameters_.hardware_interpolation = value.one_of({"exact", "hardware"}) == "hardware";
    });
  }
  std::vector<std::string> inputs() const override { return {"volume"}; }
  std::vector<std::string> outputs() const override { return {"projections"}; }
  nlohmann::json run(Work& work) override {
    nlohmann::json results;
    put_run(results, project_into(work.required_input("volume"), work.geometry(), work.required_output("projections"),
                                  parameters_, work.devices, work.options));
    return results;
  }

 private:
  ProjectionParameters parameters_;
};

constexpr const char* voxel_driven = "voxel";

class Backproject : public Verb {
 public:
  Backproject() {
    settings_.add("projector", [this](const SettingValue& value) {
      auto names = projector_names();
      names.emplace_back(voxel_driven);
      projector_ = value.one_of(names);
    });
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
    if (projector_ == voxel_driven) {
      const bool half = interpolation_ == "half";
      return backproject_into(projections, work.geometry(), volume,
                              BackprojectionParameters{half || interpolation_ == "hardware", half}, work.devices,
                              work.options);
    }
    if (interpolation_ != "exact")
      throw InputError({.what = "`interpolation`",
                        .found = interpolation_ + " with `projector` = " + projector_,
                        .expected = "exact, as its adjoint is"});
    return backproject_into(projections, work.geometry(), volume, projector_from_name(projector_), work.devices,
                            work.options);
  }

  std::string projector_ = "joseph", interpolation_ = "exact";
};

}  // namespace

std::unique_ptr<Verb> make_project() {
  return std::make_unique<Project>();
}

std::unique_ptr<Verb> make_backproject() {
  return std::make_unique<Backproject>();
}

}  // namespace halocline::capi

#include "algorithms/solvers/ray_operator.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/projectors/backprojection.hpp"
#include "algorithms/projectors/faster_forms.hpp"
#include "algorithms/projectors/user_projector.hpp"
#include "host/system/error.hpp"
#include "scheduling/planning/cost.hpp"

namespace halocline {
namespace {

// FDK whose filter and back-projection work on the program's stack: on the measured rows, through buffers.
std::shared_ptr<const BackprojectionMethod> fdk_of(const Geometry& geometry, const Grid& projections,
                                                   const Grid& volume, FdkParameters parameters,
                                                   std::span<const DeviceModel> devices) {
  check_fdk(geometry, projections, volume, "the projections", "the geometry", parameters.redundancy);
  parameters.upright_rows = false;
  parameters.hardware_interpolation = false;
  std::vector<DeviceModel> plain = models_for(devices, volume.size, projections.size);
  for (DeviceModel& device : plain) device.choices[exact_form_choice] = quads_form;
  return std::make_shared<Fdk>(geometry, projections, volume, parameters, plain);
}

// sums: those of the arrays that outlive a task.
void add_own_arrays(Program& program, const Requirements& needs, const std::vector<std::string>& sums,
                    const std::map<std::string, std::string>& names) {
  for (ArrayNeed need : needs.arrays) {
    if (need.lifetime != Lifetime::scratch) continue;  // volume and projections, which are the program's
    if (std::find(sums.begin(), sums.end(), need.name) != sums.end()) need.lifetime = Lifetime::iteration;
    need.name = names.at(need.name);
    auto& all = program.needs.arrays;
    if (std::none_of(all.begin(), all.end(), [&](const ArrayNeed& other) { return other.name == need.name; }))
      all.push_back(std::move(need));
  }
  program.needs.kernels.insert(program.needs.kernels.end(), needs.kernels.begin(), needs.kernels.end());
  program.needs.preferred_batch = std::max(program.needs.preferred_batch, needs.preferred_batch);
  program.needs.batch_step = std::lcm(program.needs.batch_step, needs.batch_step);
}

constexpr const char* forward_direction = "forward ";
constexpr const char* fast_direction = "fast ";
constexpr const char* adjoint_direction = "adjoint ";
constexpr const char* fast_adjoint_direction = "fast adjoint ";
constexpr const char* exact_direction = "exact ";
constexpr const char* both_directions = "both ";

}  // namespace

ProjectorPair named_pair(const Geometry& geometry, const Grid& volume, const Grid& projections, Projector projector,
                         std::span<const DeviceModel> devices, const RayOperatorForms& forms) {
  const Projector backprojector = forms.backprojector.value_or(projector);
  ProjectorPair pair;
  pair.matched = !forms.fdk && !forms.voxel_driven && backprojector == projector;
  ProjectionParameters parameters = faster_forms({.projector = projector}, devices, geometry, volume, projections);
  parameters.images = forms.images && siddon_from_images(devices, volume, projections);
  parameters.texel_pairs = parameters.texel_pairs && forms.in_pairs;
  if (const UserProjector* users = projector.users()) {
    if (forms.hardware_interpolation)
      throw InputError("`hardware_interpolation` goes with `projector = joseph`; " + projector_name(projector) +
                       " reads the volume as it is written");
    pair.forward = users->forward(geometry, volume, projections);
  } else {
    pair.forward = std::make_shared<RayProjection>(geometry, volume, projections, parameters);
  }
  parameters.hardware_interpolation = forms.hardware_interpolation;
  if (forms.hardware_interpolation)
    pair.fast = std::make_shared<RayProjection>(geometry, volume, projections, parameters);
  if (forms.fdk) {
    pair.adjoint = fdk_of(geometry, projections, volume, *forms.fdk, devices);
    pair.all_rows = geometry.radius_cylindrical_detector > 0;  // those of the plane that is filtered on are others
  } else if (forms.voxel_driven) {
    VoxelDriven::Options options;
    set_device_options(options, devices, projections, volume);
    options.hardware_interpolation = forms.hardware_interpolation;
    options.texel_pairs = parameters.texel_pairs;
    pair.adjoint = std::make_shared<Backprojection>(geometry, projections, volume, options);
  } else if (const UserProjector* users = backprojector.users()) {
    pair.adjoint = users->adjoint(geometry, volume, projections);
  } else {
    pair.adjoint = faster_adjoint(geometry, projections, volume, backprojector, devices);
  }
  return pair;
}

RayOperator RayOperator::labelled(const std::string& label) const {
  RayOperator result = *this;
  result.label_ = label;
  return result;
}

std::map<std::string, std::string> RayOperator::own_names(const Requirements& needs, const char* direction) const {
  const std::string which = direction;
  const bool of_pair = pair_.fast_adjoint ? which == fast_direction || which == fast_adjoint_direction
                                          : which == forward_direction || which == adjoint_direction;
  std::map<std::string, std::string> names;
  for (const auto& need : needs.arrays) {
    const bool shared = of_pair && std::find(pair_.shared.begin(), pair_.shared.end(), need.name) != pair_.shared.end();
    names[need.name] = label_ + (shared ? both_directions : direction) + need.name;
  }
  return names;
}

void RayOperator::add_start(Program& program, const auto& method, const char* direction) const {
  const Requirements needs = method->requirements();
  const auto names = own_names(needs, direction);
  add_own_arrays(program, needs, method->sums(), names);
  program.needs.halo_high = std::max(program.needs.halo_high, needs.halo_high);
  program.start.push_back([method, names](Slab& slab) {
    const Slab::Names scope(slab, names);
    method->start(slab);
  });
}

// The only step of a method's program, of the program's arrays.
Step RayOperator::step_of(const auto& method, const std::string& from, const std::string& to,
                          const char* direction) const {
  const Requirements needs = method->requirements();
  Step step = program_of(method).first.front();
  if (!std::is_sorted(step.order.begin(), step.order.end()))
    throw std::logic_error(step.name + " takes views in another order than the program's stack has");
  step.order.clear();
  step.names = own_names(needs, direction);
  step.names[read_by(step)] = from;
  step.names[written_by(step)] = to;
  step.arrays = {in(from), out(to)};
  for (const auto& name : method->sums()) step.arrays.push_back(out(step.names.at(name)));
  step.cost = needs.cost;
  step.units = count_units(needs);
  return step;
}

Program RayOperator::program(const std::string& name, int largest_subset) const {
  const Requirements forward = pair_.forward->requirements();
  Program program;
  program.needs.algorithm = name;
  program.needs.size = forward.size;
  program.needs.form = ProgramForm::steps;
  program.needs.stack = forward.stack;
  add_start(program, pair_.forward, forward_direction);
  if (pair_.fast) add_start(program, pair_.fast, fast_direction);
  if (pair_.exact) add_start(program, pair_.exact, exact_direction);
  add_start(program, pair_.adjoint, adjoint_direction);
  if (pair_.fast_adjoint) add_start(program, pair_.fast_adjoint, fast_adjoint_direction);
  if (largest_subset > 0 && static_cast<std::size_t>(largest_subset) < forward.stack[2])
    program.needs.largest_part = program.needs.preferred_batch = largest_subset;
  if (!pair_.all_rows) program.needs.detector_rows = pair_.adjoint->requirements().detector_rows;
  return program;
}

Step RayOperator::project(const std::string& from, const std::string& to) const {
  return step_of(pair_.forward, from, to, forward_direction);
}

Step RayOperator::project_fast(const std::string& from, const std::string& to) const {
  return pair_.fast ? step_of(pair_.fast, from, to, fast_direction) : project(from, to);
}

Step RayOperator::backproject_fast(const std::string& from, const std::string& to) const {
  return pair_.fast_adjoint ? step_of(pair_.fast_adjoint, from, to, fast_adjoint_direction) : backproject(from, to);
}

Step RayOperator::project_exact(const std::string& from, const std::string& to) const {
  return pair_.exact ? step_of(pair_.exact, from, to, exact_direction) : project(from, to);
}

Step RayOperator::backproject(const std::string& from, const std::string& to) const {
  return step_of(pair_.adjoint, from, to, adjoint_direction);
}

Program RayOperator::views_program() const {
  Program program;
  const PickedViews views = picked();
  views.declare(program);
  views.declare(program, project("", ""), pair_.forward->view_tables());
  views.declare(program, backproject("", ""), pair_.adjoint->view_tables());
  return program;
}

Step RayOperator::project(const std::string& from, const std::string& to, const ViewNumbers& views) const {
  return picked().on_views(project(from, to), pair_.forward->view_tables(), "projections", views);
}

Step RayOperator::backproject(const std::string& from, const std::string& to, const ViewNumbers& views) const {
  return picked().on_views(backproject(from, to), pair_.adjoint->view_tables(), "raw", views);
}

Step RayOperator::keep(const std::string& from, const std::string& to, const ViewNumbers& views) const {
  return picked().keep(from, to, views);
}

}  // namespace halocline

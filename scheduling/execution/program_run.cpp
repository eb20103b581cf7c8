#include "scheduling/execution/program_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <stdexcept>

#include "host/system/page_population.hpp"
#include "scheduling/execution/executors.hpp"
#include "scheduling/execution/failover.hpp"
#include "scheduling/execution/kernel_trial.hpp"
#include "scheduling/execution/replanning.hpp"
#include "scheduling/planning/layout.hpp"
#include "scheduling/planning/program_plan.hpp"
#include "scheduling/profiling/rates.hpp"
#include "scheduling/transport/rank_devices.hpp"

namespace halocline {
namespace {

const ArrayNeed* output_of(const Program& program) {
  for (const auto& need : program.needs.arrays)
    if (need.lifetime == Lifetime::output) return &need;
  return nullptr;
}

void check_sizes(const Program& program, const ProgramInputs& inputs, const VolumeSink& output) {
  const ArrayNeed* result = output_of(program);
  if (result == nullptr) throw std::logic_error(program.needs.algorithm + " declares no output");
  if (output.grid().size != whole_extent(*result, program.needs))
    throw std::logic_error("the result has another size than " + program.needs.algorithm);
  for (const auto& need : program.needs.arrays) {
    if (need.lifetime != Lifetime::input && !is_given(program, need.name)) continue;
    if (space_of(need.kind) == Space::fixed) continue;
    const ArraySource& input = input_of(inputs, program, need.name);
    if (input.source == nullptr && program.needs.form != ProgramForm::voxel_sums)
      throw std::logic_error(fmt::format("the input {} of {} has to be a source", need.name, program.needs.algorithm));
    if (input.source != nullptr && input.source->grid().size != whole_extent(need, program.needs))
      throw std::logic_error(fmt::format("the input {} has another size than {}", need.name, program.needs.algorithm));
  }
}

}  // namespace

ArraySource::ArraySource(const VolumeSource* from)
    : source(from), values(reinterpret_cast<const std::byte*>(from->data())) {}

const ArraySource& input_of(const ProgramInputs& inputs, const Program& program, const std::string& name) {
  const auto found = inputs.find(name);
  if (found == inputs.end())
    throw std::logic_error(fmt::format("{} needs the input {}", program.needs.algorithm, name));
  return found->second;
}

Program placed_program(Program program, const ProgramInputs& inputs, const VolumeSink& output,
                       const std::vector<Device>& devices) {
  for (auto& need : program.needs.arrays) {
    if (need.lifetime == Lifetime::output) need.on_device = need.on_device || lies_on(output, devices);
    const auto input = inputs.find(need.name);
    if (need.lifetime == Lifetime::input && input != inputs.end() && input->second.source != nullptr)
      need.on_device = need.on_device || lies_on(*input->second.source, devices);
  }
  return program;
}

Attempts attempts_of(const RunRequest& request, const Plan& plan,
                     std::function<RunResult(const Plan&, const std::vector<Device>&)> run) {
  const auto bus_bytes = [&request] {
    auto bytes = static_cast<double>(request.output.bus_bytes());
    for (const auto& [name, input] : request.inputs)
      if (input.source != nullptr) bytes += static_cast<double>(input.source->bus_bytes());
    return bytes;
  };
  Attempts attempts;
  const ProgramForm form = request.program.needs.form;
  const bool iterates = form == ProgramForm::stencil || form == ProgramForm::steps;
  attempts.keeps = iterates && (request.options.keep_partial || request.options.checkpoint_store != nullptr);
  attempts.plan_again = [&request, options = plan.options](const auto& available) {
    return plan_program(request.program, available, with_devices(options, available));
  };
  attempts.run = [bus_bytes, run = std::move(run)](const Plan& now, const std::vector<Device>& used) {
    const double before = bus_bytes();
    RunResult result = run(now, used);
    result.bus_bytes += bus_bytes() - before;
    return result;
  };
  return attempts;
}

namespace {

// RunOptions::planned if it fits the program and the devices, else another plan.
Plan plan_of_run(const Program& program, const std::vector<Device>& devices, const RunOptions& options) {
  const auto trial = trial_of(program);
  Ranks& all = options.plan.all_devices.empty() ? one_rank() : ranks();
  const bool learned = all.any("whether rates are new", trial && learn_kernel_rate(program.needs, devices, *trial));
  const auto& before = options.planned;
  if (before && !learned && is_for(*before, devices) && is_plan_of(*before, program.needs) &&
      !(before->streamed && can_end_early(options))) {
    Plan plan = *before;
    plan.options.reserved.clear();  // is booked by now
    return plan;
  }
  PlanOptions how = options.plan;
  if (learned) {
    plan_with_all(how, devices, all);
    std::erase_if(how.all_devices, [&](const DeviceModel& device) {  // of ranks that have no part
      return device.rank > options.plan.all_devices.back().rank;
    });
  }
  if (can_end_early(options)) how.may_stream = false;
  return plan_program(program, device_models(devices), how);
}

RunResult run_in_form(const RunRequest& request, const std::vector<Device>& devices, const Plan& plan) {
  switch (request.program.needs.form) {
    case ProgramForm::stencil:
      return run_stencil(request, devices, plan);
    case ProgramForm::voxel_sums:
      return run_voxel_sums(request, devices, plan);
    case ProgramForm::ray_sums:
      return run_ray_sums(request, devices, plan);
    case ProgramForm::steps:
      return run_steps(request, devices, plan);
  }
  throw std::logic_error("no such form of a program");
}

}  // namespace

RunResult run_program(const Program& program, const ProgramInputs& inputs, VolumeSink& output,
                      const std::vector<Device>& devices, const RunOptions& options) {
  check_sizes(program, inputs, output);
  const Program ready = placed_program(program, inputs, output, devices);
  const std::vector<Device> working = working_devices(devices);
  const Plan plan = plan_of_run(ready, working, options);
  require_same_plan(plan, ranks_of(plan));
  if (plan.several_ranks() && (output.data() != nullptr || output.on_devices()))
    throw std::logic_error("several ranks write the result of " + program.needs.algorithm + " to one file, in pieces");
  const bool moves = std::none_of(plan.devices.begin(), plan.devices.end(),
                                  [](const DeviceModel& device) { return device.shares_memory; });
  const PagePopulation pages(moves ? output.data() : nullptr, output.grid().count() * sizeof(float));
  return run_in_form({ready, inputs, output, options}, working, plan);
}

RunResult run_program(const Program& program, const std::map<std::string, const Volume*>& inputs, const Grid& grid,
                      const std::vector<Device>& devices, const RunOptions& options) {
  std::list<MemorySource> memory;
  ProgramInputs sources;
  for (const auto& [name, volume] : inputs) sources.emplace(name, &memory.emplace_back(*volume));
  Volume output = Volume::uninitialised(grid);
  MemorySink sink(output);
  RunResult result = run_program(program, sources, sink, devices, options);
  result.output = std::move(output);
  return result;
}

}  // namespace halocline

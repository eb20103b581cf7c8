#include "scheduling/planning/program.hpp"

#include <algorithm>
#include <stdexcept>

namespace halocline {

namespace {

void add_next(Requirements& needs, const std::string& name) {
  const auto found =
      std::find_if(needs.arrays.begin(), needs.arrays.end(), [&](const ArrayNeed& need) { return need.name == name; });
  needs.arrays.insert(found + 1, in_role(ArrayRole::next, *found));  // the planner counts its traffic once
}

}  // namespace

Program single_step(Requirements needs, std::function<void(Slab&)> start, Step step) {
  step.over = needs.form == ProgramForm::ray_sums ? Domain::ray_sums : Domain::voxel_sums;
  add_next(needs, step.over == Domain::ray_sums ? written_by(step) : read_by(step));
  Program program;
  program.needs = std::move(needs);
  program.start.push_back(std::move(start));
  program.first.push_back(std::move(step));
  return program;
}

Program stencil_program(Requirements needs, const StencilLoop& loop, Reduction& reduction) {
  Program program;
  program.needs = std::move(needs);
  program.needs.together = loop.together();
  program.needs.reductions = reduction.expected_reductions(program.needs.iterations);
  program.loop = &loop;
  program.reduction = &reduction;
  return program;
}

namespace {

const std::string& named(const Step& step, bool written) {
  for (const auto& [name, access] : step.arrays)
    if ((access != Access::in) == written) return name;
  throw std::logic_error(step.name + (written ? " writes" : " reads") + " no array");
}

}  // namespace

const std::string& read_by(const Step& step) {
  return named(step, false);
}

const std::string& written_by(const Step& step) {
  return named(step, true);
}

std::vector<std::string> sums_beside(const Step& step) {
  std::vector<std::string> result;
  for (const auto& [name, access] : step.arrays)
    if (access != Access::in && name != written_by(step)) result.push_back(name);
  return result;
}

std::vector<const Step*> steps_of(const Program& program) {
  std::vector<const Step*> result;
  for (const auto* steps : {&program.derived, &program.first, &program.each, &program.last})
    for (const Step& step : *steps) result.push_back(&step);
  return result;
}

bool is_given(const Program& program, const std::string& array) {
  return std::find(program.given.begin(), program.given.end(), array) != program.given.end();
}

Range views_of(const Step& step, const Requirements& needs, const Scalars& scalars) {
  return step.views ? step.views(scalars) : needs.views();
}

std::vector<StepUse> uses_of(const Program& program) {
  std::vector<StepUse> result;
  Scalars scalars = program.scalars;
  const auto use = [&](const Step& step, double times) {
    if (step.due && !step.due(scalars)) return;
    const Range views = views_of(step, program.needs, scalars);
    const auto found = std::find_if(result.begin(), result.end(),
                                    [&](const StepUse& each) { return each.step == &step && each.views == views; });
    if (found == result.end())
      result.push_back({&step, views, times});
    else
      found->times += times;
  };
  const int iterations = program.needs.iterations;
  scalars[iteration_scalar] = 0;
  for (const Step& step : program.derived) use(step, 1);
  for (const Step& step : program.first) use(step, 1);
  for (const Step& step : program.each) {
    if (!step.due && !step.views) {
      use(step, iterations);
      continue;
    }
    for (int n = 0; n < iterations; ++n) {
      scalars[iteration_scalar] = n;
      use(step, 1);
    }
  }
  scalars[iteration_scalar] = iterations;
  for (const Step& step : program.last) use(step, 1);
  return result;
}

const ArrayNeed& array_of(const Requirements& requirements, const std::string& name) {
  const auto found = std::find_if(requirements.arrays.begin(), requirements.arrays.end(),
                                  [&](const ArrayNeed& need) { return need.name == name; });
  if (found == requirements.arrays.end())
    throw std::logic_error(requirements.algorithm + " did not declare an array " + name);
  return *found;
}

}  // namespace halocline

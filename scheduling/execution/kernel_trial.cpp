#include "scheduling/execution/kernel_trial.hpp"

#include <algorithm>

#include "scheduling/planning/cost.hpp"

namespace halocline {
namespace {

// Trial of as many iterations as the loop takes together, and of the reduction between iterations.
KernelTrial stencil_trial(const Program& program) {
  KernelTrial trial;
  const int together = std::min(program.needs.together, std::max(1, program.needs.iterations));
  trial.iterations = together;
  trial.prepare = [&program](Slab& slab, Range) {
    for (const auto& need : program.needs.arrays)
      if (need.lifetime == Lifetime::input && need.kind == ArrayKind::volume) slab.fill(need.name, 1);
    program.reduction->begin();
    program.loop->start(slab);
  };
  trial.work = [&program, together](Slab& slab, Range) {
    program.loop->iterate_together(slab, 0, together, slab.interior());
    if (program.needs.reduction_every_iteration) program.reduction->reduce(slab, 1, slab.interior());
  };
  trial.units = [together](const Slab& slab, Range) {
    return static_cast<double>(slab.nx()) * slab.ny() * static_cast<double>(slab.interior().count()) * together;
  };
  return trial;
}

// Trial of a batch of views, without the filter, which has a cost of its own (KernelCost::pixel_bytes).
KernelTrial sums_trial(const Program& program) {
  const Step& step = program.first.front();
  KernelTrial trial;
  trial.prepare = [&program, &step](Slab& slab, Range views) {
    for (const auto& fill : program.start) fill(slab);
    slab.fill(read_by(step), 1);
    slab.fill(written_by(step), 0);
    for (const auto& name : sums_beside(step)) slab.fill(name, 0);
    if (step.prepare) step.prepare(slab);
    if (step.filter) step.filter(slab, views, program.scalars);
  };
  trial.work = [&program, &step](Slab& slab, Range views) {
    step.work(slab, {slab.interior(), views}, program.scalars);
  };
  trial.units = [&needs = program.needs](const Slab& slab, Range views) {
    return count_units(needs) * static_cast<double>(slab.interior().count()) / static_cast<double>(needs.size[2]) *
           static_cast<double>(views.count()) / static_cast<double>(needs.stack[2]);
  };
  return trial;
}

}  // namespace

std::optional<KernelTrial> trial_of(const Program& program) {
  switch (program.needs.form) {
    case ProgramForm::stencil:
      return stencil_trial(program);
    case ProgramForm::voxel_sums:
    case ProgramForm::ray_sums:
      return sums_trial(program);
    case ProgramForm::steps:
      break;
  }
  return std::nullopt;
}

}  // namespace halocline

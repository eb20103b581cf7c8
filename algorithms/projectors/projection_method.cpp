#include "algorithms/projectors/projection_method.hpp"

#include <stdexcept>

namespace halocline {

ViewTables ProjectionMethod::view_tables() const {
  throw std::logic_error(requirements().algorithm + " has no tables of views");
}

Program program_of(std::shared_ptr<const ProjectionMethod> method) {
  Step step{.name = "project",
            .arrays = {in("volume"), out("projections")},
            .rows = method->crossed_rows(),
            .prepare = [method](Slab& slab) { method->loaded(slab); },
            .work = [method](Slab& slab, const WorkRange& part,
                             const Scalars& scalars) { method->project(slab, part.views, scalars); },
            .order = method->order()};
  for (const auto& name : method->sums()) step.arrays.push_back(out(name));
  return single_step(
      method->requirements(), [method](Slab& slab) { method->start(slab); }, std::move(step));
}

Program program_of(const ProjectionMethod& method) {
  return program_of(std::shared_ptr<const ProjectionMethod>(std::shared_ptr<void>(), &method));
}

}  // namespace halocline

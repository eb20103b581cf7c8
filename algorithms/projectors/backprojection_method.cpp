#include "algorithms/projectors/backprojection_method.hpp"

#include <stdexcept>

namespace halocline {

ViewTables BackprojectionMethod::view_tables() const {
  throw std::logic_error(requirements().algorithm + " has no tables of views");
}

Program program_of(std::shared_ptr<const BackprojectionMethod> method) {
  Step step{
      .name = "backproject",
      .arrays = {in("raw"), out("volume")},
      .filter = [method](Slab& slab, Range views, const Scalars& scalars) { method->filter(slab, views, scalars); },
      .work = [method](Slab& slab, const WorkRange& part,
                       const Scalars& scalars) { method->accumulate(slab, part.views, part.slices, scalars); },
      .order = method->order(),
      .rows_read = [method](Range rows) { return method->rows_read(rows); }};
  for (const auto& name : method->sums()) step.arrays.push_back(out(name));
  return single_step(
      method->requirements(), [method](Slab& slab) { method->start(slab); }, std::move(step));
}

Program program_of(const BackprojectionMethod& method) {
  return program_of(std::shared_ptr<const BackprojectionMethod>(std::shared_ptr<void>(), &method));
}

}  // namespace halocline

#include "algorithms/solvers/projector_operator.hpp"

#include <optional>

#include "algorithms/expressions/recorder.hpp"
#include "algorithms/projectors/default_projector.hpp"
#include "algorithms/projectors/ray_ends.hpp"
#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/view_subsets.hpp"
#include "host/system/log.hpp"

namespace halocline::expressions {
namespace {

RayOperator ray_operator(const Context& on, const Geometry& geometry, const Grid& volume, const Grid& projections,
                         std::optional<Projector> chosen, int largest_subset) {
  check_projection_grids(geometry, volume, projections);
  const Projector projector = projector_of(chosen, false, geometry, volume, projections);
  log_automatic_ray_ends(geometry, volume, projections);
  if (const std::string note = note_on_fine_voxels(chosen, geometry, volume, projections); !note.empty())
    library_log()->warn("{}", note);
  Recorder& recorder = on.recorder();
  const RayOperator A = RayOperator(geometry, volume, projections, projector, recorder.session().models())
                            .labelled(recorder.next_label());
  Program program = A.program("projector", largest_subset);
  program.each = {A.project("volume", "projections"), A.backproject("projections", "volume")};
  recorder.session().extend(program);
  return A;
}

// `views`: of a subset; none: all.
LinearOperator operator_of(const Context& on, const RayOperator& A, std::optional<Range> views) {
  const Space volume = on.volume(A.volume()), projections = on.projections(A.projections());
  const auto record = [views](const Array& from, const Array& to, auto step_of) {
    StepStatement statement{{from.storage()}, {to.storage()}, {}};
    statement.make = [views, step_of](const std::vector<std::string>& reads, const std::vector<std::string>& writes) {
      Step step = step_of(reads.front(), writes.front());
      if (views) step.views = [part = *views](const Scalars&) { return part; };
      return step;
    };
    to.space().recorder().record(std::move(statement));
    return to;
  };
  const auto apply = [=](const Array& x) {
    Array y;
    if (views)
      y = zeros(projections);
    else
      y.overwrite(projections);
    return record(x, y, [A](const std::string& from, const std::string& to) { return A.project(from, to); });
  };
  const auto adjoint = [=](const Array& y) {
    Array x;
    x.overwrite(volume);
    return record(y, x, [A](const std::string& from, const std::string& to) { return A.backproject(from, to); });
  };
  return {volume, projections, apply, adjoint};
}

}  // namespace

LinearOperator projector(const Context& on, const Geometry& geometry, const Grid& volume, const Grid& projections,
                         std::optional<Projector> projector) {
  return operator_of(on, ray_operator(on, geometry, volume, projections, projector, 0), std::nullopt);
}

std::vector<LinearOperator> subset_projectors(const Context& on, const Geometry& geometry, const Grid& volume,
                                              const Grid& projections, int subsets,
                                              std::optional<Projector> projector) {
  const ViewSubsets sorted(static_cast<int>(projections.size[2]), subsets);
  const RayOperator A = ray_operator(on, geometry, volume, projections, projector, sorted.largest());
  std::vector<LinearOperator> result;
  for (int s = 0; s < subsets; ++s) result.push_back(operator_of(on, A, sorted.range(s)));
  return result;
}

}  // namespace halocline::expressions

#include "algorithms/solvers/projector_operator.hpp"

#include "algorithms/expressions/session_recorder.hpp"
#include "algorithms/projectors/adjoint_bricks.hpp"
#include "algorithms/projectors/default_projector.hpp"
#include "algorithms/projectors/faster_forms.hpp"
#include "algorithms/projectors/joseph_slices.hpp"
#include "algorithms/projectors/ray_ends.hpp"
#include "algorithms/projectors/upright.hpp"
#include "algorithms/solvers/matrix_pair.hpp"
#include "algorithms/solvers/moving_pair.hpp"
#include "algorithms/solvers/view_subsets.hpp"
#include "host/system/error.hpp"
#include "host/system/log.hpp"

namespace halocline::expressions {
namespace {

using StepOf = std::function<Step(const std::string& from, const std::string& to)>;

constexpr int passes_of_operators = 100;  // that `operator = automatic` goes by: how many there will be is not known

Projector checked(std::optional<Projector> chosen, const Geometry& geometry, const Grid& volume,
                  const Grid& projections) {
  check_projection_grids(geometry, volume, projections);
  const Projector projector = projector_of(chosen, false, geometry, volume, projections);
  log_automatic_ray_ends(geometry, volume, projections);
  if (const std::string note = note_on_fine_voxels(chosen, geometry, volume, projections); !note.empty())
    library_log()->warn("{}", note);
  return projector;
}

// The operator of a pair, and the program with its arrays.
std::pair<RayOperator, Program> labelled_operator(const Context& on, const Grid& volume, const Grid& projections,
                                                  ProjectorPair pair, int largest_subset) {
  const RayOperator A = RayOperator(volume, projections, std::move(pair)).labelled(on.recorder().next_label());
  Program program = A.program("projector", largest_subset);
  program.each = {A.project("volume", "projections"), A.backproject("projections", "volume")};
  return {A, program};
}

// The operator of a pair, whose arrays the Context has afterwards.
RayOperator ray_operator(const Context& on, const Grid& volume, const Grid& projections, ProjectorPair pair,
                         int largest_subset) {
  const auto [A, program] = labelled_operator(on, volume, projections, std::move(pair), largest_subset);
  on.recorder().session().extend(program);
  return A;
}

// The operator of the stored matrix, if that is asked for or chosen; throws where it does not fit.
std::optional<RayOperator> matrix_operator(const Context& on, const Geometry& geometry, const Grid& volume,
                                           const Grid& projections, const Projector& projector, OperatorForm form,
                                           const ViewSubsets& subsets) {
  Session& session = on.recorder().session();
  std::vector<DeviceModel> models = session.models();
  const auto choose = [&] {
    return choose_operator({form, passes_of_operators, subsets.count()}, geometry, volume, projections, projector,
                           models);
  };
  if (choose().stored()) models = with_units_that_serve(models, session.devices());
  const OperatorChoice choice = choose();
  log_choice(choice);
  if (!choice.stored()) return std::nullopt;
  const MatrixOptions options = matrix_options(models, true, choice.form, subsets);
  const auto matrix = std::make_shared<const SystemMatrix>(geometry, volume, projections, projector, options);
  on.volume(volume), on.projections(projections);  // which refuse other grids
  const auto [A, program] = labelled_operator(on, volume, projections, matrix_pair(matrix), subsets.largest());
  with_matrix_remedy(form, [&, &needs = program] { session.extend_now(needs); });
  return A;
}

// The step with the norm of its input among the scalars.
Step with_norm(Step step, const Number& norm) {
  const auto known = [norm](const Scalars& scalars) {
    Scalars all = scalars;
    all[input_norm] = norm(scalars);
    return all;
  };
  if (step.filter)
    step.filter = [known, filter = step.filter](Slab& slab, Range views, const Scalars& scalars) {
      filter(slab, views, known(scalars));
    };
  step.work = [known, work = step.work](Slab& slab, const WorkRange& part, const Scalars& scalars) {
    work(slab, part, known(scalars));
  };
  return step;
}

// Records a step of A. `views`: of a subset; none: all.
Array record(const StepOf& step_of, bool takes_norm, const Array& from, Array to,
             std::optional<Range> views = std::nullopt) {
  StepStatement statement{{from.storage()}, {to.storage()}};
  if (takes_norm) statement.scalars = {norm(from)};
  statement.make = [=](const auto& reads, const auto& writes, const auto& numbers) {
    Step step = step_of(reads.front(), writes.front());
    if (!numbers.empty()) step = with_norm(std::move(step), numbers.front());
    if (views) step.views = [part = *views](const Scalars&) { return part; };
    return step;
  };
  to.space().recorder().record(std::move(statement));
  return to;
}

Array new_array(const Space& space) {
  Array result;
  result.overwrite(space);
  return result;
}

enum class Accuracy { plain, fast, exact };

LinearOperator operator_of(const RayOperator& A, const Space& volume, const Space& projections,
                           std::optional<Range> views, Accuracy accuracy = Accuracy::plain) {
  const auto apply = [=](const Array& x) {
    const StepOf project = [=](const auto& from, const auto& to) {
      return accuracy == Accuracy::fast    ? A.project_fast(from, to)
             : accuracy == Accuracy::exact ? A.project_exact(from, to)
                                           : A.project(from, to);
    };
    return record(project, A.project_takes_norm(), x, views ? zeros(projections) : new_array(projections), views);
  };
  const auto adjoint = [=](const Array& y) {
    const StepOf backproject = [=](const auto& from, const auto& to) {
      return accuracy == Accuracy::fast ? A.backproject_fast(from, to) : A.backproject(from, to);
    };
    return record(backproject, A.backproject_takes_norm(), y, new_array(volume), views);
  };
  return {volume, projections, apply, adjoint};
}

LinearOperator operator_of_views(const RayOperator& A, const Space& volume, const Space& projections,
                                 std::vector<int> numbers) {
  const ViewNumbers views = std::make_shared<const std::vector<std::int32_t>>(std::move(numbers));
  const auto apply = [=](const Array& x) {
    const StepOf project = [=](const auto& from, const auto& to) { return A.project(from, to, views); };
    return record(project, A.project_takes_norm(), x, new_array(projections));
  };
  const auto adjoint = [=](const Array& y) {
    const StepOf keep = [=](const auto& from, const auto& to) { return A.keep(from, to, views); };
    const StepOf backproject = [=](const auto& from, const auto& to) { return A.backproject(from, to, views); };
    const bool norm = A.backproject_takes_norm();  // that of these views
    return record(backproject, norm, norm ? record(keep, false, y, new_array(projections)) : y, new_array(volume));
  };
  return {volume, projections, apply, adjoint};
}

using PairOf = std::function<ProjectorPair(const Geometry&)>;

// Pairs for a session's devices, in forms that are checked before their first use.
struct PairsOfScans {
  PairOf fastest, plain;  ///< plain: in forms for any scan, those of upright scans left out
};

PairsOfScans pairs_of(const Session& session, const Geometry& geometry, const Grid& volume, const Grid& projections,
                      const Projector& projector, bool moves) {
  auto models = checked_models(session.devices(), projector, Directions::both, geometry, volume, projections);
  if (moves)  // a scan that is aligned leaves the slices, so CPUs go ray by ray
    for (DeviceModel& model : models)
      if (model.cpu) model.choices[slice_form_choice] = rays_form;
  const RayOperatorForms forms{.images =
                                   images_pay(geometry, volume, projections, {.projector = projector}, models, {})};
  const auto pairs = [=](const std::vector<DeviceModel>& of) {
    return [=](const Geometry& its) { return named_pair(its, volume, projections, projector, of, forms); };
  };
  auto any_scan = models;
  for (DeviceModel& model : any_scan)
    for (const char* choice : {slice_form_choice, upright_form_choice, brick_form_choice})
      model.choices[choice] = rays_form;
  return {pairs(models), pairs(any_scan)};
}

// Refuses what needs another matrix than the stored one.
[[noreturn]] void refuse_stored(const char* what, const char* wanted) {
  throw InputError({.what = what,
                    .found = "one that stores its system matrix, which is of one geometry (`operator`)",
                    .expected = "one of rays",
                    .remedy = std::string("make an operator of ") + wanted + ", or this one with `operator = rays`"});
}

}  // namespace

LinearOperator projector(const Context& on, const Geometry& geometry, const Grid& volume, const Grid& projections,
                         std::optional<Projector> projector, OperatorForm form) {
  const Projector named = checked(projector, geometry, volume, projections);
  const ViewSubsets all(static_cast<int>(projections.size[2]), 1);
  if (const auto stored = matrix_operator(on, geometry, volume, projections, named, form, all))
    return operator_of(*stored, on.volume(volume), on.projections(projections), std::nullopt)
        .with_views([](const auto&) -> LinearOperator { refuse_stored("the operator of views()", "these views"); })
        .with_move([](const Geometry&) { refuse_stored("the operator of move_to()", "the other geometry"); });
  const auto pairs = pairs_of(on.recorder().session(), geometry, volume, projections, named, true);
  const auto pair = std::make_shared<MovingPair>(pairs.fastest(geometry), on.recorder().next_label());
  const RayOperator A = ray_operator(on, volume, projections, pair->pair(), 0);
  const auto move = [=, fan_stack = geometry.fan_stack(), tables = A.program("projector", 0)](const Geometry& to) {
    check_projection_grids(to, volume, projections);
    if (to.fan_stack() != fan_stack)
      throw InputError({.what = "the geometry that a projector is moved to",
                        .found = fan_stack ? "no stack of fans" : "a stack of fans",
                        .expected = "one like the first, for which the same kernels run",
                        .remedy = "make another operator"});
    on.flush();  // statements from before
    ProjectorPair next = pairs.fastest(to);
    if (!pair->has_forms_of(next)) {
      next = pairs.plain(to);
      on.recorder().session().add_arrays(pair->arrays_for(next));
    }
    const ProjectorPair before = pair->present();
    pair->move_to(next);
    try {
      on.recorder().session().refill(tables);
    } catch (...) {
      pair->move_to(before);
      throw;
    }
  };
  const Space x = on.volume(volume), y = on.projections(projections);
  const auto ready = std::make_shared<bool>(false);
  const auto of_views = [=](std::vector<int> numbers) {
    if (!*ready) on.recorder().session().extend_now(A.views_program());
    *ready = true;
    return operator_of_views(A, x, y, std::move(numbers));
  };
  return operator_of(A, x, y, std::nullopt).with_views(of_views).with_move(move);
}

std::vector<LinearOperator> subset_projectors(const Context& on, const Geometry& geometry, const Grid& volume,
                                              const Grid& projections, int subsets, std::optional<Projector> projector,
                                              OperatorForm form) {
  const ViewSubsets sorted(static_cast<int>(projections.size[2]), subsets);
  const Projector named = checked(projector, geometry, volume, projections);
  const auto stored = matrix_operator(on, geometry, volume, projections, named, form, sorted);
  const RayOperator A =
      stored ? *stored
             : ray_operator(
                   on, volume, projections,
                   pairs_of(on.recorder().session(), geometry, volume, projections, named, false).fastest(geometry),
                   sorted.largest());
  std::vector<LinearOperator> result;
  for (int s = 0; s < subsets; ++s)
    result.push_back(operator_of(A, on.volume(volume), on.projections(projections), sorted.range(s)));
  return result;
}

LinearOperator projector(const Recording& on, const RayOperator& A) {
  return operator_of(A, on.volumes(), on.projections(), std::nullopt);
}

LinearOperator fast_projector(const Recording& on, const RayOperator& A) {
  return operator_of(A, on.volumes(), on.projections(), std::nullopt, Accuracy::fast);
}

LinearOperator exact_projector(const Recording& on, const RayOperator& A) {
  return operator_of(A, on.volumes(), on.projections(), std::nullopt, Accuracy::exact);
}

}  // namespace halocline::expressions

#include "algorithms/expressions/session_recorder.hpp"

#include "algorithms/support/slice_sums.hpp"
#include "host/system/error.hpp"

namespace halocline::expressions {
namespace {

// Program with the needs of passes over arrays of this size, and one of them as an example, by whose cost plans are
// made.
Program needs_of(ArrayKind kind, const Grid& grid) {
  const bool volume = kind == ArrayKind::volume;
  Program program;
  const SliceSums sums(grid.size, PassBuilder::most_sums);
  if (volume) {
    program.needs.size = grid.size;
    sums.declare(program.needs);
  } else {
    program.needs.stack = grid.size;
    sums.declare_views(program.needs);
  }
  Step step{.name = "expression", .over = volume ? Domain::slices : Domain::views};
  step.reduced = [](std::span<const double>, Scalars&) {};
  step.sums = PassBuilder::most_sums;
  step.cost.bytes = 12;
  step.units = static_cast<double>(grid.count());
  program.each.push_back(std::move(step));
  return program;
}

}  // namespace

Space SessionRecorder::space(ArrayKind kind, const Grid& grid) {
  const bool volume = kind == ArrayKind::volume;
  const std::string what = volume ? "volume" : "projections";
  check_grid(grid, what);
  auto& known = volume ? volume_ : projections_;
  if (known) {
    require_same_grid(grid, "this " + what + " grid", *known, "that of the Context, which has one of each kind");
  } else {
    session_.extend(needs_of(kind, grid));
    known = std::make_shared<const Grid>(grid);
  }
  return known_space(kind);
}

void SessionRecorder::record(Statement statement) {
  Recorder::record(std::move(statement));
  flush_many();
}

void SessionRecorder::record(StepStatement statement) {
  Recorder::record(std::move(statement));
  flush_many();
}

void SessionRecorder::flush_many() {
  constexpr std::size_t most_pending = 64;
  if (count() >= most_pending) flush();
}

void SessionRecorder::perform(Step step, const Sums& sums, const Scope*) {
  session_.extend_halo(step.halo_low, step.halo_high);
  if (!sums.empty())
    step.reduced = [&](std::span<const double> values, Scalars&) {
      for (std::size_t n = 0; n < sums.size(); ++n) sums[n]->value = values[n];
    };
  session_.perform(step);
}

Number SessionRecorder::number_of(const Scalar& scalar) {
  return [number = static_cast<float>(value(scalar))](const Scalars&) { return number; };
}

}  // namespace halocline::expressions

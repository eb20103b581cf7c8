#include "algorithms/expressions/session_recorder.hpp"

#include <algorithm>

#include "algorithms/expressions/prepared.hpp"
#include "algorithms/support/slice_sums.hpp"
#include "host/system/error.hpp"

namespace halocline::expressions {
namespace {

// Program with the needs of passes over arrays of this size, and one of them as an example, by whose cost plans are
// made.
Program needs_of(ArrayKind kind, const Grid& grid) {
  const bool volume = kind == ArrayKind::volume;
  Program program;
  NumbersPool::declare(program.needs);
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
  const auto& scalars = statement.scalars;
  if (job_ && std::any_of(scalars.begin(), scalars.end(), [](const Scalar& each) { return !each.known(); }))
    throw InputError(
        {.what = "statement " + std::to_string(count() + 1) + " of a prepared job",
         .found = "a kernel or projector with a number that follows from a sum of the job",
         .expected = "formulas with such numbers, and kernels with numbers that are known",
         .remedy = "apply it outside of the job; ray models that users write need the norm of what they read"});
  Recorder::record(std::move(statement));
  flush_many();
}

void SessionRecorder::flush_many() {
  constexpr std::size_t most_pending = 64;
  if (!job_ && count() >= most_pending) flush();
}

void SessionRecorder::flush() {
  if (job_)
    throw InputError({.what = "the function of a prepared job",
                      .found = "one that reads a value, waits, replays a job or moves a projector",
                      .expected = "statements alone",
                      .remedy = "do so after it has been prepared"});
  Recorder::flush();
}

std::string SessionRecorder::allocate(ArrayKind kind) {
  if (job_)
    if (const auto found = job_->free.find(kind); found != job_->free.end()) return job_->free.extract(found).mapped();
  return session_.allocate(kind);
}

void SessionRecorder::release(const Storage& storage) {
  if (job_)
    job_->free.emplace(storage.kind, storage.name);
  else
    session_.release(storage.name);
}

void SessionRecorder::begin_job() {
  if (job_) throw InputError("a job is prepared within another one; state all of it in one function");
  flush();
  job_.emplace();
  job_->numbers = std::make_shared<JobNumbers>(numbers_);
}

Prepared SessionRecorder::end_job() {
  Prepared::Arrays inputs, results;
  std::vector<std::weak_ptr<Storage>> new_arrays;  // whose statements are left out where nobody else knows them
  for (auto& each : recorded_storages())
    if (each->name.empty())
      new_arrays.push_back(each);
    else
      inputs.push_back(std::move(each));
  std::shared_ptr<KeptJob> job;
  try {
    Recorder::flush();
    if (job_->steps.empty())
      throw InputError({.what = "the function of a prepared job",
                        .found = "one without a statement whose result anybody keeps",
                        .expected = "statements",
                        .remedy = "return, or assign, its results"});
    job = session_.keep(std::move(job_->steps));
  } catch (...) {
    cancel_job();
    throw;
  }
  for (const auto& each : new_arrays)
    if (auto array = each.lock()) results.push_back(std::move(array));
  std::vector<std::string> scratch;
  for (const auto& [kind, name] : job_->free) scratch.push_back(name);
  auto numbers = job_->numbers;
  job_.reset();
  return {std::static_pointer_cast<SessionRecorder>(shared_from_this()),
          std::move(job),
          std::move(inputs),
          std::move(results),
          std::move(scratch),
          std::move(numbers)};
}

void SessionRecorder::cancel_job() {
  for (const auto& [kind, name] : job_->free) session_.release(name);
  job_.reset();
}

std::vector<double> SessionRecorder::numbers(const KeptJob& job) {
  const auto device = static_cast<std::size_t>(session_.plan().slabs.front().device);
  std::vector<double> result(NumbersPool::most);
  if (fp64() && session_.devices()[device].info().fp64) {
    session_.read(job, exact_numbers, result.data(), result.size() * sizeof(double));
    return result;
  }
  std::vector<float> values(result.size());
  session_.read(job, exact_numbers, values.data(), values.size() * sizeof(float));
  std::copy(values.begin(), values.end(), result.begin());
  return result;
}

void SessionRecorder::perform(Step step, const Sums& sums, const std::shared_ptr<const Scope>&) {
  session_.extend_halo(step.halo_low, step.halo_high);
  if (job_) {
    if (!sums.empty()) job_->numbers->add_sums(step, sums, fp64());
    job_->steps.push_back(std::move(step));
    return;
  }
  if (!sums.empty())
    step.reduced = [&](std::span<const double> values, Scalars&) {
      for (std::size_t n = 0; n < sums.size(); ++n) sums[n]->value = values[n];
    };
  session_.perform(step);
}

Number SessionRecorder::number_of(const Scalar& scalar) {
  if (job_ && is_on_device(*scalar.node())) return {{}, job_->numbers->place_of(scalar.node())};
  return {[number = static_cast<float>(value(scalar))](const Scalars&) { return number; }};
}

}  // namespace halocline::expressions

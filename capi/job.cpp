#include "capi/job.hpp"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "capi/geometry.hpp"
#include "capi/status.hpp"
#include "host/volume/finite_source.hpp"

using namespace halocline;
using namespace halocline::capi;

namespace {

std::string input_name(const std::string& name) {
  return fmt::format("the input `{}`", name);
}

// Lets halocline_job_cancel() find the run while it lives.
class Announced {
 public:
  Announced(std::mutex& mutex, Cancellation*& place, Cancellation& cancellation) : mutex_(mutex), place_(place) {
    const std::lock_guard lock(mutex_);
    if (place_ != nullptr)
      throw InputError({.what = "the job",
                        .found = "running already",
                        .expected = "one run at a time",
                        .remedy = "make a job for each thread"});
    place_ = &cancellation;
  }
  Announced(const Announced&) = delete;
  Announced& operator=(const Announced&) = delete;
  ~Announced() {
    const std::lock_guard lock(mutex_);
    place_ = nullptr;
  }

 private:
  std::mutex& mutex_;
  Cancellation*& place_;
};

template <class A, class B>
bool overlap(const A& a, const B& b) {
  const std::less<const void*> before;
  return before(a.begin(), b.end()) && before(b.begin(), a.end());
}

}  // namespace

halocline_job::halocline_job(std::shared_ptr<const Context> context, const std::string& verb)
    : context_(std::move(context)), name_(verb), verb_(make_verb(verb)) {}

void halocline_job::set(const std::string& name, const std::string& value) {
  verb_->settings().set(name_, name, {value});
}

void halocline_job::set(const std::string& name, double value) {
  set(name, fmt::format("{}", value));
}

void halocline_job::set_input(const std::string& name, const halocline_grid& grid, const float* values) {
  require_array_name(name, verb_->inputs(), "input");
  inputs_.insert_or_assign(name, Array<const float>{grid_of(grid, input_name(name).c_str()), values});
}

void halocline_job::set_output(const std::string& name, const halocline_grid& grid, float* values) {
  require_array_name(name, verb_->outputs(), "output");
  outputs_.insert_or_assign(name, Array<float>{grid_of(grid, fmt::format("the output `{}`", name).c_str()), values});
}

void halocline_job::set_progress(halocline_progress callback, void* user) {
  progress_ = callback;
  user_ = user;
}

void halocline_job::require_apart() const {
  const auto refuse = [](const std::string& output, const std::string& other) {
    throw InputError({.what = fmt::format("the output `{}`", output),
                      .found = "in memory of " + other,
                      .expected = "an array of its own"});
  };
  for (const auto& [name, output] : outputs_) {
    for (const auto& [other, input] : inputs_)
      if (overlap(output, input)) refuse(name, input_name(other));
    for (const auto& [other, second] : outputs_)
      if (name < other && overlap(output, second)) refuse(name, fmt::format("the output `{}`", other));
  }
}

Sources halocline_job::sources() const {
  Sources result;
  for (const auto& [name, array] : inputs_) {
    auto source = std::make_unique<MemorySource>(array.grid, array.values);
    if (verb_->takes_unmeasured(name)) {
      require_rays(*source, input_name(name), verb_->allows_nonfinite());
      result.emplace(name, std::move(source));
    } else if (!verb_->allows_nonfinite()) {
      require_finite(*source, input_name(name));
      result.emplace(name, std::move(source));
    } else {
      result.emplace(name, std::make_unique<FiniteSource>(std::move(source), input_name(name), true));
    }
  }
  return result;
}

Sinks halocline_job::sinks() const {
  Sinks result;
  for (const auto& [name, array] : outputs_)
    result.emplace(name, std::make_unique<MemorySink>(array.grid, array.values));
  return result;
}

RunOptions halocline_job::run_options(Cancellation& cancellation) {
  RunOptions options;
  asked_ = false;
  if (progress_ != nullptr)
    options.progress = [this, &cancellation](const ProgressState& state) {
      const bool ends = progress_(state.done, state.total, state.note.c_str(), user_) != 0;
      // Once: a second time would end even a run that keeps what there is.
      if (ends && !asked_.exchange(true)) cancellation.request();
    };
  return options;
}

void halocline_job::run_verb(Cancellation& cancellation) {
  verb_->settings().check(false);
  require_apart();
  const Sources inputs = sources();
  const Sinks outputs = sinks();
  Work work(context_->devices, geometry_ ? &*geometry_ : nullptr, inputs, outputs, run_options(cancellation));
  results_ = verb_->run(work);
  results_text_ = results_->dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

void halocline_job::run() {
  Cancellation cancellation;
  const Announced announced(mutex_, cancellation_, cancellation);
  const CancellationScope scope(&cancellation);
  results_.reset();
  try {
    run_verb(cancellation);
  } catch (const Interrupted&) {
    throw Interrupted("the run was cancelled; its outputs hold nothing of use");
  }
  if (results_->value("stopped_by", "") == "interrupt")
    throw Interrupted("the run was cancelled; its outputs hold what there was then");
}

void halocline_job::cancel() {
  const std::lock_guard lock(mutex_);
  if (cancellation_ != nullptr) cancellation_->request();
}

const nlohmann::json& halocline_job::finished() const {
  if (!results_)
    throw InputError({.what = "the job's result",
                      .found = "missing",
                      .expected = "a run that has ended",
                      .remedy = "call halocline_job_run() first"});
  return *results_;
}

double halocline_job::number(const std::string& name) const {
  const nlohmann::json& all = finished();
  const auto found = all.find(name);
  if (found != all.end() && found->is_number()) return found->get<double>();
  if (found != all.end() && found->is_boolean()) return found->get<bool>() ? 1 : 0;
  std::vector<std::string> names;
  for (const auto& [key, value] : all.items())
    if (value.is_number() || value.is_boolean()) names.push_back(key);
  throw InputError({.what = fmt::format("the result \"{}\"", name),
                    .found = fmt::format("no number of this run of {}", name_),
                    .expected = either(names)});
}

double halocline_job::number_or_nan(const std::string& name) const {
  return finished().contains(name) ? number(name) : std::numeric_limits<double>::quiet_NaN();
}

const std::string& halocline_job::results() const {
  finished();
  return results_text_;
}

extern "C" int halocline_job_new(halocline_context* context, const char* verb, halocline_job** job) noexcept {
  return guarded([&] {
    auto& result = required(job, "`job`");
    const std::string name = &required(verb, "`verb`");
    result = std::make_unique<halocline_job>(required(context, "`context`").shared, name).release();
  });
}

extern "C" int halocline_job_set(halocline_job* job, const char* name, const char* value) noexcept {
  return guarded(
      [&] { required(job, "`job`").set(&required(name, "`name`"), std::string(&required(value, "`value`"))); });
}

extern "C" int halocline_job_set_number(halocline_job* job, const char* name, double value) noexcept {
  return guarded([&] { required(job, "`job`").set(&required(name, "`name`"), value); });
}

extern "C" int halocline_job_geometry(halocline_job* job, const halocline_geometry* geometry) noexcept {
  return guarded([&] { required(job, "`job`").set_geometry(required(geometry, "`geometry`").geometry); });
}

extern "C" int halocline_job_input(halocline_job* job, const char* name, const halocline_grid* grid,
                                   const float* values) noexcept {
  return guarded([&] {
    required(job, "`job`")
        .set_input(&required(name, "`name`"), required(grid, "`grid`"), &required(values, "`values`"));
  });
}

extern "C" int halocline_job_output(halocline_job* job, const char* name, const halocline_grid* grid,
                                    float* values) noexcept {
  return guarded([&] {
    required(job, "`job`")
        .set_output(&required(name, "`name`"), required(grid, "`grid`"), &required(values, "`values`"));
  });
}

extern "C" int halocline_job_progress(halocline_job* job, halocline_progress callback, void* user) noexcept {
  return guarded([&] { required(job, "`job`").set_progress(callback, user); });
}

extern "C" int halocline_job_run(halocline_job* job) noexcept {
  return guarded([&] { required(job, "`job`").run(); });
}

extern "C" int halocline_job_cancel(halocline_job* job) noexcept {
  return guarded([&] { required(job, "`job`").cancel(); });
}

extern "C" int halocline_job_result_double(const halocline_job* job, const char* name, double* value) noexcept {
  return guarded([&] { required(value, "`value`") = required(job, "`job`").number(&required(name, "`name`")); });
}

extern "C" int halocline_job_results(const halocline_job* job, const char** json) noexcept {
  return guarded([&] { required(json, "`json`") = required(job, "`job`").results().c_str(); });
}

extern "C" void halocline_job_free(halocline_job* job) noexcept {
  delete job;
}

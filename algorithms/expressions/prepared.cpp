#include "algorithms/expressions/prepared.hpp"

#include <algorithm>

#include "algorithms/expressions/session_recorder.hpp"
#include "host/system/error.hpp"

namespace halocline::expressions {

struct Prepared::State {
  std::shared_ptr<SessionRecorder> recorder;  // the first: the others need it as they go
  std::shared_ptr<KeptJob> job;
  Arrays inputs, results;
  std::vector<std::string> scratch;
  std::shared_ptr<JobNumbers> numbers;

  ~State() {
    for (const auto& name : scratch) recorder->session().release(name);
  }
};

Prepared::Prepared(std::shared_ptr<SessionRecorder> recorder, std::shared_ptr<KeptJob> job, Arrays inputs,
                   Arrays results, std::vector<std::string> scratch, std::shared_ptr<JobNumbers> numbers)
    : state_(new State{std::move(recorder), std::move(job), std::move(inputs), std::move(results), std::move(scratch),
                       std::move(numbers)}) {}

void Prepared::replay() const {
  state_->recorder->flush();
  state_->recorder->session().replay(*state_->job);
}

void Prepared::require_input(const Array& array) const {
  const auto& inputs = state_->inputs;
  if (std::find(inputs.begin(), inputs.end(), array.storage()) == inputs.end())
    throw InputError({.what = "an array that is written for a prepared job",
                      .found = "one over " + array.space().text() + " that its statements do not read",
                      .expected = "one that existed before the job and is read in it"});
}

void Prepared::write(const Array& input, const VolumeSource& values) const {
  require_input(input);
  expressions::write(input, values);
}

void Prepared::write(const Array& input, const Volume& values) const {
  write(input, MemorySource(values));
}

void Prepared::write(const Array& input, const Array& values) const {
  require_input(input);
  expressions::write(input, values);
}

double Prepared::value(const Scalar& number) const {
  return state_->numbers->value(*number.node(), state_->recorder->numbers(*state_->job));
}

std::size_t Prepared::commands() const {
  return state_->job->kernels.commands.size();
}

}  // namespace halocline::expressions

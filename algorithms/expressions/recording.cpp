#include "algorithms/expressions/recording.hpp"

#include <algorithm>
#include <stdexcept>

#include "algorithms/expressions/recorder.hpp"
#include "algorithms/support/slice_sums.hpp"

namespace halocline::expressions {
namespace {

using Function = std::function<double(const Scalars&)>;

// Function by which a step finds a number. Variables have the value that they have at the step's place in the program.
Function function_of(const std::shared_ptr<ScalarNode>& node) {
  if (node->value) return [value = *node->value](const Scalars&) { return value; };
  if (node->in_program) return node->in_program;
  if (node->operation == nullptr) throw std::logic_error("a number of a program follows from no sum that was stated");
  std::array<Function, ScalarNode::most_parts> parts;
  for (std::size_t n = 0; n < parts.size(); ++n)
    parts[n] = node->parts[n] ? function_of(node->parts[n]) : [](const Scalars&) { return 0.0; };
  return [parts, operation = node->operation](const Scalars& known) {
    return operation->on_host(parts[0](known), parts[1](known), parts[2](known));
  };
}

// Stores values as the program's scalars of these names.
auto stores(std::vector<std::string> names) {
  return [names = std::move(names)](std::span<const double> values, Scalars& known) {
    for (std::size_t n = 0; n < names.size(); ++n) known[names[n]] = values[n];
  };
}

Function scalar_named(const std::string& name) {
  return [name](const Scalars& known) { return known.at(name); };
}

bool follows_from_variables(const ScalarNode& node) {
  return !node.variable.empty() || std::any_of(node.parts.begin(), node.parts.end(),
                                               [](const auto& part) { return part && follows_from_variables(*part); });
}

bool is_due(const Scope* scope, const Scalars& known) {
  return scope == nullptr || !scope->due || scope->due(known);
}

}  // namespace

class ProgramRecorder : public Recorder {
 public:
  ProgramRecorder(Program its, const Grid& volume, const Grid& projections) : program(std::move(its)) {
    volume_ = std::make_shared<const Grid>(volume);
    projections_ = std::make_shared<const Grid>(projections);
  }

  void record(Statement statement) override {
    statement.scope = scope;
    Recorder::record(std::move(statement));
  }
  void record(StepStatement statement) override {
    statement.scope = scope;
    Recorder::record(std::move(statement));
  }
  void assign(const std::string& to, const Scalar& value, const std::shared_ptr<ScalarNode>& before) {
    Recorder::record(Assignment{to, value, before, {}, scope});
  }
  void then(const Scalar& value, std::function<void(double, Scalars&)> more) {
    Recorder::record(Assignment{{}, value, {}, std::move(more), scope});
  }
  void begin(std::vector<Step>& steps) {
    steps_ = &steps;
    reduction_ = nullptr;
  }
  void end() {
    flush();
    if (temporary_ != free_.size()) throw std::logic_error("a temporary array outlives the steps that are stated");
  }

  Session& session() override { throw std::logic_error("an array of a program has values when it runs"); }
  std::vector<Device> devices() override { return {}; }
  void release(const Storage& storage) override {
    if (!storage.declared) free_.push_back({storage.kind, storage.name});
  }
  void declare_sums() {
    if (slice_sums_ > 0) SliceSums(program.needs.size, slice_sums_).declare(program.needs);
    if (view_sums_ > 0) SliceSums(program.needs.stack, view_sums_).declare_views(program.needs);
  }

  std::string new_scalar() {
    const std::string name = "number " + std::to_string(program.scalars.size());
    program.scalars[name] = 0;
    return name;
  }

  Program program;
  std::shared_ptr<const Scope> scope;

 private:
  struct Free {
    ArrayKind kind;
    std::string name;
  };
  // Functions that follow the sums of a step.
  struct Reduction {
    std::vector<std::function<void(Scalars&)>> then;
    std::shared_ptr<const Scope> scope;
  };

  std::string allocate(ArrayKind kind) override {
    const auto found = std::find_if(free_.begin(), free_.end(), [&](const Free& each) { return each.kind == kind; });
    if (found != free_.end()) {
      const std::string name = found->name;
      free_.erase(found);
      return name;
    }
    const std::string name = "temporary " + std::to_string(++temporary_);
    program.needs.arrays.push_back({.name = name, .kind = kind, .lifetime = Lifetime::iteration});
    return name;
  }

  void extend(const Program& more) override {
    program.needs.arrays.insert(program.needs.arrays.end(), more.needs.arrays.begin(), more.needs.arrays.end());
    program.start.insert(program.start.end(), more.start.begin(), more.start.end());
  }

  void perform(Step step, const Sums& sums, const std::shared_ptr<const Scope>& its_scope) override {
    if (its_scope != nullptr) {
      step.due = its_scope->due;
      if (step.over != Domain::slices && its_scope->views) step.views = its_scope->views;
    }
    if (!sums.empty()) {
      std::vector<std::string> names;
      for (const auto& sum : sums) {
        names.push_back(new_scalar());
        sum->in_program = scalar_named(names.back());
      }
      step.reduced = stores(names);
    }
    if (step.reduced) {
      int& most = step.over == Domain::slices ? slice_sums_ : view_sums_;
      most = std::max(most, step.sums);
      reduction_ = std::make_shared<Reduction>(Reduction{{}, its_scope});
      step.reduced = [sum = step.reduced, after = reduction_](std::span<const double> values, Scalars& known) {
        sum(values, known);
        for (const auto& each : after->then) each(known);
      };
    }
    program.needs.halo_low = std::max(program.needs.halo_low, step.halo_low);
    program.needs.halo_high = std::max(program.needs.halo_high, step.halo_high);
    steps_->push_back(std::move(step));
  }

  Number number_of(const Scalar& scalar) override {
    return {
        [function = function_of(scalar.node())](const Scalars& known) { return static_cast<float>(function(known)); }};
  }

  // Variables change with the sums of the program: what follows from them is computed after the sums before it.
  void prepare(std::vector<Scalar>& scalars, const std::shared_ptr<const Scope>& its_scope) override {
    const bool same = reduction_ && (reduction_->scope == its_scope || is_always_due(reduction_->scope.get()));
    if (!same) return;
    for (Scalar& scalar : scalars) {
      const auto node = scalar.node();
      if (node->operation == nullptr || !follows_from_variables(*node)) continue;
      keep(node);
      scalar = Scalar(node);
    }
  }

  void keep(const std::shared_ptr<ScalarNode>& node) {
    if (node->in_program) return;
    const std::string name = new_scalar();
    reduction_->then.push_back([name, function = function_of(node)](Scalars& known) { known[name] = function(known); });
    node->in_program = scalar_named(name);
  }

  void perform(const Assignment& assignment) override {
    if (!reduction_) throw std::logic_error("a number of a program is assigned before any sum is stated");
    const auto run = [to = assignment.to, more = assignment.more,
                      function = function_of(assignment.value.node())](Scalars& known) {
      if (more) return more(function(known), known);
      known[to] = function(known);
    };
    if (const auto before = assignment.before.lock()) {  // its value is needed before this
      const std::string name = new_scalar();
      reduction_->then.push_back(
          [name, function = before->in_program](Scalars& known) { known[name] = function(known); });
      before->in_program = scalar_named(name);
    }
    if (reduction_->scope == assignment.scope)
      reduction_->then.push_back(run);
    else
      reduction_->then.push_back([run, its = assignment.scope](Scalars& known) {
        if (is_due(its.get(), known)) run(known);
      });
  }

  static bool is_always_due(const Scope* its) { return its == nullptr || !its->due; }

  std::vector<Step>* steps_ = nullptr;
  std::shared_ptr<Reduction> reduction_;  // the last one
  std::vector<Free> free_;
  std::size_t temporary_ = 0;
  int slice_sums_ = 0, view_sums_ = 0;
};

Variable::Variable(std::shared_ptr<ProgramRecorder> recorder, std::string name)
    : recorder_(std::move(recorder)), name_(std::move(name)) {
  auto node = std::make_shared<ScalarNode>();
  node->in_program = scalar_named(name_);
  node->variable = name_;
  Scalar::operator=(Scalar(std::move(node)));
}

Variable& Variable::operator=(const Scalar& value) {
  const std::shared_ptr<ScalarNode> before = node();
  Scalar::operator=(Variable(recorder_, name_));
  recorder_->assign(name_, value, before);
  return *this;
}

Recording::Recording(Program program, const Grid& volume, const Grid& projections)
    : recorder_(std::make_shared<ProgramRecorder>(std::move(program), volume, projections)) {}

Recording::~Recording() = default;

Space Recording::volumes() const {
  return recorder_->known_space(ArrayKind::volume);
}

Space Recording::projections() const {
  return recorder_->known_space(ArrayKind::projections);
}

Array Recording::volume(const std::string& name, Lifetime lifetime, bool halo_inout) {
  recorder_->program.needs.arrays.push_back({.name = name, .lifetime = lifetime, .halo_inout = halo_inout});
  return arrays_.emplace_back(Array::declared(volumes(), name));
}

Array Recording::projections(const std::string& name, Lifetime lifetime) {
  recorder_->program.needs.arrays.push_back({.name = name, .kind = ArrayKind::projections, .lifetime = lifetime});
  return arrays_.emplace_back(Array::declared(projections(), name));
}

Variable Recording::number(const std::string& name, double first_value) {
  recorder_->program.scalars[name] = first_value;
  return {recorder_, name};
}

Scalar Recording::number(std::function<double(const Scalars&)> function) {
  auto node = std::make_shared<ScalarNode>();
  node->in_program = std::move(function);
  return Scalar(std::move(node));
}

void Recording::record(std::vector<Step> Program::*steps, const Body& body) {
  recorder_->begin(recorder_->program.*steps);
  body();
  recorder_->end();
}

void Recording::derived(const Body& body) {
  record(&Program::derived, body);
}

void Recording::first(const Body& body) {
  record(&Program::first, body);
}

void Recording::each(const Body& body) {
  record(&Program::each, body);
}

void Recording::last(const Body& body) {
  record(&Program::last, body);
}

void Recording::over(std::function<Range(const Scalars&)> views, const Body& body) {
  const auto before = recorder_->scope;
  recorder_->scope = std::make_shared<const Scope>(Scope{std::move(views), before ? before->due : nullptr});
  body();
  recorder_->scope = before;
}

void Recording::when(std::function<bool(const Scalars&)> due, const Body& body) {
  const auto before = recorder_->scope;
  if (before && before->due)
    due = [outer = before->due, inner = std::move(due)](const Scalars& known) { return outer(known) && inner(known); };
  recorder_->scope = std::make_shared<const Scope>(Scope{before ? before->views : nullptr, std::move(due)});
  body();
  recorder_->scope = before;
}

void Recording::step(Step step) {
  StepStatement statement;
  statement.make = [step](const auto&, const auto&, const auto&) { return step; };
  recorder_->record(std::move(statement));
}

std::vector<Scalar> Recording::sums(Step step) {
  std::vector<std::string> names;
  std::vector<Scalar> result;
  for (int n = 0; n < step.sums; ++n) {
    names.push_back(recorder_->new_scalar());
    result.push_back(number(scalar_named(names.back())));
  }
  step.reduced = stores(std::move(names));
  this->step(std::move(step));
  return result;
}

void Recording::then(const Scalar& value, std::function<void(double value, Scalars&)> function) {
  recorder_->then(value, std::move(function));
}

Program& Recording::program() {
  return recorder_->program;
}

Program Recording::finish() {
  recorder_->declare_sums();
  return recorder_->program;
}

Function function_of(const Scalar& scalar) {
  return function_of(scalar.node());
}

const std::string& name_of(const Array& array) {
  if (!array.storage()->declared) throw std::logic_error("an array is named that a program does not declare");
  return array.storage()->name;
}

}  // namespace halocline::expressions

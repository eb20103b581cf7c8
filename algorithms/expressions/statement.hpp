// Recorded statements: operations, their arrays and scalars, and the array that they assign.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/expressions/form.hpp"
#include "algorithms/expressions/scalar.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline::expressions {

class Recorder;

/// The memory of an array: from the first pass that writes it to the end of the last statement and array that know it.
struct Storage {
  Storage(ArrayKind of_kind, std::weak_ptr<Recorder> of) : kind(of_kind), recorder(std::move(of)) {}
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  ArrayKind kind;
  std::string name;       ///< in the session or program; empty: nothing has been written yet
  bool declared = false;  ///< an array of a program: copies of its Array are the same memory, which assignments write
  std::weak_ptr<Recorder> recorder;
};

/// A number that a step finds when it runs: by a function, or among the numbers of prepared jobs on the device.
struct Number {
  std::function<float(const Scalars&)> on_host;
  int on_device = -1;  ///< its place there (JobNumbers); -1: on_host() has it
  float operator()(const Scalars& known) const { return on_host(known); }
};

/// An array that an expression reads, and which of its elements.
struct Operand {
  std::shared_ptr<Storage> storage;
  Op reading = Op::array;
  int axis = 0, by = 0;
};

/// Arrays and scalars of an expression, in the order of its form.
struct Leaves {
  std::vector<Operand> arrays;
  std::vector<Scalar> scalars;
};

/// Conditions under which a program does what is stated (Step::views, Step::due).
struct Scope {
  std::function<Range(const Scalars&)> views;
  std::function<bool(const Scalars&)> due;
};

/// target = expression, or a sum over one.
struct Statement {
  const Form* form = nullptr;
  Leaves leaves;
  std::shared_ptr<Storage> target;  ///< empty: a sum
  std::shared_ptr<ScalarNode> sum;
  ArrayKind kind = ArrayKind::volume;
  std::shared_ptr<const Scope> scope = nullptr;
};

/// A caller's step (scheduling/planning/program.hpp): a projection, a user's kernel.
struct StepStatement {
  std::vector<std::shared_ptr<Storage>> reads, writes;
  std::vector<Scalar> scalars = {};
  /// The step, of arrays with these names, those that it reads and those that it writes, and of the scalars' values.
  std::function<Step(const std::vector<std::string>& reads, const std::vector<std::string>& writes,
                     const std::vector<Number>& numbers)>
      make = {};
  std::shared_ptr<const Scope> scope = nullptr;
};

/// The form of an expression's type, found without looking at anything but the type.
template <class E>
const Form& form_of() {
  static const Form* const form = [] {  // no reference, for which g++ 13 fears that it dangles
    std::vector<Op> code;
    E::write(code);
    return &form_with(code);
  }();
  return *form;
}

template <class E>
Leaves leaves_of(const E& expression) {
  Leaves leaves;
  expression.collect(leaves);
  return leaves;
}

}  // namespace halocline::expressions

// Formulas as the steps of a program (scheduling/planning/program.hpp).
//
// Statements within first(), each() and last() become the program's steps. Its arrays and numbers are declared:
// they live from step to step and from iteration to iteration. Other arrays, such as `const Array r = A * x;`, are
// values of a kernel or temporary arrays, which share their memory.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/expressions/expression.hpp"

namespace halocline::expressions {

class ProgramRecorder;

/// A number of a program that is assigned, by what follows from sums that were stated before: the program's scalar of
/// this name.
class Variable : public Scalar {
 public:
  Variable(std::shared_ptr<ProgramRecorder> recorder, std::string name);
  Variable(const Variable&) = default;
  /// Throws std::logic_error where no sum is stated before.
  Variable& operator=(const Scalar& value);
  Variable& operator=(const Variable& other) { return *this = Scalar(other.node()); }

 private:
  std::shared_ptr<ProgramRecorder> recorder_;
  std::string name_;
};

class Recording {
 public:
  using Body = std::function<void()>;

  /// Takes a program that has its sizes and what its operators need, and no steps.
  Recording(Program program, const Grid& volume, const Grid& projections);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  Space volumes() const;
  Space projections() const;
  /// Arrays of the program. halo_inout: as ArrayNeed says.
  Array volume(const std::string& name, Lifetime lifetime, bool halo_inout = false);
  Array projections(const std::string& name, Lifetime lifetime);
  /// A scalar of the program.
  Variable number(const std::string& name, double first_value = 0);
  /// A number that follows from the program's scalars, such as the iteration, when a step looks.
  Scalar number(std::function<double(const Scalars&)> function);

  /// States what a run makes of inputs before all else, also one that continues a stored state (Program::derived).
  void derived(const Body& body);
  /// State what is done once before the iterations, in each of them, and once after the last one.
  void first(const Body& body);
  void each(const Body& body);
  void last(const Body& body);
  /// Makes the statements in `body` go over these views (Step::views), or run where `due` says so (Step::due).
  void over(std::function<Range(const Scalars&)> views, const Body& body);
  void when(std::function<bool(const Scalars&)> due, const Body& body);
  /// Records a caller's step, over arrays with the names that name_of() gives.
  void step(Step step);
  /// Records a caller's step that sums, or finds the largest; its Step::sums numbers.
  std::vector<Scalar> sums(Step step);
  /// Calls a function of a number that follows from sums stated before, where a formula does not say it.
  void then(const Scalar& value, std::function<void(double value, Scalars&)> function);

  /// Sizes, kernels, when it ends: what the arrays and formulas do not say.
  Program& program();
  /// The program, complete.
  Program finish();

 private:
  void record(std::vector<Step> Program::*steps, const Body& body);

  std::shared_ptr<ProgramRecorder> recorder_;
  std::vector<Array> arrays_;  // also known to others
};

/// The function by which a step of a program finds a number: of a Variable, with its value at the step's place.
std::function<double(const Scalars&)> function_of(const Scalar& scalar);

/// The name that an array of a program has there.
const std::string& name_of(const Array& array);

}  // namespace halocline::expressions

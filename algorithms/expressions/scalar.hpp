// Numbers that may be known later: sums over arrays that have not been computed yet, and what follows from them.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "scheduling/planning/program.hpp"

namespace halocline::expressions {

class Recorder;

/// An operation on up to three numbers.
struct ScalarOperation {
  double (*on_host)(double, double, double);
  const char* on_device;  ///< OpenCL C, with {0}, {1}, {2} for the parts
};

/// A number that follows from others.
struct ScalarNode {
  static constexpr std::size_t most_parts = 3;

  std::optional<double> value;
  const ScalarOperation* operation = nullptr;                 ///< nullptr: a sum, which its recorder computes
  std::array<std::shared_ptr<ScalarNode>, most_parts> parts;  ///< the last ones may be empty
  std::weak_ptr<Recorder> recorder;
  /// The number in a program that is recorded, from what it knows when it runs; empty: no step makes it yet.
  std::function<double(const Scalars&)> in_program;
  std::string variable;  ///< whose name it is in the program (Variable)
  /// Place of a prepared job's sum among the numbers on the device (JobNumbers).
  std::optional<int> on_device;
};

/// True if the number follows from a sum that a prepared job computes on its device.
bool is_on_device(const ScalarNode& node);

class Scalar {
 public:
  Scalar(double value = 0) : value_(value) {}
  explicit Scalar(std::shared_ptr<ScalarNode> node) : node_(std::move(node)) {}

  /// The number, if all that it follows from has been computed.
  std::optional<double> known() const;
  /// True if steps from here on find it: it is known, or will be when the program runs.
  bool ready() const;
  std::shared_ptr<ScalarNode> node() const;

 private:
  double value_ = 0;
  std::shared_ptr<ScalarNode> node_;  // empty: it is value_
};

/// The number. Computes what has been recorded, if need be. Throws as Context::flush() does.
double value(const Scalar& scalar);

Scalar operator+(const Scalar& a, const Scalar& b);
Scalar operator-(const Scalar& a, const Scalar& b);
Scalar operator*(const Scalar& a, const Scalar& b);
Scalar operator/(const Scalar& a, const Scalar& b);
Scalar operator-(const Scalar& a);
Scalar operator>(const Scalar& a, const Scalar& b);  ///< 1 or 0
Scalar sqrt(const Scalar& a);
Scalar abs(const Scalar& a);
Scalar exp(const Scalar& a);
Scalar log(const Scalar& a);
Scalar hypot(const Scalar& a, const Scalar& b);
Scalar min(const Scalar& a, const Scalar& b);
Scalar max(const Scalar& a, const Scalar& b);
/// a / b, and 0 where b is not above 0.
Scalar ratio(const Scalar& a, const Scalar& b);
/// a if condition > 0, else b.
Scalar where(const Scalar& condition, const Scalar& a, const Scalar& b);

}  // namespace halocline::expressions

// Numbers that may be known later: sums over arrays that have not been computed yet, and what follows from them.
#pragma once

#include <memory>
#include <optional>

namespace halocline::expressions {

class Recorder;

/// A number that follows from others.
struct ScalarNode {
  std::optional<double> value;
  double (*combine)(double, double) = nullptr;  ///< of a and b; nullptr: a sum, which its recorder computes
  std::shared_ptr<ScalarNode> a, b;
  std::weak_ptr<Recorder> recorder;
};

class Scalar {
 public:
  Scalar(double value = 0) : value_(value) {}
  explicit Scalar(std::shared_ptr<ScalarNode> node) : node_(std::move(node)) {}

  /// The number, if all that it follows from has been computed.
  std::optional<double> known() const;
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
Scalar sqrt(const Scalar& a);
Scalar abs(const Scalar& a);
Scalar exp(const Scalar& a);
Scalar log(const Scalar& a);
Scalar min(const Scalar& a, const Scalar& b);
Scalar max(const Scalar& a, const Scalar& b);

}  // namespace halocline::expressions

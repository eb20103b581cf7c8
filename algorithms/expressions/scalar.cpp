#include "algorithms/expressions/scalar.hpp"

#include <algorithm>
#include <cmath>

#include "algorithms/expressions/recorder.hpp"
#include "host/system/error.hpp"

namespace halocline::expressions {
namespace {

std::optional<double> known_value(ScalarNode& node) {
  if (node.value || node.combine == nullptr) return node.value;
  const auto a = known_value(*node.a), b = node.b ? known_value(*node.b) : 0.0;
  if (!a || !b) return std::nullopt;
  node.value = node.combine(*a, *b);
  node.a = node.b = nullptr;
  return node.value;
}

// Whoever computes a sum that is not known.
std::shared_ptr<Recorder> recorder_of(const ScalarNode& node) {
  if (node.value) return nullptr;
  if (node.combine == nullptr) return node.recorder.lock();
  auto found = recorder_of(*node.a);
  return found || !node.b ? found : recorder_of(*node.b);
}

Scalar combined(double (*combine)(double, double), const Scalar& a, const Scalar* b = nullptr) {
  const auto known = a.known(), other = b != nullptr ? b->known() : 0.0;
  if (known && other) return combine(*known, *other);
  auto node = std::make_shared<ScalarNode>();
  node->combine = combine;
  node->a = a.node();
  if (b != nullptr) node->b = b->node();
  return Scalar(std::move(node));
}

}  // namespace

std::optional<double> Scalar::known() const {
  return node_ ? known_value(*node_) : value_;
}

std::shared_ptr<ScalarNode> Scalar::node() const {
  if (node_) return node_;
  auto node = std::make_shared<ScalarNode>();
  node->value = value_;
  return node;
}

double value(const Scalar& scalar) {
  while (true) {
    if (const auto known = scalar.known()) return *known;
    const auto recorder = recorder_of(*scalar.node());
    if (!recorder || recorder->empty())
      throw InputError("a number depends on a sum that was not computed: its Context has ended, or failed before");
    recorder->flush();
  }
}

Scalar operator+(const Scalar& a, const Scalar& b) {
  return combined([](double x, double y) { return x + y; }, a, &b);
}
Scalar operator-(const Scalar& a, const Scalar& b) {
  return combined([](double x, double y) { return x - y; }, a, &b);
}
Scalar operator*(const Scalar& a, const Scalar& b) {
  return combined([](double x, double y) { return x * y; }, a, &b);
}
Scalar operator/(const Scalar& a, const Scalar& b) {
  return combined([](double x, double y) { return x / y; }, a, &b);
}
Scalar min(const Scalar& a, const Scalar& b) {
  return combined([](double x, double y) { return std::min(x, y); }, a, &b);
}
Scalar max(const Scalar& a, const Scalar& b) {
  return combined([](double x, double y) { return std::max(x, y); }, a, &b);
}
Scalar operator-(const Scalar& a) {
  return combined([](double x, double) { return -x; }, a);
}
Scalar sqrt(const Scalar& a) {
  return combined([](double x, double) { return std::sqrt(x); }, a);
}
Scalar abs(const Scalar& a) {
  return combined([](double x, double) { return std::abs(x); }, a);
}
Scalar exp(const Scalar& a) {
  return combined([](double x, double) { return std::exp(x); }, a);
}
Scalar log(const Scalar& a) {
  return combined([](double x, double) { return std::log(x); }, a);
}

}  // namespace halocline::expressions

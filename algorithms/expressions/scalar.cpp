#include "algorithms/expressions/scalar.hpp"

#include <algorithm>
#include <cmath>

#include "algorithms/expressions/recorder.hpp"
#include "host/system/error.hpp"

namespace halocline::expressions {
namespace {

std::optional<double> known_value(ScalarNode& node) {
  if (node.value || node.combine == nullptr) return node.value;
  std::array<double, ScalarNode::most_parts> values{};
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (!node.parts[n]) continue;
    const auto known = known_value(*node.parts[n]);
    if (!known) return std::nullopt;
    values[n] = *known;
  }
  node.value = node.combine(values[0], values[1], values[2]);
  node.parts = {};
  return node.value;
}

bool is_ready(const ScalarNode& node) {
  if (node.value || node.in_program) return true;
  return node.combine != nullptr &&
         std::all_of(node.parts.begin(), node.parts.end(), [](const auto& part) { return !part || is_ready(*part); });
}

// The recorder that computes a sum which is not known.
std::shared_ptr<Recorder> recorder_of(const ScalarNode& node) {
  if (node.value) return nullptr;
  if (node.combine == nullptr) return node.recorder.lock();
  for (const auto& part : node.parts)
    if (part)
      if (auto found = recorder_of(*part)) return found;
  return nullptr;
}

template <class... Others>
Scalar combined(double (*combine)(double, double, double), const Others&... parts) {
  auto node = std::make_shared<ScalarNode>();
  node->combine = combine;
  node->parts = {parts.node()...};
  if (const auto known = known_value(*node)) return *known;
  return Scalar(std::move(node));
}

}  // namespace

std::optional<double> Scalar::known() const {
  return node_ ? known_value(*node_) : value_;
}

bool Scalar::ready() const {
  return !node_ || is_ready(*node_);
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
  return combined([](double x, double y, double) { return x + y; }, a, b);
}
Scalar operator-(const Scalar& a, const Scalar& b) {
  return combined([](double x, double y, double) { return x - y; }, a, b);
}
Scalar operator*(const Scalar& a, const Scalar& b) {
  return combined([](double x, double y, double) { return x * y; }, a, b);
}
Scalar operator/(const Scalar& a, const Scalar& b) {
  return combined([](double x, double y, double) { return x / y; }, a, b);
}
Scalar operator>(const Scalar& a, const Scalar& b) {
  return combined([](double x, double y, double) { return x > y ? 1.0 : 0.0; }, a, b);
}
Scalar min(const Scalar& a, const Scalar& b) {
  return combined([](double x, double y, double) { return std::min(x, y); }, a, b);
}
Scalar max(const Scalar& a, const Scalar& b) {
  return combined([](double x, double y, double) { return std::max(x, y); }, a, b);
}
Scalar hypot(const Scalar& a, const Scalar& b) {
  return combined([](double x, double y, double) { return std::hypot(x, y); }, a, b);
}
Scalar ratio(const Scalar& a, const Scalar& b) {
  return combined([](double x, double y, double) { return y > 0 ? x / y : 0.0; }, a, b);
}
Scalar where(const Scalar& condition, const Scalar& a, const Scalar& b) {
  return combined([](double c, double x, double y) { return c > 0 ? x : y; }, condition, a, b);
}
Scalar operator-(const Scalar& a) {
  return combined([](double x, double, double) { return -x; }, a);
}
Scalar sqrt(const Scalar& a) {
  return combined([](double x, double, double) { return std::sqrt(x); }, a);
}
Scalar abs(const Scalar& a) {
  return combined([](double x, double, double) { return std::abs(x); }, a);
}
Scalar exp(const Scalar& a) {
  return combined([](double x, double, double) { return std::exp(x); }, a);
}
Scalar log(const Scalar& a) {
  return combined([](double x, double, double) { return std::log(x); }, a);
}

}  // namespace halocline::expressions

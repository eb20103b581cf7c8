#include "algorithms/expressions/scalar.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "algorithms/expressions/recorder.hpp"
#include "host/system/error.hpp"

namespace halocline::expressions {
namespace {

std::optional<double> known_value(ScalarNode& node) {
  if (node.value || node.operation == nullptr) return node.value;
  std::array<double, ScalarNode::most_parts> values{};
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (!node.parts[n]) continue;
    const auto known = known_value(*node.parts[n]);
    if (!known) return std::nullopt;
    values[n] = *known;
  }
  node.value = node.operation->on_host(values[0], values[1], values[2]);
  node.parts = {};
  return node.value;
}

// Calls visit(node), then once for each number that it follows from. The parts of a number are left out where visit()
// returns false.
template <class Visit>
void each_node(const ScalarNode& node, Visit&& visit) {
  std::vector<const ScalarNode*> left{&node};
  std::set<const ScalarNode*> seen;
  while (!left.empty()) {
    const ScalarNode& next = *left.back();
    left.pop_back();
    if (!visit(next)) continue;
    for (const auto& part : next.parts)
      if (part && seen.insert(part.get()).second) left.push_back(part.get());
  }
}

bool is_ready(const ScalarNode& node) {
  bool ready = true;
  each_node(node, [&](const ScalarNode& each) {
    if (each.value || each.in_program || each.on_device) return false;
    ready = ready && each.operation != nullptr;
    return ready;
  });
  return ready;
}

// The recorder that computes a sum which is not known.
std::shared_ptr<Recorder> recorder_of(const ScalarNode& node) {
  if (node.value) return nullptr;
  if (node.operation == nullptr) return node.recorder.lock();
  for (const auto& part : node.parts)
    if (part)
      if (auto found = recorder_of(*part)) return found;
  return nullptr;
}

template <class... Others>
Scalar combined(const ScalarOperation& operation, const Others&... parts) {
  auto node = std::make_shared<ScalarNode>();
  node->operation = &operation;
  node->parts = {parts.node()...};
  if (const auto known = known_value(*node)) return *known;
  return Scalar(std::move(node));
}

}  // namespace

bool is_on_device(const ScalarNode& node) {
  bool found = false;
  each_node(node, [&](const ScalarNode& each) {
    found = found || each.on_device;
    return !found;
  });
  return found;
}

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
    if (is_on_device(*scalar.node()))
      throw InputError({.what = "a number",
                        .found = "one that a prepared job computes on its device",
                        .expected = "one of statements outside of it",
                        .remedy = "ask the job for its value after a replay"});
    const auto recorder = recorder_of(*scalar.node());
    if (!recorder || recorder->empty())
      throw InputError("a number depends on a sum that was not computed: its Context has ended, or failed before");
    recorder->flush();
  }
}

Scalar operator+(const Scalar& a, const Scalar& b) {
  static constexpr ScalarOperation operation{[](double x, double y, double) { return x + y; }, "({0} + {1})"};
  return combined(operation, a, b);
}
Scalar operator-(const Scalar& a, const Scalar& b) {
  static constexpr ScalarOperation operation{[](double x, double y, double) { return x - y; }, "({0} - {1})"};
  return combined(operation, a, b);
}
Scalar operator*(const Scalar& a, const Scalar& b) {
  static constexpr ScalarOperation operation{[](double x, double y, double) { return x * y; }, "({0} * {1})"};
  return combined(operation, a, b);
}
Scalar operator/(const Scalar& a, const Scalar& b) {
  static constexpr ScalarOperation operation{[](double x, double y, double) { return x / y; }, "({0} / {1})"};
  return combined(operation, a, b);
}
Scalar operator>(const Scalar& a, const Scalar& b) {
  static constexpr ScalarOperation operation{[](double x, double y, double) { return x > y ? 1.0 : 0.0; },
                                             "({0} > {1} ? (real)1 : (real)0)"};
  return combined(operation, a, b);
}
Scalar min(const Scalar& a, const Scalar& b) {
  static constexpr ScalarOperation operation{[](double x, double y, double) { return std::min(x, y); },
                                             "({1} < {0} ? {1} : {0})"};
  return combined(operation, a, b);
}
Scalar max(const Scalar& a, const Scalar& b) {
  static constexpr ScalarOperation operation{[](double x, double y, double) { return std::max(x, y); },
                                             "({0} < {1} ? {1} : {0})"};
  return combined(operation, a, b);
}
Scalar hypot(const Scalar& a, const Scalar& b) {
  static constexpr ScalarOperation operation{[](double x, double y, double) { return std::hypot(x, y); },
                                             "(hypot({0}, {1}))"};
  return combined(operation, a, b);
}
Scalar ratio(const Scalar& a, const Scalar& b) {
  static constexpr ScalarOperation operation{[](double x, double y, double) { return y > 0 ? x / y : 0.0; },
                                             "({1} > 0 ? {0} / {1} : (real)0)"};
  return combined(operation, a, b);
}
Scalar where(const Scalar& condition, const Scalar& a, const Scalar& b) {
  static constexpr ScalarOperation operation{[](double c, double x, double y) { return c > 0 ? x : y; },
                                             "({0} > 0 ? {1} : {2})"};
  return combined(operation, condition, a, b);
}
Scalar operator-(const Scalar& a) {
  static constexpr ScalarOperation operation{[](double x, double, double) { return -x; }, "(-{0})"};
  return combined(operation, a);
}
Scalar sqrt(const Scalar& a) {
  static constexpr ScalarOperation operation{[](double x, double, double) { return std::sqrt(x); }, "(sqrt({0}))"};
  return combined(operation, a);
}
Scalar abs(const Scalar& a) {
  static constexpr ScalarOperation operation{[](double x, double, double) { return std::abs(x); }, "(fabs({0}))"};
  return combined(operation, a);
}
Scalar exp(const Scalar& a) {
  static constexpr ScalarOperation operation{[](double x, double, double) { return std::exp(x); }, "(exp({0}))"};
  return combined(operation, a);
}
Scalar log(const Scalar& a) {
  static constexpr ScalarOperation operation{[](double x, double, double) { return std::log(x); }, "(log({0}))"};
  return combined(operation, a);
}

}  // namespace halocline::expressions

#include "algorithms/expressions/linear_operator.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "host/system/error.hpp"

namespace halocline::expressions {
namespace {

void require_space(const Space& found, const Space& expected, const char* what, const char* remedy) {
  if (found == expected) return;
  const std::string other = found.kind() == expected.kind() ? " of another Context" : "";
  throw InputError({.what = what, .found = found.text() + other, .expected = expected.text(), .remedy = remedy});
}

constexpr const char* to_apply = "apply the operator, or its adjoint, to an array of its domain";
constexpr const char* to_combine = "combine operators between the same spaces";

}  // namespace

LinearOperator::LinearOperator(const Space& domain, const Space& range, Function apply, Function adjoint)
    : domain_(domain), range_(range), apply_(std::move(apply)), adjoint_(std::move(adjoint)) {}

Array LinearOperator::operator()(const Array& x) const {
  require_space(x.space(), domain_, "the array that an operator is applied to", to_apply);
  Array result = apply_(x);
  require_space(result.space(), range_, "the result of an operator's function", "let it return an array of its range");
  return result;
}

void LinearOperator::move_to(const Geometry& geometry) const {
  if (!move_)
    throw InputError({.what = "the operator of move_to()",
                      .found = "one that is no projector",
                      .expected = "what projector() returns, or its adjoint",
                      .remedy = "move the projector, and with it what it was combined to"});
  move_(geometry);
}

LinearOperator LinearOperator::with_move(Move move) const {
  LinearOperator result = *this;
  result.move_ = std::move(move);
  return result;
}

LinearOperator LinearOperator::adjoint() const {
  LinearOperator result(range_, domain_, adjoint_, apply_);
  result.move_ = move_;
  if (of_views_)
    result.of_views_ = [of_views = of_views_](std::vector<int> numbers) {
      return of_views(std::move(numbers)).adjoint();
    };
  return result;
}

LinearOperator LinearOperator::with_views(OfViews of_views) const {
  LinearOperator result = *this;
  result.of_views_ = std::move(of_views);
  return result;
}

LinearOperator LinearOperator::views(std::span<const int> numbers) const {
  if (!of_views_)
    throw InputError({.what = "the operator of views()",
                      .found = "one that is no projector of all views",
                      .expected = "what projector() returns, or its adjoint",
                      .remedy = "take the views of the projector, then combine the operators"});
  const Space& stack = range_.kind() == ArrayKind::projections ? range_ : domain_;
  const auto count = static_cast<int>(stack.grid().size[2]);
  const auto refuse = [&](const std::string& found) {
    throw InputError({.what = "`views`",
                      .found = found,
                      .expected = "numbers of views from 0 to " + std::to_string(count - 1) + ", each once"});
  };
  std::vector<int> views(numbers.begin(), numbers.end());
  if (views.empty()) refuse("empty");
  for (const int view : views)
    if (view < 0 || view >= count) refuse(std::to_string(view));
  std::sort(views.begin(), views.end());
  if (const auto twice = std::adjacent_find(views.begin(), views.end()); twice != views.end())
    refuse(std::to_string(*twice) + " twice");
  return of_views_(std::move(views));
}

double power_norm(const Space& domain, const LinearOperator::Function& normal) {
  constexpr int steps = 20;
  constexpr double margin = 1.05;
  Array x = uniform(domain, 1);
  double squared = 0;
  for (int n = 0; n < steps; ++n) {
    x = x / expressions::norm(x);
    x = normal(x);
    squared = value(expressions::norm(x));
    if (squared == 0) return 0;
  }
  return margin * std::sqrt(squared);
}

double LinearOperator::norm() const {
  return power_norm(domain_, [this](const Array& x) { return adjoint_(apply_(x)); });
}

Array LinearOperator::row_sums() const {
  return apply_(constant(domain_, 1));
}

Array LinearOperator::column_sums() const {
  return adjoint_(constant(range_, 1));
}

Array LinearOperator::majoriser(const Array& w) const {
  require_space(w.space(), range_, "`w`", "give a weight for each element of the operator's range");
  return adjoint_(w * row_sums());
}

LinearOperator operator*(const LinearOperator& A, const LinearOperator& B) {
  require_space(B.range(), A.domain(), "the range of the second operator of a product", to_combine);
  return {B.domain(), A.range(), [A, B](const Array& x) { return A(B(x)); },
          [A, B](const Array& y) { return adjoint(B)(adjoint(A)(y)); }};
}

namespace {

LinearOperator combined(const LinearOperator& A, double sign, const LinearOperator& B) {
  require_space(B.domain(), A.domain(), "the domain of the second operator of a sum", to_combine);
  require_space(B.range(), A.range(), "the range of the second operator of a sum", to_combine);
  const auto sum_of = [sign](const Array& a, const Array& b) { return Array(sign > 0 ? Array(a + b) : Array(a - b)); };
  return {A.domain(), A.range(), [=](const Array& x) { return sum_of(A(x), B(x)); },
          [=](const Array& y) { return sum_of(adjoint(A)(y), adjoint(B)(y)); }};
}

}  // namespace

LinearOperator operator+(const LinearOperator& A, const LinearOperator& B) {
  return combined(A, 1, B);
}
LinearOperator operator-(const LinearOperator& A, const LinearOperator& B) {
  return combined(A, -1, B);
}

LinearOperator operator*(const Scalar& s, const LinearOperator& A) {
  return {A.domain(), A.range(), [=](const Array& x) { return Array(s * A(x)); },
          [=](const Array& y) { return Array(s * adjoint(A)(y)); }};
}

LinearOperator identity(const Space& space) {
  const auto same = [](const Array& x) { return x; };
  return {space, space, same, same};
}

LinearOperator diagonal(const Array& w) {
  const auto times = [w](const Array& x) { return Array(w * x); };
  return {w.space(), w.space(), times, times};
}

LinearOperator gradient(const Space& space, int axis) {
  return {space, space, [axis](const Array& x) { return Array(gradient(x, axis)); },
          [axis](const Array& y) { return Array(adjoint_gradient(y, axis)); }};
}

double adjoint_error(const LinearOperator& A, std::uint64_t seed) {
  const Array x = uniform(A.domain(), seed) - 0.5, y = uniform(A.range(), seed + 1) - 0.5;
  const Array forward = A * x, back = adjoint(A) * y;
  return value(abs(dot(forward, y) - dot(x, back)) / (norm(forward) * norm(y)));
}

}  // namespace halocline::expressions

#include "algorithms/expressions/stacked_operator.hpp"

#include <fmt/format.h>

#include <cmath>

#include "host/system/error.hpp"

namespace halocline::expressions {

StackedOperator::StackedOperator(std::vector<LinearOperator> parts) : parts_(std::move(parts)) {
  if (parts_.empty()) throw InputError({.what = "the operators to stack", .found = "none", .expected = "one or more"});
  for (const LinearOperator& part : parts_)
    if (!(part.domain() == domain()))
      throw InputError({.what = "the domain of an operator to stack",
                        .found = part.domain().text(),
                        .expected = domain().text() + ", the domain of the first",
                        .remedy = "stack operators of one domain"});
}

std::vector<Array> StackedOperator::operator()(const Array& x) const {
  std::vector<Array> result;
  for (const LinearOperator& part : parts_) result.push_back(part(x));
  return result;
}

Array StackedOperator::adjoint(const std::vector<Array>& y) const {
  if (y.size() != parts_.size())
    throw InputError({.what = "the arrays that the adjoint of a stack is applied to",
                      .found = fmt::format("{}", y.size()),
                      .expected = fmt::format("{}, one for each operator", parts_.size())});
  Array result = parts_.front().adjoint()(y.front());
  for (std::size_t n = 1; n < parts_.size(); ++n) result += parts_[n].adjoint()(y[n]);
  return result;
}

LinearOperator StackedOperator::normal() const {
  const auto apply = [K = *this](const Array& x) { return K.adjoint(K(x)); };
  return {domain(), domain(), apply, apply};
}

double StackedOperator::norm() const {
  return power_norm(domain(), [K = *this](const Array& x) { return K.adjoint(K(x)); });
}

double adjoint_error(const StackedOperator& K, std::uint64_t seed) {
  const Array x = uniform(K.domain(), seed) - 0.5;
  std::vector<Array> y;
  for (const LinearOperator& part : K.parts()) y.push_back(uniform(part.range(), ++seed) - 0.5);
  const std::vector<Array> forward = K * x;
  Scalar inner = 0, square = 0, of_y = 0;
  for (std::size_t n = 0; n < y.size(); ++n) {
    inner = inner + dot(forward[n], y[n]);
    square = square + dot(forward[n], forward[n]);
    of_y = of_y + dot(y[n], y[n]);
  }
  return value(abs(inner - dot(x, K.adjoint(y))) / (sqrt(square) * sqrt(of_y)));
}

}  // namespace halocline::expressions

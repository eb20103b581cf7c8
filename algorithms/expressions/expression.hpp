// Formulas over arrays. Operators build types that say what is computed; assigning one to an array records a statement
// (Context). An expression reads its arrays when it is assigned: assign it at once.
#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>

#include "algorithms/expressions/array.hpp"

namespace halocline::expressions {

/// An array's elements.
template <Op reading>
struct Elements {
  using IsArrayExpression = void;
  Operand operand;
  static void write(std::vector<Op>& code) { code.push_back(reading); }
  void collect(Leaves& leaves) const { leaves.arrays.push_back(operand); }
};

struct ScalarLeaf {
  Scalar value;
  static void write(std::vector<Op>& code) { code.push_back(Op::scalar); }
  void collect(Leaves& leaves) const { leaves.scalars.push_back(value); }
};

/// An operation on parts.
template <Op op, class... Parts>
struct Node {
  using IsArrayExpression = void;
  std::tuple<Parts...> parts;
  static void write(std::vector<Op>& code) {
    (Parts::write(code), ...);
    code.push_back(op);
  }
  void collect(Leaves& leaves) const {
    std::apply([&](const auto&... each) { (each.collect(leaves), ...); }, parts);
  }
};

template <class T>
concept ArrayLike = ArrayExpression<T> || std::same_as<T, Array>;
template <class T>
concept NumberLike = std::derived_from<T, Scalar> || std::is_arithmetic_v<T>;
/// Operands of an elementwise operation: at least one is an array.
template <class... T>
concept Elementwise = ((ArrayLike<T> || NumberLike<T>)&&...) && (ArrayLike<T> || ...);

inline Elements<Op::array> part_of(const Array& x) {
  return {{x.storage()}};
}
template <ArrayExpression E>
E part_of(const E& expression) {
  return expression;
}
template <NumberLike T>
ScalarLeaf part_of(const T& number) {
  return {Scalar(number)};
}

template <Op op, class... T>
auto node(const T&... operands) {
  return Node<op, decltype(part_of(operands))...>{{part_of(operands)...}};
}

template <class A, class B>
requires Elementwise<A, B>
auto operator+(const A& a, const B& b) {
  return node<Op::add>(a, b);
}
template <class A, class B>
requires Elementwise<A, B>
auto operator-(const A& a, const B& b) {
  return node<Op::subtract>(a, b);
}
template <class A, class B>
requires Elementwise<A, B>
auto operator*(const A& a, const B& b) {
  return node<Op::multiply>(a, b);
}
template <class A, class B>
requires Elementwise<A, B>
auto operator/(const A& a, const B& b) {
  return node<Op::divide>(a, b);
}
/// 1 where a > b, else 0.
template <class A, class B>
requires Elementwise<A, B>
auto operator>(const A& a, const B& b) {
  return node<Op::greater>(a, b);
}
template <class A, class B>
requires Elementwise<A, B>
auto operator<(const A& a, const B& b) {
  return node<Op::greater>(b, a);
}
template <class A, class B>
requires Elementwise<A, B>
auto min(const A& a, const B& b) {
  return node<Op::minimum>(a, b);
}
template <class A, class B>
requires Elementwise<A, B>
auto max(const A& a, const B& b) {
  return node<Op::maximum>(a, b);
}

template <ArrayLike A>
auto operator-(const A& a) {
  return node<Op::negate>(a);
}
template <ArrayLike A>
auto abs(const A& a) {
  return node<Op::absolute>(a);
}
template <ArrayLike A>
auto sqrt(const A& a) {
  return node<Op::square_root>(a);
}
template <ArrayLike A>
auto exp(const A& a) {
  return node<Op::exponential>(a);
}
template <ArrayLike A>
auto log(const A& a) {
  return node<Op::logarithm>(a);
}
/// a b + c, rounded once; elsewhere products are rounded before they are added.
template <class A, class B, class C>
requires Elementwise<A, B, C>
auto fma(const A& a, const B& b, const C& c) {
  return node<Op::fused>(a, b, c);
}
/// a where condition > 0, else b.
template <class Condition, class A, class B>
requires Elementwise<Condition, A, B>
auto where(const Condition& condition, const A& a, const B& b) {
  return node<Op::where>(condition, a, b);
}
template <class A, class L, class U>
requires Elementwise<A, L, U>
auto clamp(const A& a, const L& lower, const U& upper) {
  return min(max(a, lower), upper);
}
/// 1 where a > 0, else 0.
template <ArrayLike A>
auto positive(const A& a) {
  return a > 0;
}

/// The element `by` further along `axis` (0, 1, 2), 0 outside. Throws InputError for another axis, and for axis 2 of
/// projections: views are not neighbours.
Elements<Op::shifted> shift(const Array& x, int axis, int by);
/// The derivative along `axis`: the next element minus this one, divided by the spacing in mm; 0 at the last. Throws as
/// shift() does.
Node<Op::divide, Elements<Op::difference>, ScalarLeaf> gradient(const Array& x, int axis);
/// The adjoint of gradient() with the same axis: of its three components, minus the divergence.
Node<Op::divide, Elements<Op::adjoint_difference>, ScalarLeaf> adjoint_gradient(const Array& x, int axis);
/// Overload for expressions, which are computed first.
template <ArrayExpression E>
auto shift(const E& x, int axis, int by) {
  return shift(Array(x), axis, by);
}
template <ArrayExpression E>
auto gradient(const E& x, int axis) {
  return gradient(Array(x), axis);
}
template <ArrayExpression E>
auto adjoint_gradient(const E& x, int axis) {
  return adjoint_gradient(Array(x), axis);
}

/// Records a sum over all elements, or their largest value.
Scalar reduce(const Form& form, Leaves leaves);

/// The sum of all elements, in double where the device has it, in an order that no split changes.
template <ArrayLike A>
Scalar sum(const A& a) {
  const auto root = node<Op::sum>(a);
  return reduce(form_of<std::decay_t<decltype(root)>>(), leaves_of(root));
}
/// The sum over the number of elements.
inline Scalar mean(const Array& a) {
  return sum(a) / static_cast<double>(a.space().grid().count());
}
/// The sum of the products, which are not rounded to float32 where the device has float64.
template <ArrayLike A, ArrayLike B>
Scalar dot(const A& a, const B& b) {
  const auto root = node<Op::product_sum>(a, b);
  return reduce(form_of<std::decay_t<decltype(root)>>(), leaves_of(root));
}
/// The sum of the products x y w, likewise.
template <ArrayLike A, ArrayLike B, ArrayLike W>
Scalar dot(const A& x, const B& y, const W& w) {
  const auto root = node<Op::triple_product_sum>(w, x, y);
  return reduce(form_of<std::decay_t<decltype(root)>>(), leaves_of(root));
}
/// The square of the Euclidean distance, whose differences are not rounded to float32 where the device has float64.
template <ArrayLike A, ArrayLike B>
Scalar squared_distance(const A& a, const B& b) {
  const auto root = node<Op::distance_sum>(a, b);
  return reduce(form_of<std::decay_t<decltype(root)>>(), leaves_of(root));
}
/// The Euclidean norm.
template <ArrayLike A>
Scalar norm(const A& a) {
  return sqrt(dot(a, a));
}

/// The largest element, the same bits for every split; 0 has no sign. NaN if one of them is, as NumPy has it.
template <ArrayLike A>
Scalar max(const A& a) {
  const auto root = node<Op::largest>(a);
  return reduce(form_of<std::decay_t<decltype(root)>>(), leaves_of(root));
}
/// The least element, likewise.
template <ArrayLike A>
Scalar min(const A& a) {
  return Scalar(0) - max(-a);
}
/// The largest absolute value, likewise.
template <ArrayLike A>
Scalar norm_inf(const A& a) {
  return max(abs(a));
}

template <class E>
requires Elementwise<Array, E> Array& operator+=(Array& x, const E& e) {
  return x = x + e;
}
template <class E>
requires Elementwise<Array, E> Array& operator-=(Array& x, const E& e) {
  return x = x - e;
}
template <class E>
requires Elementwise<Array, E> Array& operator*=(Array& x, const E& e) {
  return x = x * e;
}
template <class E>
requires Elementwise<Array, E> Array& operator/=(Array& x, const E& e) {
  return x = x / e;
}

}  // namespace halocline::expressions

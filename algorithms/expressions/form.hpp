// Computation of an expression for each element, apart from which arrays and scalars it uses.
#pragma once

#include <cstdint>
#include <vector>

namespace halocline::expressions {

enum class Op : std::uint8_t {
  // take the next array of the statement
  array,               ///< its element
  shifted,             ///< the element `by` further along `axis`, 0 outside
  difference,          ///< the next element along `axis` minus this one, 0 at the last
  adjoint_difference,  ///< the adjoint of that
  scalar,              ///< takes the next scalar
  negate,
  absolute,
  square_root,
  exponential,
  logarithm,  // of the last value
  add,
  subtract,
  multiply,
  divide,
  minimum,
  maximum,
  greater,  // of the last two; greater: 1 or 0
  fused,    ///< a b + c, rounded once
  where,    ///< b where a > 0, else c
  // the last of a reduction: over all elements
  sum,
  product_sum,         ///< of the products of the last two
  triple_product_sum,  ///< of the last three
  distance_sum,        ///< of the squared differences of the last two
  largest              ///< of the values, instead of their sum
};

/// Operations in the order of their execution: operands first.
struct Form {
  std::vector<Op> code;
};

/// The form with this code: the same object for the same code.
const Form& form_with(const std::vector<Op>& code);

/// True if it reads other elements than the one that it computes.
constexpr bool reads_neighbours(Op op) {
  return op == Op::shifted || op == Op::difference || op == Op::adjoint_difference;
}
constexpr bool takes_array(Op op) {
  return op == Op::array || reads_neighbours(op);
}
constexpr bool is_reduction(Op op) {
  return op >= Op::sum;
}

}  // namespace halocline::expressions

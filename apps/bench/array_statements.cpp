#include "apps/bench/array_statements.hpp"

#include <utility>

namespace halocline {
namespace {

namespace hx = expressions;

// An array whose operators compute at once what they return.
struct Eager {
  hx::Array array;
};

Eager operator+(const Eager& a, const Eager& b) {
  return {hx::Array(a.array + b.array)};
}
Eager operator*(const Eager& a, const Eager& b) {
  return {hx::Array(a.array * b.array)};
}
Eager operator*(double a, const Eager& b) {
  return {hx::Array(a * b.array)};
}
Eager operator/(const Eager& a, const Eager& b) {
  return {hx::Array(a.array / b.array)};
}
hx::Scalar dot(const Eager& a, const Eager& b) {
  return hx::sum((a * b).array);
}
hx::Scalar norm(const Eager& a) {
  return sqrt(dot(a, a));
}
Eager gradient(const Eager& a, int axis) {
  return {hx::Array(hx::gradient(a.array, axis))};
}

// state: a generic function of x, y and z, arrays or Eager.
template <class State>
ArrayStatement both_forms(ArrayStatement statement, State state) {
  statement.fused = [state](StatementArrays& arrays) { state(arrays.x, arrays.y, arrays.z); };
  statement.unfused = [state](StatementArrays& arrays) {
    Eager x{std::move(arrays.x)}, y{arrays.y}, z{arrays.z};
    state(x, y, z);
    arrays.x = std::move(x.array);
  };
  return statement;
}

}  // namespace

const std::vector<ArrayStatement>& array_statements() {
  static const std::vector<ArrayStatement> statements{
      both_forms({"x = x * y", 2, 12, "x[i] * y[i]"}, [](auto& x, auto& y, auto&) { x = x * y; }),
      both_forms({"x = x * y + y", 2, 12, "x[i] * y[i] + y[i]"}, [](auto& x, auto& y, auto&) { x = x * y + y; }),
      both_forms({"x = x * y + y / z", 3, 16, "x[i] * y[i] + y[i] / z[i]"},
                 [](auto& x, auto& y, auto& z) { x = x * y + y / z; }),
      both_forms({"x = x * y + y / z + x", 3, 16, "x[i] * y[i] + y[i] / z[i] + x[i]"},
                 [](auto& x, auto& y, auto& z) { x = x * y + y / z + x; }),
      both_forms({"x = x * y + y / z + x * z", 3, 16, "x[i] * y[i] + y[i] / z[i] + x[i] * z[i]"},
                 [](auto& x, auto& y, auto& z) { x = x * y + y / z + x * z; }),
      both_forms({"x += a * y", 2, 12, "x[i] + 1.5f * y[i]"}, [](auto& x, auto& y, auto&) { x = x + 1.5 * y; }),
      both_forms({"dot(x, y)", 2, 8, "x[i] * y[i]", true}, [](auto& x, auto& y, auto&) { value(dot(x, y)); }),
      both_forms({"norm(x)", 1, 4, "x[i] * x[i]", true}, [](auto& x, auto&, auto&) { value(norm(x)); }),
      both_forms({"norm(a * x + y)", 2, 8, "(1.5f * x[i] + y[i]) * (1.5f * x[i] + y[i])", true},
                 [](auto& x, auto& y, auto&) { value(norm(1.5 * x + y)); }),
      both_forms({"x += a * y, dot(x, x)", 2, 12, ""},
                 [](auto& x, auto& y, auto&) {
                   x = x + 0.5 * y;
                   value(dot(x, x));
                 }),
      both_forms({"x = gradient(y, 0)", 2, 8, ""}, [](auto& x, auto& y, auto&) { x = gradient(y, 0); }),
      both_forms({"x = gradient(y, 2)", 2, 8, ""}, [](auto& x, auto& y, auto&) { x = gradient(y, 2); })};
  return statements;
}

}  // namespace halocline

// Steps of solvers that go over volumes or projections element by element, and their sums (cl/vectors.cl).
#pragma once

#include <array>
#include <concepts>
#include <functional>
#include <limits>
#include <string>

#include "algorithms/support/slice_sums.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline {

/// A number, or one that follows from what the host knows.
class Factor {
 public:
  Factor(double value) : value_([value](const Scalars&) { return value; }) {}
  template <class Function>
  requires std::invocable<Function, const Scalars&> Factor(Function value) : value_(std::move(value)) {}
  float operator()(const Scalars& scalars) const { return static_cast<float>(value_(scalars)); }

 private:
  std::function<double(const Scalars&)> value_;
};

/// What voxels are kept within.
struct Bounds {
  double minimum = -std::numeric_limits<double>::infinity(), maximum = std::numeric_limits<double>::infinity();
};

using Told = std::function<void(double sum, Scalars&)>;

/// Of a program with these sizes. `over`: Domain::slices (arrays are volumes) or Domain::views (projections).
class VectorSteps {
 public:
  /// Adds the arrays of the sums to the program, unless it has them.
  explicit VectorSteps(Program& program);

  Step set(Domain over, double a, const std::string& y) const;                                      ///< y = a
  Step scale(Domain over, Factor a, const std::string& x, const std::string& y) const;              ///< y = a x
  Step scale(Domain over, Factor a, const std::string& y) const;                                    ///< y = a y
  Step combine(Domain over, Factor a, const std::string& x, Factor b, const std::string& y) const;  ///< y = a x + b y
  Step multiply(Domain over, const std::string& x, const std::string& y) const;                     ///< y = x y
  Step reciprocal(Domain over, const std::string& y) const;                                         ///< 1 / y, or 0
  Step residual(const std::string& b, const std::string& w, const std::string& r) const;            ///< r = (b - r) w
  /// x, of volumes, each voxel put into these bounds.
  Step clamp(const Bounds& bounds, const std::string& x) const;
  /// x + a u w, of volumes, put into these bounds.
  Step update(Factor a, const std::string& u, const std::string& w, const std::string& x, const Bounds& bounds) const;
  /// u = u + a (u - x), and x becomes what u was.
  Step extrapolate(Domain over, Factor a, const std::string& u, const std::string& x) const;
  Step dot(Domain over, const std::string& x, const std::string& y, Told told) const;       ///< <x, y>
  Step distance(Domain over, const std::string& x, const std::string& y, Told told) const;  ///< ||x - y||^2
  /// <x, w y>.
  Step dot(Domain over, const std::string& x, const std::string& y, const std::string& w, Told told) const;

  /// A kernel over elements with these arrays and factors as its arguments, and a range of elements.
  Step elementwise(Domain over, const char* file, const std::string& kernel, const std::vector<ArrayAccess>& arrays,
                   std::vector<Factor> factors) const;
  /// A kernel of cl/sums.clh with these arrays, the partial sums and an Extent as its arguments.
  Step sum(Domain over, const char* file, const std::string& kernel, const std::vector<std::string>& arrays,
           Told told) const;

 private:
  std::array<std::size_t, 3> volume_, stack_;
  SliceSums slices_, views_;
};

}  // namespace halocline

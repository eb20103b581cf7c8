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
  /// Adds the arrays of the sums to the program, of so many values a step (Step::sums), unless it has them.
  explicit VectorSteps(Program& program, int slice_sums = 1, int view_sums = 1);

  Step set(Domain over, double a, const std::string& y) const;                                      ///< y = a
  Step scale(Domain over, Factor a, const std::string& x, const std::string& y) const;              ///< y = a x
  Step scale(Domain over, Factor a, const std::string& y) const;                                    ///< y = a y
  Step combine(Domain over, Factor a, const std::string& x, Factor b, const std::string& y) const;  ///< y = a x + b y
  Step multiply(Domain over, const std::string& x, const std::string& y) const;                     ///< y = x y
  /// y = x where `condition` is above 0, else y as it is.
  Step choose(Domain over, Factor condition, const std::string& x, const std::string& y) const;
  Step reciprocal(Domain over, const std::string& y) const;                               ///< 1 / y, or 0
  Step residual(const std::string& b, const std::string& w, const std::string& r) const;  ///< r = (b - r) w
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

  /// The largest voxel. Needs declare_largest().
  Step largest(const std::string& x, Told told) const;
  void declare_largest(Program& program) const;

  /// A kernel with a work-item an element, which takes the arrays, then the factors as floats, then the first element
  /// and the one after the last (ulong).
  Step elementwise(Domain over, const KernelSpec& kernel, const std::vector<ArrayAccess>& arrays,
                   std::vector<Factor> factors) const;
  /// A kernel of cl/sums.clh that takes the arrays, the partial sums and an Extent, and leaves `count` values.
  Step sums(Domain over, const KernelSpec& kernel, const std::vector<std::string>& arrays, int count,
            std::function<void(std::span<const double>, Scalars&)> told) const;
  /// The same of one value.
  Step sum(Domain over, const KernelSpec& kernel, const std::vector<std::string>& arrays, Told told) const;

 private:
  std::array<std::size_t, 3> volume_, stack_;
};

}  // namespace halocline

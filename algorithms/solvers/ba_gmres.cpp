// BA-GMRES: least squares with a back-projection B that need not be the adjoint, min ||B (b - A x)|| over the Krylov
// space of B A (Hansen, Hayami & Morikuni 2022), by Arnoldi's iteration, whose basis it keeps. "gradient" is that norm.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "algorithms/solvers/solver.hpp"

namespace halocline {
namespace {

// An entry of the Hessenberg matrix: row `row` of the column that iteration `column` makes.
std::string entry(int row, int column) {
  return fmt::format("h {} {}", row, column);
}

int iteration_of(const Scalars& known) {
  return static_cast<int>(known.at(iteration_scalar));
}

// y that minimises ||start e_0 - H y|| for the first `columns` columns, by Givens rotations, and that minimum.
std::pair<std::vector<double>, double> solve(const Scalars& known, int columns) {
  const auto size = static_cast<std::size_t>(columns);
  std::vector<std::vector<double>> H(size + 1, std::vector<double>(size, 0.0));
  std::vector<double> right(size + 1, 0.0);
  right[0] = known.at("start");
  for (std::size_t column = 0; column < size; ++column)
    for (std::size_t row = 0; row <= column + 1; ++row)
      H[row][column] = known.at(entry(static_cast<int>(row), static_cast<int>(column)));
  for (std::size_t n = 0; n < size; ++n) {
    const double length = std::hypot(H[n][n], H[n + 1][n]);
    const double c = length > 0 ? H[n][n] / length : 1, s = length > 0 ? H[n + 1][n] / length : 0;
    for (std::size_t column = n; column < size; ++column) {
      const double above = H[n][column], below = H[n + 1][column];
      H[n][column] = c * above + s * below;
      H[n + 1][column] = c * below - s * above;
    }
    const double above = right[n];
    right[n] = c * above;
    right[n + 1] = -s * above;
  }
  std::vector<double> y(size, 0.0);
  for (std::size_t n = size; n-- > 0;) {
    double rest = right[n];
    for (std::size_t column = n + 1; column < size; ++column) rest -= H[n][column] * y[column];
    y[n] = H[n][n] != 0 ? rest / H[n][n] : 0;
  }
  return {y, std::abs(right[size])};
}

class BaGmres : public Solver {
 public:
  explicit BaGmres(const ReconstructionProblem& problem) : Solver("ba-gmres", problem) {
    program().scalars["start"] = 0;
    for (int n = 0; n < passes_; ++n) {
      basis_.push_back(volume(fmt::format("v {}", n), Lifetime::state));
      for (int row = 0; row <= n + 1; ++row) program().scalars[entry(row, n)] = 0;
    }
  }

  Program made() {
    first([this] { begin(); });
    each([this] { iterate(); });
    last([this] {
      combine(x, 0);
      equations_.residual = sqrt(squared_distance(b, A * x));
    });
    if (!given.truth) return finish();
    Array image = volume("image", Lifetime::iteration);
    return finish([&] {
      image = x;
      combine(image, 1);
      return image;
    });
  }

 private:
  // Restricts what is stated within to these iterations.
  void in_iterations(const std::function<bool(int now)>& which, const Body& body) {
    when([which](const Scalars& known) { return which(iteration_of(known)); }, body);
  }

  void begin() {
    equations_.at_zero(s_, {});
    begin_image();
    const Array r = start_residual();
    s_ = adjoint(A) * r;
    const Scalar start = norm(s_);
    equations_.report(start, true);
    then(start, [](double length, Scalars& known) { known["start"] = length; });
    basis_[0] = ratio(1, start) * s_;
  }

  // s = B A v_k, made orthogonal to v_0 .. v_k, becomes v_{k + 1}.
  void iterate() {
    for (int n = 0; n < passes_; ++n) in_iterations([n](int now) { return now == n; }, [&] { r_ = fast_A * v(n); });
    s_ = adjoint(A) * r_;
    for (int n = 0; n < passes_; ++n)
      in_iterations([n](int now) { return now >= n; },
                    [&] {
                      const Scalar along = dot(s_, v(n));
                      then(along, [n](double sum, Scalars& known) { known[entry(n, iteration_of(known))] = sum; });
                      s_ = fma(-along, v(n), s_);
                    });
    const Scalar length = norm(s_);
    then(length, [](double norm, Scalars& known) {
      const int now = iteration_of(known);
      known[entry(now + 1, now)] = norm;
      known["gradient"] = solve(known, now + 1).second;
    });
    for (int n = 1; n < passes_; ++n)
      in_iterations([n](int now) { return now == n - 1; }, [&] { v(n) = ratio(1, length) * s_; });
  }

  // Adds to `image`, the start, what the iterations found: those before the current one and `more`.
  void combine(Array& image, int more) {
    for (int n = 0; n < passes_; ++n)
      in_iterations([n, more](int now) { return now + more > n; },
                    [&] {
                      const Scalar y = number([n, more](const Scalars& known) {
                        return solve(known, iteration_of(known) + more).first[static_cast<std::size_t>(n)];
                      });
                      image = fma(y, v(n), image);
                    });
  }

  Array& v(int n) { return basis_[static_cast<std::size_t>(n)]; }

  NormalEquations equations_{*this};
  const int passes_ = parameters.passes;
  Array s_ = volume("s", Lifetime::iteration), r_ = projections("r", Lifetime::iteration);
  std::vector<Array> basis_;
};

}  // namespace

constinit const SolverMethod ba_gmres_method{
    .name = "ba-gmres",
    .about = "least squares with voxel-driven back-projection; keeps a volume for each pass",
    .passes = 10,
    .most_passes = 500,
    .start = true,
    .tolerance = true,
    .fast = true,
    .voxel_driven = true,
    .gathered = "search directions",
    .program = [](const ReconstructionProblem& problem) { return BaGmres(problem).made(); }};

}  // namespace halocline

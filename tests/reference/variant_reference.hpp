// Double-precision oracle of the family around total variation (algorithms/denoisers/regulariser.hpp), from the
// definitions.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "algorithms/denoisers/denoise_method.hpp"
#include "tests/reference/tv_reference.hpp"

namespace halocline::reference {

struct VariantProblem {
  Lattice lattice;
  Image f, w;  // w empty: 1
  double lambda = 1;
  Regulariser regulariser;
  Image reference;  // where it is guided
};

/// P D u and -(P D)^T q.
Field variant_gradient(const VariantProblem& problem, const Image& u);
Image variant_divergence(const VariantProblem& problem, const Field& q);

/// The two objective values; the dual one with the minimum over the box taken voxel by voxel. u within the box.
double variant_primal(const VariantProblem& problem, const Image& u);
double variant_dual(const VariantProblem& problem, const Field& q);

/// `iterations` of the schedule from u = f and q = 0.
PrimalDual variant_primal_dual(const VariantProblem& problem, Schedule schedule, int iterations);

/// Members of the family, for tests that take each: grey values about 0 to 1, lengths about 1.
struct NamedRegulariser {
  std::string name;
  Regulariser regulariser;
  friend void PrintTo(const NamedRegulariser& named, std::ostream* out) { *out << named.name; }
};
const std::vector<NamedRegulariser>& regularisers();

/// A named descent of tvgd.
struct NamedDescent {
  std::string name;
  std::optional<double> adaptive_delta;
  bool statistical = false;

  void put_into(MethodParameters& parameters) const {
    parameters.adaptive_delta = adaptive_delta;
    parameters.statistical = statistical;
  }
  friend void PrintTo(const NamedDescent& named, std::ostream* out) { *out << named.name; }
};
const std::vector<NamedDescent>& descents();

}  // namespace halocline::reference

// The methods of iterative reconstruction by their names, and what each of them takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "algorithms/denoisers/regulariser.hpp"
#include "algorithms/projectors/projector.hpp"
#include "algorithms/solvers/view_subsets.hpp"
#include "scheduling/planning/program.hpp"

namespace halocline {

class RayOperator;

/// Origin of the search directions: the gradient, or the ramp filter of its slices (RampFilter).
enum class Preconditioner { none, ramp };
/// "none", "ramp".
const std::vector<std::string>& preconditioner_names();
/// Throws InputError (`precondition`) that lists the names.
Preconditioner preconditioner_from_name(const std::string& name);

/// A and A^T as sums along rays, or as the stored system matrix (algorithms/matrix), or as an eighth of it, for scans
/// that are symmetric (sectors_of()). matrix_half: matrix units take vectors in half precision. automatic: what is
/// forecast to be faster.
enum class OperatorForm { automatic, matrix, matrix_half, symmetric, rays };
/// "auto", "matrix", "matrix-half", "symmetric", "rays".
const std::vector<std::string>& operator_form_names();
/// Throws InputError (`operator`) that lists the names.
OperatorForm operator_form_from_name(const std::string& name);

/// Parameters of all methods; each takes what SolverMethod says, and refuses the others.
struct ReconstructionParameters {
  std::string method = "spdhg";  ///< of reconstruction_methods()
  int passes = 0;                ///< at most: a projection and a back-projection of all views each; 0: the method's
  std::optional<Projector> projector = std::nullopt;  ///< none: default_projector()
  /// Joseph's forward projection in the texture units, in the steps of methods that converge in spite of its error:
  /// faster on GPUs. Reported quantities use the exact projector.
  bool hardware_interpolation = false;
  /// Weights of half precision in the steps; the certificate, and the residual of every tenth pass and of the last, are
  /// of the projector itself.
  OperatorForm operator_form = OperatorForm::automatic;
  double relaxation = 1;  ///< between 0 and 2
  double tolerance = 0;   ///< ends where ||A^T W (b - A x)|| is so small a part of ||A^T W b||; 0: never
  Preconditioner precondition = Preconditioner::none;
  int subsets = 0;  ///< of the views; 0: the method's choice
  std::uint64_t seed = 1;
  double lambda = 0;  ///< of the penalty; in mm where the data term has no unit (weights: inverse variances)
  /// Penalty, and the bounds of the voxels (minimum, maximum) for all methods that have any.
  Regulariser regulariser = {};
  double gap = 0.1;       ///< the relative duality gap to end at; 0: never
  int polish_steps = 50;  ///< iterations that improve the certificate's dual before each look at the gap, from 1 on
  bool gap_map = false;   ///< keeps each voxel's part of the gap (reconstruct())
};

/// Inputs beside the projections.
struct GivenInputs {
  bool weights = false, start = false;
  /// The start is near the minimum, as the result of another run is: duals of the penalty begin with what suits it, not
  /// with 0.
  bool near_minimum = false;
  bool truth = false;  ///< records have the error to it
};

/// A problem, of which a method makes a program. A is of the geometry that `subsets` sorts (SortedViews), and has what
/// the method takes for A^T.
struct ReconstructionProblem {
  const RayOperator& A;
  const ViewSubsets& subsets;
  const ReconstructionParameters& parameters;  ///< checked, with their passes
  const GivenInputs& given;
  bool keeps_sums = false;  ///< methods with `subset_sums` keep A_s^T 1 of every subset s; it changes no bit
};

/// A method as its own file describes it (sirt.cpp), and method_list.hpp lists it.
struct SolverMethod {
  const char* name;
  const char* about;  ///< for people who choose
  int passes;         ///< by default
  int most_passes = std::numeric_limits<int>::max();
  /// Inputs and parameters that it takes (GivenInputs, ReconstructionParameters).
  bool weights = false, start = false, bounds = false, relaxation = false, tolerance = false, penalty = false,
       seed = false, precondition = false;
  bool fast = false;         ///< hardware_interpolation
  bool subsets = false;      ///< their number
  bool subset_sums = false;  ///< it divides by A_s^T 1 of its subsets s
  int (*default_subsets)(int views) = one_subset;
  bool voxel_driven = false;  ///< its back-projection is no adjoint
  bool fdk = false;           ///< FDK replaces its back-projection
  bool adjoint = false;       ///< it converges with the exact adjoint alone
  const char* gathered = "";  ///< of a run beside the image: "momentum"; empty: what a start brings
  /// Inputs: projections "b", line integrals; "w", the inverse of their variance, not negative, if weights are given;
  /// the volumes "x" if a start is given, "truth" if that is. Output: volume "x". Scalars as ReconstructionRecord has
  /// them: "residual", "gradient" and "gradient at 0", and those of the Certificate.
  Program (*program)(const ReconstructionProblem& problem);

  static int one_subset(int) { return 1; }
  /// Number of subsets for methods that end in a limit cycle: about 10.
  static int few_subsets(int views) { return std::clamp(views / 6, 1, 10); }
  static int subset_each_view(int views) { return views; }
};

std::span<const SolverMethod> solver_methods();
/// Throws InputError (`method`) that lists the names.
const SolverMethod& solver_method(const std::string& name);
std::vector<std::string> reconstruction_methods();

/// The program of the method. Throws InputError for an `A` that is not matched() where the method needs its adjoint,
/// and as check_parameters() does. keeps_sums: ReconstructionProblem::keeps_sums.
Program solver_program(const RayOperator& A, const ViewSubsets& subsets, const ReconstructionParameters& parameters,
                       const GivenInputs& given, bool keeps_sums = false);

/// Throws InputError that names a parameter which is out of range, or which the method does not take (and lists the
/// methods that do).
void check_parameters(const ReconstructionParameters& parameters, const GivenInputs& given);

/// Loss of a run that starts from the image of another, in a sentence; empty if none.
std::string lost_of_start(const std::string& method);

/// `passes`, or for 0 what the method takes.
int pass_count(const ReconstructionParameters& parameters);
/// True if the method is at its best from the image of FDK, rather than from 0.
bool begins_with_fdk(const ReconstructionParameters& parameters);

/// `subsets`, or for 0 what the method takes.
int subset_count(const ReconstructionParameters& parameters, std::size_t views);

}  // namespace halocline

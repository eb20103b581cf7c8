// What the programs of solvers share: arrays, start images, weighted residuals, the norm of A; checks of parameters.
#pragma once

#include <string>
#include <vector>

#include "algorithms/solvers/ray_operator.hpp"
#include "algorithms/solvers/vector_steps.hpp"
#include "algorithms/support/volume_array.hpp"

namespace halocline {

/// An array on the stack of projections that outlives its steps.
ArrayNeed projection_array(const std::string& name, Lifetime lifetime);
void declare(Program& program, const std::vector<ArrayNeed>& arrays);

void append(std::vector<Step>& steps, const std::vector<Step>& more);

/// a / b, and 0 where b is 0.
double ratio(double a, double b);

/// Puts the value of a sum, or its square root, into the scalar of this name.
Told keep(const std::string& scalar);
Told keep_root(const std::string& scalar);

/// Whether any voxel can lie outside.
bool limits(const Bounds& bounds);

/// x = 0, or what the caller gives for "x" (Program::given) put into the bounds.
std::vector<Step> begin_image(Program& program, const VectorSteps& vectors, bool from_start, const Bounds& bounds);

/// r = A x of this start.
Step project_start(const RayOperator& A, const VectorSteps& vectors, bool from_start, const std::string& r);

/// Of r = A x: r becomes b - A x, and the scalar "residual" ||b - A x||_W. Without `weights` W is 1, else diag(w).
std::vector<Step> residual(const VectorSteps& vectors, bool weights);

/// y = W y, of projections; no step without weights.
std::vector<Step> weigh(const VectorSteps& vectors, bool weights, const std::string& y);

/// The normal equations A^T W (b - A x) = 0: the scalars "gradient", the norm of their left side, and
/// "gradient at 0", the same at x = 0.
void declare_gradient(Program& program);
/// "gradient at 0" becomes ||A^T W b||. Works in the volume `u` and the projections `r`; `w` is empty without weights.
std::vector<Step> gradient_at_zero(const RayOperator& A, const VectorSteps& vectors, const std::string& w,
                                   const std::string& u, const std::string& r);
/// u = A^T r, and "gradient" its norm: r is W (b - A x).
std::vector<Step> gradient_step(const RayOperator& A, const VectorSteps& vectors, const std::string& r,
                                const std::string& u);
/// The same of the start. From x = 0 it is "gradient at 0", too; with `from_start` gradient_at_zero() comes before.
std::vector<Step> first_gradient(const RayOperator& A, const VectorSteps& vectors, bool from_start,
                                 const std::string& r, const std::string& u);
/// The program ends where "gradient" <= tolerance times "gradient at 0".
void end_at_gradient(Program& program, double tolerance);

/// The scalar "norm" becomes ||A||^2_W, the largest eigenvalue of A^T W A, by 20 power steps from a volume of ones: at
/// most the exact value, and where weights of rays are not negative mostly within 1 % of it. Works in the volume `u`
/// and the projections `r`.
std::vector<Step> operator_norm(const RayOperator& A, const VectorSteps& vectors, bool weights, const std::string& u,
                                const std::string& r);

/// The scalar "norm" times this is safely no less than the exact value.
inline constexpr double norm_margin = 1.05;

/// Throws InputError unless the back-projection is the exact adjoint of the projection, which `method` takes it for.
void check_matched(const RayOperator& A, const char* method);
/// These throw InputError that names the parameter.
void check_iterations(int iterations, const char* name = "`iterations`");
void check_relaxation(double relaxation);         ///< between 0 and 2
void check_part(const char* name, double value);  ///< above 0, at most 1
void check_tolerance(double tolerance);           ///< from 0 to below 1
void check_bounds(const Bounds& bounds);          ///< `minimum` below `maximum`

}  // namespace halocline

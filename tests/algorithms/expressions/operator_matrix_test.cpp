// labels: device slab
// Projectors of expressions that store their system matrix: the bits of the program of the matrix, also where work is
// split, prepared and by subsets; what one geometry does not have is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/matrix/matrix_projection.hpp"
#include "algorithms/solvers/matrix_pair.hpp"
#include "algorithms/solvers/projector_operator.hpp"
#include "scheduling/execution/program_run.hpp"
#include "scheduling/profiling/rates.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/reconstruct_run.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/same_bits.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::expressions::operator_matrix_test {
namespace {

using reference::device;
using testing::AllOf;
using testing::HasSubstr;

// A parallel beam with a row on each slice.
const reference::Scene& scene() {
  static const reference::Scene made = [] {
    CircularOptions circle;
    circle.sid = 200;
    circle.sdd = 0;
    circle.projections = 23;
    return reference::Scene{"parallel", circular_geometry(circle), reference::detector(29, 9, 23, 1.3, 2),
                            default_grid({15, 13, 9}, {2, 2.4, 2})};
  }();
  return made;
}

LinearOperator stored_on(const Context& on, OperatorForm form = OperatorForm::matrix,
                         const reference::Scene& of = scene()) {
  return projector(on, of.geometry, of.grid, of.projections, Projector::joseph, form);
}

// With the matrix units that the device has, as the operator's.
std::shared_ptr<const SystemMatrix> matrix() {
  const auto models = with_units_that_serve(device_models(device()), device());
  const ViewSubsets all(static_cast<int>(scene().projections.size[2]), 1);
  return std::make_shared<const SystemMatrix>(scene().geometry, scene().grid, scene().projections, Projector(),
                                              matrix_options(models, true, OperatorForm::matrix, all));
}
Volume projected(const Volume& x) {
  return run_program(program_of(MatrixProjection(matrix())), {{"volume", &x}}, scene().projections, device()).output;
}
Volume backprojected(const Volume& y) {
  return run_program(program_of(MatrixBackprojection(matrix(), false)), {{"raw", &y}}, scene().grid, device()).output;
}

TEST(StoredOperator, HasTheBitsOfTheMatrix) {
  const Volume x = reference::random_volume(scene().grid, 1), y = reference::random_volume(scene().projections, 2);
  const Volume ax = projected(x), aty = backprojected(y);
  for (const auto& [slabs, batch] : {std::pair{0, 0}, {3, 0}, {2, 4}}) {
    SCOPED_TRACE(testing::Message() << slabs << " slabs, batches of " << batch);
    PlanOptions options;
    options.minimum_slabs = slabs;
    options.batch = batch;
    const Context on(device(), options);
    const LinearOperator A = stored_on(on);
    EXPECT_TRUE(same_bits(read(A * load(A.domain(), x)), ax));
    EXPECT_TRUE(same_bits(read(adjoint(A) * load(A.range(), y)), aty));
    EXPECT_LT(adjoint_error(A), 1e-6);
  }
  const Context on(device());
  const LinearOperator rays = stored_on(on, OperatorForm::rays), chosen = stored_on(on, OperatorForm::automatic);
  const Array volume = load(rays.domain(), x);
  EXPECT_FALSE(same_bits(read(rays * volume), ax)) << "another arithmetic has been at work";
  EXPECT_TRUE(same_bits(read(chosen * volume), read(rays * volume))) << "nine slices do not pay";
}

TEST(StoredOperator, IsReplayed) {
  const Context on(device());
  const LinearOperator A = stored_on(on);
  const Array x = uniform(A.domain(), 1), b = uniform(A.range(), 2);
  Array g;
  const Prepared job = on.record([&] { g = adjoint(A) * (A * x - b); });
  for (unsigned seed = 4; seed < 6; ++seed) {
    const Volume values = reference::random_volume(scene().grid, seed);
    job.write(x, values);
    job.replay();
    const Volume residual = read(load(A.range(), projected(values)) - b);
    EXPECT_TRUE(same_bits(read(g), backprojected(residual)));
  }
}

// Conjugate gradients as formulas take the steps of reconstruct().
TEST(StoredOperator, SolvesAsReconstructDoes) {
  const MeasuredScan scan{scene(), projected(reference::random_volume(scene().grid, 7))};
  ReconstructionParameters parameters;
  parameters.method = "cgls";
  parameters.passes = 4;
  parameters.projector = Projector::joseph;
  parameters.operator_form = OperatorForm::matrix;
  const Volume expected = scan.reconstructed(parameters).x;
  const Context on(device());
  const LinearOperator A = stored_on(on);
  Array x = zeros(A.domain()), r = load(A.range(), scan.b), s = adjoint(A) * r, p = copy(s);
  Scalar gamma = dot(s, s);
  for (int n = 0; n < parameters.passes; ++n) {
    const Array q = A * p;
    const Scalar alpha = gamma / dot(q, q);
    x += alpha * p;
    r -= alpha * q;
    s = adjoint(A) * r;
    const Scalar next = dot(s, s);
    p = s + (next / gamma) * p;
    gamma = next;
  }
  const Volume found = read(x);
  double difference = 0, sum = 0;
  for (std::size_t n = 0; n < found.voxels.size(); ++n) {
    difference += std::pow(static_cast<double>(found.voxels[n]) - expected.voxels[n], 2);
    sum += std::pow(static_cast<double>(expected.voxels[n]), 2);
  }
  EXPECT_LT(difference, 1e-10 * sum);
}

TEST(StoredOperator, HasAPartForEachSubset) {
  const ViewSubsets subsets(23, 4);
  const Geometry sorted = subsets.sorted(scene().geometry);
  const Context on(device());
  const auto stored = subset_projectors(on, sorted, scene().grid, scene().projections, 4, Projector::joseph,
                                        OperatorForm::matrix),
             rays = subset_projectors(on, sorted, scene().grid, scene().projections, 4, Projector::joseph);
  const Array x = uniform(on.volume(scene().grid), 1), y = uniform(on.projections(scene().projections), 2);
  for (std::size_t s = 0; s < stored.size(); ++s) {
    const Array found = stored[s] * x, expected = rays[s] * x;
    EXPECT_LT(value(norm(found - expected)), 1e-3 * value(norm(expected))) << s;
    const Array back = adjoint(stored[s]) * y, expected_back = adjoint(rays[s]) * y;
    EXPECT_LT(value(norm(back - expected_back)), 1e-3 * value(norm(expected_back))) << s;
    EXPECT_LT(adjoint_error(stored[s]), 1e-6) << s;
  }
}

TEST(StoredOperator, RefusesOtherGeometries) {
  const Context on(device());
  const LinearOperator A = stored_on(on);
  const auto expected = AllOf(HasSubstr("(`operator`)"), HasSubstr("operator = rays"));
  EXPECT_THAT(refusal_of([&] { A.move_to(scene().geometry); }), expected);
  EXPECT_THAT(refusal_of([&] { adjoint(A).move_to(scene().geometry); }), expected);
  EXPECT_THAT(refusal_of([&] { A.views({1, 2}); }), AllOf(expected, HasSubstr("an operator of these views")));
  const Array x = uniform(A.domain(), 1);
  EXPECT_GT(value(norm(A * x)), 0) << "it goes on";
}

TEST(StoredOperator, RefusesWhatHasNoMatrix) {
  for (const char* name : {"cone", "cone_tilted", "parallel_tilted"}) {
    const Context on(device());
    EXPECT_THAT(refusal_of([&] { stored_on(on, OperatorForm::matrix, reference::scene_named(name)); }),
                AllOf(HasSubstr("rays that leave their slices"), HasSubstr("operator = rays")))
        << name;
  }
  const Context small(open_devices({.device = reference::cpu_or_default(), .device_memory = 100000}));
  EXPECT_THAT(refusal_of<PlanError>([&] { stored_on(small); }), HasSubstr("`operator = rays` stores no matrix"));
  const LinearOperator rays = stored_on(small, OperatorForm::rays);
  EXPECT_GT(value(norm(rays * uniform(rays.domain(), 1))), 0) << "the Context goes on";
}

}  // namespace
}  // namespace halocline::expressions::operator_matrix_test

// labels: device slab
// Jobs that are prepared once: replays have the bits of statements that are computed directly, whatever else is done
// between them; what cannot be prepared is refused by name.
#include "algorithms/expressions/prepared.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <optional>

#include "algorithms/expressions/expression.hpp"
#include "algorithms/expressions/kernel.hpp"
#include "algorithms/projectors/user_projector.hpp"
#include "algorithms/solvers/projector_operator.hpp"
#include "host/system/error.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/same_bits.hpp"

namespace halocline::expressions::prepared_test {
namespace {

using reference::device;
using testing::AllOf;
using testing::HasSubstr;

const reference::Scene& scene() {
  static const auto all = reference::scenes();
  return all.front();
}

LinearOperator projector_on(const Context& on, const reference::Scene& of = scene(),
                            std::optional<Projector> named = std::nullopt) {
  return projector(on, of.geometry, of.grid, of.projections, named);
}

// A^T (w (A x - b)) with temporary arrays and neighbours.
Array gradient_of(const LinearOperator& A, const Array& x, const Array& b, const Array& w) {
  const Array residual = A * x - b;
  const Array back = adjoint(A) * (w * residual);
  const Array smooth = gradient(back, 2);
  return back + 0.1 * adjoint_gradient(smooth, 2);
}

TEST(Prepared, ReplaysTheBitsOfStatements) {
  for (const auto& each : reference::scenes())
    for (const Projector named : {Projector::joseph, Projector::siddon, Projector::distance_driven}) {
      SCOPED_TRACE(each.name + ", " + projector_name(named));
      const Context on(device());
      const LinearOperator A = projector_on(on, each, named);
      const Array x = uniform(A.domain(), 1), b = uniform(A.range(), 2), w = uniform(A.range(), 3);
      Array result;
      const Prepared job = on.record([&] { result = gradient_of(A, x, b, w); });
      EXPECT_GT(job.commands(), 4u);
      for (unsigned seed = 4; seed < 7; ++seed) {
        const Volume new_x = reference::random_volume(each.grid, seed),
                     new_b = reference::random_volume(each.projections, seed + 10);
        job.write(x, new_x);
        job.write(b, load(A.range(), new_b));
        job.replay();
        const Context other(device());
        const LinearOperator B = projector_on(other, each, named);
        const Array expected = gradient_of(B, load(B.domain(), new_x), load(B.range(), new_b), uniform(B.range(), 3));
        EXPECT_TRUE(same_bits(read(result), read(expected)));
      }
    }
}

TEST(Prepared, ComputesItsStatementsOnce) {
  const Context on(device());
  const LinearOperator A = projector_on(on);
  const Array x = uniform(A.domain(), 1);
  Array y;
  const Prepared job = on.record([&] { y = A * x; });
  const Volume direct = read(A * x);
  EXPECT_TRUE(same_bits(read(y), direct));
  job.replay();
  EXPECT_TRUE(same_bits(read(y), direct));
}

TEST(Prepared, SurvivesOtherWork) {
  const Context on(device());
  const LinearOperator A = projector_on(on);
  Array x = uniform(A.domain(), 1);
  const Volume first = read(x);
  std::optional<Array> y(std::in_place);
  const Prepared job = on.record([&] { *y = A * (2 * (adjoint(A) * (A * x)) - x); });
  const Array copied = 1 * *y;
  const Volume expected = read(*y);
  std::vector<Array> others;
  for (int n = 0; n < 12; ++n) {
    others.push_back(uniform(n % 2 == 0 ? A.domain() : A.range(), static_cast<std::uint64_t>(n)));
    const Array more = n % 2 == 0 ? Array(A * others.back()) : Array(adjoint(A) * others.back());
    value(dot(more, more));
    job.write(x, reference::random_volume(scene().grid, static_cast<unsigned>(n)));
    job.replay();
    EXPECT_FALSE(same_bits(read(*y), expected));
  }
  std::vector<Volume> kept;
  for (const Array& each : others) kept.push_back(read(each));
  job.write(x, first);
  const Array before = *y + 0;  // computed before the replay
  const Volume last = read(*y);
  const Array late = *y + 0;  // recorded, but not computed yet
  job.replay();
  EXPECT_TRUE(same_bits(read(*y), expected));
  EXPECT_TRUE(same_bits(read(copied), expected));
  EXPECT_TRUE(same_bits(read(before), last));
  EXPECT_TRUE(same_bits(read(late), last));
  y.reset();
  x = Array();
  job.replay();  // into memory that nobody else has
  for (std::size_t n = 0; n < others.size(); ++n) EXPECT_TRUE(same_bits(read(others[n]), kept[n])) << n;
}

TEST(Prepared, GoesOnWithArraysThatItChanges) {
  const Context on(device());
  const LinearOperator A = projector_on(on);
  const Array b = uniform(A.range(), 2);
  const auto step = [&](Array& x) { x += 1e-4 * (adjoint(A) * (b - A * x)); };
  Array x = uniform(A.domain(), 1), expected = uniform(A.domain(), 1);
  for (int n = 0; n < 5; ++n) step(expected);
  const Prepared job = on.record([&] { step(x); });
  for (int n = 1; n < 5; ++n) job.replay();
  EXPECT_TRUE(same_bits(read(x), read(expected)));
}

TEST(Prepared, TakesKernels) {
  const Context on(device());
  const Kernel kernel(R"(
__kernel void scaled(__global const float* x, __global float* y, float by, Extent extent) {
  const int i = (int)get_global_id(0), j = (int)get_global_id(1), k = extent.begin + (int)get_global_id(2);
  if (i < extent.nx && j < extent.ny && k < extent.end) y[AT(i, j, k)] = by * x[AT(i, j, k)];
}
)",
                      "scaled", {in("x"), out("y")});
  Array x = uniform(on.volume(scene().grid), 1), y, z;
  const Prepared job = on.record([&] {
    kernel({{"x", &x}, {"y", &y}}, {2});
    kernel({{"x", &y}, {"y", &z}}, {4});  // the same kernel with another number
  });
  const Volume values = reference::random_volume(scene().grid, 8);
  job.write(x, values);
  job.replay();
  const Volume two = read(y), eight = read(z);
  for (std::size_t n = 0; n < values.voxels.size(); ++n) {
    ASSERT_EQ(two.voxels[n], 2 * values.voxels[n]);
    ASSERT_EQ(eight.voxels[n], 8 * values.voxels[n]);
  }
}

TEST(Prepared, RefusesWhatTheHostHasToDo) {
  const Context on(device());
  const LinearOperator A = projector_on(on);
  const Array x = uniform(A.domain(), 1), y = uniform(A.range(), 2);
  Array z;
  const auto error_with = [&](const std::function<void()>& statements) {
    return refusal_of([&] { on.record(statements); });
  };
  EXPECT_THAT(error_with([&] {
                z = 2 * x;
                z *= 1 / norm(z);
              }),
              AllOf(HasSubstr("statement 2 of a prepared job"), HasSubstr("a sum over a volume")));
  EXPECT_THAT(error_with([&] { z = adjoint(A) * (y - dot(y, y) * y); }), HasSubstr("a sum over projections"));
  EXPECT_THAT(error_with([&] { read(x); }), HasSubstr("reads a value"));
  EXPECT_THAT(error_with([&] { on.wait(); }), HasSubstr("reads a value"));
  EXPECT_THAT(error_with([] {}), HasSubstr("without a statement"));
  EXPECT_THAT(error_with([&] { const Array nobody = x + 1; }), HasSubstr("without a statement"));
  EXPECT_THAT(error_with([&] { on.record([&] { z = 2 * x; }); }), HasSubstr("within another one"));
  // the Context works on, and statements before an error are as others
  EXPECT_TRUE(same_bits(read(z), read(2 * x)));
  Array rays;
  const Prepared job = on.record([&] { rays = A * x; });
  EXPECT_THAT(refusal_of([&] { job.write(rays, y); }), HasSubstr("do not read"));
  EXPECT_THAT(refusal_of([&] { job.write(y, y); }), HasSubstr("do not read"));
  EXPECT_THAT(refusal_of([&] { job.write(x, y); }), HasSubstr("over projections"));
  EXPECT_THAT(refusal_of([&] { job.write(x, Volume::uninitialised({{2, 2, 2}})); }), HasSubstr("2 x 2 x 2"));
}

TEST(Prepared, RefusesSlabsSubsetsAndRayModels) {
  PlanOptions two;
  two.minimum_slabs = 2;
  const Context split(device(), two);
  const LinearOperator A = projector_on(split);
  const Array x = uniform(A.domain(), 1);
  Array twice, twice_rays, of_part, of_users;
  EXPECT_THAT(refusal_of([&] { split.record([&] { twice = 2 * x; }); }),
              AllOf(HasSubstr("prepared job"), HasSubstr("2 slabs"), HasSubstr("`device`")));
  const Context on(device());
  const auto parts = subset_projectors(on, scene().geometry, scene().grid, scene().projections, 3);
  const Array rays = uniform(parts[0].range(), 1);
  EXPECT_THAT(refusal_of([&] { on.record([&] { of_part = adjoint(parts[0]) * rays; }); }),
              HasSubstr("subset of the views"));
  EXPECT_THAT(refusal_of([&] { on.record([&] { twice_rays = 2 * rays; }); }), HasSubstr("projector of all views"));
  const Context users(device());
  const auto text = std::filesystem::path(HALOCLINE_SOURCE_DIR) / "docs" / "projectors" / "joseph.cl";
  const LinearOperator B = projector_on(users, scene(), Projector(UserProjector::from_file(text.string())));
  const Array u = uniform(users.volume(scene().grid), 1);
  EXPECT_THAT(refusal_of([&] { users.record([&] { of_users = B * u; }); }), HasSubstr("need a norm"));
}

TEST(Prepared, EndsWhereArraysArePlacedAgain) {
  const Context on(device());
  const LinearOperator A = projector_on(on);
  const Array x = uniform(A.domain(), 1);
  Array y, z;
  const auto statements = [&] { y = A * x; };
  const Prepared job = on.record(statements);
  job.replay();
  const LinearOperator B = projector_on(on, scene(), Projector::siddon);  // which needs tables of its own
  EXPECT_THAT(refusal_of([&] { job.replay(); }), AllOf(HasSubstr("placed again"), HasSubstr("prepare it after")));
  const Volume found = read(y);
  EXPECT_TRUE(same_bits(found, read(A * x)));
  const Prepared again = on.record(statements);
  const Volume values = reference::random_volume(scene().grid, 9);
  again.write(x, values);
  again.replay();
  EXPECT_TRUE(same_bits(read(y), read(A * load(A.domain(), values))));
  EXPECT_THAT(refusal_of([&] { job.replay(); }), HasSubstr("placed again"));
}

}  // namespace
}  // namespace halocline::expressions::prepared_test

// labels: device slab
// Jobs that are prepared once: replays have the bits of statements that are computed directly, whatever else is done
// between them; what cannot be prepared is refused by name.
#include "algorithms/expressions/prepared.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
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
#include "tests/support/plain_forms.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/rms.hpp"
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

// The gradient as a job.
struct GradientJob {
  GradientJob(const reference::Scene& of, Projector named)
      : A(projector_on(on, of, named)), job(on.record([&] { result = gradient_of(A, x, b, w); })) {}

  Context on{device()};
  LinearOperator A;
  Array x = uniform(A.domain(), 1), b = uniform(A.range(), 2), w = uniform(A.range(), 3), result;
  Prepared job;
};

TEST(Prepared, ReplaysTheBitsOfStatements) {
  for (const auto& each : reference::scenes())
    for (const Projector named : {Projector::joseph, Projector::siddon, Projector::distance_driven}) {
      SCOPED_TRACE(each.name + ", " + projector_name(named));
      const GradientJob own(each, named);
      const auto& [on, A, x, b, w, result, job] = own;
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

// State of conjugate gradients for A x = b, from x = 0.
struct Cgls {
  LinearOperator A;
  Array x, r, p;
  Scalar gamma = 0, alpha = 0;

  Cgls(const LinearOperator& of, const Array& b) : A(of), x(zeros(A.domain())), r(1 * b), p(adjoint(A) * b) {}
  void iterate() {
    const Array s = adjoint(A) * r;
    gamma = dot(s, s);
    const Array q = A * p;
    alpha = ratio(gamma, dot(q, q));
    x += alpha * p;
    r -= alpha * q;
    const Array next = adjoint(A) * r;
    p = next + ratio(dot(next, next), gamma) * p;
  }
};

// Views of 1, 2 and 5 parts (rows_of_sum), the last of them smaller.
TEST(Prepared, AddsPartsOfViewsAsTheHostDoes) {
  for (const std::size_t rows : {31, 64, 131})
    for (const KernelVariants variants : {KernelVariants{}, KernelVariants{true, true}, KernelVariants{false, false}}) {
      const Context on(device());
      on.use(variants);
      const Array b = load(on.projections(default_grid({7, rows, 5}, {1, 1, 1})),
                           reference::random_volume(default_grid({7, rows, 5}, {1, 1, 1}), 5));
      on.flush();
      Scalar norm, total, most;
      const Prepared job = on.record([&] {
        norm = dot(b, b);
        total = sum(b - 0.5f);
        most = max(b);
      });
      const double like = value(dot(b, b)), tolerance = variants.fp64 ? 0 : 1e-6 * like;
      EXPECT_NEAR(job.value(norm), like, tolerance) << rows;
      EXPECT_NEAR(job.value(total), value(sum(b - 0.5f)), tolerance) << rows;
      EXPECT_EQ(job.value(most), value(max(b))) << rows;
    }
}

TEST(Prepared, ComputesSumsAndWhatFollowsOnTheDevice) {
  int differing = 0;
  for (const auto& each : reference::scenes())
    for (const KernelVariants variants : {KernelVariants{}, KernelVariants{true, true}, KernelVariants{false, false}}) {
      SCOPED_TRACE(each.name + (variants.fp64 ? variants.gpu ? ", GPU" : "" : ", without float64"));
      const Context on(device()), other(device());
      for (const Context* context : {&on, &other}) context->use(variants);
      const Volume b = reference::random_volume(each.projections, 2);
      Cgls found(projector_on(on, each), load(on.projections(each.projections), b)),
          expected(projector_on(other, each), load(other.projections(each.projections), b));
      on.flush();
      const Prepared job = on.record([&] { found.iterate(); });
      expected.iterate();
      const double first = value(expected.gamma);
      for (int n = 1; n < 4; ++n) {
        const double gamma = value(expected.gamma), alpha = value(expected.alpha);
        EXPECT_NEAR(job.value(found.gamma), gamma, variants.fp64 ? 0 : 1e-6 * first) << n;
        if (gamma > 1e-6 * first) {
          EXPECT_NEAR(job.value(sqrt(found.alpha)), std::sqrt(alpha), 1e-5 * std::sqrt(alpha));
        }
        job.replay();
        expected.iterate();
      }
      const Volume x = read(found.x), like = read(expected.x);
      if (variants.fp64) {
        EXPECT_TRUE(same_bits(x, like));
        EXPECT_EQ(job.value(found.alpha), value(expected.alpha));
      } else {
        EXPECT_LT(rms(x, like), 1e-5 * rms(like, Volume(like.grid)));
        if (!same_bits(x, like)) ++differing;
      }
    }
  EXPECT_GT(differing, 0) << "without float64 the sums are of other arithmetic";
}

TEST(Prepared, ComputesEveryFormulaOfNumbers) {
  const Context on(device());
  const Array y = uniform(on.volume(scene().grid), 3);
  const auto formulas = [](const Scalar& s, const Scalar& n) {
    return std::vector<Scalar>{s + 2,
                               3 - s,
                               s * n,
                               n / s,
                               s > n,
                               min(s, n),
                               max(s, n),
                               hypot(s, n),
                               ratio(s, n),
                               ratio(s, -n),
                               where(n - s, s, n),
                               -s,
                               sqrt(s),
                               abs(n - s),
                               exp(n / s),
                               log(s),
                               where(s - n, 1 / Scalar(0.0), 2)};
  };
  std::vector<Array> results;
  std::vector<Scalar> numbers;
  const Prepared job = on.record([&] {
    numbers = formulas(sum(y), dot(y, y));
    for (const Scalar& each : numbers) results.push_back(constant(y.space(), each));
  });
  const std::vector<Scalar> expected = formulas(sum(y), dot(y, y));
  job.replay();
  for (std::size_t n = 0; n < expected.size(); ++n) {
    const double known = value(expected[n]);
    EXPECT_DOUBLE_EQ(job.value(numbers[n]), known) << n;
    EXPECT_FLOAT_EQ(read(results[n]).voxels.back(), static_cast<float>(known)) << n;
  }
}

TEST(Prepared, ComputesEachPartOfAFormulaOnce) {
  const Context on(device());
  const Array y = uniform(on.volume(scene().grid), 3);
  const auto mean_of_itself = [](Scalar s) {
    for (int n = 0; n < 200; ++n) s = 0.5 * (s + s);  // 2^200 paths to the sum
    return s;
  };
  Scalar number;
  Array result;
  const Prepared job = on.record([&] {
    number = mean_of_itself(sum(y));
    result = constant(y.space(), number);
  });
  const double expected = value(mean_of_itself(sum(y)));
  EXPECT_EQ(job.value(number), expected);
  EXPECT_EQ(read(result).voxels.front(), static_cast<float>(expected));
}

// Jobs one after the other, of more sums than a Context has room for at once.
void job_of_many_sums(const Context& on, const Array& x) {
  Array y;
  const auto sums = [&](int count) {
    return on.record([&] {
      Scalar all = 0;
      for (int n = 0; n < count; ++n) all = all + sum(x + n);
      y = all * x;
    });
  };
  EXPECT_THAT(refusal_of([&] { sums(1100); }), HasSubstr("more than 1024 sums"));
  for (int n = 0; n < 40; ++n) sums(30);
}

TEST(Prepared, KeepsItsNumbersApart) {
  const Context on(device());
  Array x = uniform(on.volume(scene().grid), 1), y, z, w;
  Scalar of_first, of_second;
  std::optional<Prepared> first = on.record([&] { y = (of_first = sum(x)) * x; });
  const Prepared second = on.record([&] { z = (of_second = dot(x, x)) * x; });
  const double s = value(sum(x)), n = value(dot(x, x));
  EXPECT_EQ(first->value(of_first), s);
  EXPECT_EQ(second.value(of_second), n);
  EXPECT_THAT(refusal_of([&] { first->value(of_second); }), HasSubstr("a sum outside of it"));
  EXPECT_THAT(refusal_of([&] { on.record([&] { w = of_first * x; }); }), HasSubstr("a sum outside of it"));
  EXPECT_THAT(refusal_of([&] { w = of_first * x, read(w); }), HasSubstr("ask the job"));
  EXPECT_THAT(refusal_of([&] { value(of_first + 1); }), HasSubstr("ask the job"));
  first.reset();
  const Prepared third = on.record([&] { w = sum(x) * x; });  // in the first one's places
  job_of_many_sums(on, x);
  EXPECT_EQ(second.value(of_second), n);
  EXPECT_TRUE(same_bits(read(w), read(y)));
}

// Views with the detector moved, and turned about the axis.
Geometry moved(const Geometry& of, double by) {
  Geometry result = of;
  for (View& view : result.views) {
    view.projection_offset_x += by;
    if (!view.parallel()) view.projection_offset_y += 0.75 * by;  // parallel rays remain within their slices
    view.gantry_angle += 0.01 * by;
  }
  return result;
}

Volume gradient_with(const LinearOperator& B) {
  return read(gradient_of(B, uniform(B.domain(), 1), uniform(B.range(), 2), uniform(B.range(), 3)));
}
Volume projections_with(const LinearOperator& B) {
  return read(B * uniform(B.domain(), 1));
}

TEST(Prepared, FollowsItsGeometry) {
  const bool gpu = !device().front().info().cpu();
  for (const auto& each : reference::scenes())
    for (const Projector named : {Projector::joseph, Projector::siddon, Projector::distance_driven}) {
      SCOPED_TRACE(each.name + ", " + projector_name(named));
      const GradientJob own(each, named);
      const auto& [on, A, x, b, w, result, job] = own;
      const Volume first = read(result);
      for (const double by : {2.5, -1.25, 0.0}) {
        const Array before = A * x;
        adjoint(A).move_to(moved(each.geometry, by));
        job.replay();
        const Context other(device()), plain(plain_devices());
        const auto projector_on_it = [&, by = by](const Context& where) {
          return projector(where, moved(each.geometry, by), each.grid, each.projections, named);
        };
        const LinearOperator B = projector_on_it(other), any = projector_on_it(plain);
        const Volume found = read(result), projections = read(A * x);
        // A scan that has no form of the first, or another one, has that of any scan.
        EXPECT_TRUE(same_bits(found, gradient_with(B)) || (gpu && same_bits(found, gradient_with(any)))) << by;
        EXPECT_TRUE(same_bits(projections, projections_with(B)) ||
                    (gpu && same_bits(projections, projections_with(any))))
            << by;
        if (each.grid.count() > 1) {
          EXPECT_EQ(same_bits(found, first), by == 0);
        }
        job.replay();
        EXPECT_TRUE(same_bits(read(result), found));
      }
    }
}

TEST(Prepared, FollowsTheGeometryInSlabsToo) {
  PlanOptions three;
  three.minimum_slabs = 3;
  const Context on(device(), three), other(device());
  const LinearOperator A = projector_on(on), B = projector(other, moved(scene().geometry, 3), scene().grid,
                                                           scene().projections, std::nullopt);
  read(adjoint(A) * uniform(A.range(), 2));
  A.move_to(moved(scene().geometry, 3));
  EXPECT_TRUE(same_bits(read(A * uniform(A.domain(), 1)), read(B * uniform(B.domain(), 1))));
  EXPECT_TRUE(same_bits(read(adjoint(A) * uniform(A.range(), 2)), read(adjoint(B) * uniform(B.range(), 2))));
}

// A scan with a row on each of many slices, where a Context on CPUs has the other forms for its steps.
TEST(Prepared, FollowsScansOutOfTheirSlices) {
  const bool gpu = !device().front().info().cpu();
  const Grid grid = default_grid({9, 7, 17}, {2, 2, 2});
  CircularOptions parallel{.sid = 200, .sdd = 0, .angles = {0, 30, 77}}, fans = parallel;
  fans.sdd = 300, fans.fan_stack = true;
  for (const CircularOptions& first : {parallel, fans}) {
    CircularOptions up = first, tilted = first;
    up.projection_offset_y = 0.3;
    if (!first.fan_stack) tilted.out_of_plane_angle = 2, tilted.in_plane_angle = -1;
    const Grid stack = reference::detector(15, 17, 3, 2.1, 2);
    const Context on(device());
    const LinearOperator A = projector(on, circular_geometry(first), grid, stack, Projector::joseph);
    Array y;
    const Array x = uniform(A.domain(), 1);
    const Prepared job = on.record([&] { y = adjoint(A) * (A * x); });
    for (const CircularOptions& next : {up, tilted, first}) {
      A.move_to(circular_geometry(next));
      job.replay();
      const Context other(device()), plain(plain_devices());
      const auto expected_on = [&, next = next](const Context& where) {
        const LinearOperator B = projector(where, circular_geometry(next), grid, stack, Projector::joseph);
        return read(adjoint(B) * (B * uniform(B.domain(), 1)));
      };
      EXPECT_TRUE(same_bits(read(y), expected_on(other)) || (gpu && same_bits(read(y), expected_on(plain))));
    }
  }
}

TEST(Prepared, RefusesGeometriesThatDoNotFit) {
  const Context on(device());
  const LinearOperator A = projector_on(on);
  const Array x = uniform(A.domain(), 1);
  Array y;
  const Prepared job = on.record([&] { y = A * x; });
  const Volume before = read(y);
  Geometry other = scene().geometry;
  other.views.pop_back();
  EXPECT_THAT(refusal_of([&] { A.move_to(other); }), HasSubstr("views"));
  other = scene().geometry;
  other.radius_cylindrical_detector = 100;
  EXPECT_THAT(refusal_of([&] { A.move_to(other); }), AllOf(HasSubstr("moved to"), HasSubstr("another operator")));
  Geometry fans = scene().geometry;
  for (View& view : fans.views) {
    view.fan_stack = true;
    view.out_of_plane_angle = view.in_plane_angle = view.source_offset_y = 0;
  }
  EXPECT_THAT(refusal_of([&] { A.move_to(fans); }), AllOf(HasSubstr("a stack of fans"), HasSubstr("another operator")));
  EXPECT_THAT(refusal_of([&] { identity(A.domain()).move_to(scene().geometry); }), HasSubstr("no projector"));
  job.replay();
  EXPECT_TRUE(same_bits(read(y), before));
}

TEST(Prepared, RefusesWhatTheHostHasToDo) {
  const Context on(device());
  const LinearOperator A = projector_on(on);
  const Array x = uniform(A.domain(), 1), y = uniform(A.range(), 2);
  Array z;
  const auto error_with = [&](const std::function<void()>& statements) {
    return refusal_of([&] { on.record(statements); });
  };
  EXPECT_THAT(error_with([&] { z = (2 * x) * value(dot(y, y)); }), HasSubstr("reads a value"));
  z = 2 * x;
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
  EXPECT_THAT(refusal_of([&] { users.record([&] { of_users = B * u; }); }), HasSubstr("need the norm"));
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

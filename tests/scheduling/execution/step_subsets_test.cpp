// labels: device slab
// Steps over some of the views, steps that are not always due, last steps, steps with several sums, largest values,
// volumes that are read with halos and written, and given ones: the values of a plain loop, however it is split.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/solvers/projector_operator.hpp"
#include "algorithms/support/slice_sums.hpp"
#include "scheduling/execution/program_run.hpp"
#include "scheduling/profiling/rates.hpp"
#include "tests/support/kernel_folder.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::step_subsets_test {
namespace {

constexpr const char* kernels = R"(
#pragma OPENCL FP_CONTRACT OFF
#include "sums.clh"
#define AT(x, y, z) ((size_t)(x) + (size_t)extent.nx * ((size_t)(y) + (size_t)extent.ny * (size_t)((z)-extent.offset)))

// u += 0.5 x
__kernel void engine_add(__global const float* restrict x, __global float* restrict u, Extent extent) {
  const int i = (int)get_global_id(0), j = (int)get_global_id(1), k = extent.begin + (int)get_global_id(2);
  if (i >= extent.nx || j >= extent.ny || k >= extent.end) return;
  u[AT(i, j, k)] = fma(0.5f, x[AT(i, j, k)], u[AT(i, j, k)]);
}

// x += 0.25 (u above - u below)
__kernel void engine_slope(__global const float* restrict u, __global float* restrict x, Extent extent) {
  const int i = (int)get_global_id(0), j = (int)get_global_id(1), k = extent.begin + (int)get_global_id(2);
  if (i >= extent.nx || j >= extent.ny || k >= extent.end) return;
  const float above = k + 1 < extent.nz ? u[AT(i, j, k + 1)] : 0.0f, below = k > 0 ? u[AT(i, j, k - 1)] : 0.0f;
  x[AT(i, j, k)] = fma(0.25f, above - below, x[AT(i, j, k)]);
}

INLINE real4 moments(real a) {
  return (real4)(a, a * a, fmax(a, 0), 1);
}
__kernel void engine_moments(__global const float* restrict values, __global sum_t* restrict partials,
                             Extent extent) {
  STORE_SUMS(4, moments(values[AT(x, y, z)]))
}
__kernel void engine_pair(__global const float* restrict r, __global const float* restrict b,
                          __global sum_t* restrict partials, Extent extent) {
  STORE_SUMS(2, (real4)((real)r[AT(x, y, z)] * b[AT(x, y, z)], r[AT(x, y, z)], 0, 0))
}
)";

const Grid volume{{7, 5, 11}, {1, 1, 1}};
const Grid stack{{6, 3, 9}, {1, 1, 1}};
constexpr int iterations = 7;

int number(const Scalars& known) {
  return static_cast<int>(known.at(iteration_scalar));
}
// Views of the subset of an iteration.
Range subset(int n) {
  constexpr Range of[] = {{0, 2}, {2, 7}, {7, 9}};
  return of[n % 3];
}
bool is_odd(const Scalars& known) {
  return number(known) % 2 == 1;
}

// u += x / 2, x += (u above - u below) / 4 in one step: u is written and read with halos.
Step smooth() {
  Step step{.name = "smooth", .arrays = {inout("u"), inout("x")}, .halo_low = 1, .halo_high = 1};
  step.work = [](Slab& slab, const WorkRange&, const Scalars&) {
    const Range core = slab.interior(), wide = core.grown(1, 1, slab.nz());
    slab.launch({"engine.cl", "engine_add", ""}, wide, {in("x"), inout("u"), slab.extent(wide)});
    slab.launch({"engine.cl", "engine_slope", ""}, core, {in("u"), inout("x"), slab.extent(core)});
  };
  return step;
}

// Sums of a kernel over volumes or projections.
Step sums(Domain over, const char* kernel, const std::vector<std::string>& arrays, int count,
          std::function<void(std::span<const double>, Scalars&)> receives) {
  Step step{.name = kernel, .over = over, .reduced = std::move(receives), .sums = count};
  std::vector<SlabArgument> arguments;
  for (const std::string& name : arrays) {
    step.arrays.push_back(in(name));
    arguments.emplace_back(in(name));
  }
  arguments.emplace_back(out("partials"));
  const bool slices = over == Domain::slices;
  step.by_rows = !slices;
  if (!slices) step.names = {{"partials", "view_partials"}, {"sums", "view_sums"}};
  const auto size = slices ? volume.size : stack.size;
  step.work = [=](Slab& slab, const WorkRange& part, const Scalars&) {
    const auto number = [](auto value) { return static_cast<std::int32_t>(value); };
    const Range range = slices ? part.slices : part.views;
    const std::int32_t offset = slices ? slab.offset() : number(range.begin);
    const std::size_t rows = slices ? size[1] : slab.rows().size();
    auto all = arguments;
    all.emplace_back(argument_struct(structs::Extent{number(size[0]), number(rows), number(size[2]), offset,
                                                     number(range.begin), number(range.end)}));
    const SliceSums reduction({size[0], rows, size[2]}, count);
    (slices ? reduction : reduction.of_views()).launch(slab, "engine.cl", kernel, range, offset, all);
  };
  return step;
}

Step largest(const char* x) {
  Step step{.name = "largest", .arrays = {in(x)}, .largest = true};
  step.reduced = [](std::span<const double> values, Scalars& known) { known["largest"] = values[0]; };
  step.work = [x](Slab& slab, const WorkRange& part, const Scalars&) {
    SliceSums(volume.size, 1).largest(slab, x, part.slices);
  };
  return step;
}

// Program of iterations n: smooth if n is odd; r = r / 2 + m b on its views, m the mean of x; two sums over these.
Program subsets() {
  Program begun;
  begun.needs.algorithm = "subsets";
  begun.needs.size = volume.size;
  begun.needs.stack = stack.size;
  begun.needs.form = ProgramForm::steps;
  begun.needs.iterations = iterations;
  begun.needs.largest_part = begun.needs.preferred_batch = 5;
  begun.given = {"x", "u"};
  SliceSums(volume.size, 1).declare_largest(begun.needs);
  expressions::Recording on(begun, volume, stack);
  auto x = on.volume("x", Lifetime::output, true);
  on.volume("u", Lifetime::state, true);
  const auto b = on.projections("b", Lifetime::input);
  auto r = on.projections("r", Lifetime::state);
  const auto mean = on.number("mean");
  auto ended = on.number("ended");
  for (const char* name : {"squares", "positive", "count", "largest", "rb", "r"}) on.number(name);
  on.first([&] { r = 1; });
  on.each([&] {
    on.when(is_odd, [&] { on.step(smooth()); });
    on.step(sums(Domain::slices, "engine_moments", {"x"}, 4, [](std::span<const double> values, Scalars& known) {
      known["mean"] = values[0] / values[3];
      known["squares"] = values[1];
      known["positive"] = values[2];
      known["count"] = values[3];
    }));
    on.over(
        [](const Scalars& known) { return subset(number(known)); },
        [&] {
          r = fma(mean, b, 0.5 * r);
          on.step(sums(Domain::views, "engine_pair", {"r", "b"}, 2, [](std::span<const double> values, Scalars& known) {
            known["rb"] += values[0];
            known["r"] += values[1];
          }));
        });
    on.when(is_odd, [&] { on.step(largest("x")); });
  });
  on.last([&] {
    x = on.number(number) * x;
    on.when([](const Scalars&) { return false; }, [&] { x = 0; });
    ended = dot(x, x);
  });
  return on.finish();
}

// The iterations in plain loops.
struct Plain {
  std::vector<float> x, u, r;
  Scalars known;

  Plain(const Volume& from_x, const Volume& from_u, const Volume& b, int done)
      : x(from_x.voxels), u(from_u.voxels), r(stack.count(), 1.0f) {
    for (int n = 0; n < done; ++n) {
      if (n % 2 == 1) smoothed();
      take_moments();
      take_views(b, subset(n));
      if (n % 2 == 1) known["largest"] = *std::max_element(x.begin(), x.end());
    }
    for (float& each : x) each *= static_cast<float>(done);
    known["ended"] = 0;
    for (const float each : x) known["ended"] += static_cast<double>(each) * each;
  }
  void smoothed() {
    const std::size_t layer = volume.slice();
    for (std::size_t i = 0; i < x.size(); ++i) u[i] = std::fma(0.5f, x[i], u[i]);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float above = i + layer < x.size() ? u[i + layer] : 0, below = i >= layer ? u[i - layer] : 0;
      x[i] = std::fma(0.25f, above - below, x[i]);
    }
  }
  void take_moments() {
    double sum = 0, squares = 0, positive = 0;
    for (const double each : x) sum += each, squares += each * each, positive += std::max(each, 0.0);
    known["count"] = static_cast<double>(x.size());
    known["mean"] = sum / known["count"];
    known["squares"] = squares;
    known["positive"] = positive;
  }
  void take_views(const Volume& b, Range of) {
    const std::size_t view = stack.slice();
    for (auto i = view * static_cast<std::size_t>(of.begin); i < view * static_cast<std::size_t>(of.end); ++i) {
      r[i] = std::fma(static_cast<float>(known["mean"]), b.voxels[i], 0.5f * r[i]);
      known["rb"] += static_cast<double>(r[i]) * b.voxels[i];
      known["r"] += r[i];
    }
  }
};

class StepSubsets : public testing::Test {
 protected:
  StepSubsets()
      : x_(reference::random_volume(volume, 1)),
        u_(reference::random_volume(volume, 2)),
        b_(reference::random_volume(stack, 3)) {
    for (float& each : x_.voxels) each -= 0.4f;
  }
  SplitRun run(const Program& program) const {
    return [=, this](const std::vector<Device>& devices, const RunOptions& options) {
      const RunResult result = run_program(program, {{"x", &x_}, {"u", &u_}, {"b", &b_}}, volume, devices, options);
      std::size_t declared = 0;
      for (const auto& slab : result.plan.slabs) declared = std::max(declared, slab.bytes);
      EXPECT_EQ(result.peak_bytes, declared);
      return result;
    };
  }
  void expect_values(const RunResult& found, int done) const {
    const Plain expected(x_, u_, b_, done);
    EXPECT_TRUE(found.output.voxels == expected.x);
    for (const auto& [name, value] : expected.known)
      EXPECT_NEAR(found.scalars.at(name), value, 1e-12 * std::abs(value)) << name;
    EXPECT_EQ(found.scalars.at(iteration_scalar), done);
  }

  KernelFolder kernels_{"engine.cl", kernels};
  Volume x_, u_, b_;
};

TEST_F(StepSubsets, HaveTheValuesOfAPlainLoop) {
  expect_values(run(subsets())(reference::device(), {}), iterations);
}

TEST_F(StepSubsets, HaveThemHoweverTheyAreSplit) {
  expect_same_bits(run(subsets()), volume.size[2], {{2, 0}, {3, 1}, {7, 2}, {11, 0}, {0, 1}, {0, 4}});
}

TEST_F(StepSubsets, GoOnFromEveryState) {
  expect_same_bits_resumed(run(subsets()), iterations - 1);
}

TEST_F(StepSubsets, AreStreamedWhereTheDeviceIsSmall) {
  for (const double part : {0.7, 0.5}) expect_same_bits_streamed(run(subsets()), part);
}

TEST_F(StepSubsets, LastStepsComeWhateverEndedTheOthers) {
  Program program = subsets();
  program.ends = [](int done, const Scalars&) { return done == 4; };
  const RunResult found = run(program)(reference::device(), {});
  EXPECT_EQ(found.iterations, 4);
  EXPECT_EQ(found.stopped_by, StoppedBy::method);
  expect_values(found, 4);
  expect_values(run(program)(reference::device(), split(3)), 4);
  expect_values(run(program)(reference::sub_devices(2), shared(reference::sub_devices(2), 11, 2)), 4);
}

TEST_F(StepSubsets, NeedTheirLargestPart) {
  Program program = subsets();
  program.needs.largest_part = 0;
  EXPECT_THROW(run(program)(reference::device(), {}), std::logic_error);
}

// The output of ray sums is 0 first, in the views of the step alone.
TEST(RaySums, OverSomeViewsLeaveTheOthers) {
  for (const char* name : {"cone_tilted", "parallel"}) {
    const auto scene = reference::scene_named(name);
    const RayOperator A(scene.geometry, scene.grid, scene.projections, Projector::joseph,
                        device_models(reference::device()));
    // r = b, but A x on subset n in iteration n; x is then A^T r of views 2 to 6
    Program begun = A.program("partial", 5);
    begun.needs.iterations = 2;
    expressions::Recording on(begun, scene.grid, scene.projections);
    const auto rays = expressions::projector(on, A);
    const auto source = on.volume("f", Lifetime::input), data = on.projections("b", Lifetime::input);
    auto x_out = on.volume("x", Lifetime::output), r = on.projections("r", Lifetime::state);
    auto squares = on.number("rr");
    on.first([&] { r = data; });
    on.each([&] { on.over([](const Scalars& known) { return subset(number(known)); }, [&] { r = rays * source; }); });
    on.last([&] {
      on.over([](const Scalars&) { return Range{2, 7}; }, [&] { x_out = adjoint(rays) * r; });
      squares = dot(r, r);
    });
    const Program program = on.finish();
    const Volume f = reference::random_volume(scene.grid, 1), b = reference::random_volume(scene.projections, 2);
    const SplitRun run = [&](const auto& devices, const auto& options) {
      return run_program(program, {{"f", &f}, {"b", &b}}, scene.grid, devices, options);
    };
    const Volume p = project(f, scene.geometry, scene.projections, {}, reference::device()).output;
    double expected = 0;
    for (std::size_t n = 0; n < b.voxels.size(); ++n) {
      const double each = n / scene.projections.slice() < 7 ? p.voxels[n] : b.voxels[n];
      expected += each * each;
    }
    EXPECT_NEAR(run(reference::device(), {}).scalars.at("rr"), expected, 1e-6 * expected);
    Volume some = p;
    for (std::size_t n = 0; n < some.voxels.size(); ++n)
      if (n / scene.projections.slice() < 2 || n / scene.projections.slice() >= 7) some.voxels[n] = 0;
    const Volume x = backproject(some, scene.geometry, scene.grid, Projector::joseph, reference::device()).output;
    const Volume found = run(reference::device(), {}).output;
    for (std::size_t n = 0; n < x.voxels.size(); ++n) ASSERT_NEAR(found.voxels[n], x.voxels[n], 1e-4) << n;
    expect_same_bits(run, scene.grid.size[2], {{2, 0}, {3, 1}, {1000, 2}, {0, 2}});
    expect_same_bits_resumed(run, 1);
  }
}

}  // namespace
}  // namespace halocline::step_subsets_test

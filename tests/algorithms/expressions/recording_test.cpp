// labels: device slab
// Formulas as the steps of a program: numbers, temporary arrays and passes, against a plain loop.
#include "algorithms/expressions/recording.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "algorithms/support/slice_sums.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/support/split_runs.hpp"

namespace halocline::recording_test {
namespace {

using expressions::Array;
using expressions::Recording;
using expressions::Scalar;
using expressions::Variable;

const Grid grid{{7, 5, 6}, {1, 1, 1}};

Program begun(int iterations) {
  Program program;
  program.needs.algorithm = "recorded";
  program.needs.size = grid.size;
  program.needs.form = ProgramForm::steps;
  program.needs.iterations = iterations;
  return program;
}

// s = x / 2 + p, beta = |s|^2 / gamma, gamma = |s|^2, p = s - 0.1 beta p, x = s + (beta of odd iterations): beta is of
// gamma as it was, though it is used after gamma is assigned.
Program conjugate() {
  Recording on(begun(5), grid, grid);
  Array x = on.volume("x", Lifetime::output), p = on.volume("p", Lifetime::state);
  const Array f = on.volume("f", Lifetime::input);
  Variable gamma = on.number("gamma"), norm_of_s = on.number("norm");
  on.first([&] {
    x = f;
    p = 0.5 * f;
    gamma = dot(x, x);
  });
  on.each([&] {
    const Array s = x / 2 + p;
    const Scalar next = dot(s, s), beta = next / gamma;
    gamma = next;
    norm_of_s = sqrt(gamma);
    p = s - 0.1 * beta * p;
    x = s + 0;
    on.when([](const Scalars& known) { return static_cast<int>(known.at(iteration_scalar)) % 2 == 1; },
            [&] { x += beta; });
  });
  return on.finish();
}

TEST(Recording, NumbersAreThoseOfTheirPlace) {
  const Volume f = reference::random_volume(grid, 3);
  const RunResult found = run_program(conjugate(), {{"f", &f}}, grid, reference::device());
  std::vector<double> x(f.voxels.begin(), f.voxels.end()), p(x.size()), s(x.size());
  const auto square = [](const std::vector<double>& values) {
    double sum = 0;
    for (const double each : values) sum += each * each;
    return sum;
  };
  for (std::size_t i = 0; i < x.size(); ++i) p[i] = 0.5 * x[i];
  double gamma = square(x);
  for (int n = 0; n < 5; ++n) {
    for (std::size_t i = 0; i < x.size(); ++i) s[i] = x[i] / 2 + p[i];
    const double beta = square(s) / gamma;
    gamma = square(s);
    for (std::size_t i = 0; i < x.size(); ++i) {
      p[i] = s[i] - 0.1 * beta * p[i];
      x[i] = s[i] + (n % 2 == 1 ? beta : 0);
    }
  }
  EXPECT_NEAR(found.scalars.at("gamma"), gamma, 1e-5 * gamma);
  EXPECT_NEAR(found.scalars.at("norm"), std::sqrt(gamma), 1e-5 * std::sqrt(gamma));
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(found.output.voxels[i], x[i], 1e-5 * std::abs(x[i]));
}

TEST(Recording, SlabsAndCheckpointsChangeNoBit) {
  const Volume f = reference::random_volume(grid, 3);
  const SplitRun run = [&](const auto& devices, const auto& options) {
    return run_program(conjugate(), {{"f", &f}}, grid, devices, options);
  };
  expect_same_bits(run, grid.size[2], {{2, 0}, {3, 0}, {6, 0}});
  expect_same_bits_resumed(run, 4);
}

TEST(Recording, ConditionsWithinConditionsHoldTogether) {
  const auto every = [](int n) {
    return [n](const Scalars& known) { return static_cast<int>(known.at(iteration_scalar)) % n == 0; };
  };
  Recording on(begun(7), grid, grid);
  Array x = on.volume("x", Lifetime::output);
  on.first([&] { x = 0; });
  on.each([&] { on.when(every(2), [&] { on.when(every(3), [&] { x += 1; }); }); });
  EXPECT_EQ(run_program(on.finish(), {}, grid, reference::device()).output.voxels.front(), 2) << "iterations 0 and 6";
}

TEST(Recording, SumsOfCallersStepsAreNumbers) {
  const Volume f = reference::random_volume(grid, 3);
  Recording on(begun(1), grid, grid);
  Array x = on.volume("x", Lifetime::output);
  const Array given = on.volume("f", Lifetime::input);
  Variable greatest = on.number("greatest");
  const SliceSums sums(grid.size, 1);
  sums.declare_largest(on.program().needs);
  Step step{.name = "largest", .arrays = {in("f")}, .largest = true};
  step.work = [sums](Slab& slab, const WorkRange& part, const Scalars&) { sums.largest(slab, "f", part.slices); };
  on.each([&] {
    greatest = on.sums(step).front();
    x = given / greatest;
  });
  const RunResult found = run_program(on.finish(), {{"f", &f}}, grid, reference::device());
  const float expected = *std::max_element(f.voxels.begin(), f.voxels.end());
  EXPECT_EQ(found.scalars.at("greatest"), expected);
  EXPECT_EQ(found.output.voxels[3], f.voxels[3] / expected);
}

std::size_t temporaries(const Program& program) {
  const auto& arrays = program.needs.arrays;
  return static_cast<std::size_t>(std::count_if(
      arrays.begin(), arrays.end(), [](const ArrayNeed& need) { return need.name.starts_with("temporary"); }));
}

TEST(Recording, GathersPassesAndSharesTemporaryArrays) {
  Recording on(begun(1), grid, grid);
  Array x = on.volume("x", Lifetime::output);
  Variable sum_of_y = on.number("sum");
  on.each([&] {
    const Array y = 2 * x;           // a value of the kernel alone
    const Scalar total = sum(y);     // of the same pass
    const Array z = y + x;           // outlives the pass, for it needs the sum
    x = z * total;                   // the second pass
    const Array neighbours = 3 * x;  // takes the memory of z
    x = shift(neighbours, 2, 1);     // the third
    sum_of_y = total;
  });
  const Program program = on.finish();
  EXPECT_EQ(program.each.size(), 3u);
  EXPECT_EQ(temporaries(program), 2u);
  EXPECT_EQ(program.needs.halo_high, 1);
}

TEST(Recording, RefusesWhatNoProgramCanDo) {
  const auto states = [](const std::function<void(Recording&, Array&, Variable&)>& body) {
    Recording on(begun(1), grid, grid);
    Array x = on.volume("x", Lifetime::output);
    Variable number = on.number("number");
    on.each([&] { body(on, x, number); });
  };
  EXPECT_THROW(states([](Recording&, Array&, Variable& number) { number = 3; }), std::logic_error);
  EXPECT_THROW(states([](Recording&, Array& x, Variable&) { x = shift(x, 2, 1); }), InputError);
  EXPECT_THROW(states([](Recording&, Array& x, Variable&) { read(x); }), std::logic_error);
  EXPECT_THROW(states([](Recording&, Array& x, Variable&) { value(sum(x)); }), InputError);
  Recording on(begun(1), grid, grid);
  Array x = on.volume("x", Lifetime::output), kept;
  EXPECT_THROW(on.each([&] {
    kept = 2 * x;
    x = 3 * shift(kept, 2, 1);
  }),
               std::logic_error);
}

}  // namespace
}  // namespace halocline::recording_test

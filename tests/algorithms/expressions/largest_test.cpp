// labels: device slab
// The largest and the least element: against plain code, one slab against many, NaN, zeros with a sign.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "algorithms/expressions/context.hpp"
#include "algorithms/expressions/expression.hpp"
#include "algorithms/expressions/prepared.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::expressions::largest_test {
namespace {

using reference::device;

constexpr float infinite = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

Grid grid_of(std::size_t nx, std::size_t ny, std::size_t nz) {
  return {.size = {nx, ny, nz}};
}

Volume random(const Grid& of, int seed, float shift) {
  Volume result = reference::random_volume(of, seed);
  for (float& each : result.voxels) each += shift;
  return result;
}

PlanOptions split(int slabs) {
  PlanOptions options;
  options.minimum_slabs = slabs;
  return options;
}

void expect_same(const Scalar& found, double expected) {
  const double number = value(found);
  if (std::isnan(expected))
    EXPECT_TRUE(std::isnan(number)) << number;
  else
    EXPECT_EQ(std::bit_cast<std::uint64_t>(number), std::bit_cast<std::uint64_t>(expected)) << number;
}

const Grid grids[] = {grid_of(1, 1, 1), grid_of(7, 1, 1), grid_of(1, 93, 7), grid_of(93, 7, 5), grid_of(130, 33, 3)};

TEST(Largest, IsThatOfPlainCodeForAnySplit) {
  for (const Grid& of : grids)
    for (const float shift : {0.0f, -5.0f, -0.5f})
      for (const int slabs : {1, 2, 5})
        for (const bool volume : {true, false}) {
          if (static_cast<std::size_t>(slabs) > of.size[2]) continue;
          const Context on(device(), split(slabs));
          const Volume a = random(of, 3, shift);
          const Array x = load(volume ? on.volume(of) : on.projections(of), a);
          const auto [least, greatest] = std::ranges::minmax(a.voxels);
          expect_same(max(x), greatest);
          expect_same(min(x), least);
          expect_same(norm_inf(x), std::max(std::abs(least), std::abs(greatest)));
          expect_same(max(2 * x + 1), 2 * greatest + 1);
        }
}

TEST(Largest, IsNaNWhereAnElementIs) {
  for (const Grid& of : grids)
    for (const std::size_t at : {std::size_t{0}, of.count() / 2, of.count() - 1})
      for (const int slabs : {1, 3}) {
        if (static_cast<std::size_t>(slabs) > of.size[2]) continue;
        const Context on(device(), split(slabs));
        Volume a = random(of, 4, 0);
        a.voxels[at] = nan;
        const Array x = load(on.volume(of), a);
        expect_same(max(x), nan);
        expect_same(min(x), nan);
        expect_same(norm_inf(x), nan);
      }
}

TEST(Largest, TakesInfiniteValuesAndZerosWithoutSign) {
  const Context on(device());
  const Grid of = grid_of(7, 3, 2);
  Volume a(of);
  const auto of_values = [&](float first, float others) {
    std::ranges::fill(a.voxels, others);
    a.voxels.front() = first;
    return load(on.volume(of), a);
  };
  expect_same(max(of_values(-infinite, -infinite)), -infinite);
  expect_same(max(of_values(infinite, 3)), infinite);
  expect_same(min(of_values(-infinite, 3)), -infinite);
  for (const float zero : {0.0f, -0.0f}) {
    expect_same(max(of_values(zero, -zero)), 0.0);
    expect_same(min(of_values(zero, -zero)), 0.0);
  }
}

TEST(Largest, IsTheSameInPreparedJobsOnGpusAndWithoutFloat64) {
  for (const KernelVariants variants : {KernelVariants{}, KernelVariants{true, true}, KernelVariants{false, false}})
    for (const float first : {-2.0f, 3.5f, infinite, nan}) {
      Context on(device());
      on.use(variants);
      const Grid of = grid_of(93, 37, 5);
      Volume a = random(of, 7, -4);
      a.voxels.front() = first;
      const Array x = load(on.volume(of), random(of, 8, 0));
      expect_same(min(load(on.volume(of), a)), std::isnan(first) ? nan : std::ranges::min(a.voxels));
      Scalar greatest, twice;
      Prepared job = on.record([&] {
        greatest = max(x);
        twice = 2 * norm_inf(x);
      });
      job.write(x, a);
      job.replay();
      const double expected = std::isnan(first) ? nan : std::ranges::max(a.voxels);
      expect_same(Scalar(job.value(greatest)), expected);
      const double largest = std::max(std::abs(expected), std::abs(static_cast<double>(std::ranges::min(a.voxels))));
      expect_same(Scalar(job.value(twice)), std::isnan(first) ? nan : 2 * largest);
    }
}

TEST(Largest, SharesNoPassWithSums) {
  const Context on(device());
  const Grid of = grid_of(93, 7, 2);
  const Volume a = random(of, 5, 0);
  const Array x = load(on.volume(of), a);
  const auto before = on.passes();
  const Scalar greatest = max(x), least = min(x), total = sum(x), square = dot(x, x);
  expect_same(greatest, std::ranges::max(a.voxels));
  expect_same(least, std::ranges::min(a.voxels));
  EXPECT_GT(value(total), 0);
  EXPECT_GT(value(square), 0);
  EXPECT_EQ(on.passes(), before + 2);
}

TEST(Largest, MayBeANumberOfAFormula) {
  const Context on(device());
  const Grid of = grid_of(33, 5, 4);
  const Volume a = random(of, 6, -0.25f);
  Array x = load(on.volume(of), a);
  x = x / norm_inf(x);
  const Volume found = read(x);
  EXPECT_FLOAT_EQ(std::ranges::max(found.voxels), 1);
}

}  // namespace
}  // namespace halocline::expressions::largest_test

// labels: device slab dealt
// Expressions: values, texts of kernels, what becomes one pass; fused statements against single ones and one slab
// against many slabs and devices, bit for bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "algorithms/expressions/context.hpp"
#include "algorithms/expressions/expression.hpp"
#include "algorithms/expressions/pass.hpp"
#include "host/system/error.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::expressions::expressions_test {
namespace {

using reference::device;
using testing::HasSubstr;

const Grid grid{{7, 93, 5}, {0.5, 1.5, 2}};
const Grid stack{{33, 6, 4}};

Volume random(const Grid& of, int seed) {
  Volume result = reference::random_volume(of, seed);
  for (float& each : result.voxels) each -= 0.25f;
  return result;
}

PlanOptions split(int slabs, int batch = 0) {
  PlanOptions options;
  options.minimum_slabs = slabs;
  options.batch = batch;
  return options;
}

TEST(Expressions, AreWhatPlainCodeComputes) {
  const Context on(device());
  const Space space = on.volume(grid);
  const Volume a = random(grid, 1), b = random(grid, 2);
  const Array x = load(space, a), y = load(space, b);
  Array sums = x + 2 * y - x * y / 3;
  Array chosen = where(x > y, min(x, 0.25), max(-y, abs(x)));
  Array roots = sqrt(abs(x)) + clamp(y, 0, 0.5) + fma(x, y, 1.5);
  Array inside = positive(x) * (1 - (x - y));
  sums += 1;
  sums *= y;
  const Volume found_sums = read(sums), found_chosen = read(chosen), found_roots = read(roots),
               found_inside = read(inside);
  for (std::size_t n = 0; n < grid.count(); ++n) {
    const float p = a.voxels[n], q = b.voxels[n];
    const float product = p * q, twice = 2.0f * q;
    // division is exact to 2.5 units in the last place only (OpenCL C 1.2, section 7.4)
    ASSERT_FLOAT_EQ(found_sums.voxels[n], ((p + twice - product / 3.0f) + 1.0f) * q);
    ASSERT_EQ(found_chosen.voxels[n], p > q ? std::min(p, 0.25f) : std::max(-q, std::abs(p)));
    ASSERT_NEAR(found_roots.voxels[n], std::sqrt(std::abs(p)) + std::clamp(q, 0.0f, 0.5f) + std::fma(p, q, 1.5f), 3e-7);
    ASSERT_EQ(found_inside.voxels[n], (p > 0 ? 1.0f : 0.0f) * (1.0f - (p - q)));
  }
}

TEST(Expressions, SumsAreThoseOfDoublePrecision) {
  for (const bool volume : {true, false}) {
    const Context on(device());
    const Grid& of = volume ? grid : stack;
    const Space space = volume ? on.volume(of) : on.projections(of);
    const Volume a = random(of, 1), b = random(of, 2);
    const Array x = load(space, a), y = load(space, b);
    double total = 0, product = 0, square = 0;
    for (std::size_t n = 0; n < of.count(); ++n) {
      total += a.voxels[n];
      product += static_cast<double>(a.voxels[n]) * static_cast<double>(b.voxels[n]);
      const float value = 1.25f * a.voxels[n];
      const double z = value + b.voxels[n];
      square += z * z;
    }
    const Scalar all = sum(x), both = dot(x, y), length = norm(1.25 * x + y);
    const auto before = on.passes();
    const double rounding = (device().front().info().fp64 ? 1e-12 : 1e-7) * static_cast<double>(of.count());
    EXPECT_NEAR(value(all), total, rounding);
    EXPECT_NEAR(value(both), product, rounding);
    EXPECT_NEAR(value(length), std::sqrt(square), 1e-5 * std::sqrt(square));
    EXPECT_NEAR(value(2 * all / length - 1), 2 * total / std::sqrt(square) - 1, 1e-5);
    EXPECT_EQ(on.passes(), before + 1) << "all of them in one";
  }
}

TEST(Expressions, ShiftsAndGradientsAreThoseOfPlainCode) {
  const Context on(device());
  const Space space = on.volume(grid);
  const Volume a = random(grid, 3);
  const Array x = load(space, a);
  const auto at = [&](const Volume& of, std::array<std::int64_t, 3> p, int axis, std::int64_t by, bool& there) {
    p[static_cast<std::size_t>(axis)] += by;
    there = true;
    for (std::size_t n = 0; n < 3; ++n) there = there && p[n] >= 0 && p[n] < static_cast<std::int64_t>(grid.size[n]);
    return there ? of.at(static_cast<std::size_t>(p[0]), static_cast<std::size_t>(p[1]), static_cast<std::size_t>(p[2]))
                 : 0.0f;
  };
  for (int axis = 0; axis < 3; ++axis)
    for (const int by : {1, -1, 2, -3}) {
      const Volume shifted = read(Array(shift(x, axis, by))), forward = read(Array(gradient(x, axis))),
                   back = read(Array(adjoint_gradient(x, axis)));
      const auto h = static_cast<float>(grid.spacing[static_cast<std::size_t>(axis)]);
      for (std::int64_t k = 0; k < 5; ++k)
        for (std::int64_t j = 0; j < 93; ++j)
          for (std::int64_t i = 0; i < 7; ++i) {
            bool there = false, below = false;
            ASSERT_EQ(at(shifted, {i, j, k}, axis, 0, there), at(a, {i, j, k}, axis, by, there));
            const float own = at(a, {i, j, k}, axis, 0, there), next = at(a, {i, j, k}, axis, 1, there),
                        before = at(a, {i, j, k}, axis, -1, below);
            ASSERT_FLOAT_EQ(at(forward, {i, j, k}, axis, 0, below), there ? (next - own) / h : 0.0f);
            bool above = false;
            at(a, {i, j, k}, axis, 1, above);
            ASSERT_FLOAT_EQ(at(back, {i, j, k}, axis, 0, below), (before - (above ? own : 0.0f)) / h);
          }
    }
}

TEST(Expressions, ArraysAreValues) {
  const Context on(device());
  const Space space = on.volume(grid);
  const Volume a = random(grid, 1);
  Array x = load(space, a), y = x, z = copy(x);
  y += 1;
  const Array later = x;
  x = 2 * x;
  z = shift(z, 2, 1) + z;
  EXPECT_TRUE(read(later).voxels == a.voxels);
  const Volume twice = read(x), more = read(y), next = read(z);
  for (std::size_t n = 0; n < grid.count(); ++n) {
    ASSERT_EQ(twice.voxels[n], 2 * a.voxels[n]);
    ASSERT_EQ(more.voxels[n], a.voxels[n] + 1);
    const std::size_t above = n + grid.slice();
    ASSERT_EQ(next.voxels[n], (above < grid.count() ? a.voxels[above] : 0) + a.voxels[n]);
  }
}

TEST(Expressions, BecomeReadableKernels) {
  const Context on(device());
  const Space space = on.volume(grid);
  Array x = load(space, random(grid, 1)), y = load(space, random(grid, 2));
  const Array z = load(space, random(grid, 3));
  x += 0.5 * y;
  y = x * (y - z) / z;
  on.flush();
  EXPECT_EQ(on.last_kernel(), R"(#pragma OPENCL FP_CONTRACT OFF

__kernel void expression(__global float* restrict x0, __global float* restrict x1, __global const float* restrict x2, float s0, ulong first, ulong end) {
  const size_t begin = first + ELEMENTS * get_global_id(0), last = min(begin + ELEMENTS, (size_t)end);
  for (size_t at = begin; at < last; ++at) {
    float v0 = x0[at];
    float v1 = x1[at];
    float v2 = x2[at];
    v0 = v0 + s0 * v1;
    v1 = v0 * (v1 - v2) / v2;
    x0[at] = v0;
    x1[at] = v1;
  }
}
)");
  x = shift(y, 1, -2) + gradient(z, 2);
  on.flush();
  EXPECT_EQ(on.last_kernel(), R"(#pragma OPENCL FP_CONTRACT OFF
#include "extent.clh"

__kernel void stencil(__global const float* restrict x0, __global const float* restrict x1, __global float* restrict x2, float s0, Extent extent) {
  const int y = (int)get_global_id(1), z = extent.begin + (int)get_global_id(2);
  if (y >= extent.ny || z >= extent.end) return;
  const int begin = ELEMENTS * (int)get_global_id(0), last = min(begin + ELEMENTS, extent.nx);
  for (int x = begin; x < last; ++x) {
    const size_t at = (size_t)x + (size_t)extent.nx * ((size_t)y + (size_t)extent.ny * (size_t)(z - extent.offset));
    float v1 = x1[at];
    float v2 = (y >= 2 ? x0[at - 2 * (size_t)extent.nx] : 0.0f) + (z + 1 < extent.nz ? x1[at + (size_t)extent.nx * extent.ny] - v1 : 0.0f) / s0;
    x2[at] = v2;
  }
}
)");
  x = max(x, -y);
  const Scalar s = dot(x, z + 1), t = sum(abs(x));
  value(s + t);
  EXPECT_EQ(on.last_kernel(), R"(#pragma OPENCL FP_CONTRACT OFF
#include "sums.clh"

INLINE real4 terms_at(__global float* x0, __global const float* x1, __global const float* x2, float s0, int x, int y, int z, Extent extent) {
  const size_t at = (size_t)x + (size_t)extent.nx * ((size_t)y + (size_t)extent.ny * (size_t)(z - extent.offset));
  float v0 = x0[at];
  float v1 = x1[at];
  float v2 = x2[at];
  v0 = fmax(v0, -v1);
  const float t0 = v2 + s0;
  const float t1 = v0;
  const float t2 = fabs(v0);
  x0[at] = v0;
  return (real4)((real)t1 * (real)t0, (real)t2, 0, 0);
}

__kernel void expression(__global float* restrict x0, __global const float* restrict x1, __global const float* restrict x2, float s0, __global sum_t* restrict partials, Extent extent) {
  STORE_SUMS(2, terms_at(x0, x1, x2, s0, x, y, z, extent))
}
)");
}

TEST(Expressions, HaveKernelsOfFourElements) {
  const Form saxpy = form_with({Op::array, Op::scalar, Op::array, Op::multiply, Op::add});
  const Pass pass{{{&saxpy, {{0}, {1}}, 0, {false}}, {&saxpy, {{0}, {0}}, 2, {true}}}, {true, true, false}};
  EXPECT_EQ(wide_kernel_text(pass), R"(#pragma OPENCL FP_CONTRACT OFF

__kernel void expression(__global float4* restrict x0, __global const float4* restrict x1, float s0, int at1, __global const float* restrict numbers, ulong first, ulong end) {
  const size_t begin = first + ELEMENTS * get_global_id(0), last = min(begin + ELEMENTS, (size_t)end);
  for (size_t at = begin; at < last; ++at) {
    const float s1 = numbers[at1];
    float4 v0 = x0[at];
    float4 v1 = x1[at];
    v0.x = v0.x + s0 * v1.x;
    v0.y = v0.y + s0 * v1.y;
    v0.z = v0.z + s0 * v1.z;
    v0.w = v0.w + s0 * v1.w;
    float4 v2;
    v2.x = v0.x + s1 * v0.x;
    v2.y = v0.y + s1 * v0.y;
    v2.z = v0.z + s1 * v0.z;
    v2.w = v0.w + s1 * v0.w;
    x0[at] = v0;
  }
}
)");
}

TEST(Expressions, ScalarsAreNoTexts) {
  const Context on(device());
  const Space space = on.volume(grid);
  Array x = load(space, random(grid, 1));
  const Array y = load(space, random(grid, 2));
  for (const double alpha : {0.5, 1.0, -3.25, 1e-9}) {
    x += alpha * y;
    on.flush();
    EXPECT_EQ(on.kernels(), 1u);
  }
  x += value(dot(x, y)) * y;
  on.flush();
  EXPECT_EQ(on.kernels(), 2u) << "that of the sum";
}

TEST(Expressions, WhatNobodyReadsAgainIsNotStored) {
  const Context on(device());
  const Space space = on.volume(grid);
  const Volume a = random(grid, 1);
  Array x = load(space, a);
  on.flush();
  {
    const Array half = 0.5 * x, more = half + 1;
    x = half * more;
  }
  on.flush();
  EXPECT_EQ(on.passes(), 1u);
  EXPECT_THAT(on.last_kernel(), HasSubstr("expression(__global float* restrict x0, float s0, float s1, ulong first"));
  const Volume found = read(x);
  for (std::size_t n = 0; n < grid.count(); ++n) {
    const float half = 0.5f * a.voxels[n];
    ASSERT_EQ(found.voxels[n], half * (half + 1));
  }
}

TEST(Expressions, TakeNoMemoryBesideTheirArrays) {
  const Context on(device());
  const Space space = on.volume(grid);
  Array x = load(space, random(grid, 1)), y = load(space, random(grid, 2)), z = load(space, random(grid, 3));
  x = x * y;
  x = x * y + y;
  x = x * y + y / z + x * z;
  y += value(norm(1.2 * x + z)) * shift(z, 0, 1);
  on.flush();
  { const Array unused = x * y; }
  on.flush();
  std::size_t arrays = 0;
  for (const auto& need : on.plan().requirements.arrays) arrays += need.lifetime == Lifetime::state ? 1 : 0;
  EXPECT_EQ(arrays, 3u);
  EXPECT_EQ(on.passes(), 2u) << "none for what nobody reads";
  x = x + shift(x, 2, 1);  // which reads what it writes elsewhere
  on.flush();
  arrays = 0;
  for (const auto& need : on.plan().requirements.arrays) arrays += need.lifetime == Lifetime::state ? 1 : 0;
  EXPECT_EQ(arrays, 4u);
}

TEST(Expressions, PassesEndWhereTheyHaveTo) {
  const Context on(device());
  const Space space = on.volume(grid), rays = on.projections(stack);
  Array x = load(space, random(grid, 1)), y = load(space, random(grid, 2));
  Array r = load(rays, random(stack, 3));
  const auto passes_of = [&](const auto& statements) {
    on.flush();
    const auto before = on.passes();
    statements();
    on.flush();
    return on.passes() - before;
  };
  EXPECT_EQ(passes_of([&] {
              x += y;
              y *= x;
              x -= 3 * y;
            }),
            1u);
  EXPECT_EQ(passes_of([&] {
              x += y;
              r *= 2;
              y = x;
              y += x;
            }),
            3u)
      << "another space";
  EXPECT_EQ(passes_of([&] {
              x += y;
              y = shift(x, 0, 1);
            }),
            2u)
      << "neighbours of what was written";
  EXPECT_EQ(passes_of([&] {
              const Array d = gradient(y, 2);
              x = x + d;
            }),
            2u)
      << "written and read with a halo";
  EXPECT_EQ(passes_of([&] {
              const Scalar s = dot(x, y);
              y += s * x;
            }),
            2u)
      << "a sum is needed";
  EXPECT_EQ(passes_of([&] {
              x += y;
              const Scalar s = dot(x, y);
              y += x;
              const Scalar t = sum(y);
            }),
            1u);
  on.fuse(false);
  EXPECT_EQ(passes_of([&] {
              x += y;
              y *= x;
              x -= 3 * y;
            }),
            3u);
}

TEST(Expressions, RefuseToMixSpaces) {
  const Context on(device()), other(device());
  const Space space = on.volume(grid);
  Array x = zeros(space), r = zeros(on.projections(stack)), elsewhere = zeros(other.volume(grid));
  EXPECT_THAT(refusal_of<Error>([&] { x += r; }), HasSubstr("of a volume and projections"));
  EXPECT_THAT(refusal_of<Error>([&] { dot(x, r); }), HasSubstr("expected arrays of one space"));
  EXPECT_THAT(refusal_of<Error>([&] { const Array sum = x + elsewhere; }), HasSubstr("of two Contexts"));
  EXPECT_THAT(refusal_of<Error>([&] { x = 2 * r; }), HasSubstr("the same space"));
  EXPECT_THAT(refusal_of<Error>([&] { x = r; }), HasSubstr("the same space"));
  EXPECT_THAT(refusal_of<Error>([&] { const Array sum = x + Array(); }), HasSubstr("nothing was assigned"));
  EXPECT_THAT(refusal_of<Error>([&] { on.volume({{4, 4, 4}}); }), HasSubstr("of the Context"));
  EXPECT_THAT(refusal_of<Error>([&] { load(space, random(stack, 1)); }), HasSubstr("expected a volume of 7 x 93 x 5"));
  EXPECT_THAT(refusal_of<Error>([&] { const Array s = shift(x, 3, 1); }), HasSubstr("expected 0, 1 or 2"));
  EXPECT_THAT(refusal_of<Error>([&] { const Array s = gradient(r, 2); }), HasSubstr("no neighbours"));
}

// A sequence of statements that follows from a seed.
struct Ran {
  std::vector<Voxels> arrays;
  std::vector<double> sums;
  std::size_t passes = 0;
};
Ran run(int seed, bool volume, const std::vector<Device>& devices, const PlanOptions& options, bool fuse,
        KernelVariants variants = {}) {
  const Context on(devices, options);
  on.fuse(fuse);
  on.use(variants);
  const Grid& of = volume ? grid : stack;
  const Space space = volume ? on.volume(of) : on.projections(of);
  std::vector<Array> x;
  for (int n = 0; n < 4; ++n) x.push_back(load(space, random(of, 10 * seed + n)));
  std::mt19937 random_number(static_cast<unsigned>(seed));
  const auto pick = [&](int count) { return static_cast<int>(random_number() % static_cast<unsigned>(count)); };
  const auto any = [&]() -> Array& { return x[static_cast<std::size_t>(pick(4))]; };
  std::vector<Scalar> sums{0.5};
  for (int n = 0; n < 30; ++n) {
    const Scalar s = sums.back();
    const int axis = pick(volume ? 3 : 2), by = pick(5) - 2;
    switch (pick(11)) {
      case 0:
        any() = any() * any() + s * any();
        break;
      case 1:
        any() -= 0.25 * any() / (1 + abs(any()));
        break;
      case 2:
        any() = exp(-abs(any())) + log(1.5 + abs(any()));
        break;
      case 3:
        any() = 0.5 * shift(any(), axis, by) - any();
        break;
      case 4:
        any() = gradient(any(), axis) / (1 + any() * any());
        break;
      case 5:
        any() = adjoint_gradient(any() * any(), axis);
        break;
      case 6:
        sums.push_back(dot(any(), any()) / (1 + abs(dot(any(), any() + 1))));
        break;
      case 7:
        sums.push_back(sum(any() * any()) / 10000);
        break;
      case 8:
        any() = where(any() > any(), any(), min(any(), s));
        break;
      case 9:
        any() = any();
        break;
      default:
        any() = clamp(any(), -2, 2) + sqrt(abs(any())) * fma(any(), 0.5, any());
        break;
    }
  }
  Ran result;
  for (const Array& each : x) result.arrays.push_back(read(each).voxels);
  for (const Scalar& each : sums) result.sums.push_back(value(each));
  result.passes = on.passes();
  return result;
}

bool same_bits(const Ran& a, const Ran& b) {
  for (std::size_t n = 0; n < a.arrays.size(); ++n)
    if (std::memcmp(a.arrays[n].data(), b.arrays[n].data(), a.arrays[n].size() * sizeof(float)) != 0) return false;
  return std::memcmp(a.sums.data(), b.sums.data(), a.sums.size() * sizeof(double)) == 0;
}

TEST(Expressions, FusedOrNotHaveTheSameBits) {
  for (const bool volume : {true, false})
    for (int seed = 0; seed < 2; ++seed) {
      SCOPED_TRACE(testing::Message() << (volume ? "volumes, " : "projections, ") << seed);
      const Ran fused = run(seed, volume, device(), {}, true), single = run(seed, volume, device(), {}, false);
      EXPECT_TRUE(same_bits(fused, single));
      EXPECT_LT(fused.passes, single.passes);
    }
}

TEST(Expressions, HaveTheSameBitsInTheKernelsOfOtherDevices) {
  for (const bool volume : {true, false}) {
    const KernelVariants gpu{!volume, true};  // volumes without fp64, projections with it
    const Ran fused = run(1, volume, device(), {}, true, gpu), single = run(1, volume, device(), {}, false, gpu),
              slabs = run(1, volume, device(), split(3, 3), true, gpu);
    EXPECT_TRUE(same_bits(fused, single));
    EXPECT_TRUE(same_bits(fused, slabs));
  }
}

// Four elements a work-item.
TEST(Expressions, OfWholeVectorsHaveTheSameBits) {
  const Grid even{{12, 10, 6}};
  const Volume a = random(even, 1), b = random(even, 2);
  std::vector<Volume> found;
  for (const bool gpu : {false, true})
    for (const int slabs : {0, 4}) {
      const Context on(device(), split(slabs));
      on.use({true, gpu});
      const Space space = on.volume(even);
      Array x = load(space, a), y = load(space, b);
      const Array t = where(x > y, exp(x), -y);
      x += 0.3 * y / (1 + abs(t));
      y = min(t, x) * sqrt(abs(x)) - fma(x, 2, y);
      found.push_back(read(x));
      found.push_back(read(y));
    }
  for (std::size_t n = 2; n < found.size(); ++n) EXPECT_TRUE(found[n].voxels == found[n % 2].voxels) << n;
}

TEST(Expressions, SlabsBatchesAndDevicesChangeNoBit) {
  for (const bool volume : {true, false})
    for (int seed = 0; seed < 2; ++seed) {
      SCOPED_TRACE(testing::Message() << (volume ? "volumes, " : "projections, ") << seed);
      const Ran one = run(seed, volume, device(), {}, true);
      for (const int slabs : {2, 5})
        EXPECT_TRUE(same_bits(one, run(seed, volume, device(), split(slabs, 3), true))) << slabs << " slabs";
      const auto& devices = reference::sub_devices(2);
      PlanOptions options;
      for (const Device& each : devices) options.speeds[each.info().name] = 1;
      const Ran whole = run(seed, volume, reference::undivided(), {}, true);
      EXPECT_TRUE(same_bits(whole, run(seed, volume, devices, options, true))) << "2 devices";
      options.minimum_slabs = 5;
      EXPECT_TRUE(same_bits(whole, run(seed, volume, devices, options, true))) << "2 devices, streamed";
    }
}

TEST(Expressions, MoreArraysThanFitAreStreamed) {
  const Volume a = random(grid, 1);
  const Context on(open_devices({.device = reference::cpu_or_default(), .device_memory = 200000}));
  const Space space = on.volume(grid);
  std::vector<Array> x;
  for (int n = 0; n < 20; ++n) {
    x.push_back(load(space, a));
    x.back() += n;
  }
  on.flush();
  EXPECT_FALSE(on.plan().resident);
  for (int n = 0; n < 20; ++n) {
    const Volume found = read(x[static_cast<std::size_t>(n)]);
    for (std::size_t i = 0; i < grid.count(); ++i) ASSERT_EQ(found.voxels[i], a.voxels[i] + static_cast<float>(n)) << n;
  }
}

}  // namespace
}  // namespace halocline::expressions::expressions_test

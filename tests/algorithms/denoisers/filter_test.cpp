// labels: device dealt
// gaussian, median, nlm: the filters that others are compared with.
#include "algorithms/denoisers/filter.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "algorithms/denoisers/registry.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/filter_reference.hpp"

namespace halocline::filter_test {
namespace {

using reference::Image;
using reference::image_of;
using reference::lattice_of;

Volume noisy_step(const std::array<std::size_t, 3>& size, const std::array<double, 3>& spacing = {0.5, 0.8, 1.7}) {
  Grid grid{.size = size, .spacing = spacing};
  Volume volume(grid);
  std::mt19937 generator(5);
  std::normal_distribution<double> normal;
  for (std::size_t n = 0; n < volume.voxels.size(); ++n)
    volume.voxels[n] = static_cast<float>((3 * (n % size[0]) > size[0] ? 1 : -0.2) + 0.2 * normal(generator));
  return volume;
}

struct Outcome {
  Image u;
  std::vector<IterationRecord> history;
  bool converged;
};

Outcome run(const std::string& name, const Volume& f, const FilterParameters& filter, KernelVariants variants = {}) {
  MethodParameters parameters;
  parameters.size = f.grid.size;
  parameters.spacing = f.grid.spacing;
  parameters.iterations = 500;
  parameters.filter = filter;
  parameters.noise = 0.2;
  parameters.variants = variants;
  const auto method = make_denoiser(name, parameters);
  const auto result = run_program(method->program(), {{"f", &f}}, f.grid, open_devices({}));
  EXPECT_EQ(result.iterations, 1);
  return {image_of(result.output), method->history(), method->converged()};
}

double distance(const Image& a, const Image& b) {
  double sum = 0;
  for (std::size_t n = 0; n < a.size(); ++n) sum += (a[n] - b[n]) * (a[n] - b[n]);
  return std::sqrt(sum);
}

void expect_near(const Image& a, const Image& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t n = 0; n < a.size(); ++n) ASSERT_NEAR(a[n], b[n], tolerance) << n;
}

const std::array<std::size_t, 3> sizes[] = {{1, 1, 1}, {1, 1, 9}, {7, 1, 7}, {93, 7, 5}, {70, 9, 1}, {17, 37, 3}};

class Filters : public testing::TestWithParam<bool> {
 protected:
  KernelVariants variants_{.fp64 = true, .gpu = GetParam()};
};

TEST_P(Filters, GaussianIsThatOfTheDefinition) {
  for (const auto& size : sizes)
    for (const double sigma : {0.05, 0.6, 2.0}) {
      SCOPED_TRACE(testing::Message() << size[0] << "x" << size[1] << "x" << size[2] << " sigma " << sigma);
      const Volume f = noisy_step(size);
      const auto outcome = run("gaussian", f, {.sigma = sigma}, variants_);
      expect_near(outcome.u, reference::gaussian(lattice_of(f), image_of(f), sigma), 1e-6);
      ASSERT_EQ(outcome.history.size(), 1u);
      EXPECT_TRUE(outcome.converged);
      EXPECT_NEAR(outcome.history[0].fidelity, distance(outcome.u, image_of(f)),
                  1e-6 * distance(outcome.u, image_of(f)));
    }
}

TEST_P(Filters, MedianIsThatOfTheDefinition) {
  for (const auto& size : sizes)
    for (const int radius : {1, 2}) {
      SCOPED_TRACE(testing::Message() << size[0] << "x" << size[1] << "x" << size[2] << " radius " << radius);
      const Volume f = noisy_step(size);
      EXPECT_EQ(run("median", f, {.radius = radius}, variants_).u,
                reference::median(lattice_of(f), image_of(f), radius));
    }
}

TEST_P(Filters, NlmIsThatOfTheDefinition) {
  const auto check = [&](const std::array<std::size_t, 3>& size, int patch, int search) {
    SCOPED_TRACE(testing::Message() << size[0] << "x" << size[1] << "x" << size[2] << " " << patch << " " << search);
    const Volume f = noisy_step(size);
    const auto outcome = run("nlm", f, {.patch_radius = patch, .search_radius = search, .strength = 0.7}, variants_);
    expect_near(outcome.u, reference::non_local_means(lattice_of(f), image_of(f), patch, search, 0.7, 0.2), 5e-6);
  };
  for (const auto& size : sizes) check(size, 1, 2);
  check({17, 37, 3}, 0, 1);
  check({17, 37, 3}, 2, 3);
}

INSTANTIATE_TEST_SUITE_P(Kernels, Filters, testing::Bool(),
                         [](const auto& info) { return std::string(info.param ? "for_gpus" : "as_chosen"); });

TEST(Filter, MedianTakesEveryNumber) {
  Volume f = noisy_step({64, 9, 3});
  const float values[] = {0.0f, -0.0f, 1e-45f, -1e-45f, 3e38f, -3e38f, 1, -1, 1e-30f, -1e-30f};
  for (std::size_t n = 0; n < f.voxels.size(); ++n) f.voxels[n] = values[(n * 2654435761u >> 7) % 10];
  const auto u = run("median", f, {}).u;
  const auto exact = reference::median(lattice_of(f), image_of(f), 1);
  for (std::size_t n = 0; n < u.size(); ++n) {
    // some CPUs and GPUs take numbers that small for 0
    if (std::abs(exact[n]) > 1e-37) {
      ASSERT_EQ(u[n], exact[n]) << n;
    } else {
      ASSERT_LT(std::abs(u[n]), 1e-37) << n;
    }
  }
}

TEST(Filter, ConstantVolumesStay) {
  Grid grid{.size = {9, 8, 7}};
  const Volume f(grid, 3.25f);
  for (const char* name : {"gaussian", "median", "nlm"}) expect_near(run(name, f, {}).u, image_of(f), 1e-6);
}

TEST(Filter, WhatIsNotGivenIsChosen) {
  const Volume f = noisy_step({20, 10, 8});
  EXPECT_EQ(run("gaussian", f, {}).u, run("gaussian", f, {.sigma = 1.7}).u);  // the coarsest spacing
  EXPECT_EQ(run("median", f, {}).u, run("median", f, {.radius = 1}).u);
  EXPECT_EQ(run("nlm", f, {}).u, run("nlm", f, {.patch_radius = 1, .search_radius = 3, .strength = 0.8}).u);
  const Volume flat = noisy_step({40, 30, 1});
  EXPECT_EQ(run("nlm", flat, {}).u, run("nlm", flat, {.patch_radius = 1, .search_radius = 7, .strength = 0.8}).u);
  EXPECT_EQ(run("gaussian", flat, {}).u, run("gaussian", flat, {.sigma = 0.8}).u);  // of the axes that count
}

}  // namespace
}  // namespace halocline::filter_test

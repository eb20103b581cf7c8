// labels: unit error
// Subsets of the views, their orders, sorted stacks, and statistical weights of rays.
#include "algorithms/solvers/view_subsets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "algorithms/solvers/methods.hpp"
#include "algorithms/solvers/pass_order.hpp"
#include "algorithms/solvers/ray_weights.hpp"
#include "host/system/error.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::view_subsets_test {
namespace {

using testing::HasSubstr;

std::vector<int> numbers(int count) {
  std::vector<int> result(static_cast<std::size_t>(count));
  std::iota(result.begin(), result.end(), 0);
  return result;
}

std::string message(const std::function<void()>& call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(ViewSubsets, HaveEveryViewOnce) {
  for (const auto& [views, count] : {std::pair{1, 1}, {9, 1}, {9, 2}, {9, 9}, {17, 4}, {60, 30}, {93, 7}}) {
    SCOPED_TRACE(testing::Message() << views << " views, " << count << " subsets");
    const ViewSubsets subsets(views, count);
    ASSERT_EQ(subsets.count(), count);
    EXPECT_THAT(subsets.order(), testing::UnorderedElementsAreArray(numbers(views)));
    std::int64_t end = 0, largest = 0;
    for (int s = 0; s < count; ++s) {
      const Range range = subsets.range(s);
      EXPECT_EQ(range.begin, end);
      end = range.end;
      largest = std::max(largest, range.end - range.begin);
      EXPECT_GE(range.end - range.begin, views / count);
      for (auto n = range.begin; n < range.end; ++n)
        EXPECT_EQ(subsets.order()[static_cast<std::size_t>(n)], s + count * static_cast<int>(n - range.begin));
    }
    EXPECT_EQ(end, views);
    EXPECT_EQ(subsets.largest(), largest);
    EXPECT_THAT(subsets.bit_reversed(), testing::UnorderedElementsAreArray(numbers(count)));
    for (std::uint64_t pass = 0; pass < 5; ++pass)
      EXPECT_THAT(subsets.permutation(1, pass), testing::UnorderedElementsAreArray(numbers(count)));
  }
}

TEST(ViewSubsets, OrdersAreFixed) {
  EXPECT_THAT(ViewSubsets(8, 8).bit_reversed(), testing::ElementsAre(0, 4, 2, 6, 1, 5, 3, 7));
  EXPECT_THAT(ViewSubsets(6, 6).bit_reversed(), testing::ElementsAre(0, 4, 2, 1, 5, 3));
  const ViewSubsets subsets(60, 30);
  std::set<std::vector<int>> different;
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (std::uint64_t pass = 0; pass < 25; ++pass) different.insert(subsets.permutation(seed, pass));
  EXPECT_EQ(different.size(), 100u);
  EXPECT_EQ(subsets.permutation(3, 7), ViewSubsets(90, 30).permutation(3, 7)) << "of the seed, the pass and the number";
}

// Every subset is first about equally often.
TEST(ViewSubsets, PermutationsAreUniform) {
  const ViewSubsets subsets(7, 7);
  constexpr int passes = 7000;
  std::vector<int> first(7), last(7);
  for (int pass = 0; pass < passes; ++pass) {
    const auto order = subsets.permutation(1, static_cast<std::uint64_t>(pass));
    ++first[static_cast<std::size_t>(order.front())];
    ++last[static_cast<std::size_t>(order.back())];
  }
  for (const auto& counts : {first, last})
    for (const int count : counts) EXPECT_NEAR(count, passes / 7, 5 * std::sqrt(passes / 7.0));
}

TEST(ViewSubsets, AreAsManyAsTheMethodTakes) {
  const auto count = [](const char* method, std::size_t views) { return subset_count({.method = method}, views); };
  EXPECT_EQ(count("spdhg", 20), 10);
  EXPECT_EQ(count("spdhg", 1), 1);
  EXPECT_EQ(count("spdhg", 200), 30);
  EXPECT_EQ(count("spdhg", 500), 31);
  EXPECT_EQ(count("spdhg", 5000), 60);
  EXPECT_EQ(count("os-sart", 30), 5);
  EXPECT_EQ(count("os-sart", 500), 10);
  EXPECT_EQ(count("asd-pocs", 500), 500);
  EXPECT_EQ(count("cgls", 500), 1);
  EXPECT_EQ(subset_count({.method = "spdhg", .subsets = 7}, 20), 7);
}

TEST(ViewSubsets, AreRefusedOutOfRange) {
  for (const int wrong : {0, -1, 10})
    EXPECT_THAT(message([&] { ViewSubsets(9, wrong); }), HasSubstr("`subsets` is " + std::to_string(wrong)));
}

TEST(ViewSubsets, SortTheGeometry) {
  const Geometry geometry = reference::scene_named("cone_tilted").geometry;
  const ViewSubsets subsets(9, 4);
  const Geometry sorted = subsets.sorted(geometry);
  ASSERT_EQ(sorted.views.size(), 9u);
  for (std::size_t n = 0; n < 9; ++n)
    EXPECT_EQ(sorted.views[n].gantry_angle, geometry.views[static_cast<std::size_t>(subsets.order()[n])].gantry_angle);
}

TEST(SortedViews, ReadAnyPiece) {
  const Volume stack = reference::random_volume(reference::detector(7, 3, 9, 1, 1), 1);
  const MemorySource source(stack);
  for (const auto& order : {ViewSubsets(9, 4).order(), std::vector<int>{8, 0, 3}}) {
    const SortedViews sorted(source, order);
    EXPECT_EQ(sorted.grid().size, (std::array<std::size_t, 3>{7, 3, order.size()}));
    std::vector<float> expected;
    for (const int view : order)
      expected.insert(expected.end(), stack.voxels.begin() + 21 * view, stack.voxels.begin() + 21 * (view + 1));
    for (std::size_t first = 0; first <= expected.size(); ++first)
      for (const std::size_t count : {0, 1, 20, 21, 22, 50, 1000}) {
        if (first + count > expected.size()) continue;
        std::vector<float> read(count);
        sorted.read(first, count, read.data());
        ASSERT_TRUE(std::equal(read.begin(), read.end(), expected.begin() + static_cast<std::ptrdiff_t>(first)))
            << first << ", " << count;
      }
  }
}

TEST(PassOrder, HasTheSubsetsOfEachPass) {
  const ViewSubsets subsets(9, 4);
  const PassOrder order(subsets, 10,
                        [&](int pass) { return subsets.permutation(1, static_cast<std::uint64_t>(pass)); });
  int ended = 0;
  for (int n = 0; n < 40; ++n) {
    const Scalars known{{iteration_scalar, n}};
    EXPECT_EQ(order.pass(known), n / 4);
    EXPECT_EQ(order.begins_pass(known), n % 4 == 0);
    EXPECT_EQ(order.ends_pass(known), n % 4 == 3);
    const Range expected =
        subsets.range(subsets.permutation(1, static_cast<std::uint64_t>(n / 4))[static_cast<std::size_t>(n % 4)]);
    EXPECT_EQ(order.views(known).begin, expected.begin);
    EXPECT_EQ(order.views(known).end, expected.end);
    if (order.ends_every(5, known)) {
      ++ended;
      EXPECT_EQ(n, 19) << "not the last pass";
    }
  }
  EXPECT_EQ(ended, 1);
}

TEST(RayWeights, AreTheInverseVariance) {
  Volume p(reference::detector(5, 3, 2, 1, 1));
  for (std::size_t n = 0; n < p.voxels.size(); ++n) p.voxels[n] = 0.3f * static_cast<float>(n) - 1;
  for (const double electronic : {0.0, 5.0, 300.0}) {
    const Volume w = read_volume(WeightsOfCounts(MemorySource(p), 2e4, electronic));
    EXPECT_EQ(w.grid.size, p.grid.size);
    for (std::size_t n = 0; n < p.voxels.size(); ++n) {
      // var(-ln I) = (I + electronic^2) / I^2
      const double counts = 2e4 * std::exp(-static_cast<double>(p.voxels[n])),
                   variance = (counts + electronic * electronic) / (counts * counts);
      EXPECT_NEAR(w.voxels[n] * variance, 1, 1e-6);
    }
  }
}

TEST(RayWeights, NameTheParameter) {
  const Volume stack(reference::detector(2, 2, 1, 1, 1));
  const MemorySource p(stack);
  for (const double wrong : {0.0, -1.0, HUGE_VAL, std::nan("")})
    EXPECT_THAT(message([&] { WeightsOfCounts(p, wrong, 0); }), HasSubstr("`photons` is ")) << wrong;
  for (const double wrong : {-1.0, HUGE_VAL, std::nan("")})
    EXPECT_THAT(message([&] { WeightsOfCounts(p, 1e4, wrong); }), HasSubstr("`electronic` is ")) << wrong;
}

TEST(RayWeights, TakeTheMeanOfTheOpenBeam) {
  CountsCalibration calibration;
  EXPECT_EQ(open_beam(calibration), 1);
  calibration.pixels = {{0, 100}, {0, 300}};
  EXPECT_NEAR(open_beam(calibration), 200, 1e-9);
  calibration.beams = {0.5f, 1.0f};
  EXPECT_NEAR(open_beam(calibration), 150, 1e-4);
}

}  // namespace
}  // namespace halocline::view_subsets_test

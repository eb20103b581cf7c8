// labels: device dealt
// Patches: the voxels of back-projection to a whole volume wherever boxes are, the exact adjoint, subsets of views, and
// parts of a volume.
#include "algorithms/projectors/patches.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <numeric>
#include <thread>

#include "algorithms/projectors/backprojection.hpp"
#include "host/opencl/tuned_values.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::patches_test {
namespace {

using reference::device;

std::vector<reference::Scene> flat_scenes() {
  std::vector<reference::Scene> all = reference::scenes();
  std::erase_if(all, [](const auto& scene) { return scene.geometry.radius_cylindrical_detector != 0; });
  return all;
}

// The part of a grid's voxels.
Grid part_of(const Grid& grid, const std::array<std::size_t, 3>& first, const std::array<std::size_t, 3>& size) {
  Grid part = grid;
  part.size = size;
  const auto origin =
      grid.world(static_cast<double>(first[0]), static_cast<double>(first[1]), static_cast<double>(first[2]));
  std::copy(origin.begin(), origin.end(), part.origin.begin());
  return part;
}

class PatchScenes : public testing::TestWithParam<reference::Scene> {
 protected:
  const reference::Scene& scene = GetParam();
  Volume stack = reference::random_volume(scene.projections, 3);
  Patches patches{device().front(), scene.geometry, scene.grid, scene.projections};

  Volume whole(const Geometry& geometry, const Volume& views) const {
    return backproject(views, geometry, scene.grid, BackprojectionParameters{}, {device().front()}).output;
  }
};

TEST_P(PatchScenes, HaveTheVoxelsOfTheVolume) {
  const Volume expected = whole(scene.geometry, stack);
  const double largest = *std::max_element(expected.voxels.begin(), expected.voxels.end());
  const auto [nx, ny, nz] = scene.grid.size;
  const std::vector<std::array<std::array<std::size_t, 3>, 2>> places{{{{0, 0, 0}, {nx, ny, nz}}},
                                                                      {{{nx / 3, ny / 4, nz / 5}, {nx - nx / 3, 1, 1}}},
                                                                      {{{1 % nx, 0, 0}, {1, ny, nz}}},
                                                                      {{{nx - 1, ny - 1, nz - 1}, {1, 1, 1}}}};
  std::vector<Grid> boxes;
  for (const auto& [first, size] : places) boxes.push_back(part_of(scene.grid, first, size));
  patches.set_boxes(boxes);
  const auto found = patches.backproject(stack.voxels);
  ASSERT_EQ(found.size(), patches.voxels());
  std::size_t at = 0;
  for (const auto& [first, size] : places)
    for (std::size_t k = 0; k < size[2]; ++k)
      for (std::size_t j = 0; j < size[1]; ++j)
        for (std::size_t i = 0; i < size[0]; ++i)
          ASSERT_NEAR(found[at++], expected.at(first[0] + i, first[1] + j, first[2] + k), 2e-5 * largest)
              << i << ' ' << j << ' ' << k;
}

TEST_P(PatchScenes, MatchDoublePrecision) {
  const std::vector<double> values(stack.voxels.begin(), stack.voxels.end());
  const auto expected = reference::backproject(values, scene.projections, scene.geometry, scene.grid, {});
  patches.set_boxes(std::vector{scene.grid});
  EXPECT_LT(reference::largest_difference(patches.backproject(stack.voxels), expected),
            2e-5 * reference::largest(expected));
}

TEST_P(PatchScenes, OfAnyDirectionHaveTheirAdjoint) {
  Grid turned{.size = {5, 7, 3}, .spacing = {1.3, 0.7, 2.1}};
  turned.direction = {0.36, 0.48, -0.8, -0.8, 0.6, 0, 0.48, 0.64, 0.6};
  const auto middle = scene.grid.world(0.4 * static_cast<double>(scene.grid.size[0]), 0, 0);
  std::copy(middle.begin(), middle.end(), turned.origin.begin());
  patches.set_boxes(std::vector{turned, scene.grid});
  std::vector<float> x(patches.voxels());
  const Volume values = reference::random_volume(Grid{.size = {x.size(), 1, 1}}, 5);
  std::copy(values.voxels.begin(), values.voxels.end(), x.begin());
  const auto ax = patches.project(x), aty = patches.backproject(stack.voxels);
  const double forward = std::inner_product(ax.begin(), ax.end(), stack.voxels.begin(), 0.0);
  const double back = std::inner_product(aty.begin(), aty.end(), x.begin(), 0.0);
  ASSERT_GT(forward, 0);
  EXPECT_NEAR(forward, back, 1e-6 * forward);
  EXPECT_EQ(patches.project(x), ax) << "any order has the same bits";
}

TEST_P(PatchScenes, TakeTheViewsThatAreAskedFor) {
  patches.set_boxes(std::vector{scene.grid});
  const std::vector<int> views{3, 0};
  Geometry some = scene.geometry;
  some.views = {scene.geometry.views[3], scene.geometry.views[0]};
  Grid two = scene.projections;
  two.size[2] = 2;
  Volume part(two);
  for (std::size_t n = 0; n < 2; ++n)
    std::copy_n(stack.voxels.begin() + static_cast<std::ptrdiff_t>(views[n] * two.slice()), two.slice(),
                part.voxels.begin() + static_cast<std::ptrdiff_t>(n * two.slice()));
  const Volume expected = whole(some, part);
  patches.set_views(views);
  const auto found = patches.backproject(stack.voxels);
  for (std::size_t n = 0; n < found.size(); ++n) ASSERT_NEAR(found[n], expected.voxels[n], 1e-5);
  const auto projected = patches.project(std::vector<float>(patches.voxels(), 1.0f));
  const auto sum_of = [&](std::size_t view) {
    const auto at = projected.begin() + static_cast<std::ptrdiff_t>(view * two.slice());
    return std::accumulate(at, at + static_cast<std::ptrdiff_t>(two.slice()), 0.0);
  };
  EXPECT_GT(sum_of(0), 0);
  EXPECT_GT(sum_of(3), 0);
  EXPECT_EQ(sum_of(1), 0);
  patches.set_views({});
  Geometry other = scene.geometry;
  other.views = {scene.geometry.views[2]};
  patches.replace_views(1, other);
  patches.set_views(std::vector{1});
  const auto moved = patches.backproject(stack.voxels);
  Grid one = scene.projections;
  one.size[2] = 1;
  Volume view(one);
  std::copy_n(stack.voxels.begin() + static_cast<std::ptrdiff_t>(one.slice()), one.slice(), view.voxels.begin());
  const Volume wanted = whole(other, view);
  for (std::size_t n = 0; n < moved.size(); ++n) ASSERT_NEAR(moved[n], wanted.voxels[n], 1e-5);
}

// Boxes of a fan beam for which pairs of pixels are made, that are all in front of the sources and in the plane, and
// boxes of which one of them is not.
TEST(Patches, SimplerFormsHaveTheBitsOfTheGeneralOne) {
  const Geometry geometry =
      circular_geometry({.sid = 60, .sdd = 90, .angles = {0, 17, 45, 90, 141, 203, 300}, .projection_offset_x = 1.7});
  const Grid grid = default_grid({61, 57, 1}, {0.5, 0.6, 1}), detector = reference::detector(13, 1, 7, 4, 1.2);
  const Volume stack = reference::random_volume(detector, 4);
  Grid behind = part_of(grid, {0, 0, 0}, {1, 1, 1}), above = behind, outside = behind;
  behind.origin = {150, 150, 0}, above.origin[2] = 0.01, outside.origin[2] = 30;
  const auto of = [&](const std::vector<Grid>& boxes) {
    Patches patches(device().front(), geometry, grid, detector);
    patches.set_boxes(boxes);
    std::vector<float> all = patches.backproject(stack.voxels);
    patches.set_views(std::vector{6, 2, 3});
    const std::vector<float> some = patches.backproject(stack.voxels);
    all.resize(grid.count());
    all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(grid.count()));
    return all;
  };
  const std::vector<float> expected = of({grid, behind, outside});
  EXPECT_GT(*std::max_element(expected.begin(), expected.end()), 0);
  EXPECT_EQ(of({grid}), expected) << "pairs, in the plane";
  EXPECT_EQ(of({grid, above}), expected) << "pairs, not in the plane";
  EXPECT_EQ(of({grid, outside}), expected) << "in front";
  Grid beside = grid;  // of the hull of both, the sources are within, but of none of the boxes
  beside.origin[0] += 400;
  EXPECT_EQ(of({grid, beside}), of({grid, beside, behind, outside})) << "one box not in front";
  std::vector<Grid> rows;
  for (std::size_t j = 0; j < grid.size[1]; ++j) rows.push_back(part_of(grid, {0, j, 0}, {grid.size[0], 1, 1}));
  EXPECT_EQ(of(rows), expected);
}

TEST(Patches, PairsOfPixelsAreLeftOutWhereMemoryIsShort) {
  const Geometry geometry = circular_geometry({.sid = 60, .sdd = 90, .projections = 500});
  const Grid grid = default_grid({61, 57, 1}, {0.5, 0.6, 1}), detector = reference::detector(13, 1, 500, 4, 1.2);
  const Volume stack = reference::random_volume(detector, 4);
  const auto most_bytes = [&](std::size_t budget) {
    const Device used = open_devices({.device_memory = budget}).front();
    Patches patches(used, geometry, grid, detector);
    patches.set_boxes(std::vector{grid});
    const auto found = patches.backproject(stack.voxels);
    return std::pair{found, used.ledger().peak()};
  };
  const std::size_t pairs = 8 * 15 * 500;
  const auto [with, most] = most_bytes(std::size_t{64} << 20);
  const auto [without, least] = most_bytes(most);
  EXPECT_EQ(most - least, pairs);
  EXPECT_EQ(with, without);
  EXPECT_EQ(most_bytes(least).first, with);
  EXPECT_EQ(most_bytes(least + 3 * pairs).second, least) << "more than a quarter of what is left";
  EXPECT_EQ(most_bytes(least + 5 * pairs).second, most);
}

TEST(Patches, ViewsThatReplaceOthersMayBeAnywhere) {
  const Geometry geometry = circular_geometry({.sid = 60, .sdd = 90, .angles = {0, 17, 45}}),
                 near = circular_geometry({.sid = 9, .sdd = 90, .angles = {31}});
  const Grid grid = default_grid({60, 60, 1}, {0.5, 0.5, 1}), detector = reference::detector(13, 1, 3, 4, 1.2);
  const Volume stack = reference::random_volume(detector, 4);
  Geometry mixed = geometry;
  mixed.views[1] = near.views[0];
  Patches replaced(device().front(), geometry, grid, detector), made(device().front(), mixed, grid, detector);
  replaced.set_boxes(std::vector{grid});
  replaced.replace_views(1, near);
  made.set_boxes(std::vector{grid});
  EXPECT_EQ(replaced.backproject(stack.voxels), made.backproject(stack.voxels));
}

TEST_P(PatchScenes, OneLaunchHasTheBitsOfMany) {
  const auto [nx, ny, nz] = scene.grid.size;
  const std::vector<Grid> boxes{part_of(scene.grid, {0, 0, 0}, {nx, ny, 1}),
                                part_of(scene.grid, {0, 0, nz - 1}, {nx, 1, 1}), scene.grid};
  patches.set_boxes(boxes);
  const auto together = patches.backproject(stack.voxels);
  std::vector<float> alone;
  for (const Grid& box : boxes) {
    patches.set_boxes(std::span(&box, 1));
    const auto found = patches.backproject(stack.voxels);
    alone.insert(alone.end(), found.begin(), found.end());
  }
  EXPECT_TRUE(together == alone);
}

INSTANTIATE_TEST_SUITE_P(Scenes, PatchScenes, testing::ValuesIn(flat_scenes()),
                         [](const auto& info) { return info.param.name; });

// The kernels share the work in another way for boxes of other sizes.
TEST(Patches, LargeBoxesHaveTheBitsOfSmallOnes) {
  CircularOptions circle;
  circle.sid = 300;
  circle.sdd = 500;
  circle.projections = 5;
  const Grid detector = reference::detector(90, 70, 5, 3, 3), grid = default_grid({150, 140, 100}, {1, 1, 1});
  const Volume stack = reference::random_volume(detector, 3);
  Patches patches(device().front(), circular_geometry(circle), grid, detector);
  const auto values = [&](const std::array<std::size_t, 3>& first, const std::array<std::size_t, 3>& size) {
    patches.set_boxes(std::vector{part_of(grid, first, size)});
    return patches.backproject(stack.voxels);
  };
  const std::size_t slice = grid.slice();
  const auto whole = values({0, 0, 0}, grid.size);
  for (const auto& [first, slices] : {std::pair<std::size_t, std::size_t>{7, 40}, {60, 2}, {33, 1}}) {
    const auto part = values({0, 0, first}, {150, 140, slices});
    EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(first * slice)))
        << slices;
  }
  const auto rows = values({0, 0, 33}, {150, 9, 1});
  EXPECT_TRUE(std::equal(rows.begin(), rows.end(), whole.begin() + static_cast<std::ptrdiff_t>(33 * slice)));
}

TEST(Patches, TunablesChangeNoBit) {
  const Grid detector = reference::detector(40, 30, 70, 3, 3), grid = default_grid({21, 19, 13}, {1, 1, 1});
  CircularOptions circle;
  circle.sid = 300;
  circle.sdd = 500;
  circle.projections = 70;
  const Volume stack = reference::random_volume(detector, 3);
  const Device& used = device().front();
  const Tuning before = tuning_of(used);
  const auto values = [&](const Tuning& tuning) {
    use_tuning(used, tuning);
    Patches patches(used, circular_geometry(circle), grid, detector);
    patches.set_boxes(std::vector{grid});
    return patches.backproject(stack.voxels);
  };
  const auto standard = values({});
  const auto problem = problem_class(grid.size, detector.size);
  for (const int fold : {1, 4, 16, 64})
    for (const auto& [unroll, group] : {std::pair{1, 8}, {2, 128}, {4, 32}}) {
      Tuning tuning;
      auto& choices = tuning.problems[*problem].choices;
      choices["patches_backproject FOLD"] = std::to_string(fold);
      choices["patches_backproject UNROLL"] = std::to_string(unroll);
      choices["patches_backproject GROUP"] = std::to_string(group);
      EXPECT_TRUE(values(tuning) == standard) << fold << ' ' << unroll << ' ' << group;
    }
  Tuning unknown;
  unknown.choices["patches_backproject FOLD"] = "3";  // would divide no list of parts
  EXPECT_TRUE(values(unknown) == standard);
  use_tuning(used, before);
}

TEST(Patches, AddToPartsOfAVolume) {
  const auto scene = flat_scenes().front();
  Patches patches(device().front(), scene.geometry, scene.grid, scene.projections);
  const Volume stack = reference::random_volume(scene.projections, 3), before = reference::random_volume(scene.grid, 4);
  const Patches::Part part{{1, 2, 1}, {3, 2, 4}};
  patches.set_parts(std::span(&part, 1));
  ASSERT_EQ(patches.voxels(), scene.grid.count());
  Device used = patches.device();
  const Buffer from = used.buffer("stack", 4 * stack.voxels.size()),
               to = used.buffer("volume", 4 * before.voxels.size());
  used.write(from, 0, stack.voxels.data(), from.bytes()).wait();
  used.write(to, 0, before.voxels.data(), to.bytes()).wait();
  patches.backproject(from, to, true).wait();
  Volume after(scene.grid);
  used.read(to, 0, after.voxels.data(), to.bytes()).wait();
  const Volume all = backproject(stack, scene.geometry, scene.grid, BackprojectionParameters{}, {used}).output;
  for (std::size_t k = 0; k < scene.grid.size[2]; ++k)
    for (std::size_t j = 0; j < scene.grid.size[1]; ++j)
      for (std::size_t i = 0; i < scene.grid.size[0]; ++i) {
        const bool inside = i >= 1 && i < 4 && j >= 2 && j < 4 && k >= 1 && k < 5;
        const float expected = before.at(i, j, k) + (inside ? all.at(i, j, k) : 0.0f);
        ASSERT_NEAR(after.at(i, j, k), expected, inside ? 1e-5 * std::abs(expected) : 0) << i << ' ' << j << ' ' << k;
      }
}

TEST(Patches, NaNsAreNotLost) {
  const auto scene = flat_scenes().front();
  Patches patches(device().front(), scene.geometry, scene.grid, scene.projections);
  patches.set_boxes(std::vector{scene.grid});
  std::vector<float> x(patches.voxels(), 1.0f);
  x[2] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(std::isnan(patches.project(x).front()));
  std::fill(x.begin(), x.end(), 0.0f);
  EXPECT_EQ(patches.project(x), std::vector<float>(patches.pixels(), 0.0f));
}

// Each result is that of boxes that were set at some time, and no call writes behind its array.
TEST(Patches, ThreadsMaySetBoxesWhileOthersCompute) {
  const auto scene = flat_scenes().front();
  Patches patches(device().front(), scene.geometry, scene.grid, scene.projections);
  const Volume stack = reference::random_volume(scene.projections, 3);
  const std::vector<Grid> one{part_of(scene.grid, {0, 0, 0}, {1, 1, 1})}, all(9, scene.grid);
  patches.set_boxes(all);
  const auto of_all = patches.backproject(stack.voxels);
  patches.set_boxes(one);
  const auto of_one = patches.backproject(stack.voxels);
  std::atomic<int> wrong{0};
  const auto compute = [&] {
    for (int n = 0; n < 200; ++n) {
      const auto found = patches.backproject(stack.voxels);
      if (found != of_one && found != of_all) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (int n = 0; n < 3; ++n) threads.emplace_back(compute);
  for (int n = 0; n < 200; ++n) {
    patches.set_boxes(n % 2 == 0 ? all : one);
    patches.replace_views(0, scene.geometry);
  }
  for (auto& each : threads) each.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Patches, RefuseWhatTheyCannotDo) {
  const auto scene = flat_scenes().front();
  Patches patches(device().front(), scene.geometry, scene.grid, scene.projections);
  const auto refused = [](const auto& work) { return refusal_of<InputError>(work); };
  const Volume stack = reference::random_volume(scene.projections, 3);
  EXPECT_THAT(refused([&] { patches.backproject(stack.voxels); }), testing::HasSubstr("there are no boxes"));
  EXPECT_THAT(refused([&] { patches.set_boxes({}); }), testing::HasSubstr("the list of boxes is empty"));
  EXPECT_THAT(refused([&] { patches.set_views(std::vector{-1}); }), testing::HasSubstr("the list of views is -1"));
  EXPECT_THAT(refused([&] { patches.set_views(std::vector{1000}); }), testing::HasSubstr("expected numbers from 0 to"));
  patches.set_boxes(std::vector{scene.grid});
  EXPECT_THAT(refused([&] { patches.backproject(std::vector<float>(3)); }), testing::HasSubstr("the projections is 3"));
  const Patches::Part outside{{1, 1, 1}, scene.grid.size};
  EXPECT_THAT(refused([&] { patches.set_parts(std::span(&outside, 1)); }), testing::HasSubstr("the list of parts is"));
  EXPECT_THAT(refused([&] { patches.replace_views(1, scene.geometry); }), testing::HasSubstr("the new views"));
  Device used = patches.device();
  const Buffer stacked = used.buffer("stack", 4 * patches.pixels()), small = used.buffer("small", 4);
  const std::string voxels = fmt::format("the array of boxes is 4 bytes long; expected {} numbers", patches.voxels()),
                    pixels = fmt::format("the array of projections is 4 bytes long; expected {}", patches.pixels());
  EXPECT_THAT(refused([&] { patches.backproject(stacked, small); }), testing::HasSubstr(voxels));
  EXPECT_THAT(refused([&] { patches.project(small, stacked); }), testing::HasSubstr(voxels));
  const Buffer boxes = used.buffer("boxes", 4 * patches.voxels());
  EXPECT_THAT(refused([&] { patches.backproject(small, boxes); }), testing::HasSubstr(pixels));
  Geometry bent = scene.geometry;
  bent.radius_cylindrical_detector = 900;
  EXPECT_THAT(refused([&] { patches.replace_views(0, bent); }), testing::HasSubstr("cylindrical detector"));
}

}  // namespace
}  // namespace halocline::patches_test

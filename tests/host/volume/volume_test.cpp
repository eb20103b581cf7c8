// labels: unit
#include "host/volume/volume.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "host/system/error.hpp"
#include "host/volume/cutout.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::volume_test {
namespace {

using ::testing::HasSubstr;

// Rz(30 degrees) Rx(50 degrees): equal to its inverse in nothing.
Grid oblique_grid() {
  const double c = std::cos(std::numbers::pi / 6), s = std::sin(std::numbers::pi / 6);
  const double d = std::cos(50 * std::numbers::pi / 180), t = std::sin(50 * std::numbers::pi / 180);
  Grid grid;
  grid.size = {5, 7, 93};
  grid.spacing = {0.5, 2, 3.25};
  grid.origin = {-11, 4, 130};
  grid.direction = {c, -s * d, s * t, s, c * d, -c * t, 0, t, d};
  return grid;
}

TEST(Grid, putsIndicesIntoTheWorldByItsColumns) {
  const Grid grid = oblique_grid();
  const auto origin = grid.world(0, 0, 0);
  EXPECT_EQ(origin, grid.origin);
  for (int axis = 0; axis < 3; ++axis) {
    const auto next = grid.world(axis == 0, axis == 1, axis == 2);
    for (int row = 0; row < 3; ++row)
      EXPECT_NEAR(next[row] - origin[row], grid.spacing[axis] * grid.direction[3 * row + axis], 1e-13);
  }
  const auto known = grid.world(2, 0, 0);  // 2 * 0.5 mm along (cos 30, sin 30, 0)
  EXPECT_NEAR(known[0], -11 + std::sqrt(3) / 2, 1e-13);
  EXPECT_NEAR(known[1], 4.5, 1e-13);
  EXPECT_NEAR(known[2], 130, 1e-13);
}

TEST(Grid, indexIsTheInverseOfWorld) {
  const Grid grid = oblique_grid();
  for (const auto& [i, j, k] : {std::array{0.0, 0.0, 0.0}, {4.0, 6.0, 92.0}, {-3.5, 0.25, 1000.0}}) {
    const auto world = grid.world(i, j, k);
    const auto index = grid.index(world[0], world[1], world[2]);
    EXPECT_NEAR(index[0], i, 1e-10);
    EXPECT_NEAR(index[1], j, 1e-10);
    EXPECT_NEAR(index[2], k, 1e-10);
  }
}

TEST(Grid, countsVoxels) {
  EXPECT_EQ(oblique_grid().slice(), 35u);
  EXPECT_EQ(oblique_grid().count(), 35u * 93);
}

TEST(CheckGrid, acceptsRotationsAndReflections) {
  Grid grid = oblique_grid();
  EXPECT_NO_THROW(check_grid(grid, "g"));
  for (int row = 0; row < 3; ++row) grid.direction[3 * row] *= -1;
  EXPECT_NO_THROW(check_grid(grid, "g"));
}

TEST(CheckGrid, namesWhatIsWrong) {
  const auto error = [](auto&& change) {
    Grid grid = oblique_grid();
    change(grid);
    return refusal_of([&] { check_grid(grid, "scan.mha"); });
  };
  EXPECT_THAT(error([](Grid& g) { g.size[1] = 0; }), HasSubstr("scan.mha: size 5,0,93"));
  EXPECT_THAT(error([](Grid& g) { g.spacing[2] = 0; }), HasSubstr("scan.mha: spacing 0.5,2,0"));
  EXPECT_THAT(error([](Grid& g) { g.spacing[0] = -1; }), HasSubstr("spacing"));
  EXPECT_THAT(error([](Grid& g) { g.spacing[0] = std::numeric_limits<double>::infinity(); }), HasSubstr("spacing"));
  EXPECT_THAT(error([](Grid& g) { g.spacing[0] = std::nan(""); }), HasSubstr("spacing"));
  EXPECT_THAT(error([](Grid& g) { g.origin[1] = std::nan(""); }), HasSubstr("origin"));
  EXPECT_THAT(error([](Grid& g) { g.direction[8] += 0.01; }), HasSubstr("direction"));
  EXPECT_THAT(error([](Grid& g) { g.direction = {}; }), HasSubstr("direction"));
  EXPECT_THAT(error([](Grid& g) { g.direction = {1, 0, 1, 0, 1, 0, 0, 0, 1}; }), HasSubstr("direction"));
  EXPECT_THAT(error([](Grid& g) { g.direction[4] = std::nan(""); }), HasSubstr("direction"));
}

TEST(RequireSameGrid, toleratesRounding) {
  const Grid a = oblique_grid();
  Grid b = a;
  b.spacing[0] *= 1 + 1e-7;
  b.origin[2] += 1e-5;
  b.direction[1] += 1e-6;
  EXPECT_NO_THROW(require_same_grid(a, "a", b, "b"));
}

TEST(RequireSameGrid, namesBothImagesAndTheProperty) {
  const Grid a = oblique_grid();
  const auto error = [&](auto&& change) {
    Grid b = a;
    change(b);
    return refusal_of([&] { require_same_grid(a, "noisy.mha", b, "weights.mha"); });
  };
  const auto size = error([](Grid& g) { g.size[0] = 6; });
  EXPECT_THAT(size, HasSubstr("noisy.mha and weights.mha"));
  EXPECT_THAT(size, HasSubstr("size differs: 5,7,93 against 6,7,93"));
  EXPECT_THAT(error([](Grid& g) { g.spacing[1] = 2.1; }), HasSubstr("spacing differs"));
  EXPECT_THAT(error([](Grid& g) { g.origin[0] += 0.1; }), HasSubstr("origin differs"));
  EXPECT_THAT(error([](Grid& g) {
                for (int row = 0; row < 3; ++row) g.direction[3 * row] *= -1;
              }),
              HasSubstr("direction differs"));
}

TEST(DefaultGrid, isCentredWithSlicesAcrossTheRotationAxis) {
  const Grid grid = default_grid({4, 7, 10}, {1, 2, 3});
  EXPECT_NO_THROW(check_grid(grid, "default"));
  const auto centre = grid.world(1.5, 3, 4.5);
  for (const double each : centre) EXPECT_NEAR(each, 0, 1e-12);
  const auto first = grid.world(0, 0, 0), next = grid.world(1, 0, 0);
  EXPECT_NEAR(next[0] - first[0], 1, 1e-12);                 // i runs along x,
  EXPECT_NEAR(grid.world(0, 1, 0)[2] - first[2], 2, 1e-12);  // j along z,
  EXPECT_NEAR(grid.world(0, 0, 1)[1] - first[1], 3, 1e-12);  // k along y, the axis of rotation
  const Grid one = default_grid({1, 1, 1}, {5, 5, 5});
  EXPECT_EQ(one.origin, (std::array<double, 3>{0, 0, 0}));
}

TEST(Volume, runsFastestAlongTheFirstAxis) {
  Grid grid{.size = {3, 4, 5}};
  Volume volume(grid, 2);
  EXPECT_EQ(volume.voxels.size(), 60u);
  volume.at(1, 2, 3) = 7;
  EXPECT_EQ(volume.voxels[1 + 3 * (2 + 4 * 3)], 7);
  EXPECT_EQ(std::as_const(volume).at(1, 2, 3), 7);
  EXPECT_EQ(volume.at(0, 0, 0), 2);
}

TEST(RequireFinite, saysWhereAndHowMany) {
  Grid grid{.size = {3, 4, 5}};
  Volume volume(grid);
  EXPECT_NO_THROW(require_finite(volume, "in.mha"));
  volume.at(2, 1, 3) = std::numeric_limits<float>::quiet_NaN();
  volume.at(0, 0, 4) = -std::numeric_limits<float>::infinity();
  const auto text = refusal_of([&] { require_finite(volume, "in.mha"); });
  EXPECT_THAT(text, HasSubstr("in.mha: 2 values"));
  EXPECT_THAT(text, HasSubstr("(2,1,3)"));
  EXPECT_THAT(text, HasSubstr("`allow_nonfinite`"));
}

TEST(Cutout, GrowsWithinTheVolumeAndKeepsItsPlace) {
  const Cutout part{{3, 0, 4}, {2, 5, 3}};
  const Cutout grown = part.grown(3, {7, 9, 8});
  EXPECT_THAT(grown.first, testing::ElementsAre(0, 0, 1));
  EXPECT_THAT(grown.size, testing::ElementsAre(7, 8, 7));
  const Cutout inner = part.within(grown);
  EXPECT_THAT(inner.first, testing::ElementsAre(3, 0, 3));
  Grid grid = oblique_grid();
  grid.size = {7, 9, 8};
  Volume volume(grid);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n) volume.voxels[n] = static_cast<float>(n);
  const Volume twice = cut_out(cut_out(volume, grown), inner), once = cut_out(volume, part);
  EXPECT_EQ(twice.voxels, once.voxels);
  EXPECT_EQ(once.at(1, 4, 2), volume.at(4, 4, 6));
  for (int axis = 0; axis < 3; ++axis) {
    EXPECT_NEAR(once.grid.origin[axis], grid.world(3, 0, 4)[axis], 1e-12);
    EXPECT_NEAR(twice.grid.origin[axis], once.grid.origin[axis], 1e-12);
  }
  EXPECT_EQ(once.grid.direction, grid.direction);
}

}  // namespace
}  // namespace halocline::volume_test

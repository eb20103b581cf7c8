// labels: device slab dealt
// Filtered back-projection of parallel beams by gridding: against sums in double without a grid, against the direct
// form and analytic phantoms, one slab against many.
#include "algorithms/fdk/gridding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "algorithms/fdk/fdk.hpp"
#include "algorithms/fdk/slices.hpp"
#include "scheduling/execution/program_run.hpp"
#include "scheduling/profiling/rates.hpp"
#include "tests/reference/gridding_reference.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::gridding_test {
namespace {

using reference::device;

const FdkParameters gridding{.algorithm = FdkAlgorithm::gridding};

struct Case {
  std::string name;
  Geometry geometry;
  Grid projections, grid;
  FdkParameters parameters = gridding;
};
void PrintTo(const Case& value, std::ostream* out) {
  *out << value.name;
}

Geometry beam(std::size_t views, double arc = 180, double first = 3) {
  return circular_geometry({.sid = 100, .sdd = 0, .projections = views, .arc = arc, .first_angle = first});
}

Grid moved(Grid grid, const std::array<double, 3>& by) {
  for (int axis = 0; axis < 3; ++axis) grid.origin[axis] += by[axis];
  return grid;
}

// Turned about the rotation axis.
Grid turned(Grid grid, double degrees) {
  const double c = std::cos(degrees * std::numbers::pi / 180), s = std::sin(degrees * std::numbers::pi / 180);
  grid.direction = {c, -s, 0, 0, 0, 1, s, c, 0};
  return grid;
}

// Angles that are uneven and in no order, and a detector that sways.
Geometry uneven(std::size_t views, double arc, double offset) {
  Geometry geometry = beam(views, arc);
  for (std::size_t n = 0; n < views; ++n) {
    View& view = geometry.views[n];
    const auto turn = static_cast<double>(7 * n % views);
    view.gantry_angle = 340 + turn * arc / static_cast<double>(views) + std::sin(static_cast<double>(n));
    view.projection_offset_x = offset + 0.5 * std::cos(static_cast<double>(n));
  }
  return geometry;
}

std::vector<Case> cases() {
  const auto detector = [](std::size_t columns, std::size_t rows, std::size_t views, double du, double dv) {
    return reference::detector(columns, rows, views, du, dv);
  };
  std::vector<Case> all;
  const Grid square = default_grid({24, 24, 6}, {1, 1, 1});
  all.push_back({"aligned", beam(30), detector(36, 6, 30, 1, 1), square});
  all.push_back({"odd_off_centre", beam(31), detector(47, 9, 31, 1.25, 1.5),
                 moved(default_grid({13, 9, 11}, {2, 3, 1.5}), {3, -2, 4})});
  all.push_back({"uneven_whole_turn", uneven(31, 360, 0), detector(47, 23, 31, 1.25, 1.5),
                 moved(default_grid({13, 10, 11}, {2, 2.5, 1.5}), {3, -2, 4})});
  all.push_back(
      {"displaced", uneven(31, 360, 9), detector(33, 5, 31, 1.25, 1.5), default_grid({17, 12, 5}, {1.5, 2, 1.2})});
  all.push_back({"padded",
                 uneven(31, 180, 0),
                 detector(33, 7, 31, 1.25, 1.5),
                 default_grid({7, 8, 3}, {3, 3, 4}),
                 {.algorithm = FdkAlgorithm::gridding, .window = Window::hann, .pad = 0.6}});
  all.push_back(
      {"turned_grid", beam(29), detector(41, 8, 29, 1, 1), turned(default_grid({21, 11, 9}, {1, 2, 0.8}), 27)});
  all.push_back({"fine_voxels", beam(23), detector(33, 6, 23, 1.5, 1.5),
                 moved(default_grid({20, 31, 6}, {0.2, 0.3, 1}), {4, 2, -3})});
  all.push_back({"coarse_voxels", beam(23), detector(93, 6, 23, 0.5, 1), default_grid({7, 9, 4}, {2.6, 4.1, 1})});
  all.push_back({"beyond_the_detector", beam(19), detector(16, 5, 19, 1, 1),
                 moved(default_grid({41, 35, 9}, {1, 1, 1}), {7, 5, 1})});
  all.push_back({"one_row", beam(17), detector(29, 1, 17, 1, 1), default_grid({93, 7, 1}, {0.25, 3, 1})});
  all.push_back(
      {"one_voxel", beam(17), detector(7, 3, 17, 2, 2), moved(default_grid({1, 1, 1}, {2, 2, 2}), {1, 0.5, -1})});
  all.push_back({"one_column", beam(17), detector(1, 2, 17, 2, 2), default_grid({1, 2, 2}, {1, 1, 2})});
  Case backwards{"backwards", beam(25), detector(33, 7, 25, 1.2, 1.1),
                 moved(default_grid({19, 21, 8}, {1, 1.2, 0.9}), {2, -1, 1})};
  backwards.projections.direction = {-1, 0, 0, 0, -1, 0, 0, 0, 1};
  backwards.projections.origin = {19, 3.5, 0};
  all.push_back(backwards);
  Case filtered{"cut_off", beam(25), detector(40, 4, 25, 1, 1), default_grid({30, 30, 4}, {1, 1, 1})};
  filtered.parameters.cutoff = 0.7;
  filtered.parameters.window = Window::shepp_logan;
  all.push_back(filtered);
  return all;
}

class GriddingCases : public testing::TestWithParam<Case> {
 protected:
  Volume projections = reference::random_volume(GetParam().projections, 5);
};

TEST_P(GriddingCases, MatchesSumsWithoutAGrid) {
  const auto& [name, geometry, stack, grid, parameters] = GetParam();
  const auto expected = reference::direct_fourier(projections, geometry, grid, parameters);
  ASSERT_GT(reference::largest(expected), 0);
  const auto found = fdk(projections, geometry, grid, parameters, device()).output.voxels;
  const double error = reference::largest_difference(found, expected) / reference::largest(expected);
  EXPECT_LT(error, 2e-5);
}

TEST_P(GriddingCases, SlabsAndDevicesChangeNoBit) {
  const auto& [name, geometry, stack, grid, parameters] = GetParam();
  const auto whole = fdk(projections, geometry, grid, parameters, device()).output.voxels;
  const int most = static_cast<int>(grid.size[2]);
  for (const auto& [slabs, batch] : {std::pair{1, 1}, {2, 5}, {3, 0}, {most, 0}}) {
    if (slabs > most) continue;
    const RunOptions options{.plan = {.minimum_slabs = slabs, .batch = batch}};
    const auto result = fdk(projections, geometry, grid, parameters, device(), options);
    EXPECT_GE(static_cast<int>(result.plan.slabs.size()), slabs);
    EXPECT_TRUE(result.output.voxels == whole) << slabs << " slabs";
  }
  EXPECT_TRUE(fdk(projections, geometry, grid, parameters, reference::sub_devices(2)).output.voxels ==
              fdk(projections, geometry, grid, parameters, reference::undivided()).output.voxels);
}

INSTANTIATE_TEST_SUITE_P(All, GriddingCases, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

TEST(Gridding, FewerPairsAtATimeChangeNoBit) {
  const Geometry geometry = beam(30);
  const Grid stack = reference::detector(36, 19, 30, 1, 1), grid = default_grid({24, 17, 19}, {1, 1, 1});
  const Volume projections = reference::random_volume(stack, 5);
  const auto whole = fdk(projections, geometry, grid, gridding, device()).output.voxels;
  const auto run = [&](std::span<const DeviceModel> devices) {
    const Gridding method(geometry, stack, grid, gridding, devices);
    return run_program(program_of(method), {{"raw", &projections}}, grid, device()).output.voxels;
  };
  for (const std::size_t memory : {std::size_t{1} << 10, std::size_t{1} << 20, std::size_t{1} << 21}) {
    DeviceModel small = device_models(device()).front();
    small.memory = memory;
    EXPECT_TRUE(run(std::array{small}) == whole) << memory;
  }
}

// A disc of value 1 off the axis, and a scan of it by whole lines.
struct Disc {
  std::array<double, 2> centre{9, -14};  // x, z in the world, mm
  double radius = 12;

  Volume scan(const Geometry& geometry, const Grid& stack) const {
    Volume projections(stack);
    std::size_t at = 0;
    for (const View& view : geometry.views) {
      const Matrix34 m = projection_matrix(view);
      const double u = m[0] * centre[0] + m[2] * centre[1] + m[3];
      for (std::size_t row = 0; row < stack.size[1]; ++row)
        for (std::size_t column = 0; column < stack.size[0]; ++column, ++at) {
          const double from = stack.world(static_cast<double>(column), 0, 0)[0] - u;
          projections.voxels[at] = static_cast<float>(2 * std::sqrt(std::max(0.0, radius * radius - from * from)));
        }
    }
    return projections;
  }
  double distance(const Grid& grid, std::size_t i, std::size_t j) const {
    const auto x = grid.world(static_cast<double>(i), static_cast<double>(j), 0);
    return std::hypot(x[0] - centre[0], x[2] - centre[1]);
  }
};

// Mean over a slice's voxels within a distance from the disc's centre.
double mean_within(const Volume& volume, const Disc& disc, double low, double high) {
  double sum = 0;
  int count = 0;
  for (std::size_t j = 0; j < volume.grid.size[1]; ++j)
    for (std::size_t i = 0; i < volume.grid.size[0]; ++i)
      if (const double distance = disc.distance(volume.grid, i, j); distance >= low && distance < high)
        sum += volume.at(i, j, 0), ++count;
  EXPECT_GT(count, 30);
  return sum / count;
}

TEST(Gridding, HasTheValueOfADiscWhereItStands) {
  const Disc disc;
  for (const double arc : {180.0, 360.0}) {
    const Geometry geometry = beam(181, arc);
    const Volume scan = disc.scan(geometry, reference::detector(101, 2, 181, 0.8, 0.8));
    for (const Grid& grid : {default_grid({93, 70, 2}, {0.8, 1.1, 0.8}),
                             moved(turned(default_grid({77, 120, 1}, {0.9, 0.6, 1}), 40), {2, 0, -3})}) {
      const Volume volume = fdk(scan, geometry, grid, gridding, device()).output;
      EXPECT_NEAR(mean_within(volume, disc, 0, 10), 1, 0.003);
      EXPECT_NEAR(mean_within(volume, disc, 14, 22), 0, 0.003);
    }
  }
}

TEST(Gridding, DiffersFromTheDirectFormByItsInterpolationAlone) {
  const Disc disc;
  const Geometry geometry = beam(181);
  const Volume scan = disc.scan(geometry, reference::detector(101, 2, 181, 0.8, 0.8));
  const Grid grid = default_grid({80, 80, 2}, {0.7, 0.7, 0.8});
  const auto rms_of = [&](Window window) {
    FdkParameters direct{.window = window}, other{.algorithm = FdkAlgorithm::gridding, .window = window};
    const auto a = fdk(scan, geometry, grid, direct, device()).output.voxels,
               b = fdk(scan, geometry, grid, other, device()).output.voxels;
    double sum = 0;
    for (std::size_t n = 0; n < a.size(); ++n) sum += std::pow(a[n] - b[n], 2);
    return std::sqrt(sum / static_cast<double>(a.size()));
  };
  EXPECT_LT(rms_of(Window::ram_lak), 0.02);
  EXPECT_LT(rms_of(Window::hann), 0.002);  // what is left of frequencies above the columns'
}

TEST(Gridding, RefusesWhatItDoesNotDo) {
  const Grid stack = reference::detector(33, 9, 24, 1, 1), grid = default_grid({16, 16, 6}, {1, 1, 1});
  const auto refusal = [&](const Geometry& geometry, const Grid& on, const FdkParameters& parameters = gridding) {
    return refusal_of([&] { plan_fdk(geometry, stack, on, parameters, device_models(device())); });
  };
  const auto circle = [](CircularOptions options) {
    options.projections = 24;
    return circular_geometry(options);
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal(circle({.sid = 100, .sdd = 150}), grid), HasSubstr("the geometry has a divergent beam"));
  EXPECT_THAT(refusal(circle({.sid = 100, .sdd = 150, .fan_stack = true}), grid), HasSubstr("a stack of fans"));
  EXPECT_THAT(refusal(circle({.sid = 100, .sdd = 0, .in_plane_angle = 2}), grid), HasSubstr("geometry without tilts"));
  EXPECT_THAT(refusal(circle({.sid = 100, .sdd = 0, .out_of_plane_angle = 2}), grid), HasSubstr("pixels aslant"));
  Grid world = grid;
  world.direction = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  world.origin = {-7.5, -7.5, -2.5};
  EXPECT_THAT(refusal(beam(24), world), HasSubstr("whose axis k is the rotation axis"));
  Geometry moving = beam(24);
  moving.views[5].projection_offset_y = 0.7;
  EXPECT_THAT(refusal(moving, grid), HasSubstr("that of projection 5 is moved by 0.7 rows"));
  EXPECT_THAT(refusal(beam(24), default_grid({3, 3, 1}, {200, 200, 1})), HasSubstr("voxels of up to 128 columns"));
  EXPECT_THAT(refusal(beam(24), default_grid({3, 3, 1}, {1, 200, 1})), HasSubstr("give smaller voxels"));
  FdkParameters parameters = gridding;
  parameters.hardware_interpolation = true;
  EXPECT_THAT(refusal(beam(24), grid, parameters), HasSubstr("leave `interpolation` out"));
  parameters = gridding;
  parameters.variance = FdkParameters::Noise{};
  EXPECT_THAT(refusal(beam(24), grid, parameters), HasSubstr("makes no variance"));
  EXPECT_THAT(refusal_of([&] { plan_slices(beam(24), stack, grid, gridding, 256, device_models(device()).front()); }),
              HasSubstr("whole volumes"));
  EXPECT_EQ(refusal(beam(24), grid), "");
}

}  // namespace
}  // namespace halocline::gridding_test

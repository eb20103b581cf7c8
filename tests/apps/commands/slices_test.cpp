// labels: app device
// Slices from resident projections: bitwise identical to fdk where they are on its voxels, double precision anywhere,
// windows that move, and the command.
#include "algorithms/fdk/slices.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "algorithms/fdk/half_scan.hpp"
#include "algorithms/geometry/slice_planes.hpp"
#include "apps/images/image_file.hpp"
#include "host/system/error.hpp"
#include "scheduling/profiling/rates.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::slices_test {
namespace {

using reference::device;
using testing::HasSubstr;
using testing::ThrowsMessage;

// A scene with `views` views all round, at uneven angles.
reference::Scene all_round(const std::string& name, int views, double arc = 360) {
  for (reference::Scene scene : reference::scenes()) {
    if (scene.name != name) continue;
    const View first = scene.geometry.views.front();
    scene.geometry.views.assign(static_cast<std::size_t>(views), first);
    for (int n = 0; n < views; ++n)
      scene.geometry.views[static_cast<std::size_t>(n)].gantry_angle = 3 + n * arc / views + 2 * std::sin(n);
    scene.projections.size[2] = static_cast<std::size_t>(views);
    return scene;
  }
  throw InputError("there is no scene " + name);
}

std::vector<float> plane_of_volume(const Volume& volume, int axis, std::size_t at) {
  std::vector<float> out;
  std::array<std::size_t, 3> index{};
  const int first = axis == 0 ? 1 : 0, second = axis == 2 ? 1 : 2;
  index[axis] = at;
  for (index[second] = 0; index[second] < volume.grid.size[second]; ++index[second])
    for (index[first] = 0; index[first] < volume.grid.size[first]; ++index[first])
      out.push_back(volume.at(index[0], index[1], index[2]));
  return out;
}

Volume part_of(const Volume& projections, std::size_t begin, std::size_t end) {
  std::vector<std::size_t> numbers;
  for (std::size_t n = begin; n < end; ++n) numbers.push_back(n);
  return select_views(projections, numbers);
}

std::vector<Grid> three_planes(const Grid& volume) {
  std::vector<Grid> planes;
  const auto at = volume.world(static_cast<double>(volume.size[0] / 3), static_cast<double>(volume.size[1] / 2),
                               static_cast<double>(volume.size[2] / 4));
  for (int axis = 0; axis < 3; ++axis) planes.push_back(plane_across(volume, axis, at));
  return planes;
}

std::size_t pixels_of(const std::vector<Grid>& slices) {
  std::size_t pixels = 0;
  for (const Grid& slice : slices) pixels += slice.count();
  return pixels;
}

void expect_planes_of(const std::vector<Volume>& slices, const Volume& volume) {
  ASSERT_EQ(slices.size(), 3u);
  for (int axis = 0; axis < 3; ++axis)
    EXPECT_TRUE(static_cast<std::vector<float>>(slices[axis].voxels) ==
                plane_of_volume(volume, axis,
                                volume.grid.size[axis] / (axis == 0   ? 3
                                                          : axis == 1 ? 2
                                                                      : 4)))
        << "across axis " << axis;
}

// Counts with flats that are uneven, and a beam of each view's own.
struct Counts {
  Volume counts;
  CountsCalibration calibration;
};
Counts counts_of(const Grid& projections) {
  Counts out{reference::random_volume(projections, 9), {}};
  for (float& count : out.counts.voxels) count = 200 + 9000 * count;
  out.calibration.size = projections.size;
  out.calibration.coefficients = {1, 0.1f};
  for (std::size_t n = 0; n < projections.slice(); ++n)
    out.calibration.pixels.push_back({20, 9000 + 100 * static_cast<float>(n % 7)});
  for (std::size_t n = 0; n < projections.size[2]; ++n)
    out.calibration.beams.push_back(1 + 0.01f * static_cast<float>(n % 13));
  return out;
}

class SliceScenes : public testing::TestWithParam<const char*> {};

TEST_P(SliceScenes, HaveTheBitsOfFdk) {
  const auto scene = all_round(GetParam(), 31);
  const Volume projections = reference::random_volume(scene.projections, 3);
  FdkParameters parameters{.window = Window::hann};
  const Volume volume = fdk(projections, scene.geometry, scene.grid, parameters, device()).output;
  const auto planes = three_planes(scene.grid);
  Slices slices(device().front(), projections, scene.geometry, scene.grid, parameters, pixels_of(planes));
  expect_planes_of(slices.reconstruct(planes), volume);
}

TEST_P(SliceScenes, OfCountsAndTheirVarianceHaveTheBitsOfFdk) {
  const auto scene = all_round(GetParam(), 31);
  const auto [counts, calibration] = counts_of(scene.projections);
  FdkParameters parameters{.counts = FdkParameters::Counts{&calibration}};
  const auto planes = three_planes(scene.grid);
  for (const bool variance : {false, true}) {
    if (variance) parameters.variance = FdkParameters::Noise{2, 30};
    const Volume volume = fdk(counts, scene.geometry, scene.grid, parameters, device()).output;
    Slices slices(device().front(), counts, scene.geometry, scene.grid, parameters, pixels_of(planes));
    expect_planes_of(slices.reconstruct(planes), volume);
  }
}

INSTANTIATE_TEST_SUITE_P(All, SliceScenes,
                         testing::Values("cone", "cone_tilted", "cone_world_axes", "cone_turned_grid", "cone_one_slice",
                                         "cone_one_voxel", "fan", "parallel", "parallel_tilted"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Slices, OfShortAndDisplacedScansHaveTheBitsOfFdk) {
  for (const bool displaced : {false, true}) {
    auto scene = all_round("cone", 47, displaced ? 360 : 230);
    if (displaced)
      for (View& view : scene.geometry.views) view.projection_offset_x = 12;
    const Volume projections = reference::random_volume(scene.projections, 4);
    const Volume volume = fdk(projections, scene.geometry, scene.grid, {}, device()).output;
    const auto planes = three_planes(scene.grid);
    Slices slices(device().front(), projections, scene.geometry, scene.grid, {}, pixels_of(planes));
    expect_planes_of(slices.reconstruct(planes), volume);
  }
}

// Any direction, between the voxels, against the formula in double precision.
TEST(Slices, MatchDoublePrecisionWhereverTheyLie) {
  for (const char* name : {"cone_tilted", "cone_turned_grid", "parallel"}) {
    const auto scene = all_round(name, 31);
    const Volume projections = reference::random_volume(scene.projections, 5);
    const auto middle = centre_of(scene.grid);
    const std::vector<Grid> planes{
        oblique_plane(scene.grid, {middle[0] + 1.3, middle[1] - 2, middle[2] + 0.7}, {1, 2, -0.5}),
        oblique_plane(scene.grid, middle, {0, 3, 0.2})};
    Slices slices(device().front(), projections, scene.geometry, scene.grid, {}, pixels_of(planes));
    const auto found = slices.reconstruct(planes);
    for (std::size_t n = 0; n < planes.size(); ++n) {
      const auto expected = reference::fdk(projections, scene.geometry, planes[n], {});
      ASSERT_GT(reference::largest(expected), 0);
      // that of fdk's own test
      EXPECT_LT(reference::largest_difference(found[n].voxels, expected), 5e-5 * reference::largest(expected))
          << name << " " << n;
    }
  }
}

// Evenly spread: no gap changes, and every window is bitwise identical to its own fdk. The ring ends within a batch.
class MovingWindows : public testing::TestWithParam<const char*> {};

TEST_P(MovingWindows, HaveTheBitsOfTheirFdk) {
  auto scene = all_round(GetParam(), 57);
  for (std::size_t n = 0; n < 57; ++n) scene.geometry.views[n].gantry_angle = 11 + 12 * static_cast<double>(n);
  const Volume projections = reference::random_volume(scene.projections, 6);
  const auto planes = three_planes(scene.grid);
  const auto window = [&](std::size_t first, std::size_t last) {
    return views_of(scene.geometry, {static_cast<std::int64_t>(first), static_cast<std::int64_t>(last)});
  };
  Slices slices(device().front(), part_of(projections, 0, 30), window(0, 30), scene.grid, {}, pixels_of(planes));
  for (const auto& [first, last] : std::vector<std::pair<std::size_t, std::size_t>>{{30, 37}, {37, 56}, {56, 57}}) {
    slices.add(part_of(projections, first, last), window(first, last));
    EXPECT_EQ(slices.window().views.back().gantry_angle, scene.geometry.views[last - 1].gantry_angle);
    const Volume volume =
        fdk(part_of(projections, last - 30, last), window(last - 30, last), scene.grid, {}, device()).output;
    expect_planes_of(slices.reconstruct(planes), volume);
  }
}

INSTANTIATE_TEST_SUITE_P(All, MovingWindows, testing::Values("cone", "cone_tilted"),
                         [](const auto& info) { return std::string(info.param); });

// Three planes of a window of 30 views of 45 random ones that moved by 15, and the volume of fdk from these views.
auto moved_window(const reference::Scene& scene) {
  const Volume projections = reference::random_volume(scene.projections, 7);
  const auto planes = three_planes(scene.grid);
  Slices slices(device().front(), part_of(projections, 0, 30), views_of(scene.geometry, {0, 30}), scene.grid, {},
                pixels_of(planes));
  slices.add(part_of(projections, 30, 45), views_of(scene.geometry, {30, 45}));
  return std::pair(
      slices.reconstruct(planes),
      fdk(part_of(projections, 15, 45), views_of(scene.geometry, {15, 45}), scene.grid, {}, device()).output);
}

// Each view is turned in its own way, some of the new ones more than all before, so that fdk's upright detector grows.
TEST(Slices, AWindowOfViewsThatSwayMoves) {
  auto scene = all_round("cone", 45);
  for (std::size_t n = 0; n < 45; ++n) {
    scene.geometry.views[n].gantry_angle = 11 + 12 * static_cast<double>(n);
    scene.geometry.views[n].in_plane_angle = 3 * std::sin(static_cast<double>(n)) + 0.02 * static_cast<double>(n);
  }
  const auto [found, volume] = moved_window(scene);
  for (int axis = 0; axis < 3; ++axis) {
    const auto expected = plane_of_volume(volume, axis, volume.grid.size[axis] / (axis == 0 ? 3 : axis == 1 ? 2 : 4));
    const Grid& plane = found[axis].grid;
    int inside = 0;  // voxels seen in all views: elsewhere the detector's size counts
    for (std::size_t j = 0; j < plane.size[1]; ++j)
      for (std::size_t i = 0; i < plane.size[0]; ++i) {
        const auto x = plane.world(static_cast<double>(i), static_cast<double>(j), 0);
        if (std::hypot(x[0], x[2]) > 13 || std::abs(x[1]) > 8) continue;
        const std::size_t n = j * plane.size[0] + i;
        EXPECT_NEAR(found[axis].voxels[n], expected[n], 1e-6);
        ++inside;
      }
    EXPECT_GT(inside, 20);
  }
}

TEST(Slices, AWindowOfCountsThatMovesHasTheBitsOfItsFdk) {
  auto scene = all_round("cone", 57);
  for (std::size_t n = 0; n < 57; ++n) scene.geometry.views[n].gantry_angle = 11 + 12 * static_cast<double>(n);
  const auto [counts, calibration] = counts_of(scene.projections);
  const auto planes = three_planes(scene.grid);
  const auto of = [&, &whole = calibration](std::size_t first, std::size_t last) {
    std::vector<std::size_t> numbers;
    for (std::size_t n = first; n < last; ++n) numbers.push_back(n);
    return whole.of_views(numbers);
  };
  const auto window = [&](std::size_t first, std::size_t last) {
    return views_of(scene.geometry, {static_cast<std::int64_t>(first), static_cast<std::int64_t>(last)});
  };
  for (const bool variance : {false, true}) {
    FdkParameters parameters;
    if (variance) parameters.variance = FdkParameters::Noise{2, 30};
    const CountsCalibration begin = of(0, 30), end = of(14, 44);
    parameters.counts = FdkParameters::Counts{&begin};
    Slices slices(device().front(), part_of(counts, 0, 30), window(0, 30), scene.grid, parameters, pixels_of(planes));
    const Volume next = part_of(counts, 30, 37);
    EXPECT_THAT([&] { slices.add(next, window(30, 37)); },
                ThrowsMessage<InputError>(HasSubstr("7 new views of counts come with 0 beams")));
    slices.add(next, window(30, 37), of(30, 37).beams);
    slices.add(part_of(counts, 37, 44), window(37, 44), of(37, 44).beams);
    parameters.counts->calibration = &end;
    expect_planes_of(slices.reconstruct(planes),
                     fdk(part_of(counts, 14, 44), window(14, 44), scene.grid, parameters, device()).output);
  }
}

// Unevenly spread: the gaps beside the seam change after their views were filtered.
TEST(Slices, GapsFollowTheWindow) {
  auto scene = all_round("cone_tilted", 45, 540);
  const auto [found, volume] = moved_window(scene);
  for (int axis = 0; axis < 3; ++axis) {
    const auto expected = plane_of_volume(volume, axis, volume.grid.size[axis] / (axis == 0 ? 3 : axis == 1 ? 2 : 4));
    float largest = 0, apart = 0;
    for (std::size_t n = 0; n < expected.size(); ++n) {
      largest = std::max(largest, std::abs(expected[n]));
      apart = std::max(apart, std::abs(expected[n] - found[axis].voxels[n]));
    }
    // a factor and two products more, of 30 terms that may each be larger than their sum
    EXPECT_LT(apart, 1e-5f * largest);
  }
}

TEST(Slices, HardwareInterpolationIsThatOfFdk) {
  if (!device().front().info().images) GTEST_SKIP() << device().front().info().name << " has no images";
  const auto scene = all_round("cone", 31);
  const Volume projections = reference::random_volume(scene.projections, 3);
  const auto planes = three_planes(scene.grid);
  FdkParameters parameters;
  const auto exact = reference::fdk(projections, scene.geometry, planes[1], {});
  parameters.hardware_interpolation = true;
  const Volume volume = fdk(projections, scene.geometry, scene.grid, parameters, device()).output;
  Slices slices(device().front(), projections, scene.geometry, scene.grid, parameters, pixels_of(planes));
  const auto found = slices.reconstruct(planes);
  // coordinates differ by some 1e-4 pixels, which now and then is the next fraction of 8 bits in a view
  for (int axis = 0; axis < 3; ++axis) {
    const auto plane = plane_of_volume(volume, axis, volume.grid.size[axis] / std::array{3, 2, 4}[axis]);
    const std::vector<double> expected(plane.begin(), plane.end());
    EXPECT_LT(reference::largest_difference(found[axis].voxels, expected), 0.005 * reference::largest(exact))
        << "across axis " << axis;
  }
  // fractions of 8 bits, of values that are somewhat larger than their sum
  EXPECT_LT(reference::largest_difference(found[1].voxels, exact), 0.02 * reference::largest(exact));
}

TEST(SlicePlanes, LieWhereTheyAreAsked) {
  Grid volume = default_grid({8, 5, 6}, {1, 2, 3});
  volume.origin[0] += 10;
  const auto at = volume.world(3, 1.25, 4);
  const Grid coronal = plane_across(volume, 1, at);
  EXPECT_EQ(coronal.size, (std::array<std::size_t, 3>{8, 6, 1}));
  EXPECT_EQ(coronal.spacing, (std::array<double, 3>{1, 3, 2}));
  const auto pixel = coronal.world(7, 2, 0), voxel = volume.world(7, 1.25, 2);
  for (int axis = 0; axis < 3; ++axis) EXPECT_NEAR(pixel[axis], voxel[axis], 1e-12);
  EXPECT_NO_THROW(check_grid(coronal, "coronal"));

  const std::array<double, 3> normal{0.6, -0.3, 1};
  const Grid oblique = oblique_plane(volume, at, normal);
  EXPECT_NO_THROW(check_grid(oblique, "oblique"));
  const auto offset = [&](const std::array<double, 3>& p) {
    return (p[0] - at[0]) * normal[0] + (p[1] - at[1]) * normal[1] + (p[2] - at[2]) * normal[2];
  };
  EXPECT_NEAR(offset(oblique.world(0, 0, 0)), 0, 1e-12);
  EXPECT_NEAR(offset(oblique.world(5, 9, 0)), 0, 1e-12);
  EXPECT_EQ(oblique.spacing[0], 1);
  // across j of the default grid, +z: the pixels of the coronal slice
  const Grid across_z = oblique_plane(volume, at, {0, 0, 2});
  EXPECT_EQ(across_z.size, (std::array<std::size_t, 3>{8, 18, 1}));
  EXPECT_NEAR(across_z.direction[0], 1, 1e-12);
  EXPECT_NEAR(across_z.direction[4], 1, 1e-12);
  // across k itself
  EXPECT_EQ(oblique_plane(volume, at, {0, 1, 0}).size, (std::array<std::size_t, 3>{8, 10, 1}));
  EXPECT_THAT([&] { oblique_plane(volume, at, {0, 0, 0}); }, ThrowsMessage<InputError>(HasSubstr("`normal`")));
  EXPECT_THAT([&] { plane_across(volume, 0, {0, 100, 0}); }, ThrowsMessage<InputError>(HasSubstr("`position`")));
}

TEST(Slices, RefuseWhatCannotBe) {
  auto scene = all_round("cone", 40);
  const Volume projections = reference::random_volume(scene.projections, 8);
  const auto planes = three_planes(scene.grid);
  Slices slices(
      device().front(), part_of(projections, 0, 36),
      [&] {
        Geometry window = views_of(scene.geometry, {0, 36});
        for (int n = 0; n < 36; ++n) window.views[static_cast<std::size_t>(n)].gantry_angle = 10 * n;
        return window;
      }(),
      scene.grid, {}, pixels_of(planes));
  const auto refuses = [](const auto& call, const char* part) {
    EXPECT_THAT(call, ThrowsMessage<InputError>(HasSubstr(part)));
  };
  refuses([&] { slices.reconstruct(std::vector<Grid>(2, scene.grid)); }, "pixels; expected one layer");
  refuses([&] { slices.reconstruct(std::vector<Grid>(9, planes[0])); }, "there is room for");
  refuses([&] { slices.reconstruct(std::vector<Grid>()); }, "0 slices at a time");
  refuses([&] { slices.reconstruct(std::vector<Grid>(65, plane_across(scene.grid, 0, centre_of(scene.grid)))); },
          "65 slices at a time");
  refuses([&] { slices.add(part_of(projections, 36, 40), views_of(scene.geometry, {36, 39})); }, "4 views");
  // ten degrees a view no longer: an arc opens
  Geometry same = views_of(scene.geometry, {36, 40});
  for (View& view : same.views) view.gantry_angle = 350;
  refuses([&] { slices.add(part_of(projections, 36, 40), same); }, "`window_views`");
  Volume other = part_of(projections, 36, 40);
  other.grid.spacing[0] *= 2;
  refuses([&] { slices.add(other, views_of(scene.geometry, {36, 40})); }, "spacing");
  Geometry tilted = views_of(scene.geometry, {36, 40});
  for (int n = 0; n < 4; ++n) {
    tilted.views[static_cast<std::size_t>(n)].gantry_angle = 10 * n;
    tilted.views[static_cast<std::size_t>(n)].in_plane_angle = 2;
  }
  refuses([&] { slices.add(part_of(projections, 36, 40), tilted); }, "begin with a new window");
  // it still works
  for (int n = 0; n < 4; ++n) tilted.views[static_cast<std::size_t>(n)].in_plane_angle = 0;
  slices.add(part_of(projections, 36, 40), tilted);
  EXPECT_EQ(slices.reconstruct(planes).size(), 3u);

  FdkParameters counts{.counts = FdkParameters::Counts{}};
  refuses([&] { Slices(device().front(), projections, scene.geometry, scene.grid, counts, pixels_of(planes)); },
          "no calibration");
  auto model = device_models(device()).front();
  model.memory = 700 << 10;  // quads: 34 x 42 x 40 x 16 bytes
  EXPECT_THAT([&] { plan_slices(scene.geometry, scene.projections, scene.grid, {}, 1000, model); },
              ThrowsMessage<PlanError>(HasSubstr("`hardware_interpolation`")));
  refuses([] { windows_of(10, 11, 1); }, "`window_views`");
  refuses([] { windows_of(10, 5, 6); }, "`step`");
  EXPECT_EQ(windows_of(10, 4, 3), (std::vector<Range>{{0, 4}, {3, 7}, {6, 10}}));
}

// ---- the command

class SlicesCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
    ok({"geometry", "circular", "--sid", "200", "--sdd", "300", "--projections", "48", "--arc", "480", "-o",
        f / "geometry.xml"});
    project("geometry.xml", "projections.mha");
  }
  static void ok(const std::vector<std::string>& words) { done(words); }
  void project(const std::string& geometry, const std::string& projections) const {
    ok({"project", "--phantom", "shepp-logan", "--phantom-size", "28", "--mu", "0.02", "-g", f / geometry, "--detector",
        "32,24", "--pixel", "2,2", "-o", f / projections});
  }
  std::vector<std::string> words(std::vector<std::string> more) const {
    std::vector<std::string> all{"slices", "-i",       f / "projections.mha", "-g",   f / "geometry.xml",
                                 "--size", "16,16,12", "--spacing",           "2,2,2"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  Folder f;
};

TEST_F(SlicesCommand, WritesAStackASlice) {
  const Ran ran = done(words({"--views", "36", "--step", "6", "-o", f / "a.mha" + "," + f / "c.mha" + "," + f / "s.mha",
                              "--report", f / "report.json"}));
  const Volume axial = read_image(f / "a.mha"), sagittal = read_image(f / "s.mha");
  EXPECT_EQ(axial.grid.size, (std::array<std::size_t, 3>{16, 16, 3}));
  EXPECT_EQ(sagittal.grid.size, (std::array<std::size_t, 3>{16, 12, 3}));
  EXPECT_THAT(ran.out, HasSubstr("coronal slice, 3 windows"));
  const auto report = nlohmann::json::parse(content(f / "report.json"));
  EXPECT_EQ(report["results"]["windows"], nlohmann::json::parse("[[0, 35], [6, 41], [12, 47]]"));
  // an object that stands still: every window shows it
  for (std::size_t n = 0; n < axial.grid.slice(); ++n)
    EXPECT_NEAR(axial.voxels[n], axial.voxels[n + 2 * axial.grid.slice()], 0.15 * 0.02) << n;
}

TEST_F(SlicesCommand, GivesThePlaneOfFdk) {
  // the first 36 views once more, as a separate file
  ok({"geometry", "circular", "--sid", "200", "--sdd", "300", "--projections", "36", "-o", f / "circle.xml"});
  project("circle.xml", "circle.mha");
  ok({"fdk", "-i", f / "circle.mha", "-g", f / "circle.xml", "--size", "16,16,12", "--spacing", "2,2,2", "-o",
      f / "volume.mha"});
  ok({"slices", "-i", f / "circle.mha", "-g", f / "circle.xml", "--size", "16,16,12", "--spacing", "2,2,2", "--plane",
      "axial", "--position", "1,3,1", "-o", f / "axial.mha"});
  const Volume volume = read_image(f / "volume.mha"), axial = read_image(f / "axial.mha");
  EXPECT_TRUE(static_cast<std::vector<float>>(axial.voxels) == plane_of_volume(volume, 2, 7));  // y = -11 + 2 k
  EXPECT_NEAR(axial.grid.origin[1], 3, 1e-12);
}

// Counts, a window of the detector, bins, Hounsfield units and the variance: the values of fdk with the same options.
TEST_F(SlicesCommand, TakesWhatFdkTakes) {
  ok({"geometry", "circular", "--sid", "200", "--sdd", "300", "--projections", "36", "-o", f / "circle.xml"});
  ok({"project", "--phantom", "shepp-logan", "--phantom-size", "28", "--mu", "0.02", "-g", f / "circle.xml",
      "--detector", "66,50", "--pixel", "1,1", "-o", f / "fine.mha"});
  Volume counts = read_image(f / "fine.mha");
  Grid single = counts.grid;
  single.size[2] = 1;
  Volume flat(single);
  for (std::size_t n = 0; n < counts.voxels.size(); ++n) {
    const std::size_t pixel = n % single.count();
    flat.voxels[pixel] = 5000 + 50 * static_cast<float>(pixel % 17);
    counts.voxels[n] = flat.voxels[pixel] * std::exp(-counts.voxels[n]);
  }
  write_image(counts, f / "counts.mha");
  write_image(flat, f / "flat.mha");
  const auto with = [&](const std::string& command, const std::vector<std::string>& more) {
    std::vector<std::string> all{command,
                                 "-i",
                                 f / "counts.mha",
                                 "-g",
                                 f / "circle.xml",
                                 "--counts",
                                 "--flat",
                                 f / "flat.mha",
                                 "--size",
                                 "16,16,12",
                                 "--spacing",
                                 "2,2,2",
                                 "--hu",
                                 "0.02",
                                 "--photons-per-count",
                                 "2",
                                 "--electronic",
                                 "4"};
    all.insert(all.end(), more.begin(), more.end());
    const Ran ran = done(all);
    return ran.out;
  };
  for (const std::vector<std::string>& part : {std::vector<std::string>{}, {"--crop", "1,1,64,48", "--bin", "2"}}) {
    auto more = part;
    more.insert(more.end(), {"-o", f / "volume.mha", "--variance-out", f / "noise.mha"});
    with("fdk", more);
    more = part;
    more.insert(more.end(), {"--plane", "axial,coronal", "--position", "1,3,1", "-o", f / "a.mha" + "," + f / "c.mha",
                             "--variance-out", f / "va.mha" + "," + f / "vc.mha", "--report", f / "r.json"});
    EXPECT_THAT(with("slices", more), HasSubstr("noise variance of the same in HU^2, for 2 photons a count"));
    const Volume volume = read_image(f / "volume.mha"), noise = read_image(f / "noise.mha");
    for (const auto& [name, of, axis, at] : {std::tuple{"a.mha", &volume, 2, 7},
                                             {"c.mha", &volume, 1, 8},
                                             {"va.mha", &noise, 2, 7},
                                             {"vc.mha", &noise, 1, 8}})
      EXPECT_TRUE(static_cast<std::vector<float>>(read_image(f / name).voxels) ==
                  plane_of_volume(*of, axis, static_cast<std::size_t>(at)))
          << name;
    const auto slices = nlohmann::json::parse(content(f / "r.json"))["results"]["slices"];
    EXPECT_EQ(slices[0]["unit"], "HU");
    EXPECT_EQ(slices[3]["unit"], "HU^2");
  }
}

// slices fills what was not measured from each view alone, for views arrive one by one; fdk learns from those beside
// it. Both are near the values of the whole detector.
TEST_F(SlicesCommand, FillsDeadPixels) {
  ok({"geometry", "circular", "--sid", "200", "--sdd", "300", "--projections", "36", "-o", f / "circle.xml"});
  project("circle.xml", "circle.mha");
  Volume counts = read_image(f / "circle.mha");
  for (float& value : counts.voxels) value = 5000 * std::exp(-value);
  Grid single = counts.grid;
  single.size[2] = 1;
  write_image(Volume(single, 5000), f / "flat.mha");
  write_image(counts, f / "whole.mha");
  for (std::size_t n = 0; n < counts.voxels.size(); n += counts.grid.size[0]) counts.voxels[n + 12] = 0;
  write_image(counts, f / "dead.mha");
  const auto made = [&](const std::string& command, const std::string& input, const std::vector<std::string>& more) {
    std::vector<std::string> words{command,  "-i",           f / input, "-g",       f / "circle.xml", "--counts",
                                   "--flat", f / "flat.mha", "--size",  "16,16,12", "--spacing",      "2,2,2"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.end(), {"-o", f / "made.mha"});
    ok(words);
    return read_image(f / "made.mha");
  };
  const std::vector<std::string> plane{"--plane", "axial", "--position", "1,3,1"};
  const std::vector<float> truth = plane_of_volume(made("fdk", "whole.mha", {}), 2, 7),
                           filled = plane_of_volume(made("fdk", "dead.mha", {}), 2, 7),
                           slice = made("slices", "dead.mha", plane).voxels;
  EXPECT_EQ(made("slices", "whole.mha", plane).voxels, truth);
  const auto rms = [&](const std::vector<float>& a) {
    double sum = 0;
    for (std::size_t n = 0; n < a.size(); ++n) sum += std::pow(a[n] - truth[n], 2);
    return std::sqrt(sum / static_cast<double>(a.size()));
  };
  const double most = *std::max_element(truth.begin(), truth.end());
  std::printf("dead column: off by %.3g (slices) and %.3g (fdk) of %.3g\n", rms(slice), rms(filled), most);
  EXPECT_LT(rms(slice), 0.01 * most);
  EXPECT_LT(rms(filled), 0.01 * most);
}

TEST_F(SlicesCommand, MakesAnObliqueOne) {
  done(words({"--views", "36", "--normal", "1,1,0", "-o", f / "o.mha"}));
  const Volume slice = read_image(f / "o.mha");
  EXPECT_EQ(slice.grid.spacing[0], 2);
  EXPECT_EQ(slice.grid.size[2], 1u);
}

TEST_F(SlicesCommand, RefusesByName) {
  const auto refuses = [&](std::vector<std::string> more, const std::string& part) {
    const Ran ran = run(words(more));
    EXPECT_EQ(ran.code, 2) << part;
    EXPECT_THAT(ran.err, HasSubstr(part));
  };
  const std::string one = f / "x.mha", three = one + "," + f / "y.mha" + "," + f / "z.mha";
  refuses({"--views", "36", "-o", one}, "-o has 1 file for 3 slices (axial, coronal, sagittal)");
  refuses({"--views", "36", "-o", one + "," + one + "," + one}, "-o");
  refuses({"--plane", "axial,frontal", "-o", three}, "\"frontal\"");
  refuses({"--plane", "axial", "--normal", "1,0,0", "-o", one}, "--normal");
  refuses({"--interpolation", "half", "--views", "36", "-o", three}, "half not in {exact,hardware}");
  refuses({"--normal", "0,0,0", "-o", one}, "--normal");
  refuses({"--position", "0,400,0", "-o", three}, "--position");
  refuses({"--step", "3", "-o", three}, "--views");
  refuses({"--views", "36", "--variance-out", three, "-o", three}, "--photons is missing");
  refuses({"--views", "36", "--variance-out", one, "--photons", "9", "-o", three}, "--variance-out has 1 file for 3");
  refuses({"--views", "36", "--photons", "9", "-o", three}, "--variance-out, which is missing");
  refuses({"--views", "36", "--counts", "-o", three}, "--flat");
  refuses({"--views", "36", "--flat", one, "-o", three}, "--counts");
  refuses({"--views", "36", "--bin", "33", "-o", three}, "--bin");
  refuses({"--views", "49", "-o", three}, "--views");
  refuses({"--views", "36", "--step", "37", "-o", three}, "--step");
  refuses({"--views", "30", "--step", "5", "-o", three}, "views 0 to 29");
  if (list_devices().size() > 1) refuses({"--views", "36", "--device", "all", "-o", three}, "--device");
  const Ran dry = done(words({"--views", "36", "--dry-run", "-o", three}));
  EXPECT_THAT(dry.out, HasSubstr("resident"));
  EXPECT_FALSE(std::filesystem::exists(one));
}

}  // namespace
}  // namespace halocline::slices_test

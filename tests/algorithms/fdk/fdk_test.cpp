// labels: device slab dealt
// Filtered back-projection: against double precision, in absolute values against analytic phantoms, one slab against
// many.
#include "algorithms/fdk/fdk.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "algorithms/fdk/fdk_filter.hpp"
#include "algorithms/fdk/row_filter.hpp"
#include "algorithms/phantoms/phantoms.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/program_run.hpp"
#include "scheduling/profiling/rates.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::fdk_test {
namespace {

using reference::device;

Geometry circle(double sid, double sdd, std::size_t views, double arc = 360) {
  return circular_geometry({.sid = sid, .sdd = sdd, .projections = views, .arc = arc});
}

Volume reconstructed(const Volume& projections, const Geometry& geometry, const Grid& grid,
                     const FdkParameters& parameters = {}) {
  return fdk(projections, geometry, grid, parameters, device()).output;
}

/// Mean over the voxels whose centres are in an axis-parallel ellipsoid.
double mean_in(const Volume& volume, std::array<double, 3> centre, std::array<double, 3> semi_axes) {
  double sum = 0;
  int count = 0;
  for (std::size_t k = 0; k < volume.grid.size[2]; ++k)
    for (std::size_t j = 0; j < volume.grid.size[1]; ++j)
      for (std::size_t i = 0; i < volume.grid.size[0]; ++i) {
        const auto x = volume.grid.world(static_cast<double>(i), static_cast<double>(j), static_cast<double>(k));
        double distance = 0;
        for (int axis = 0; axis < 3; ++axis) distance += std::pow((x[axis] - centre[axis]) / semi_axes[axis], 2);
        if (distance > 1) continue;
        sum += volume.at(i, j, k);
        ++count;
      }
  EXPECT_GT(count, 10);
  return sum / count;
}

Primitive ball(std::array<double, 3> centre, double radius, double value) {
  return {.semi_axes = {radius, radius, radius}, .centre = centre, .value = value};
}

// ---- against double precision

struct Case {
  std::string name;
  reference::Scene scene;
  FdkParameters parameters;
  /// Try hardware interpolation too: not for every case, as drivers for CPUs take seconds to compile each variant.
  bool hardware() const {
    return device().front().info().images && (name == "cone" || name == "cone_tilted_variance" || name == "fan");
  }
};
void PrintTo(const Case& value, std::ostream* out) {
  *out << value.name;
}

std::vector<Case> cases() {
  std::vector<Case> out;
  const Window windows[] = {Window::ram_lak, Window::shepp_logan, Window::cosine, Window::hamming, Window::hann};
  int n = 0;
  for (reference::Scene scene : reference::scenes()) {
    // full circle without arcs that count as missing
    Geometry geometry;
    for (int view = 0; view < 31; ++view) {
      View each = scene.geometry.views.front();
      each.gantry_angle = 3 + view * 360.0 / 31 + 2 * std::sin(view);
      geometry.views.push_back(each);
    }
    scene.geometry = geometry;
    scene.projections.size[2] = 31;
    FdkParameters parameters{.window = windows[n % 5], .cutoff = n < 5 ? 1 : 0.7};
    ++n;
    out.push_back({scene.name, scene, parameters});
    parameters.variance = FdkParameters::Noise{1000, 12};
    out.push_back({scene.name + "_variance", scene, parameters});
  }
  return out;
}

// The paths of fdk_general.cl, with everything uneven.
std::vector<Case> general_cases() {
  const auto scene_of = [](const std::string& name) {
    for (const auto& scene : reference::scenes())
      if (scene.name == name) return scene;
    throw InputError("there is no scene " + name);
  };
  struct Change {
    const char *name, *scene;
    double arc, radius, pad;
    bool displaced;
    bool upright = true;
  };
  std::vector<Case> out;
  for (const Change& change : {Change{"short", "cone", 230, 0, 0, true},
                               {"short_fan", "fan", 230, 0, 0.4, true},
                               {"short_tilted", "cone_turned_grid", 230, 0, 0, false},
                               {"displaced_padded", "cone_tilted", 360, 0, 0.3, true},
                               {"displaced_flipped_padded", "cone_world_axes", 360, 0, 1, true},
                               {"padded", "cone", 360, 0, 0.6, true},
                               {"parallel_padded", "parallel", 360, 0, 1, true},
                               {"parallel_displaced", "parallel", 360, 0, 0, true},
                               {"parallel_tilted_displaced_padded", "parallel_tilted", 360, 0, 0.3, true},
                               {"cylinder", "cone", 360, 300, 0, true},
                               {"cylinder_displaced", "cone_tilted", 360, 250, 0.2, true},
                               {"cylinder_flipped_short", "cone_world_axes", 230, 400, 0, false},
                               {"cylinder_fan", "fan", 360, 280, 0, true},
                               {"tilted_short_padded", "cone_tilted", 230, 0, 0.5, false},
                               {"along_the_rows", "cone_tilted", 360, 0, 0.2, true, false},
                               {"parallel_along_the_rows", "parallel_tilted", 360, 0, 0, true, false}}) {
    Case each{change.name, scene_of(change.scene), {}};
    Geometry& geometry = each.scene.geometry;
    View first = geometry.views.front();
    if (first.parallel() && each.name.find("displaced") != std::string::npos) first.projection_offset_x += 6;
    geometry.views.clear();
    for (int n = 0; n < 31; ++n) {
      View view = first;
      view.gantry_angle = 340 + 7 * n % 31 * change.arc / 31 + std::sin(n);  // not in their order
      view.projection_offset_x += 0.5 * std::cos(n);
      geometry.views.push_back(view);
    }
    geometry.radius_cylindrical_detector = change.radius;
    each.scene.projections.size[2] = 31;
    each.parameters.pad = change.pad;
    each.parameters.redundancy.displaced = change.displaced;
    each.parameters.upright_rows = change.upright;
    out.push_back(each);
    each.name += "_variance";
    each.parameters.window = Window::hann;
    each.parameters.variance = FdkParameters::Noise{1000, 12};
    out.push_back(each);
  }
  Case gaps{"gaps", scene_of("cone"), {}};
  const View first = gaps.scene.geometry.views.front();
  gaps.scene.geometry.views.assign(80, first);
  for (std::size_t n = 0; n < 80; ++n) gaps.scene.geometry.views[n].gantry_angle = 11 + 4.5 * static_cast<double>(n);
  gaps.scene.geometry.views.erase(gaps.scene.geometry.views.begin() + 50, gaps.scene.geometry.views.begin() + 53);
  gaps.scene.geometry.views.erase(gaps.scene.geometry.views.begin() + 5, gaps.scene.geometry.views.begin() + 8);
  gaps.scene.projections.size[2] = gaps.scene.geometry.views.size();
  gaps.parameters.redundancy.displaced = false;
  gaps.parameters.pad = 0.3;
  out.push_back(gaps);
  return out;
}

class FdkCases : public testing::TestWithParam<Case> {
 protected:
  Volume projections = reference::random_volume(GetParam().scene.projections, 5);
};

TEST_P(FdkCases, MatchesDoublePrecision) {
  const auto& [name, scene, parameters] = GetParam();
  const auto expected = reference::fdk(projections, scene.geometry, scene.grid, parameters);
  ASSERT_GT(reference::largest(expected), 0);
  const auto exact = reconstructed(projections, scene.geometry, scene.grid, parameters).voxels;
  EXPECT_LT(reference::largest_difference(exact, expected), 2e-5 * reference::largest(expected));
  if (!GetParam().hardware()) return;
  FdkParameters hardware = parameters;
  hardware.hardware_interpolation = true;
  EXPECT_LT(
      reference::largest_difference(reconstructed(projections, scene.geometry, scene.grid, hardware).voxels, expected),
      1e-2 * reference::largest(expected));
}

TEST_P(FdkCases, SlabsBatchesAndDevicesChangeNoBit) {
  const auto& [name, scene, given] = GetParam();
  for (const bool hardware : {false, true}) {
    if (hardware && !GetParam().hardware()) return;
    FdkParameters parameters = given;
    parameters.hardware_interpolation = hardware;
    const auto whole = reconstructed(projections, scene.geometry, scene.grid, parameters).voxels;
    const int most = static_cast<int>(scene.grid.size[2]);
    for (const auto& [slabs, batch] : {std::pair{1, 1}, {1, 5}, {2, 16}, {3, 5}}) {
      if (slabs > most) continue;
      RunOptions options{.plan = {.minimum_slabs = slabs, .batch = batch}};
      const auto result = fdk(projections, scene.geometry, scene.grid, parameters, device(), options);
      EXPECT_GE(static_cast<int>(result.plan.slabs.size()), slabs);
      EXPECT_TRUE(result.output.voxels == whole)
          << slabs << " slabs, batches of " << batch << (hardware ? ", hardware interpolation" : "");
    }
    const auto& parts = reference::sub_devices(2);
    if (hardware && !parts.front().info().images)
      GTEST_SKIP() << parts.front().info().name << " has no images on sub-devices";
    EXPECT_TRUE(fdk(projections, scene.geometry, scene.grid, parameters, parts).output.voxels ==
                fdk(projections, scene.geometry, scene.grid, parameters, reference::undivided()).output.voxels);
  }
}

// Path of GPUs where tuning has found it the fastest, on any device.
TEST_P(FdkCases, ThroughLocalMemoryBitsAreTheSame) {
  const auto& [name, scene, parameters] = GetParam();
  const auto tiles = local_tiles();
  const auto tile = std::min_element(tiles.begin(), tiles.end(),
                                     [](const auto& one, const auto& other) { return one.slices < other.slices; });
  auto tuned = device_models(device());
  for (DeviceModel& model : tuned) model.cpu = false, model.choices[exact_form_choice] = tile->text();
  const Fdk method(scene.geometry, scene.projections, scene.grid, with_row_filter(parameters, device()), tuned);
  // tilted ones are resampled onto an upright detector
  const bool upright = scene.name == "cone" || (scene.name == "cone_tilted" && parameters.upright_rows) ||
                       scene.name == "cone_one_slice" || scene.name == "cone_one_voxel" || scene.name == "parallel" ||
                       scene.name.starts_with("fan_stack");
  EXPECT_EQ(method.requirements().cost.name, upright ? "voxel tile" : "voxel exact");
  const auto whole = reconstructed(projections, scene.geometry, scene.grid, parameters).voxels;
  for (const auto& [slabs, batch] : {std::pair{1, 0}, {3, 5}}) {
    RunOptions options;
    options.plan.minimum_slabs = std::min(slabs, static_cast<int>(scene.grid.size[2]));
    options.plan.batch = batch;
    EXPECT_TRUE(run_program(program_of(method), {{"raw", &projections}}, scene.grid, device(), options).output.voxels ==
                whole)
        << slabs << " slabs";
  }
}

// Rows that are filtered in local memory, as on GPUs: right, and the same whatever the slabs and batches.
TEST_P(FdkCases, RowsInLocalMemoryAreFilteredAlike) {
  const auto& [name, scene, given] = GetParam();
  FdkParameters parameters = given;
  parameters.longest_local_rows = longest_rows_in(device().front().info());
  const auto expected = reference::fdk(projections, scene.geometry, scene.grid, parameters);
  const auto whole = reconstructed(projections, scene.geometry, scene.grid, parameters).voxels;
  EXPECT_LT(reference::largest_difference(whole, expected), 2e-5 * reference::largest(expected));
  for (const auto& [slabs, batch] : {std::pair{1, 5}, {3, 1}}) {
    RunOptions options;
    options.plan.minimum_slabs = std::min(slabs, static_cast<int>(scene.grid.size[2]));
    options.plan.batch = batch;
    EXPECT_TRUE(fdk(projections, scene.geometry, scene.grid, parameters, device(), options).output.voxels == whole)
        << slabs << " slabs, batches of " << batch;
  }
}

INSTANTIATE_TEST_SUITE_P(All, FdkCases, testing::ValuesIn(cases()), [](const auto& info) { return info.param.name; });
INSTANTIATE_TEST_SUITE_P(General, FdkCases, testing::ValuesIn(general_cases()),
                         [](const auto& info) { return info.param.name; });

// ---- absolute values

// Shepp-Logan, 64 mm wide: half cone angle atan(32/500) = 3.7 degrees.
struct Head {
  std::vector<Primitive> phantom = shepp_logan(64, 0.02, true);
  Grid projections = reference::detector(128, 112, 120, 1, 1);
  Grid grid = default_grid({64, 64, 64}, {1, 1, 1});

  /// The middles of the two dark ventricles, of a denser spot behind them, and brain between: homogeneous places.
  void expect_within(const Volume& volume, double tolerance) const {
    const struct {
      const char* name;
      std::array<double, 3> centre, semi_axes;
    } places[] = {{"right ventricle", {7.04, -8, 0}, {2, 3, 4}},
                  {"left ventricle", {-7.04, -8, 0}, {2.5, 3, 4}},
                  {"dense spot", {0, -8, 11.2}, {3, 5, 4}},
                  {"brain", {0, 6, -4}, {4, 4, 6}}};
    for (const auto& place : places) {
      const double truth = attenuation(phantom, place.centre);
      ASSERT_NEAR(mean_in(voxelise(phantom, grid, 2), place.centre, place.semi_axes), truth, 1e-9)
          << place.name << " is not homogeneous";
      // relative to the brain: a ventricle holds nothing
      EXPECT_NEAR(mean_in(volume, place.centre, place.semi_axes), truth, tolerance * 0.02 * 0.2) << place.name;
    }
  }
};

TEST(Fdk, SheppLoganHasItsAbsoluteValues) {
  const Head head;
  const Geometry geometry = circle(500, 768, 120);
  const Volume projections = project_analytic(head.phantom, geometry, head.projections);
  head.expect_within(reconstructed(projections, geometry, head.grid), 0.005);
  if (!device().front().info().images) GTEST_SKIP() << device().front().info().name << " has no images";
  FdkParameters parameters{.hardware_interpolation = true};
  head.expect_within(reconstructed(projections, geometry, head.grid, parameters), 0.005);
}

// Mid-plane, where filtered back-projection is exact. Relative to the large ball's value.
TEST(Fdk, MidPlaneValuesAreWithinAFifthOfAPercent) {
  const auto phantom = std::vector{ball({6, 0, -5}, 30, 0.02), ball({18, 0, -12}, 8, 0.01), ball({-6, 0, 6}, 7, -0.02)};
  struct Place {
    const char* name;
    std::array<double, 3> at;
  };
  const Place places[] = {{"dense ball", {18, 0, -12}}, {"void", {-6, 0, 6}}, {"large ball", {12, 0, 8}}};
  for (const double arc : {360.0, 220.0}) {
    const Geometry geometry = circle(500, 768, arc == 360 ? 240 : 180, arc);
    const Volume projections =
        project_analytic(phantom, geometry, reference::detector(160, 128, geometry.views.size(), 0.8, 0.8));
    const Volume volume = reconstructed(projections, geometry, default_grid({96, 96, 5}, {0.8, 0.8, 0.8}));
    for (const Place& place : places) {
      const double truth = attenuation(phantom, place.at), found = mean_in(volume, place.at, {4, 1.2, 4});
      EXPECT_NEAR(found, truth, 0.002 * 0.02) << place.name << ", " << arc << " degrees";
    }
  }
}

TEST(Fdk, UnevenAnglesAndMissingViewsKeepTheValue) {
  const Head head;
  Geometry geometry = circle(500, 768, 122);
  for (std::size_t n = 0; n < 122; ++n) geometry.views[n].gantry_angle += 0.8 * std::sin(1.7 * static_cast<double>(n));
  geometry.views.erase(geometry.views.begin() + 70);
  geometry.views.erase(geometry.views.begin() + 20);
  head.expect_within(reconstructed(project_analytic(head.phantom, geometry, head.projections), geometry, head.grid),
                     0.01);
}

TEST(Fdk, AnyWindowAndGridKeepTheValue) {
  const auto phantom = std::vector{ball({6, -5, 9}, 14, 0.02)};
  const Geometry geometry = circle(500, 768, 90);
  const Volume projections = project_analytic(phantom, geometry, reference::detector(128, 112, 90, 1, 1));
  for (const auto& name : window_names()) {
    FdkParameters parameters{.window = window_from_name(name), .cutoff = 0.8};
    for (const auto& scene : reference::scenes()) {
      if (scene.name != "cone_turned_grid" && scene.name != "cone_world_axes") continue;
      const Volume volume = reconstructed(projections, geometry, scene.grid, parameters);
      // both grids cover the ball's middle
      EXPECT_NEAR(mean_in(volume, {4, -2, 4}, {4, 4, 4}), 0.02, 1.5e-4) << name << ", " << scene.name;
    }
  }
}

TEST(Fdk, OffCentreBallKeepsPlaceAndValue) {
  const auto phantom = std::vector{ball({17, 11, -9}, 6, 0.05)};
  const Geometry geometry = circle(400, 600, 120);
  const Volume projections = project_analytic(phantom, geometry, reference::detector(128, 64, 120, 1, 1));
  const Volume volume = reconstructed(projections, geometry, default_grid({64, 64, 48}, {1, 1, 1}));
  EXPECT_NEAR(mean_in(volume, {17, 11, -9}, {4, 4, 4}), 0.05, 0.0005);
  // the centre of mass of all that is at least half as dense: a mirrored or turned volume would have it elsewhere
  double mass = 0, moment[3] = {0, 0, 0};
  for (std::size_t k = 0; k < 48; ++k)
    for (std::size_t j = 0; j < 64; ++j)
      for (std::size_t i = 0; i < 64; ++i) {
        const double value = volume.at(i, j, k);
        if (value < 0.025) continue;
        const auto x = volume.grid.world(static_cast<double>(i), static_cast<double>(j), static_cast<double>(k));
        mass += value;
        for (int axis = 0; axis < 3; ++axis) moment[axis] += value * x[axis];
      }
  EXPECT_NEAR(moment[0] / mass, 17, 0.1);
  EXPECT_NEAR(moment[1] / mass, 11, 0.1);
  EXPECT_NEAR(moment[2] / mass, -9, 0.1);
}

TEST(Fdk, LargeOffsetsOfSourceAndDetectorKeepTheValue) {
  // u and v of the weights count from the foot of the perpendicular from the source: raw image coordinates are 4 % off
  // at 300 mm
  CircularOptions options;
  options.sid = 800;
  options.sdd = 1200;
  options.projections = 120;
  options.projection_offset_x = 300;
  options.source_offset_x = 5;
  const Geometry geometry = circular_geometry(options);
  Grid detector = reference::detector(128, 64, 120, 1, 1);
  detector.origin[0] -= 300 - 5 * 0.5 * -1;  // centred on the axis again: u w = -px + sx (1 - SDD/SID) at the isocentre
  const auto phantom = std::vector{ball({3, 2, -4}, 15, 0.03)};
  const Volume volume =
      reconstructed(project_analytic(phantom, geometry, detector), geometry, default_grid({48, 48, 33}, {1, 1, 1}));
  EXPECT_NEAR(mean_in(volume, {3, 2, -4}, {10, 10, 10}), 0.03, 0.00015);
}

TEST(Fdk, ParallelBeamOver180Degrees) {
  const auto phantom = std::vector{ball({5, 1, -8}, 15, 0.03)};
  for (const double arc : {180.0, 360.0}) {
    const Geometry geometry = circle(500, 0, 90, arc);
    const Volume projections = project_analytic(phantom, geometry, reference::detector(128, 3, 90, 1, 1));
    const Volume volume = reconstructed(projections, geometry, default_grid({60, 64, 3}, {1, 1, 1}));
    EXPECT_NEAR(mean_in(volume, {5, 0, -8}, {10, 1.5, 10}), 0.03, 0.00015) << arc;
  }
}

TEST(Fdk, ParallelBeamWithTwoRows) {
  const auto phantom = std::vector{ball({5, 1, -8}, 15, 0.03)};
  const Geometry geometry = circle(500, 0, 90, 180);
  const Volume projections = project_analytic(phantom, geometry, reference::detector(128, 2, 90, 1, 1));
  const Volume volume = reconstructed(projections, geometry, default_grid({60, 64, 2}, {1, 1, 1}));
  EXPECT_NEAR(mean_in(volume, {5, 0.5, -8}, {10, 0.4, 10}), 0.03, 0.00015);
  EXPECT_NEAR(mean_in(volume, {5, -0.5, -8}, {10, 0.4, 10}), 0.03, 0.00015);
}

TEST(Fdk, FanBeamOfOneRow) {
  // the exact mid-plane and one a little off it, both within the row's height
  const auto phantom = std::vector{ball({9, 0, -8}, 15, 0.03)};
  const Geometry geometry = circle(200, 300, 180);
  const Volume projections = project_analytic(phantom, geometry, reference::detector(128, 1, 180, 1, 2));
  for (const double y : {0.0, 0.3}) {
    Grid grid = default_grid({60, 64, 1}, {1, 1, 1});
    grid.origin[1] = y;
    EXPECT_NEAR(mean_in(reconstructed(projections, geometry, grid), {9, y, -8}, {10, 0.4, 10}), 0.03, 0.00015) << y;
  }
}

TEST(Fdk, VoxelsThatNoViewSeesAreZero) {
  const Geometry geometry = circle(500, 1000, 30);
  const Volume projections(reference::detector(33, 16, 30, 1, 1), 1.0f);
  const Volume volume = reconstructed(projections, geometry, default_grid({15, 15, 31}, {1, 1, 1}));
  EXPECT_EQ(volume.at(7, 7, 0), 0.0f);
  EXPECT_NE(volume.at(7, 7, 15), 0.0f);
}

// ---- what is refused

std::string refusal(const Geometry& geometry, const Grid& projections, const Grid& grid) {
  return refusal_of([&] { check_fdk(geometry, projections, grid, "scan.mha", "scan.xml"); });
}

TEST(FdkCheck, RefusesWhatCannotBeReconstructed) {
  using testing::AllOf;
  using testing::HasSubstr;
  const Grid grid = default_grid({16, 16, 16}, {1, 1, 1});
  const Grid detector = reference::detector(40, 40, 60, 1, 1);
  EXPECT_EQ(refusal(circle(500, 1000, 60), detector, grid), "");
  EXPECT_THAT(refusal(circle(500, 1000, 61), detector, grid),
              AllOf(HasSubstr("scan.mha"), HasSubstr("60"), HasSubstr("61"), HasSubstr("scan.xml")));
  EXPECT_THAT(refusal(circle(500, 1000, 60, 180), detector, grid),
              AllOf(HasSubstr("177 degrees"), HasSubstr("full circle")));
  EXPECT_THAT(refusal(circle(500, 0, 60, 120), detector, grid), HasSubstr("parallel beam"));
  Grid turned = detector;
  turned.direction = {0.8, -0.6, 0, 0.6, 0.8, 0, 0, 0, 1};
  EXPECT_THAT(refusal(circle(500, 1000, 60), turned, grid), HasSubstr("in-plane"));
  Grid far = grid;
  far.origin[1] = 300;
  EXPECT_THAT(refusal(circle(500, 1000, 60), detector, far),
              AllOf(HasSubstr("y 300 to 315"), HasSubstr("-10 to 10 mm along")));
}

TEST(FdkCheck, TellsOfRepeatedViewsAndDisplacedDetectors) {
  using testing::ElementsAre;
  using testing::HasSubstr;
  const Grid grid = default_grid({16, 16, 16}, {1, 1, 1});
  Geometry repeated = circle(500, 1000, 60);
  repeated.views.push_back(repeated.views.front());
  EXPECT_THAT(check_fdk(repeated, reference::detector(40, 40, 61, 1, 1), grid),
              ElementsAre(HasSubstr("1 view repeats")));
  Grid displaced = reference::detector(40, 40, 60, 1, 1);
  displaced.origin[0] += 10;
  EXPECT_THAT(check_fdk(circle(500, 1000, 60), displaced, grid), ElementsAre(HasSubstr("-5 to 15 mm")));
  EXPECT_TRUE(check_fdk(circle(500, 1000, 60), reference::detector(40, 40, 60, 1, 1), grid).empty());
}

TEST(FdkCheck, RefusesBadParameters) {
  const Geometry geometry = circle(500, 1000, 60);
  const Volume projections(reference::detector(8, 8, 60, 1, 1));
  const Grid grid = default_grid({4, 4, 4}, {1, 1, 1});
  FdkParameters parameters{.cutoff = 1.5};
  EXPECT_THROW(reconstructed(projections, geometry, grid, parameters), InputError);
  parameters.cutoff = 1;
  parameters.variance = FdkParameters::Noise{-1, 0};
  EXPECT_THROW(reconstructed(projections, geometry, grid, parameters), InputError);
}

TEST(Fdk, AFilterOfTheRampsValuesGivesItsBits) {
  const Geometry geometry = circle(500, 768, 40);
  const Volume projections =
      project_analytic({ball({6, -5, 9}, 14, 0.02)}, geometry, reference::detector(48, 40, 40, 2, 2));
  const Grid grid = default_grid({24, 24, 20}, {2, 2, 2});
  for (const bool variance : {false, true}) {
    FdkParameters ramp{.window = Window::hann, .cutoff = 0.9}, own = ramp;
    if (variance) ramp.variance = own.variance = FdkParameters::Noise{5000, 15};
    const std::size_t length = FdkFilter(geometry, projections.grid, ramp).rows().length;
    own.filter = ramp_transfer(Window::ram_lak, 1, length);
    own.filter.resize(length / 2 + 1);
    const auto expected = reconstructed(projections, geometry, grid, ramp).voxels;
    EXPECT_EQ(reconstructed(projections, geometry, grid, own).voxels, expected);
    for (double& value : own.filter) value *= 2;
    const auto twice = reconstructed(projections, geometry, grid, own).voxels;
    for (std::size_t n = 0; n < twice.size(); ++n) ASSERT_EQ(twice[n], (variance ? 4 : 2) * expected[n]);
  }
}

TEST(FdkCheck, RefusesFiltersThatAreNone) {
  for (const auto& [filter, words] : {std::pair<std::vector<double>, const char*>{{1}, "one value"},
                                      {{0, 0, 0}, "zeros alone"},
                                      {{0, NAN, 1}, "nan as value 1"},
                                      {{0, 1e7}, "as value 1"}}) {
    FdkParameters parameters;
    parameters.filter = filter;
    try {
      check_fdk_parameters(parameters);
      ADD_FAILURE() << words;
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(words));
    }
  }
}

TEST(FdkPlan, DeclaresWhatItUses) {
  const Geometry geometry = circle(500, 1000, 60);
  const Grid projections = reference::detector(64, 47, 60, 1, 1), grid = default_grid({32, 32, 200}, {1, 1, 1});
  PlanOptions options{.minimum_slabs = 6};
  const Plan plan = plan_fdk(geometry, projections, grid, {}, device_models(device()), options);
  ASSERT_GE(plan.slabs.size(), 6u);
  std::int64_t next = 0;
  for (const auto& slab : plan.slabs) {
    EXPECT_EQ(slab.interior.begin, next);
    EXPECT_EQ(slab.extended, slab.interior);
    EXPECT_LE(slab.rows.end, 47);
    next = slab.interior.end;
  }
  EXPECT_EQ(next, 200);
}

}  // namespace
}  // namespace halocline::fdk_test

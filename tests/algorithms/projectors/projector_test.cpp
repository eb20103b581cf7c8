// labels: device slab dealt
// The matched pairs of projectors: both directions against double precision, each other's adjoint, one slab against
// many, and line integrals of ellipsoids.
#include "algorithms/projectors/projector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "algorithms/phantoms/phantoms.hpp"
#include "algorithms/projectors/adjoint_bricks.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/program_run.hpp"
#include "scheduling/profiling/rates.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::projector_test {
namespace {

using reference::device;
using reference::split;

reference::Scene scan_of(const std::string& name, std::vector<double> angles, double offset, const Grid& grid,
                         std::array<double, 2> pixel) {
  CircularOptions options;
  options.sid = 200;
  options.sdd = 300;
  options.angles = std::move(angles);
  options.projection_offset_x = offset;
  const std::size_t views = options.angles.size();
  return {name, circular_geometry(options), reference::detector(29, 27, views, pixel[0], pixel[1]), grid};
}

// Cylinders about the source and about another line, with tilts and offsets, from files that count backwards, of one
// row; the offsets of each view different, and the same.
std::vector<reference::Scene> cylinders() {
  CircularOptions options;
  options.sid = 60;
  options.sdd = 90;
  options.angles = {3, 41, 135, 226, 301};
  const Grid grid = default_grid({17, 13, 11}, {2, 3, 1.5});
  Grid world;  // the rotation axis along j
  world.size = {7, 19, 12};
  world.spacing = {4, 1.5, 3};
  world.origin = {-15, -12, -17};
  std::vector<reference::Scene> all;
  const auto add = [&](const std::string& name, double radius, const Grid& detector, const Grid& volume) {
    all.push_back({name, circular_geometry(options), detector, volume});
    all.back().geometry.radius_cylindrical_detector = radius;
  };
  const Grid stack = reference::detector(45, 23, 5, 2, 3);
  add("cylinder", 90, stack, grid);
  add("cylinder_one_row", 90, reference::detector(45, 1, 5, 2, 3), default_grid({15, 11, 1}, {2, 2.5, 1}));
  options.source_offset_x = 2;
  options.source_offset_y = -3;
  options.projection_offset_x = 8;
  options.projection_offset_y = -4;
  add("cylinder_flatter", 170, stack, grid);
  options.out_of_plane_angle = 7;
  options.in_plane_angle = -4;
  Grid backwards = stack;
  backwards.direction = {-1, 0, 0, 0, -1, 0, 0, 0, 1};
  backwards.origin = {44, 33, 0};
  add("cylinder_tilted", 60, backwards, world);
  for (std::size_t n = 0; n < all.back().geometry.views.size(); ++n)
    all.back().geometry.views[n].projection_offset_x += static_cast<double>(n > 1 ? n : 0);
  return all;
}

// Stacks of fans higher than the source is far, and pixels whose shadows are widest between places far apart.
std::vector<reference::Scene> near_sources() {
  CircularOptions high, wide;
  high.sid = 15, high.sdd = 24, high.fan_stack = true, high.angles = {3, 48, 135, 226, 301};
  wide.sid = 6, wide.sdd = 7.8, wide.angles = {48};
  return {{"fan_stack_high", circular_geometry(high), reference::detector(19, 41, 5, 1.2, 1.1),
           default_grid({7, 5, 45}, {1, 1.5, 1})},
          {"fan_wide", circular_geometry(wide), reference::detector(80, 1, 1, 0.65, 0.65),
           default_grid({1, 1, 1}, {0.5, 0.5, 0.5})}};
}

// The source within the volume, behind parts of it and beside it; the detector within the volume, where rays end or
// which they run through.
std::vector<reference::Scene> ends_within() {
  CircularOptions options;
  options.angles = {3, 41, 135, 226, 301};
  options.source_offset_x = 0.3;
  options.source_offset_y = 0.4;
  options.projection_offset_y = -0.7;
  const Grid grid = default_grid({17, 13, 11}, {2, 3, 1.5});
  std::vector<reference::Scene> all;
  const auto add = [&](const std::string& name, double sid, double sdd, const Grid& detector, double radius) {
    options.sid = sid;
    options.sdd = sdd;
    all.push_back({name, circular_geometry(options), detector, grid});
    all.back().geometry.radius_cylindrical_detector = radius;
  };
  add("source_inside", 7.3, 60, reference::detector(31, 21, 5, 2.5, 2.5), 0);
  add("source_at_the_edge", 17, 60, reference::detector(31, 21, 5, 2.5, 2.5), 0);
  add("detector_on_the_axis", 90, 90, reference::detector(31, 21, 5, 1.2, 1.1), 0);
  add("cylinder_inside", 70, 76.4, reference::detector(31, 21, 5, 1.2, 1.1), 76.4);
  options.out_of_plane_angle = 70;  // rays along the rotation axis
  add("ends_along_k", 5, 12, reference::detector(31, 21, 5, 0.7, 0.5), 0);
  for (auto& scene : all) scene.geometry.ray_ends = RayEnds::end;
  for (std::size_t n = 0, count = all.size(); n < count; ++n) {
    all.push_back(all[n]);
    all.back().name += "_through";
    all.back().geometry.ray_ends = RayEnds::through;
  }
  return all;
}

// Rays in faces and along edges between voxels, in outer faces of the volume, and others beside them: a parallel beam,
// the middle row and column of cones, a cone beside the source, rays that end, a cylinder.
std::vector<reference::Scene> in_faces() {
  CircularOptions options;
  options.angles = {0, 90, 180, 270, 30};
  options.sid = 80;
  options.sdd = 0;
  const Grid grid = default_grid({8, 6, 10}, {2, 2, 2});
  std::vector<reference::Scene> all;
  const auto add = [&](const std::string& name, const Grid& detector, double radius = 0) {
    all.push_back({name, circular_geometry(options), detector, grid});
    all.back().geometry.radius_cylindrical_detector = radius;
    all.back().geometry.ray_ends = RayEnds::end;
  };
  add("faces_parallel", reference::detector(11, 13, 5, 2, 2));
  add("faces_parallel_between", reference::detector(11, 12, 5, 1, 1));
  options.sdd = 120;
  add("faces_cone", reference::detector(15, 17, 5, 1.9, 2.3));
  options.sdd = 82;
  add("faces_that_end", reference::detector(15, 17, 5, 1.3, 1.7));
  options.sdd = 120;
  add("faces_cylinder", reference::detector(15, 17, 5, 1.9, 2.3), 90);
  return all;
}

// Scenes of every projector, and: a displaced detector that cuts the volume, a short scan, pixels much coarser and much
// finer than voxels, a volume that the detector cuts on all sides.
std::vector<reference::Scene> scenes() {
  auto all = reference::scenes();
  const std::vector<double> some{3, 37, 81, 118, 166, 203, 251};
  const Grid grid = default_grid({13, 9, 11}, {2, 3, 1.5});
  all.push_back(scan_of("displaced", some, 18, grid, {1.2, 1.2}));
  std::vector<double> arc;
  for (int n = 0; n < 19; ++n) arc.push_back(11 + 11.3 * n);
  all.push_back(scan_of("short_scan", arc, 0, grid, {1.7, 1.4}));
  all.push_back(scan_of("coarse_pixels", some, 0, grid, {9, 7}));
  all.push_back(scan_of("fine_pixels", some, 3, grid, {0.3, 0.2}));
  all.push_back(scan_of("truncated", some, 0, default_grid({21, 19, 15}, {4, 4, 4}), {1.5, 1.5}));
  // more columns than kernels for CPUs take at a time, of rays that follow two axes and leave the plane of the columns
  CircularOptions tilted;
  tilted.sid = 60;
  tilted.sdd = 90;
  tilted.angles = {3, 41, 135, 226};
  tilted.out_of_plane_angle = 4;
  tilted.in_plane_angle = 3;
  all.push_back({"many_columns", circular_geometry(tilted), reference::detector(75, 13, 4, 1.1, 2.3),
                 default_grid({43, 37, 11}, {1, 1, 2})});
  // lines of voxels along the axis so long, and seen by so many rows, that kernels take them part by part
  CircularOptions far;
  far.sid = 1000;
  far.sdd = 1500;
  far.angles = {12, 95, 203};
  Grid along_j;
  along_j.size = {6, 250, 5};
  along_j.spacing = {2, 1, 2};
  along_j.origin = {-4, -120, -5};
  // moved along the axis: in the middle the central rays would be in a face between voxels, and exact lengths on either
  // side
  Grid along_k = default_grid({6, 5, 250}, {2, 2, 1});
  along_k.origin[1] += 0.3;
  for (const auto& [name, grid] : {std::pair{"long_lines", along_k}, std::pair{"long_lines_along_j", along_j}})
    all.push_back({name, circular_geometry(far), reference::detector(11, 137, 3, 1.8, 4.5), grid});
  for (const auto& more : {cylinders(), near_sources(), ends_within(), in_faces()})
    all.insert(all.end(), more.begin(), more.end());
  return all;
}

struct Case {
  Projector projector;
  reference::Scene scene;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << projector_name(c.projector) << " " << c.scene.name;
}
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven})
    for (const auto& scene : scenes()) all.push_back({projector, scene});
  return all;
}
std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = projector_name(info.param.projector) + "_" + info.param.scene.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class ProjectorScenes : public testing::TestWithParam<Case> {
 protected:
  const reference::Scene& scene = GetParam().scene;
  Projector projector = GetParam().projector;
  Volume volume = reference::random_volume(scene.grid, 7), stack = reference::random_volume(scene.projections, 3);

  // of a plane's number: some roundings of float32
  double rounding() const {
    return 8 * 0x1p-24 * static_cast<double>(*std::max_element(scene.grid.size.begin(), scene.grid.size.end()));
  }

  Voxels projected(const std::vector<Device>& devices, const RunOptions& options = {},
                   ProjectionParameters parameters = {}) const {
    parameters.projector = projector;
    return project(volume, scene.geometry, scene.projections, parameters, devices, options).output.voxels;
  }
  Voxels backprojected(const std::vector<Device>& devices, const RunOptions& options = {}) const {
    return backproject(stack, scene.geometry, scene.grid, projector, devices, options).output.voxels;
  }
  Voxels backprojected_as_on_gpus(const RunOptions& options = {}) const {
    return run_program(program_of(RayBackprojection(scene.geometry, scene.projections, scene.grid, projector, true)),
                       {{"raw", &stack}}, scene.grid, device(), options)
        .output.voxels;
  }
};

TEST_P(ProjectorScenes, MatchesDoublePrecision) {
  const auto expected = reference::project(projector, volume, scene.geometry, scene.projections);
  ASSERT_GT(reference::largest(expected), 0);
  const auto found = projected(device());
  // A crossing between voxels, whose values differ by up to 1, is found to some roundings of a plane's number.
  std::vector<double> more(expected.size(), 0.0);
  if (projector == Projector::siddon) {
    more = reference::crossing_shifts(scene.grid, scene.geometry, scene.projections);
    for (double& each : more) each *= rounding();
  }
  const double bound = 2e-5 * reference::largest(expected);
  for (std::size_t ray = 0; ray < expected.size(); ++ray)
    ASSERT_NEAR(found[ray], expected[ray], bound + more[ray]) << "ray " << ray;
}

TEST_P(ProjectorScenes, AdjointMatchesDoublePrecision) {
  const auto expected = reference::backproject(projector, stack, scene.geometry, scene.grid);
  ASSERT_GT(reference::largest(expected), 0);
  const auto found = backprojected(device());
  std::vector<double> more(expected.size(), 0.0);
  // and so are its lengths in voxels: that counts where rays run almost along the planes between many of them
  if (projector == Projector::siddon && scene.name.starts_with("long_lines"))
    more = reference::crossing_errors(stack, scene.geometry, scene.grid, rounding());
  const double bound = 2e-5 * reference::largest(expected);
  for (std::size_t voxel = 0; voxel < expected.size(); ++voxel)
    ASSERT_NEAR(found[voxel], expected[voxel], bound + more[voxel]) << "voxel " << voxel;
}

TEST_P(ProjectorScenes, IsTheAdjoint) {
  const auto ax = projected(device()), aty = backprojected(device());
  const double forward = std::inner_product(ax.begin(), ax.end(), stack.voxels.begin(), 0.0);
  const double back = std::inner_product(aty.begin(), aty.end(), volume.voxels.begin(), 0.0);
  ASSERT_GT(forward, 0);
  EXPECT_NEAR(forward, back, 1e-6 * forward);
}

TEST_P(ProjectorScenes, SlabsBatchesAndDevicesChangeNoBit) {
  const auto whole = projected(device()), whole_back = backprojected(device());
  EXPECT_TRUE(projected(device(), {}, {.gpu = true}) == whole) << "the form for GPUs";
  const auto back_as_on_gpus = backprojected_as_on_gpus();
  if (faster_brick(device_models(device()), projector) == nullptr) {  // which has other last bits
    EXPECT_TRUE(back_as_on_gpus == whole_back) << "the adjoint's form for GPUs";
  }
  for (const int slabs : {2, 3, static_cast<int>(scene.grid.size[2])}) {
    if (slabs > static_cast<int>(scene.grid.size[2])) continue;
    for (const int batch : {1, 5}) {
      SCOPED_TRACE(testing::Message() << slabs << " slabs, batches of " << batch);
      EXPECT_TRUE(projected(device(), split(slabs, batch)) == whole);
      EXPECT_TRUE(projected(device(), split(slabs, batch), {.gpu = true}) == whole) << "the form for GPUs";
      EXPECT_TRUE(backprojected(device(), split(slabs, batch)) == whole_back);
      EXPECT_TRUE(backprojected_as_on_gpus(split(slabs, batch)) == back_as_on_gpus) << "the adjoint's form for GPUs";
    }
  }
  EXPECT_TRUE(projected(reference::sub_devices(2)) == projected(reference::undivided()));
  EXPECT_TRUE(backprojected(reference::sub_devices(2)) == backprojected(reference::undivided()));
}

TEST_P(ProjectorScenes, Images) {
  const ProjectionParameters exact{.images = true}, hardware{.hardware_interpolation = true};
  if (projector != Projector::joseph) {
    EXPECT_THROW(projected(device(), {}, hardware), InputError);
  }
  if (projector == Projector::distance_driven) {
    EXPECT_THROW(projected(device(), {}, exact), InputError);
    return;
  }
  if (!device().front().info().images) GTEST_SKIP() << device().front().info().name << " has no images";
  if (!make_rays(scene.geometry, scene.grid, scene.projections).plain()) {
    EXPECT_THROW(projected(device(), {}, hardware), InputError);
    EXPECT_TRUE(projected(device(), {}, exact) == projected(device())) << "from buffers all the same";
    return;
  }
  // project() may take images by itself
  const auto buffers =
      run_program(program_of(RayProjection(scene.geometry, scene.grid, scene.projections, {projector})),
                  {{"volume", &volume}}, scene.projections, device())
          .output.voxels;
  EXPECT_TRUE(projected(device(), {}, exact) == buffers);
  for (const int slabs : {2, 3})
    if (slabs <= static_cast<int>(scene.grid.size[2])) {
      EXPECT_TRUE(projected(device(), split(slabs, 5), exact) == buffers) << slabs << " slabs";
    }
  if (projector != Projector::joseph) return;
  const auto expected = reference::project(projector, volume, scene.geometry, scene.projections);
  const auto whole = projected(device(), {}, hardware);
  // each of the two fractions is off by up to 1/512, of values that differ by up to 1 from voxel to voxel; the sum is
  // at most as long as the ray of a volume of ones
  Volume ones(scene.grid, 1);
  const auto lengths = reference::project(projector, ones, scene.geometry, scene.projections);
  EXPECT_LT(reference::largest_difference(whole, expected), 2.0 / 512 * reference::largest(lengths));
  for (const int slabs : {2, 3})
    if (slabs <= static_cast<int>(scene.grid.size[2])) {
      EXPECT_TRUE(projected(device(), split(slabs, 5), hardware) == whole) << slabs << " slabs";
    }
}

INSTANTIATE_TEST_SUITE_P(All, ProjectorScenes, testing::ValuesIn(cases()), name_of);

// Root mean square difference from exact line integrals over the largest of them, at n^3 voxels and n x n pixels of the
// voxels' size at the isocentre.
double ellipsoid_error(Projector projector, std::size_t n, double radius = 0) {
  Primitive ellipsoid;
  ellipsoid.semi_axes = {14, 9, 17};
  ellipsoid.centre = {5, -4, 3};
  ellipsoid.value = 0.02;
  CircularOptions options;
  options.sid = 150;
  options.sdd = 225;
  options.projections = 7;
  options.first_angle = 5;
  options.out_of_plane_angle = 3;
  Geometry geometry = circular_geometry(options);
  geometry.radius_cylindrical_detector = radius;
  const double voxel = 50 / static_cast<double>(n);
  const Grid projections = reference::detector(n, n, 7, 1.5 * voxel, 1.5 * voxel);
  const auto expected = project_analytic({ellipsoid}, geometry, projections);
  const Volume volume = voxelise({ellipsoid}, default_grid({n, n, n}, {voxel, voxel, voxel}), 4);
  const auto found = project(volume, geometry, projections, {projector}, device()).output;
  double squares = 0, largest = 0;
  for (std::size_t at = 0; at < expected.voxels.size(); ++at) {
    squares += std::pow(found.voxels[at] - expected.voxels[at], 2);
    largest = std::max(largest, static_cast<double>(expected.voxels[at]));
  }
  return std::sqrt(squares / static_cast<double>(expected.voxels.size())) / largest;
}

TEST(Projector, EllipsoidsHaveTheirLineIntegrals) {
  for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven}) {
    const double coarse = ellipsoid_error(projector, 64), fine = ellipsoid_error(projector, 128);
    EXPECT_LT(fine, 0.005) << projector_name(projector);
    EXPECT_LT(fine, 0.75 * coarse) << projector_name(projector);
    RecordProperty(projector_name(projector), std::to_string(coarse) + " " + std::to_string(fine));
    // a cylinder of half the radius: 9 % wider at its ends than its plane
    EXPECT_LT(ellipsoid_error(projector, 64, 112), 1.1 * coarse) << projector_name(projector);
  }
}

// Through a cube of 20 mm and value 1.
TEST(Projector, RaysEndAtTheDetector) {
  CircularOptions options;
  options.sid = 100;
  options.angles = {0};
  const Volume ones(default_grid({20, 20, 20}, {1, 1, 1}), 1);
  const auto seen = [&](double sid, double sdd, Projector projector, RayEnds ends = RayEnds::end) {
    options.sid = sid;
    options.sdd = sdd;
    const Grid pixel = reference::detector(1, 1, 1, 5, 5);
    Geometry geometry = circular_geometry(options);
    geometry.ray_ends = ends;
    return project(ones, geometry, pixel, {projector}, device()).output.voxels.front();
  };
  for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven}) {
    EXPECT_NEAR(seen(100, 150, projector), 20, 1e-4) << projector_name(projector);
    EXPECT_NEAR(seen(100, 100, projector), 10, 1e-4) << projector_name(projector);
    EXPECT_NEAR(seen(100, 103.3, projector), 13.3, 1e-4) << projector_name(projector);
    EXPECT_NEAR(seen(4.2, 100, projector), 14.2, 1e-4) << projector_name(projector);
    EXPECT_NEAR(seen(4.2, 7.7, projector), 7.7, 1e-4) << projector_name(projector);
    for (const RayEnds ends : {RayEnds::through, RayEnds::automatic}) {  // a virtual detector
      EXPECT_NEAR(seen(100, 100, projector, ends), 20, 1e-4) << projector_name(projector);
      EXPECT_NEAR(seen(100, 103.3, projector, ends), 20, 1e-4) << projector_name(projector);
      EXPECT_NEAR(seen(4.2, 100, projector, ends), 14.2, 1e-4) << projector_name(projector);
    }
    EXPECT_NEAR(seen(4.2, 7.7, projector, RayEnds::through), 14.2, 1e-4) << projector_name(projector);
  }
}

// Rays that end within the volume in one view leave the bits of other views unchanged.
TEST(Projector, RaysThatReachThroughTheVolumeKeepTheirBits) {
  CircularOptions options;
  options.sid = 200;
  options.sdd = 300;
  options.angles = {3, 31, 77, 122};
  const Geometry plain = circular_geometry(options);
  Geometry ends = plain;
  ends.views.back().sdd = 200;
  ends.ray_ends = RayEnds::end;
  const Grid projections = reference::detector(19, 17, 4, 1.5, 1.2), grid = default_grid({15, 13, 9}, {1.5, 1, 2});
  ASSERT_TRUE(make_rays(plain, grid, projections).plain());
  ASSERT_FALSE(make_rays(ends, grid, projections).plain());
  const Volume volume = reference::random_volume(grid, 5);
  Volume stack = reference::random_volume(projections, 6);
  std::fill(stack.voxels.end() - 19 * 17, stack.voxels.end(), 0.0f);
  for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven}) {
    auto whole = project(volume, plain, projections, {projector}, device()).output.voxels,
         cut = project(volume, ends, projections, {projector}, device()).output.voxels;
    EXPECT_NE(whole, cut);
    for (auto* each : {&whole, &cut}) each->resize(3 * 19 * 17);
    EXPECT_TRUE(whole == cut) << projector_name(projector);
    EXPECT_TRUE(backproject(stack, plain, grid, projector, device()).output.voxels ==
                backproject(stack, ends, grid, projector, device()).output.voxels)
        << projector_name(projector);
  }
}

TEST(Projector, CpusTakeVectorsOfPixelsWhereVoxelsLieInPairs) {
  const auto kernel = [](const std::string& name, bool gpu) {
    const auto all = scenes();
    const auto scene = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
    return RayProjection(scene->geometry, scene->grid, scene->projections, {.gpu = gpu}).requirements().kernels.front();
  };
  for (const char* name : {"cone", "cone_axis_along_j", "cone_tilted", "cone_turned_grid", "cone_one_slice", "fan"}) {
    EXPECT_EQ(kernel(name, false), "joseph_lanes_project") << name;
    EXPECT_EQ(kernel(name, true), "joseph_project") << name;
  }
  EXPECT_EQ(kernel("cone_one_voxel", false), "joseph_project");
}

TEST(Projector, TheAdjointHasAFormForEveryDevice) {
  const auto kernel = [](const std::string& name, Projector projector, bool gpu) {
    const auto all = scenes();
    const auto scene = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
    return RayBackprojection(scene->geometry, scene->projections, scene->grid, projector, gpu)
        .requirements()
        .kernels.back();
  };
  for (const char* name : {"cone", "cone_tilted"}) {
    EXPECT_EQ(kernel(name, Projector::joseph, false), "joseph_tiles_backproject");
    EXPECT_EQ(kernel(name, Projector::siddon, false), "siddon_backproject");
  }
  for (const char* name : {"cone", "cone_tilted", "parallel", "short_scan", "long_lines"})
    EXPECT_EQ(kernel(name, Projector::joseph, true), "joseph_stacks_backproject") << name;
  // rays that follow k
  for (const char* name : {"cone_axis_along_j", "parallel_tilted"})
    EXPECT_EQ(kernel(name, Projector::joseph, true), "joseph_backproject") << name;
}

TEST(Projector, HoldsWhatWasPlanned) {
  const auto scene = reference::scenes()[1];
  const Volume volume = reference::random_volume(scene.grid, 1), stack = reference::random_volume(scene.projections, 2);
  const auto expect_planned = [](const RunResult& result) {
    std::size_t most = 0;
    for (const auto& slab : result.plan.slabs) most = std::max(most, slab.bytes);
    EXPECT_EQ(result.peak_bytes, most);
  };
  for (const int slabs : {1, 3}) {
    for (const auto& parameters : {ProjectionParameters{}, ProjectionParameters{.images = true},
                                   ProjectionParameters{.gpu = true}, ProjectionParameters{Projector::siddon}})
      if (!parameters.images || device().front().info().images)
        expect_planned(project(volume, scene.geometry, scene.projections, parameters, device(), split(slabs, 4)));
    for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven})
      expect_planned(backproject(stack, scene.geometry, scene.grid, projector, device(), split(slabs, 4)));
  }
}

TEST(Projector, RefusesAGeometryOfAnotherScan) {
  const auto scene = reference::scenes().front();
  Geometry geometry = scene.geometry;
  geometry.views.pop_back();
  EXPECT_THROW(project(reference::random_volume(scene.grid, 1), geometry, scene.projections, device()), InputError);
  EXPECT_THROW(
      backproject(reference::random_volume(scene.projections, 1), geometry, scene.grid, Projector::joseph, device()),
      InputError);
}

TEST(Projector, UnknownNamesAreRefusedWithAList) {
  for (const auto& name : projector_names()) EXPECT_EQ(projector_name(projector_from_name(name)), name);
  try {
    projector_from_name("footprint");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr("`projector` is \"footprint\"; expected one of: joseph, siddon, distance-driven"));
  }
}

TEST(Projector, SiddonTakesImagesWhereTheyWereFasterAndAreLargeEnough) {
  const auto scene = reference::scenes().front();
  const auto from_images = [&](const std::vector<DeviceModel>& devices, Projector projector = Projector::siddon) {
    const Plan plan = plan_project(scene.geometry, scene.grid, scene.projections, {projector}, devices);
    return std::any_of(plan.requirements.arrays.begin(), plan.requirements.arrays.end(),
                       [](const ArrayNeed& need) { return need.kind == ArrayKind::planes; });
  };
  DeviceModel plain, hopper, tuned, small;
  for (DeviceModel* each : {&plain, &hopper, &tuned, &small}) {
    each->memory = each->max_allocation = std::size_t{1} << 30;
    each->image_side = 16384, each->image_layers = 2048;
  }
  hopper.name = "NVIDIA H200";
  hopper.platform = "NVIDIA CUDA";
  tuned.choices[siddon_form_choice] = images_form;
  small = tuned;
  small.image_layers = scene.grid.size[2] - 1;
  EXPECT_FALSE(from_images({plain}));
  EXPECT_TRUE(from_images({hopper}));
  EXPECT_TRUE(from_images({tuned, hopper}));
  EXPECT_FALSE(from_images({tuned, plain}));
  EXPECT_FALSE(from_images({small}));
  // just enough memory for one slab from buffers
  DeviceModel narrow = hopper, buffers = hopper;
  buffers.choices[siddon_form_choice] = buffers_form;
  const auto slabs = [&](std::size_t memory) {
    buffers.memory = memory;
    try {
      return plan_project(scene.geometry, scene.grid, scene.projections, {Projector::siddon}, {buffers}).slabs.size();
    } catch (const PlanError&) {
      return std::size_t{0};
    }
  };
  narrow.memory = 4 * scene.grid.count();
  while (slabs(narrow.memory) != 1) narrow.memory += 1024;
  EXPECT_FALSE(from_images({narrow}));
  EXPECT_FALSE(from_images({hopper}, Projector::joseph));
  hopper.choices[siddon_form_choice] = buffers_form;
  EXPECT_FALSE(from_images({hopper}));
}

std::string refusal(const RayProjection& method, const DeviceInfo& info) {
  try {
    method.check_device(info);
  } catch (const InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Projector, ImagesTooSmallForTheVolumeAreRefused) {
  const auto scene = reference::scenes().front();
  const RayProjection method(scene.geometry, scene.grid, scene.projections, {.hardware_interpolation = true});
  DeviceInfo info;
  info.name = "Tiny";
  const auto message = [&] { return refusal(method, info); };
  EXPECT_EQ(message(), "Tiny has no images, so it cannot interpolate in hardware; use exact interpolation");
  info.images = true;
  info.image_width = info.image_height = 64;
  info.image_layers = 8;
  EXPECT_THAT(message(), testing::HasSubstr("Tiny takes images up to 64 x 64 in 8 layers, but the planes"));
  EXPECT_THAT(message(), testing::HasSubstr("use exact interpolation"));
  info.image_layers = 64;
  EXPECT_EQ(message(), "accepted");
}

TEST(Projector, ImagesOfExactProjectionAreRefusedInOtherWords) {
  const auto scene = reference::scenes().front();
  const RayProjection method(scene.geometry, scene.grid, scene.projections,
                             {.projector = Projector::siddon, .images = true});
  DeviceInfo info;
  info.name = "Tiny";
  const auto message = [&] { return refusal(method, info); };
  EXPECT_EQ(message(), "Tiny has no images; leave them out, for buffers give the same bits");
  info.images = true;
  info.image_width = 8;
  info.image_height = info.image_layers = 64;
  EXPECT_THAT(message(), testing::AllOf(testing::HasSubstr("Tiny takes images up to 8 x 64 in 64 layers"),
                                        testing::EndsWith("; leave images out")));
}

// A view whose rays all follow two axes alike, so that rounding decides which one.
TEST(DistanceDriven, TakesRaysAlongDiagonals) {
  Volume ones(default_grid({9, 9, 3}, {1, 1, 1}));
  std::fill(ones.voxels.begin(), ones.voxels.end(), 1.0F);
  const Grid detector = reference::detector(15, 3, 1, 1, 1);
  for (const double angle : {45, 135, 225, 315}) {
    CircularOptions circle;
    circle.sid = 100;
    circle.sdd = 0;
    circle.angles = {angle};
    const auto sums = [&](Projector projector) {
      return project(ones, circular_geometry(circle), detector, {.projector = projector}, reference::device())
          .output.voxels;
    };
    const auto strips = sums(Projector::distance_driven), lines = sums(Projector::siddon);
    for (std::size_t n = 0; n < strips.size(); ++n) EXPECT_NEAR(strips[n], lines[n], 0.5) << angle << ' ' << n;
  }
}

}  // namespace
}  // namespace halocline::projector_test

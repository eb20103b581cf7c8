// labels: device
// Virtual detectors: rays that run through them, and the results.
#include "algorithms/projectors/ray_ends.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <sstream>

#include "algorithms/phantoms/phantoms.hpp"
#include "algorithms/solvers/reconstruct.hpp"
#include "host/system/error.hpp"
#include "host/system/log.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::ray_ends_test {
namespace {

using reference::device;
using testing::HasSubstr;

Geometry scan(double sid, double sdd, std::size_t views = 12, double tilt = 0) {
  CircularOptions options;
  options.sid = sid;
  options.sdd = sdd;
  options.projections = views;
  options.first_angle = 3;
  options.out_of_plane_angle = tilt;
  return circular_geometry(options);
}

// 48 mm across, corners 34 mm from the axis; wide enough that rays cross all of it.
const Grid cube = default_grid({24, 24, 24}, {2, 2, 2});
const Grid wide = reference::detector(60, 60, 12, 2, 2);

TEST(RayEnds, RunThroughADetectorInTheFieldOfView) {
  for (const double behind : {0.0, 5.0, 15.0, 22.0})
    EXPECT_TRUE(detector_is_virtual(scan(100, 100 + behind), cube, wide)) << behind;
  EXPECT_TRUE(detector_is_virtual(scan(100, 105, 12, 20), cube, wide)) << "tilted";
  EXPECT_TRUE(detector_is_virtual(scan(100, 105, 1), cube, reference::detector(60, 60, 1, 2, 2))) << "one view";
  Geometry bent = scan(100, 105);
  bent.radius_cylindrical_detector = 105;
  EXPECT_TRUE(detector_is_virtual(bent, cube, wide)) << "a cylinder";
  Geometry one = scan(100, 150);
  one.views[7].sdd = 100;
  EXPECT_TRUE(detector_is_virtual(one, cube, wide)) << "in one view";
  Grid beside = cube;  // a part of the object
  beside.origin[0] += 30;
  EXPECT_TRUE(detector_is_virtual(scan(100, 110), beside, reference::detector(120, 60, 12, 2, 2)));
}

TEST(RayEnds, EndAtADetectorBehindTheFieldOfView) {
  EXPECT_FALSE(detector_is_virtual(scan(100, 150), cube, wide));
  for (const double behind : {23.5, 26.0, 30.0, 33.0})  // in the empty corners
    EXPECT_FALSE(detector_is_virtual(scan(100, 100 + behind), cube, wide)) << behind;
  EXPECT_FALSE(detector_is_virtual(scan(100, 0), cube, wide)) << "parallel";
  EXPECT_FALSE(detector_is_virtual(scan(12, 30), cube, wide)) << "beyond the source's orbit";
  const Grid narrow = reference::detector(60, 1, 12, 2, 2);  // the part beyond is above the rays
  Grid above = default_grid({24, 24, 4}, {2, 2, 2});
  above.origin[1] += 30;
  EXPECT_FALSE(detector_is_virtual(scan(100, 105), above, narrow));
}

TEST(RayEnds, AreWhatIsChosen) {
  Geometry geometry = scan(100, 100);
  EXPECT_EQ(ray_ends(geometry, cube, wide), RayEnds::through);
  geometry.ray_ends = RayEnds::end;
  EXPECT_EQ(with_ray_ends(geometry, cube, wide).ray_ends, RayEnds::end);
  for (const std::string& name : ray_ends_names()) EXPECT_NO_THROW(ray_ends_from_name(name));
  EXPECT_THROW(ray_ends_from_name("stop"), InputError);
}

TEST(RayEnds, AreNamedInNotes) {
  const auto notes = [](const Geometry& geometry) { return notes_on_ray_ends(geometry, cube, "the volume", wide); };
  EXPECT_THAT(notes(scan(100, 150)), testing::IsEmpty());
  EXPECT_THAT(notes(scan(100, 100)),
              testing::ElementsAre(testing::AllOf(HasSubstr("the volume reaches beyond the detector in 12 of 12 views"),
                                                  HasSubstr("virtual"), HasSubstr("`rays = end`"))));
  EXPECT_THAT(notes(scan(100, 128)), testing::ElementsAre(testing::AllOf(HasSubstr("rays end at the detector"),
                                                                         HasSubstr("`rays = through`"))));
  EXPECT_THAT(notes(scan(12, 150)), testing::ElementsAre(HasSubstr("rays begin at the source")));
}

TEST(RayEnds, OfAnAutomaticChoiceAreLogged) {
  std::ostringstream text;
  set_library_log(std::make_shared<spdlog::logger>("own", std::make_shared<spdlog::sinks::ostream_sink_mt>(text)));
  project(Volume(cube, 1), scan(100, 100), wide, {}, device());
  set_library_log(nullptr);
  EXPECT_THAT(text.str(), HasSubstr("taken for a virtual one"));
}

// Rays beside the phantom's exact integrals, which are over whole lines.
TEST(RayEnds, OfVirtualDetectorsGiveWholeLines) {
  Primitive ball;
  ball.centre = {3, 1, -2};
  ball.semi_axes = {14, 12, 13};
  ball.value = 0.02;
  const Grid fine = default_grid({48, 48, 48}, {1, 1, 1});
  const Volume volume = voxelise({ball}, fine, 3);
  for (const double sdd : {100.0, 104.0}) {
    const Geometry geometry = scan(100, sdd, 5);
    const Grid stack = reference::detector(40, 40, 5, 0.9, 0.9);
    const Volume exact = project_analytic({ball}, geometry, stack);
    double all = 0;
    for (const float value : exact.voxels) all += value;
    for (const auto projector : {Projector::joseph, Projector::siddon, Projector::distance_driven}) {
      const Volume found = project(volume, geometry, stack, {projector}, device()).output;
      double sum = 0;
      for (const float value : found.voxels) sum += value;
      EXPECT_NEAR(sum / all, 1, 0.005) << projector_name(projector) << ' ' << sdd;
    }
  }
}

TEST(RayEnds, OfAVirtualDetectorReconstructTheObject) {
  Primitive ball;
  ball.semi_axes = {9, 9, 9};
  ball.value = 0.02;
  const Grid grid = default_grid({12, 12, 12}, {2, 2, 2});
  const Geometry geometry = scan(100, 100, 24);
  const Volume stack = project_analytic({ball}, geometry, reference::detector(24, 24, 24, 1.2, 1.2));
  ReconstructionParameters parameters;
  parameters.method = "cgls";
  parameters.passes = 8;
  Volume found(grid);
  MemorySink sink(found);
  const MemorySource source(stack);
  reconstruct({&source}, geometry, sink, parameters, device());
  double mean = 0;
  for (std::size_t k = 4; k < 8; ++k)
    for (std::size_t j = 4; j < 8; ++j)
      for (std::size_t i = 4; i < 8; ++i) mean += found.at(i, j, k) / 64;
  EXPECT_NEAR(mean, 0.02, 0.0006);
}

}  // namespace
}  // namespace halocline::ray_ends_test

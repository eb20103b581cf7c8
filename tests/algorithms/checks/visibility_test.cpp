// labels: unit
// A volume that no view sees is refused; one that some views see passes.
#include "algorithms/checks/visibility.hpp"

#include <gmock/gmock.h>

#include "algorithms/geometry/geometry.hpp"
#include "host/system/error.hpp"

namespace halocline::visibility_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

Geometry circle() {
  CircularOptions options;
  options.sid = 500;
  options.sdd = 1000;
  options.projections = 8;
  return circular_geometry(options);
}

Grid stack_at(double v) {
  Grid stack;
  stack.size = {40, 40, 8};
  stack.spacing = {2, 2, 1};
  stack.origin = {-39, v - 39, 0};
  return stack;
}

Grid cube() {
  Grid volume;
  volume.size = {20, 20, 20};
  volume.origin = {-9.5, -9.5, -9.5};
  return volume;
}

TEST(Visibility, AVolumeOnTheDetectorIsSeen) {
  EXPECT_NO_THROW(require_seen(cube(), "the volume", stack_at(0), "p.mha", circle()));
}

TEST(Visibility, AVolumeBesideItIsRefusedWithBothPlaces) {
  EXPECT_THAT([] { require_seen(cube(), "the volume", stack_at(200), "p.mha", circle()); },
              ThrowsMessage<InputError>(testing::AllOf(HasSubstr("the volume is never seen by the detector of p.mha"),
                                                       HasSubstr("8 views"), HasSubstr("v 160 to 240 mm"))));
}

TEST(Visibility, AVolumeAroundTheSourceIsSeen) {
  Grid volume = cube();
  for (double& spacing : volume.spacing) spacing = 100;
  for (double& origin : volume.origin) origin *= 100;
  EXPECT_NO_THROW(require_seen(volume, "the volume", stack_at(200), "p.mha", circle()));
}

}  // namespace
}  // namespace halocline::visibility_test

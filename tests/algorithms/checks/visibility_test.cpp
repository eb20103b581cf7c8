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
  return circular_geometry({.sid = 500, .sdd = 1000, .projections = 8});
}

Grid stack_at(double v) {
  return {.size = {40, 40, 8}, .spacing = {2, 2, 1}, .origin = {-39, v - 39, 0}};
}

Grid cube() {
  return {.size = {20, 20, 20}, .origin = {-9.5, -9.5, -9.5}};
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

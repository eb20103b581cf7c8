// labels: unit
#include "algorithms/geometry/suspicious_views.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/checks/geometry_check.hpp"
#include "algorithms/preprocessing/projection_part.hpp"

namespace halocline::suspicious_views_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Geometry scan(CircularOptions options = {}) {
  options.projections = 90;
  return circular_geometry(options);
}

TEST(SuspiciousViews, AreNotThoseOfAGoodScan) {
  EXPECT_THAT(suspicious_views(scan()), IsEmpty());
  Geometry sagging = scan();
  for (std::size_t n = 0; n < 90; ++n) {
    sagging.views[n].sid += 10 * std::sin(0.07 * static_cast<double>(n));
    sagging.views[n].sdd += 15 * std::cos(0.14 * static_cast<double>(n));
    sagging.views[n].in_plane_angle = 1.5 * std::cos(0.07 * static_cast<double>(n));
  }
  EXPECT_THAT(suspicious_views(sagging), IsEmpty());
  CircularOptions parallel{.sdd = 0};
  EXPECT_THAT(suspicious_views(scan(parallel)), IsEmpty());
  Geometry turned = scan();  // by half a turn, give or take a little: the angles change their sign
  for (std::size_t n = 0; n < 90; ++n) turned.views[n].in_plane_angle = n % 3 == 0 ? 180 : n % 3 == 1 ? -179.9 : 179.9;
  EXPECT_THAT(suspicious_views(turned), IsEmpty());
}

TEST(SuspiciousViews, JumpFromOneToTheNext) {
  Geometry geometry = scan();
  geometry.views[17].sid = 1060;
  EXPECT_THAT(suspicious_views(geometry),
              ElementsAre(AllOf(HasSubstr("isocentre distance of projection 17 is 1060 mm"),
                                HasSubstr("60 mm from the median"), HasSubstr("leave out"))));
  geometry = scan();
  for (std::size_t n = 70; n < 90; ++n) geometry.views[n].sdd = 1400;
  EXPECT_THAT(suspicious_views(geometry), ElementsAre(AllOf(HasSubstr("detector distance of projection 70 is 1400 mm"),
                                                            HasSubstr("-136 mm from the median"))));
  geometry = scan();
  geometry.views[0].in_plane_angle = 90;  // the first, from which the others are counted
  geometry.views[3].out_of_plane_angle = -6;
  EXPECT_THAT(suspicious_views(geometry), ElementsAre(HasSubstr("in-plane angle of projection 0 is 90 degrees"),
                                                      HasSubstr("out-of-plane angle of projection 3 is -6 degrees")));
}

TEST(SuspiciousViews, HaveTheirNumbersInTheScanThatTheyAreTakenFrom) {
  Geometry geometry = scan();
  geometry.views[17].sid = 1060;
  const std::vector<std::size_t> numbers{11, 14, 17, 20};
  const Geometry part = select_views(geometry, numbers);
  EXPECT_THAT(suspicious_views(part, numbers), ElementsAre(HasSubstr("isocentre distance of projection 17 is 1060")));
  EXPECT_THAT(suspicious_views(part), ElementsAre(HasSubstr("isocentre distance of projection 2 is 1060")));
}

TEST(SuspiciousViews, HaveTheDetectorOnTheAxis) {
  CircularOptions options;
  options.sdd = options.sid;
  EXPECT_THAT(suspicious_views(scan(options)),
              ElementsAre(AllOf(HasSubstr("the detector stands on the rotation axis"), HasSubstr("1000 mm"),
                                HasSubstr("virtual detector"), HasSubstr("correct the distances"))));
  options.sdd = 1.01 * options.sid;
  EXPECT_THAT(suspicious_views(scan(options)), IsEmpty());
}

TEST(SuspiciousViews, AreAmongTheFindingsOfACheck) {
  Geometry geometry = scan();
  geometry.views[17].sid = 1060;
  const auto findings = geometry_findings(geometry);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings.front().text, suspicious_views(geometry).front());
  EXPECT_FALSE(findings.front().impossible);
}

}  // namespace
}  // namespace halocline::suspicious_views_test

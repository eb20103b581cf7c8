// labels: app itk
// Positions of voxels in NRRD files, in all the ways in which they are given. The numbers are worked out by hand from
// the format's definition: world is left-posterior-superior, mm.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "apps/images/image_file.hpp"
#include "host/system/error.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/refusal.hpp"

#ifdef HALOCLINE_WITH_ITK

namespace halocline::nrrd_grid_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Fields = std::map<std::string, std::string>;
using Numbers = std::vector<double>;

class NrrdGrid : public testing::Test {
 protected:
  // 4 x 3 x 2 voxels that hold their own numbers; an empty text takes a field away.
  void write(Fields changed, int voxels = 24) {
    Fields fields{{"type", "uint8"}, {"dimension", "3"}, {"sizes", "4 3 2"}, {"encoding", "raw"}};
    for (const auto& [name, value] : changed) fields[name] = value;
    std::string text = "NRRD0005\n";
    // these must precede the fields that need them
    for (const char* first : {"type", "dimension", "space", "space dimension", "sizes"})
      if (fields.contains(first)) text += fmt::format("{}: {}\n", first, fields[first]), fields.erase(first);
    for (const auto& [name, value] : fields) text += fmt::format("{}: {}\n", name, value);
    text += "\n";
    for (int n = 0; n < voxels; ++n) text.push_back(static_cast<char>(n));
    write_text(path_, text);
  }
  void expect_grid(const Fields& fields, const Numbers& spacing, const Numbers& origin, const Numbers& direction) {
    SCOPED_TRACE(fmt::format("{}", fmt::join(fields, "; ")));
    write(fields);
    const Grid told = read_image_info(path_).grid;
    const Volume volume = read_image(path_);
    for (std::size_t n = 0; n < 24; ++n) EXPECT_EQ(volume.voxels[n], static_cast<float>(n));
    for (const Grid& grid : {told, volume.grid}) {
      EXPECT_EQ(grid.size, (std::array<std::size_t, 3>{4, 3, 2}));
      for (std::size_t n = 0; n < 3; ++n) EXPECT_NEAR(grid.spacing[n], spacing[n], 1e-12);
      for (std::size_t n = 0; n < 3; ++n) EXPECT_NEAR(grid.origin[n], origin[n], 1e-12);
      for (std::size_t n = 0; n < 9; ++n) EXPECT_NEAR(grid.direction[n], direction[n], 1e-12) << n;
    }
  }
  std::string refusal(const Fields& fields) {
    write(fields);
    const std::string error = refusal_of([&] { read_image(path_); });
    EXPECT_THAT(error, HasSubstr(path_));
    return error;
  }

  Folder folder_;
  std::string path_ = folder_ / "x.nrrd";
};

const Numbers spacing{0.5, 0.25, 2};
const char *const along = "(0.5,0,0) (0,0.25,0) (0,0,2)", *const origin = "(10,20,30)";

TEST_F(NrrdGrid, InEveryNamedSpace) {
  const Numbers ras{-1, 0, 0, 0, -1, 0, 0, 0, 1}, las{1, 0, 0, 0, -1, 0, 0, 0, 1}, lps{1, 0, 0, 0, 1, 0, 0, 0, 1};
  for (const char* space : {"right-anterior-superior", "RAS", "Right-Anterior-Superior"})
    expect_grid({{"space", space}, {"space directions", along}, {"space origin", origin}}, spacing, {-10, -20, 30},
                ras);
  for (const char* space : {"left-anterior-superior", "LAS", "las"})
    expect_grid({{"space", space}, {"space directions", along}, {"space origin", origin}}, spacing, {10, -20, 30}, las);
  for (const char* space : {"left-posterior-superior", "LPS", "scanner-xyz", "3D-right-handed"})
    expect_grid({{"space", space}, {"space directions", along}, {"space origin", origin}}, spacing, {10, 20, 30}, lps);
  expect_grid({{"space dimension", "3"}, {"space directions", along}, {"space origin", origin}}, spacing, {10, 20, 30},
              lps);
  expect_grid({{"space", "LAS"}, {"space directions", along}}, spacing, {0, 0, 0}, las);
}

// One moment of a space with time.
TEST_F(NrrdGrid, InSpaceAndTime) {
  const std::vector<std::pair<std::vector<const char*>, std::array<double, 2>>> spaces{
      {{"right-anterior-superior-time", "RAST"}, {-1, -1}},
      {{"left-anterior-superior-time", "LAST"}, {1, -1}},
      {{"left-posterior-superior-time", "LPST", "scanner-xyz-time", "3D-right-handed-time"}, {1, 1}}};
  for (const auto& [names, sign] : spaces)
    for (const char* name : names)
      expect_grid({{"space", name},
                   {"dimension", "4"},
                   {"sizes", "4 3 2 1"},
                   {"space directions", "(0.5,0,0,0) (0,0.25,0,0) (0,0,2,0) (0,0,0,1)"},
                   {"space origin", "(10,20,30,0)"}},
                  spacing, {10 * sign[0], 20 * sign[1], 30}, {sign[0], 0, 0, 0, sign[1], 0, 0, 0, 1});
}

// Axis i runs to the bottom, j to the left, k to the back, each with a sign.
TEST_F(NrrdGrid, AlongAnyAxes) {
  expect_grid({{"space", "LAS"}, {"space directions", "(0,0,-0.5) (0.25,0,0) (0,-2,0)"}, {"space origin", origin}},
              spacing, {10, -20, 30}, {0, 1, 0, 0, 0, 1, -1, 0, 0});
  expect_grid({{"space", "RAS"}, {"space directions", "(0,0.5,0) (0,0,0.25) (-2,0,0)"}, {"space origin", origin}},
              spacing, {-10, -20, 30}, {0, 0, 1, -1, 0, 0, 0, 1, 0});
  expect_grid({{"space", "LAS"}, {"space directions", "(0.3,0.4,0) (-0.2,0.15,0) (0,0,2)"}, {"space origin", origin}},
              spacing, {10, -20, 30}, {0.6, -0.8, 0, -0.8, -0.6, 0, 0, 0, 1});
}

TEST_F(NrrdGrid, ByOlderFields) {
  const Numbers straight{1, 0, 0, 0, 1, 0, 0, 0, 1};
  expect_grid({{"spacings", "0.5 0.25 2"}}, spacing, {0, 0, 0}, straight);
  expect_grid({{"spacings", "0.5 0.25 2"}, {"axis mins", "1 2 3"}, {"centers", "cell cell cell"}}, spacing,
              {1.25, 2.125, 4}, straight);
  expect_grid({{"spacings", "0.5 0.25 2"}, {"axis mins", "1 2 3"}, {"centerings", "node node node"}}, spacing,
              {1, 2, 3}, straight);
  expect_grid({{"axis mins", "1 2 3"}, {"axis maxs", "2.5 2.5 5"}, {"centers", "node node node"}}, spacing, {1, 2, 3},
              straight);
  expect_grid({{"axismins", "1 2 3"}, {"axismaxs", "3 2.75 7"}, {"centers", "cell cell cell"}}, spacing,
              {1.25, 2.125, 4}, straight);
  for (const char* unknown : {"0.5 nan 2", "0.5 inf 2", "0.5 thin 2"})
    EXPECT_THAT(refusal({{"spacings", unknown}}), AllOf(HasSubstr("'spacings'"), HasSubstr("axis 1"))) << unknown;
  EXPECT_THAT(refusal({{"spacings", "0.5 0.25 2"}, {"axis mins", "1 2 3"}}),
              AllOf(HasSubstr("axismins"), HasSubstr("'centers'")));
  EXPECT_THAT(refusal({{"axis maxs", "1 2 3"}, {"centers", "node node node"}}), HasSubstr("'axis mins'"));
  EXPECT_THAT(refusal({{"axis mins", "1 2 3"}, {"centers", "node node node"}}), HasSubstr("'axis maxs'"));
  EXPECT_THAT(refusal({{"space", "RAS"}, {"space origin", "(1,0,0)"}}),
              AllOf(HasSubstr("'spaceorigin'"), HasSubstr("'space directions'")));
  EXPECT_THAT(
      refusal(
          {{"axis mins", "1 2 3"}, {"axis maxs", "3 2.75 7"}, {"spacings", "1 1 1"}, {"centers", "cell cell cell"}}),
      AllOf(HasSubstr("'spacings'"), HasSubstr("0.5")));
  EXPECT_THAT(refusal({{"space", "LPS"}, {"space directions", along}, {"spacings", "1 1 1"}}),
              AllOf(HasSubstr("'spacings'"), HasSubstr("'space directions'")));
}

TEST_F(NrrdGrid, InOtherUnits) {
  const Numbers straight{1, 0, 0, 0, 1, 0, 0, 0, 1};
  const Fields in_space{{"space", "LPS"}, {"space directions", along}, {"space origin", origin}};
  for (const auto& [unit, mm] : {std::pair("um", 1e-3), {"cm", 10.0}, {"m", 1000.0}, {"mm", 1.0}, {"", 1.0}}) {
    Fields fields = in_space;
    fields["space units"] = fmt::format("\"{0}\" \"{0}\" \"{0}\"", unit);
    expect_grid(fields, {0.5 * mm, 0.25 * mm, 2 * mm}, {10 * mm, 20 * mm, 30 * mm}, straight);
  }
  expect_grid({{"spacings", "500 250 2"}, {"units", "\"um\" \"micron\" \"mm\""}}, spacing, {0, 0, 0}, straight);
  Fields fields = in_space;
  fields["space units"] = "\"furlong\" \"furlong\" \"furlong\"";
  EXPECT_THAT(refusal(fields), AllOf(HasSubstr("spaceunits"), HasSubstr("furlong")));
}

TEST_F(NrrdGrid, InUnitsThatAreNoLengths) {
  for (const char* units : {"\"furlong\" \"mm\" \"mm\"", "\"mm\" \"mm\" \"s\""})
    EXPECT_THAT(refusal({{"spacings", "1 1 1"}, {"units", units}}),
                AllOf(HasSubstr("'units'"), HasSubstr("no length that is known (mm, um")))
        << units;
  for (const char* units : {"um um um", "\"um\" \"um\"", "\"um\" \"um\" \"um\" \"um\""}) {
    EXPECT_THAT(refusal({{"spacings", "1 1 1"}, {"units", units}}), HasSubstr("where there are 3; write one for each"))
        << units;
    EXPECT_THAT(refusal({{"space", "LPS"}, {"space directions", along}, {"space units", units}}),
                HasSubstr("where there are 3; write one for each"))
        << units;
  }
  for (const char* units : {"\"um\" \"\" \"um\"", "\"\" \"um\" \"um\""})
    EXPECT_THAT(refusal({{"space", "LPS"}, {"space directions", along}, {"space units", units}}),
                HasSubstr("differ from axis to axis"))
        << units;
  EXPECT_THAT(refusal({{"space", "LPS"}, {"space directions", along}, {"space units", "\"mm\" \"mm\" \"s\""}}),
              HasSubstr("'s', which is no length"));
  EXPECT_THAT(refusal({{"space", "LPS"}, {"space directions", along}, {"units", "\"um\" \"um\" \"um\""}}),
              HasSubstr("write 'space units'"));
  EXPECT_THAT(refusal({{"space", "LPS"}, {"spacings", "1 1 1"}}), HasSubstr("write these instead"));
}

TEST_F(NrrdGrid, IsRefusedWhereItCannotBeKnown) {
  const auto in_space = [&](const char* space, const char* directions = along) {
    return refusal({{"space", space}, {"space directions", directions}, {"space origin", origin}});
  };
  EXPECT_THAT(in_space("3D-left-handed"), AllOf(HasSubstr("left-handed"), HasSubstr("left-anterior-superior")));
  EXPECT_THAT(in_space("right-posterior-superior"), AllOf(HasSubstr("is none that NRRD has"), HasSubstr("RAS")));
  EXPECT_THAT(in_space("RAST", "(0.5,0,0,0) (0,0.25,0,0) (0,0,2,0)"), HasSubstr("of 3 axes in a space of 4"));
  EXPECT_THAT(in_space("LPS", "(0.5,0) (0,0.25) (0,2)"), HasSubstr("3 finite numbers"));
  EXPECT_THAT(refusal({{"space", "LPS"},
                       {"dimension", "4"},
                       {"sizes", "4 3 2 1"},
                       {"space directions", std::string(along) + " none"}}),
              HasSubstr("last axis without a direction"));
  EXPECT_THAT(in_space("LPS", "(0.5,0,0) (0,nan,0) (0,0,2)"), HasSubstr("3 finite numbers"));
  EXPECT_THAT(in_space("LPS", "(0.5,0,0) (0,0,0) (0,0,2)"), HasSubstr("length 0"));
  EXPECT_THAT(in_space("LPS", "(0.5,0,0) (0,0.25,0) none"), HasSubstr("leave axis 2 of 2 samples without a direction"));
  EXPECT_THAT(in_space("LPS", "none (0,0.25,0) (0,0,2)"), HasSubstr("leave axis 0 of 4 samples without a direction"));
  EXPECT_THAT(in_space("LPS", "(0.5,0,0) (0,0.25,0) nix"), HasSubstr("3 finite numbers"));
  EXPECT_THAT(in_space("LPS", "(0.5,0,0) (0,0.25,0)"), HasSubstr("2 axes"));
  const Fields before{
      {"space", "LPS"}, {"dimension", "4"}, {"sizes", "1 4 3 2"}, {"space directions", std::string("none ") + along}};
  EXPECT_THAT(refusal(before), HasSubstr("leave axis 0 without a direction, and 'kinds' do not say"));
  Fields scalar = before;
  scalar["kinds"] = "scalar domain domain domain";
  expect_grid(scalar, spacing, {0, 0, 0}, {1, 0, 0, 0, 1, 0, 0, 0, 1});
  for (const char* wrong : {"(1,nan,2)", "(1,x,2)", "(1,2)", "none", "1 2 3"})
    EXPECT_THAT(refusal({{"space", "LPS"}, {"space directions", along}, {"space origin", wrong}}),
                HasSubstr("no vector of 3 finite numbers"))
        << wrong;
  EXPECT_THAT(in_space("LPS", "(0.5,0,0) (0.1,0.25,0) (0,0,2)"), HasSubstr("perpendicular"));
}

}  // namespace
}  // namespace halocline::nrrd_grid_test

#endif

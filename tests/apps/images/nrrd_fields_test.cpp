// labels: app unit error itk
// Fields of NRRD headers that are missing, doubled, unknown or out of range are refused by name.
#include "apps/images/nrrd_fields.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "host/system/error.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::nrrd_fields_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string refusal(const std::vector<NrrdField>& fields, const std::string& magic = "NRRD0004") {
  return refusal_of([&] { check_nrrd_fields("a.nrrd", magic, fields); });
}

std::vector<NrrdField> with(const NrrdField& more) {
  std::vector<NrrdField> fields{{"type", "float"}, {"dimension", "3"}, {"sizes", "2 3 4"}, {"encoding", "raw"}};
  const auto same =
      std::find_if(fields.begin(), fields.end(), [&](const auto& each) { return each.name == more.name; });
  if (same != fields.end()) fields.erase(same);
  fields.push_back(more);
  return fields;
}

TEST(NrrdFields, ThatAreRightPass) {
  EXPECT_EQ(refusal(with({"endian", "little"})), "");
  EXPECT_EQ(refusal(with({"spacings", "1 nan 0.5"})), "");
  EXPECT_EQ(refusal(with({"spacedirections", "(1,0,0) (0,1,0) (0,0,1)"})), "");
  EXPECT_EQ(refusal(with({"sizes", "1 1 1"}), "NRRD0005"), "");
}

TEST(NrrdFields, AreRefusedByName) {
  EXPECT_THAT(refusal(with({"endian", "little"}), "NRRD0006"), AllOf(HasSubstr("a.nrrd"), HasSubstr("NRRD0006")));
  EXPECT_THAT(refusal(with({"colour", "red"})), AllOf(HasSubstr("'colour'"), HasSubstr("colour:=red")));
  EXPECT_THAT(refusal(with({"spacings", "1 0 1"})), HasSubstr("spacing of 0"));
  auto twice = with({"endian", "little"});
  twice.push_back({"data file", "a.raw"});
  twice.push_back({"datafile", "b.raw"});
  EXPECT_THAT(refusal(twice), HasSubstr("twice"));
  for (std::size_t n = 0; n < 3; ++n) {
    auto without = with({"encoding", "raw"});
    const std::string name = without[n].name;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_THAT(refusal(without), HasSubstr("no field '" + name + "'"));
  }
  for (const char* sizes : {"2 3", "2 3 4 5", "2 -3 4", "2 0 4", "2 3.5 4", "2 3 4x", "two 3 4", "nan 3 4"})
    EXPECT_THAT(refusal(with({"sizes", sizes})), HasSubstr(sizes)) << sizes;
  EXPECT_THAT(refusal(with({"dimension", "three"})), HasSubstr("'three'"));
}

}  // namespace
}  // namespace halocline::nrrd_fields_test

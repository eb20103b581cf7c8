// labels: unit app itk
// Inputs are never replaced, and no two outputs share a file, whatever names they are given.
#include "apps/job/file_claims.hpp"

#include <gmock/gmock.h>

#include <fstream>

#include "apps/images/image_file.hpp"
#include "host/system/error.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::file_claims_test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class FileClaimsTest : public testing::Test {
 protected:
  void SetUp() override {
    Grid grid{.size = {2, 2, 2}};
    write_image(Volume(grid), f / "v.mhd");
  }
  void refuses(const std::string& option, const std::string& path, const std::string& text) {
    EXPECT_THAT([&] { claims.output(option, path); }, ThrowsMessage<InputError>(HasSubstr(text)));
  }

  Folder f;
  FileClaims claims;
};

TEST_F(FileClaimsTest, AnInputIsNoOutputByAnyName) {
  claims.input("-i", f / "v.mhd");
  refuses("-o", f / "v.mhd", "is the input of -i");
  refuses("-o", f / "v.raw", "is the input of -i");
  refuses("-o", f / "./v.mhd", "is the input of -i");
  std::filesystem::create_hard_link(f / "v.raw", f / "link.bin");
  refuses("-o", f / "link.bin", "is the input of -i");
  EXPECT_NO_THROW(claims.output("-o", f / "w.mhd"));
}

TEST_F(FileClaimsTest, FilesOfVoxelsBelongToTheirHeader) {
  std::ofstream(f / "d.raw") << std::string(8, '\1');
  std::ofstream(f / "n.nhdr") << "NRRD0004\ntype: uchar\ndimension: 3\nsizes: 2 2 2\nencoding: raw\ndata file: d.raw\n";
  std::ofstream(f / "a.hdr") << "x";
  claims.input("-i", f / "n.nhdr");
  claims.input("--reference", f / "a.hdr");
  refuses("-o", f / "d.mhd", "is the input of -i");
  refuses("-o", f / "a.img", "is the input of --reference");
}

TEST_F(FileClaimsTest, AnInputMayBeReadTwiceAndMustExist) {
  claims.input("-i", f / "v.mhd");
  EXPECT_NO_THROW(claims.input("--reference", f / "v.mhd"));
  EXPECT_THAT([&] { claims.input("--init", f / "none.mha"); },
              ThrowsMessage<InputError>(testing::AllOf(HasSubstr("--init"), HasSubstr("none.mha"))));
}

TEST_F(FileClaimsTest, OutputsHaveNamesOfTheirOwn) {
  claims.output("-o", f / "w.mha");
  refuses("--report", f / "w.mha", "-o and --report both name");
  claims.output_image("--gap-map", f / "slices_%02d.tif");
  refuses("--trace", f / "slices_00.tif", "--gap-map and --trace both name");
}

TEST_F(FileClaimsTest, AGrowingSeriesTakesNoOtherFile) {
  claims.input_growing("-i", f / "p_%03d.tif");
  refuses("-o", f / "p_001.tif", "would be taken for a file of the series that grows");
  EXPECT_NO_THROW(claims.output("-o", f / "w.tif"));
}

TEST_F(FileClaimsTest, AnEmptyPathIsNone) {
  claims.input("-i", "");
  claims.output("-o", "");
  claims.output_image("--gap-map", "");
  EXPECT_NO_THROW(claims.output("--report", ""));
}

}  // namespace
}  // namespace halocline::file_claims_test

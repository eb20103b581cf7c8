// labels: app error
// Gzip streams of NRRD files: read whole and in parts, and refused where they are damaged or of another size.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

#include "apps/images/image_file.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::nrrd_gzip_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class NrrdGzip : public testing::Test {
 protected:
  // 31 x 17 x 5 values that compress badly.
  NrrdGzip() {
    for (unsigned n = 0; n < 31 * 17 * 5; ++n) bytes_.push_back(static_cast<char>(n * n * 2654435761u >> 24));
  }
  std::string packed(const std::string& bytes) const {
    const std::string path = folder_ / "packed.gz";
    const gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return content(path);
  }
  void write(const std::string& data, const std::string& sizes = "31 17 5") const {
    write_text(path_, fmt::format("NRRD0005\ntype: uint8\ndimension: 3\nsizes: {}\nencoding: gzip\n\n{}", sizes, data));
  }
  std::string refusal(const std::string& data, const std::string& sizes = "31 17 5") const {
    write(data, sizes);
    return refusal_of([&] { read_image(path_); });
  }
  void expect_read() const {
    const Volume volume = read_image(path_);
    ASSERT_EQ(volume.voxels.size(), bytes_.size());
    for (std::size_t n = 0; n < bytes_.size(); ++n)
      ASSERT_EQ(volume.voxels[n], static_cast<float>(static_cast<unsigned char>(bytes_[n]))) << n;
  }

  const Folder folder_;
  const std::string path_ = folder_ / "x.nrrd";
  std::string bytes_;
};

TEST_F(NrrdGzip, IsReadInOneStreamOrSeveral) {
  write(packed(bytes_));
  expect_read();
  write(packed(bytes_.substr(0, 1000)) + packed(bytes_.substr(1000)));
  expect_read();
  write(packed(bytes_) + std::string(93, '\0'));
  expect_read();
}

TEST_F(NrrdGzip, IsRefusedWhereItIsDamaged) {
  const std::string good = packed(bytes_);
  std::string bad = good, checksum = good;
  bad[100] = static_cast<char>(bad[100] ^ 0x55);
  checksum[good.size() - 8] = static_cast<char>(checksum[good.size() - 8] ^ 1);
  EXPECT_THAT(refusal(bad), AllOf(HasSubstr(path_), HasSubstr("damaged")));
  EXPECT_THAT(refusal(checksum), AllOf(HasSubstr(path_), HasSubstr("damaged")));
  EXPECT_THAT(refusal(good.substr(0, 1500)), AllOf(HasSubstr("truncated"), HasSubstr("unpacked bytes of 2635")));
  EXPECT_THAT(refusal(good.substr(0, good.size() - 1)), HasSubstr("truncated"));
}

TEST_F(NrrdGzip, IsRefusedWhereTheSizesDiffer) {
  const std::string good = packed(bytes_);
  EXPECT_THAT(refusal(good, "31 17 6"), AllOf(HasSubstr("too short"), HasSubstr("expected 3162")));
  EXPECT_THAT(refusal(good, "31 17 4"), AllOf(HasSubstr("too long"), HasSubstr("expected 2108")));
  EXPECT_THAT(refusal(good, "31000 1700 50"), HasSubstr("cannot hold 2.635e+09 voxels"));
}

TEST_F(NrrdGzip, HeadersThatNeverEnd) {
  std::string lines;
  for (int n = 0; n < 200000; ++n) lines += "# x\n";
  for (const std::string& rest : {lines, '#' + std::string(100000, ' ') + '\n'}) {
    write_text(path_, "NRRD0005\n" + rest);
    EXPECT_THAT(refusal_of([&] { read_image(path_); }), HasSubstr("never ends"));
  }
}

// ITK takes a line that begins with a zero or with a carriage return for the end of the header, and other bytes for the
// values.
TEST_F(NrrdGzip, HeadersWithBinaryData) {
  const std::string header = "NRRD0005\ntype: uint8\ndimension: 3\nsizes: 2 1 1\nencoding: raw\n";
  for (const std::string& line : {std::string("\0:= x\n", 6), std::string("# x\0y\n", 6), std::string("\rkey:=x\n")}) {
    write_text(path_, header + line + "\n\1\2");
    EXPECT_THAT(refusal_of([&] { read_image(path_); }), AllOf(HasSubstr(path_), HasSubstr("binary data in line 6")));
  }
}

}  // namespace
}  // namespace halocline::nrrd_gzip_test

// labels: app error
// Every readable format with NaN, infinity, zero and huge numbers in each numeric field of its header: it is read, or
// refused with an InputError, and neither ends the process nor takes its memory or its time.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "algorithms/geometry/geometry.hpp"
#include "apps/images/image_file.hpp"
#include "apps/options/geometry_file.hpp"
#include "host/system/error.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/compressed_images.hpp"
#include "tests/support/dicom_writer.hpp"
#ifdef HALOCLINE_WITH_ITK
#include "apps/images/itk_image.hpp"
#endif

namespace halocline::hostile_headers_test {
namespace {

constexpr int ended_with_its_name = 2, read_well = 10, refused = 11, wrong_error = 12, wrong_grid = 13;

// Reads in a child process, which the read may end.
int read_in_child(const std::string& path, bool geometry) {
  ::alarm(20);
  spdlog::set_level(spdlog::level::off);
  try {
    if (geometry) {
      check_geometry(load_geometry(path).geometry, path);
      return read_well;
    }
    check_grid(read_image_info(path).grid, path);
    const Volume volume = read_image(path, true);
    if (volume.voxels.size() != volume.grid.count()) return wrong_grid;
    check_grid(volume.grid, path);
    return read_well;
  } catch (const InputError& error) {
    return std::string(error.what()).find(path) == std::string::npos ? wrong_error : refused;
  } catch (...) {
    return wrong_error;
  }
}

// True where it was read.
bool expect_read_or_refused(const std::string& path, bool geometry = false) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(read_in_child(path, geometry));
  int status = 0;
  struct rusage usage {};
  ::wait4(child, &status, 0, &usage);
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  EXPECT_FALSE(WIFSIGNALED(status)) << "signal " << WTERMSIG(status);
  EXPECT_TRUE(WIFSIGNALED(status) || code == read_well || code == refused || code == ended_with_its_name) << code;
  EXPECT_LT(usage.ru_maxrss, 2000 * 1000);  // KiB
  return code == read_well;
}

const std::vector<std::string> bad_numbers{"nan",
                                           "inf",
                                           "-inf",
                                           "0",
                                           "-0",
                                           "-1",
                                           "1e300",
                                           "-1e300",
                                           "1e-300",
                                           "1e999",
                                           "99999999999999999999999",
                                           "2147483647",
                                           "4294967296",
                                           ""};

// Each line of a text header with each of its numbers in turn replaced, and then all of them.
void try_each_number(const std::string& header, const std::string& rest, const std::string& separator,
                     const std::string& path, bool geometry = false) {
  std::size_t tried = 0, read = 0;
  const auto attempt = [&](const std::string& changed, const std::string& what) {
    SCOPED_TRACE(what);
    write_text(path, changed + rest);
    read += expect_read_or_refused(path, geometry) ? 1 : 0;
    ++tried;
  };
  const auto is_number = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  for (std::size_t line = 0; line < header.size(); line = header.find('\n', line) + 1) {
    const std::size_t end = header.find('\n', line), value = std::min(header.find(separator, line), header.size());
    if (value > end) continue;
    for (std::size_t at = value + separator.size(); at < end;) {
      const std::size_t from = std::find_if(header.begin() + at, header.begin() + end, is_number) - header.begin();
      if (from >= end) break;
      const std::size_t to = std::min(header.find_first_of(" ,)\"<\n", from), end);
      for (const auto& number : bad_numbers)
        attempt(header.substr(0, from) + number + header.substr(to),
                fmt::format("'{}' for '{}' in '{}'", number, header.substr(from, to - from),
                            header.substr(line, end - line)));
      at = to;
    }
  }
  EXPECT_GT(tried, 100u);
  EXPECT_GT(read, 0u);
}

class HostileHeaders : public testing::Test {
 protected:
  Folder f_;
};

TEST_F(HostileHeaders, MetaImage) {
  const std::string header =
      "ObjectType = Image\nNDims = 3\nBinaryData = True\nBinaryDataByteOrderMSB = False\nCompressedData = False\n"
      "TransformMatrix = 1 0 0 0 1 0 0 0 1\nOffset = 1 2 3\nCenterOfRotation = 0 0 0\nElementSpacing = 1 2 3\n"
      "DimSize = 2 2 2\nElementToIntensityFunctionSlope = 2\nElementToIntensityFunctionOffset = 1\n"
      "ElementNumberOfChannels = 1\nHeaderSize = 0\nElementType = MET_UCHAR\nElementDataFile = LOCAL\n";
  try_each_number(header, "12345678", "= ", f_ / "x.mha");
}

TEST_F(HostileHeaders, GeometryXml) {
  const std::string header =
      "<?xml version=\"1.0\"?>\n<RTKThreeDCircularGeometry version=\"3\">\n"
      "<?halocline-detector size-u=\"8\" size-v=\"8\" pitch-u=\"1\" pitch-v=\"1\"?>\n"
      "<SourceToIsocenterDistance>500</SourceToIsocenterDistance>\n"
      "<SourceToDetectorDistance>750</SourceToDetectorDistance>\n<SourceOffsetX>1</SourceOffsetX>\n"
      "<ProjectionOffsetX>1</ProjectionOffsetX>\n<InPlaneAngle>1</InPlaneAngle>\n"
      "<OutOfPlaneAngle>1</OutOfPlaneAngle>\n<CollimationUInf>1000</CollimationUInf>\n"
      "<RadiusCylindricalDetector>750</RadiusCylindricalDetector>\n<Projection>\n<GantryAngle>10</GantryAngle>\n"
      "</Projection>\n</RTKThreeDCircularGeometry>\n";
  try_each_number(header, "", ">", f_ / "x.xml", true);
}

TEST_F(HostileHeaders, GeometryRows) {
  try_each_number("# format: astra cone_vec\n# detector: 8 8\n0 -500 0 0 250 0 1 0 0 0 0 1\n", "", "", f_ / "x.txt",
                  true);
  try_each_number("# format: matrices mm\n-750 0 0 0 0 -750 0 0 0 0 1 -500\n", "", "", f_ / "x.txt", true);
}

TEST_F(HostileHeaders, VendorGeometries) {
  try_each_number(
      "[XTekCT]\nSrcToObject=500\nSrcToDetector=750\nProjections=8\nInitialAngle=1\nAngularStep=45\nDetectorPixelsX=8\n"
      "DetectorPixelsY=8\nDetectorPixelSizeX=1\nDetectorPixelSizeY=1\nDetectorOffsetX=1\nVoxelsX=8\nVoxelsY=8\n"
      "VoxelsZ=8\nVoxelSizeX=1\nVoxelSizeY=1\nVoxelSizeZ=1\n",
      "", "=", f_ / "x.xtekct", true);
  try_each_number(
      "[Geometry]\nFDD=750\nFOD=500\ncx=4\ncy=4\n[CT]\nNumberImages=8\nRotationSector=360\n[Image]\nDimX=8\nDimY=8\n"
      "[Detector]\nPixelsizeX=1\nPixelsizeY=1\n",
      "", "=", f_ / "x.pca", true);
}

#ifdef HALOCLINE_WITH_ITK

template <typename T>
void put(std::string& bytes, std::size_t at, T value) {
  ASSERT_LE(at + sizeof value, bytes.size());
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

Volume sample() {
  Volume volume;
  volume.grid.size = {13, 7, 5};
  volume.grid.spacing = {0.4512, 0.3333, 2.5};
  volume.grid.origin = {-101.4616, 7.77, 0.001};
  volume.voxels.assign(volume.grid.count(), 1.5f);
  return volume;
}

TEST_F(HostileHeaders, Nrrd) {
  const std::string header =
      "NRRD0004\ntype: uint8\ndimension: 3\nspace dimension: 3\nsizes: 2 2 2\nspace directions: (1,0,0) (0,2,0) "
      "(0,0,3)\nspace origin: (1,2,3)\nmeasurement frame: (1,0,0) (0,1,0) (0,0,1)\nkinds: domain domain domain\n"
      "endian: little\nencoding: raw\nbyte skip: 0\nline skip: 0\nold min: 1\nold max: 2\n\n";
  try_each_number(header, "12345678", ": ", f_ / "x.nrrd");
  const std::string plain =
      "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 2 2 2\nspacings: 1.5 1.5 1.5\naxis mins: 1 2 3\naxis maxs: 4 5 6\n"
      "centers: cell cell cell\nthicknesses: 1 1 1\nencoding: raw\n\n";
  try_each_number(plain, "12345678", ": ", f_ / "x.nrrd");
}

struct BinaryField {
  const char* name;
  std::size_t at;
  char type;  // s: int16, f: float32
};

// nifti1.h
std::vector<BinaryField> nifti_fields() {
  std::vector<BinaryField> fields{{"intent_code", 68, 's'}, {"datatype", 70, 's'},        {"bitpix", 72, 's'},
                                  {"slice_start", 74, 's'}, {"vox_offset", 108, 'f'},     {"scl_slope", 112, 'f'},
                                  {"scl_inter", 116, 'f'},  {"slice_end", 120, 's'},      {"cal_max", 124, 'f'},
                                  {"cal_min", 128, 'f'},    {"slice_duration", 132, 'f'}, {"toffset", 136, 'f'},
                                  {"qform_code", 252, 's'}, {"sform_code", 254, 's'}};
  for (std::size_t n = 0; n < 8; ++n) fields.push_back({"dim", 40 + 2 * n, 's'});
  for (std::size_t n = 0; n < 8; ++n) fields.push_back({"pixdim", 76 + 4 * n, 'f'});
  for (std::size_t n = 0; n < 6; ++n) fields.push_back({"quatern and qoffset", 256 + 4 * n, 'f'});
  for (std::size_t n = 0; n < 12; ++n) fields.push_back({"srow", 280 + 4 * n, 'f'});
  return fields;
}

TEST_F(HostileHeaders, Nifti) {
  const std::string path = f_ / "x.nii";
  write_image(sample(), path);
  const std::string good = content(path);
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  std::size_t read = 0;
  const auto attempt = [&](const BinaryField& field, auto value, int q, int s) {
    SCOPED_TRACE(fmt::format("{} at {} is {}, qform_code {}, sform_code {}", field.name, field.at, value, q, s));
    std::string bytes = good;
    put(bytes, 252, static_cast<std::int16_t>(q));
    put(bytes, 254, static_cast<std::int16_t>(s));
    put(bytes, field.at, value);
    write_text(path, bytes);
    read += expect_read_or_refused(path) ? 1 : 0;
  };
  for (const auto& field : nifti_fields()) {
    if (field.type == 's')
      for (const int value : {0, -1, 1, 7, 32767, -32768}) attempt(field, static_cast<std::int16_t>(value), 1, 1);
    else
      for (const float value : {nan, infinity, 0.0f, 1e30f, -3e38f, 1e-42f})
        for (const auto& [q, s] : {std::pair<int, int>(1, 0), {0, 1}}) attempt(field, value, q, s);
  }
  EXPECT_GT(read, 100u);
}

TEST_F(HostileHeaders, CompressedNifti) {
  const std::string plain = f_ / "x.nii", path = f_ / "x.nii.gz";
  write_image(sample(), plain);
  std::string bytes = content(plain);
  for (std::size_t n = 0; n < 12; ++n) put(bytes, 280 + 4 * n, std::numeric_limits<float>::quiet_NaN());
  put(bytes, 254, std::int16_t{1});
  write_text(path, bytes);  // gzip's library reads plain bytes, too
  EXPECT_FALSE(expect_read_or_refused(path));
  const Ran ran = run({"metrics", "-i", path});
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("x.nii.gz"), std::string::npos) << ran.err;
  EXPECT_NE(ran.err.find("srow"), std::string::npos) << ran.err;
}

// Every entry of the first directory, its count and its value (TIFF 6.0, section 2), and the offset of the directory.
TEST_F(HostileHeaders, Tiff) {
  const std::string path = f_ / "x.tif";
  write_image(sample(), path);
  const std::string good = content(path);
  const auto whole = [&](std::size_t at, int bytes) {
    std::uint32_t value = 0;
    std::memcpy(&value, good.data() + at, static_cast<std::size_t>(bytes));
    return value;
  };
  std::vector<std::size_t> places{4};
  const std::size_t directory = whole(4, 4);
  for (std::size_t n = 0; n < whole(directory, 2); ++n) {
    const std::size_t entry = directory + 2 + 12 * n;
    places.push_back(entry + 4);
    places.push_back(entry + 8);
    if (whole(entry + 2, 2) == 5) places.insert(places.end(), {whole(entry + 8, 4), whole(entry + 8, 4) + 4});  // ratio
  }
  EXPECT_GT(places.size(), 20u);
  for (const std::size_t place : places)
    for (const std::uint32_t value : {0u, 1u, 0xffffu, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
      SCOPED_TRACE(fmt::format("{:#x} at byte {}", value, place));
      std::string changed = good;
      put(changed, place, value);
      write_text(path, changed);
      expect_read_or_refused(path);
    }
}

TEST_F(HostileHeaders, Dicom) {
  const std::string path = f_ / "x.dcm";
  for (const char* field : {"spacing", "position", "orientation", "intercept", "slope"})
    for (const std::string number : {"nan", "inf", "-inf", "0", "-1", "1e300", "1e999", "-1e999", "x", ""})
      for (const int count : {1, 2, 3, 6}) {
        DicomWriter dicom;
        std::string text = number;
        for (int n = 1; n < count; ++n) text += "\\" + number;
        dicom.instead[field] = text;
        SCOPED_TRACE(std::string(field) + " is " + text);
        dicom.write(path, "7", 1, 0, std::vector<std::int16_t>(6));
        expect_read_or_refused(path);
      }
  for (const char* field : {"rows", "columns", "bits", "samples"})
    for (const char* number : {"0", "1", "7", "64", "65535"}) {
      DicomWriter dicom;
      dicom.instead[field] = number;
      SCOPED_TRACE(std::string(field) + " is " + number);
      dicom.write(path, "7", 1, 0, std::vector<std::int16_t>(6));
      expect_read_or_refused(path);
    }
}

// The numbers of the grid, at their places in the file.
TEST_F(HostileHeaders, Hdf5) {
  const std::string path = f_ / "x.h5";
  const Volume volume = sample();
  write_itk_image(volume, path, false);
  const std::string good = content(path);
  const auto places_of = [&](auto value) {
    std::vector<std::size_t> places;
    const std::string bytes(reinterpret_cast<const char*>(&value), sizeof value);
    for (auto at = good.find(bytes); at != std::string::npos; at = good.find(bytes, at + 1)) places.push_back(at);
    return places;
  };
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  std::size_t tried = 0;
  const auto attempt = [&](std::size_t place, auto value) {
    SCOPED_TRACE(fmt::format("{} at byte {}", value, place));
    std::string changed = good;
    put(changed, place, value);
    write_text(path, changed);
    expect_read_or_refused(path);
    ++tried;
  };
  for (const double value : {0.4512, 2.5, -101.4616, 7.77, 1.0})
    for (const std::size_t place : places_of(value))
      for (const double number : {nan, infinity, -infinity, 0.0, -1.0, 1e300, 1e-300}) attempt(place, number);
  for (const std::uint64_t size : {13, 7, 5})
    for (const std::size_t place : places_of(size))
      for (const std::uint64_t number : {0ull, 1ull, 1ull << 31, 1ull << 40, ~0ull}) attempt(place, number);
  EXPECT_GT(tried, 50u);
}

#endif

}  // namespace
}  // namespace halocline::hostile_headers_test

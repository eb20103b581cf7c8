// labels: app itk
// The view angles of HDF5 files, wherever and in whatever units Data Exchange and NeXus keep them; and ITK's HDF5
// images, whose descriptions must fit their voxels.
#include "apps/images/hdf5_angles.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>

#include "apps/images/image_file.hpp"
#include "host/system/error.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/compressed_images.hpp"
#include "tests/support/hdf5_writer.hpp"
#include "tests/support/image_actions.hpp"

#ifdef HALOCLINE_WITH_ITK
#include "apps/images/itk_image.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::hdf5_angles_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr double radian = M_PI / 180;

// 0, 2, ... degrees, 90 of them.
std::vector<double> angles(double factor = 1) {
  std::vector<double> out;
  for (int n = 0; n < 90; ++n) out.push_back(factor * 2 * n);
  return out;
}

class Hdf5Angles : public testing::Test {
 protected:
  void expect_angles(const std::function<void(Hdf5Writer&)>& make) {
    Hdf5Writer file;
    make(file);
    file.write(path_);
    const auto found = read_hdf5_angles(path_);
    ASSERT_EQ(found.size(), 90u);
    for (std::size_t n = 0; n < 90; ++n) EXPECT_NEAR(found[n], 2.0 * static_cast<double>(n), 1e-9);
  }
  std::string refusal(const std::function<void(Hdf5Writer&)>& make) {
    Hdf5Writer file;
    make(file);
    file.write(path_);
    const std::string error = refusal_of([&] { read_hdf5_angles(path_); });
    EXPECT_THAT(error, HasSubstr(path_));
    return error;
  }

  Folder folder_;
  std::string path_ = folder_ / "scan.h5";
};

TEST_F(Hdf5Angles, OfDataExchange) {
  expect_angles([](Hdf5Writer& file) { file.add("/exchange/theta", {angles()}); });
  expect_angles([](Hdf5Writer& file) { file.add("/exchange/theta", {angles(), {90, 1}, "deg"}); });
  expect_angles([](Hdf5Writer& file) { file.add("/exchange/theta", {angles(), {1, 90}, "Degrees"}); });
}

TEST_F(Hdf5Angles, InRadians) {
  for (const char* units : {"rad", "radian", "radians", "RADIANS", " rad "})
    expect_angles([&](Hdf5Writer& file) { file.add("/exchange/theta", {angles(radian), {}, units}); });
  expect_angles([](Hdf5Writer& file) { file.add("/exchange/theta", {angles(1000 * radian), {}, "mrad"}); });
  // without units, half a turn and a turn say so themselves
  expect_angles([](Hdf5Writer& file) { file.add("/exchange/theta", {angles(radian)}); });
  Hdf5Writer whole;
  std::vector<double> turn;
  for (int n = 0; n <= 90; ++n) turn.push_back(4 * n * radian);
  whole.add("/exchange/theta", {turn});
  whole.write(path_);
  EXPECT_NEAR(read_hdf5_angles(path_)[45], 180, 1e-9);
  // other spans of this size do not
  std::vector<double> some = angles(radian / 2);
  EXPECT_THAT(refusal([&](Hdf5Writer& file) { file.add("/exchange/theta", {some}); }),
              AllOf(HasSubstr("degrees or radians"), HasSubstr("units"), HasSubstr("1.55")));
  EXPECT_THAT(refusal([&](Hdf5Writer& file) {
                file.add("/exchange/theta", {some, {}, "gon"});
              }),
              AllOf(HasSubstr("'gon'"), HasSubstr("'deg' or 'rad'")));
}

TEST_F(Hdf5Angles, OfNexus) {
  expect_angles([](Hdf5Writer& file) {
    file.add("/entry1/tomo_entry/data/rotation_angle", {angles(), {}, "degrees"});
    file.add("/entry1/tomo_entry/sample/rotation_angle", {angles(), {}, "degrees"});
    file.add("/entry1/tomo_entry/instrument/detector/count_time", {std::vector<double>(90, 0.1), {}, "s"});
  });
  // flats and darks before and after
  expect_angles([](Hdf5Writer& file) {
    auto all = angles(), keys = std::vector<double>(90, 0);
    all.insert(all.begin(), 2, 0.0);
    keys.insert(keys.begin(), {2, 1});
    all.push_back(180);
    keys.push_back(1);
    file.add("/entry/tomo_entry/data/rotation_angle", {all, {}, "deg"});
    file.add("/entry/tomo_entry/instrument/detector/image_key", {keys});
  });
  expect_angles([](Hdf5Writer& file) {
    file.add("/measurement/SampleRotation", {angles(), {}, "deg"});
    file.add("/measurement/rotation_speed", {std::vector<double>(90, 5), {}, "deg/s"});
  });
}

TEST_F(Hdf5Angles, ByStartAndStep) {
  expect_angles([](Hdf5Writer& file) {
    file.add("/process/acquisition/rotation/rotation_start", {{0}});
    file.add("/process/acquisition/rotation/rotation_step", {{2}});
    file.add("/process/acquisition/rotation/num_angles", {{90}});
    file.add("/exchange/data", {std::vector<double>(24), {4, 3, 2}});
  });
}

TEST_F(Hdf5Angles, InTurnsAndWithADot) {
  for (const char* units : {"deg.", "Deg. "})
    expect_angles([&](Hdf5Writer& file) { file.add("/exchange/theta", {angles(), {}, units}); });
  for (const char* units : {"turn", "turns", "rev", "revolutions"})
    expect_angles([&](Hdf5Writer& file) { file.add("/exchange/theta", {angles(1 / 360.0), {}, units}); });
}

TEST_F(Hdf5Angles, ListsOfAnotherMeaningAreNotTaken) {
  for (const char* name : {"two_theta", "twotheta", "2theta", "rotation_speed", "rot_velocity", "tilt_angle",
                           "theta_offset", "rotation_axis", "rotation_center", "Rotation_Centre"}) {
    const std::string path = std::string("/instr/") + name;
    const auto message = refusal([&](Hdf5Writer& file) { file.add(path, {angles(), {}, "deg"}); });
    EXPECT_THAT(message, AllOf(HasSubstr("no angles were found"), HasSubstr(path + " (90)"))) << name;
    // nor do they stand against those that are
    expect_angles([&](Hdf5Writer& file) {
      file.add(path, {angles(3), {}, "deg"});
      file.add("/instr/SampleRotation", {angles(), {}, "deg"});
    });
  }
}

TEST_F(Hdf5Angles, ThatAreAllEqualAreRefused) {
  for (const char* path : {"/exchange/theta", "/entry/rotation_angle", "/m/rotation_readback"})
    EXPECT_THAT(refusal([&](Hdf5Writer& file) {
                  file.add(path, {std::vector<double>(90, 7.5), {}, "deg"});
                }),
                AllOf(HasSubstr(path), HasSubstr("90"), HasSubstr("7.5"), HasSubstr("text file")));
  EXPECT_THAT(refusal([](Hdf5Writer& file) {
                file.add("/process/acquisition/rotation/rotation_step", {{0}});
                file.add("/process/acquisition/rotation/num_angles", {{90}});
              }),
              AllOf(HasSubstr("rotation_step"), HasSubstr("text file")));
}

TEST_F(Hdf5Angles, StepsGoWithTheStartBesideThem) {
  expect_angles([](Hdf5Writer& file) {
    file.add("/process/acquisition/flat_fields/rotation/start", {{500}});
    file.add("/process/acquisition/rotation/rotation_step", {{2}});
    file.add("/process/acquisition/rotation/num_angles", {{90}});
  });
  expect_angles([](Hdf5Writer& file) {
    file.add("/process/acquisition/flat_fields/rotation/rotation_step", {{30}});
    file.add("/process/acquisition/flat_fields/rotation/num_angles", {{3}});
    file.add("/process/acquisition/rotation/rotation_start", {{0}});
    file.add("/process/acquisition/rotation/rotation_step", {{1.0 / 180}, {}, "turn"});
    file.add("/process/acquisition/rotation/num_angles", {{90}});
  });
  EXPECT_THAT(refusal([](Hdf5Writer& file) {
                file.add("/process/acquisition/rotation/rotation_step", {{2}, {}, "gon"});
                file.add("/process/acquisition/rotation/num_angles", {{90}});
              }),
              AllOf(HasSubstr("'gon'"), HasSubstr("'deg' or 'rad'")));
  EXPECT_THAT(refusal([](Hdf5Writer& file) {
                file.add("/a/rotation/rotation_step", {{2}});
                file.add("/b/rotation/rotation_step", {{3}});
                file.add("/b/rotation/num_angles", {{90}});
                file.add("/a/rotation/num_angles", {{90}});
              }),
              AllOf(HasSubstr("/a/rotation/rotation_step"), HasSubstr("/b/rotation/rotation_step")));
}

TEST_F(Hdf5Angles, ThatAreNotThereAreAskedForWithWhatIs) {
  EXPECT_THAT(refusal([](Hdf5Writer& file) {
                file.add("/entry/positions/stage", {angles()});
                file.add("/exchange/data", {std::vector<double>(24), {4, 3, 2}});
              }),
              AllOf(HasSubstr("no /exchange/theta"), HasSubstr("/entry/positions/stage (90)"),
                    testing::Not(HasSubstr("/exchange/data"))));
  EXPECT_THAT(refusal([](Hdf5Writer& file) {
                file.add("/a/rotation_angle", {angles()});
                file.add("/b/rotation_angle", {angles(2)});
              }),
              AllOf(HasSubstr("/a/rotation_angle"), HasSubstr("/b/rotation_angle"), HasSubstr("different numbers")));
  EXPECT_THAT(refusal([](Hdf5Writer& file) {
                file.add("/exchange/theta", {std::vector<double>(6), {3, 2}});
              }),
              HasSubstr("one angle a view in a row"));
}

TEST_F(Hdf5Angles, OfTwoListsThatDisagreeAreRefused) {
  const auto disputed = [&](const std::string& a, const std::string& b, const Hdf5Writer::List& second) {
    EXPECT_THAT(refusal([&](Hdf5Writer& file) {
                  file.add(a, {angles(), {}, "deg"});
                  file.add(b, second);
                }),
                AllOf(HasSubstr(a), HasSubstr(b), HasSubstr("different numbers"), HasSubstr("text file")))
        << b;
  };
  for (const char* other : {"/entry/sample/rotation_angle", "/entry/data/theta", "/entry/rotation_angles"}) {
    disputed("/exchange/theta", other, {angles(-1), {}, "deg"});
    disputed("/exchange/theta", other, {angles(), {}, "rad"});
  }
  disputed("/exchange/theta", "/entry/angles", {angles(-1)});
  disputed("/entry/rotation_angle", "/entry/theta", {angles(2), {}, "deg"});
  auto missing = angles();
  missing[7] = std::nan("");
  disputed("/exchange/theta", "/entry/theta", {missing});
}

TEST_F(Hdf5Angles, OfTwoListsThatAgreeAreTaken) {
  const auto taken = [&](const std::string& b, const Hdf5Writer::List& second) {
    SCOPED_TRACE(b);
    expect_angles([&](Hdf5Writer& file) {
      file.add("/exchange/theta", {angles(), {}, "deg"});
      file.add(b, second);
    });
  };
  taken("/entry/sample/rotation_angle", {angles(), {}, "deg"});
  taken("/entry/sample/rotation_angle", {angles()});
  taken("/entry/sample/rotation_angle", {angles(radian)});
  taken("/entry/sample/rotation_angle", {angles(radian), {}, "rad"});
  auto read_back = angles();
  for (double& each : read_back) each += 0.004;
  taken("/entry/sample/rotation_angle", {read_back, {}, "deg"});
  taken("/defaults/theta", {{0, 1}});
  taken("/measurement/rotation_angle", {{0, 1, 2}});
  // the positions of a motor that stands, and other angles
  taken("/entry/sample/rotation_angle", {std::vector<double>(90, 5)});
  taken("/entry/detector/angles", {{1, 2, 3}});
  // with and without flats
  expect_angles([](Hdf5Writer& file) {
    auto all = angles(), keys = std::vector<double>(90, 0);
    all.insert(all.begin(), 2, 0.0);
    keys.insert(keys.begin(), {2, 1});
    file.add("/exchange/theta", {angles(), {}, "deg"});
    file.add("/entry/rotation_angle", {all, {}, "deg"});
    file.add("/entry/image_key", {keys});
  });
}

TEST_F(Hdf5Angles, ThatAreNoFiniteNumbersAreRefused) {
  for (const char* path : {"/exchange/theta", "/entry/rotation_angle", "/entry/theta"}) {
    EXPECT_THAT(refusal([&](Hdf5Writer& file) {
                  file.add(path, {{}, {}, {}, {"0", "2", "4", "6"}});
                }),
                AllOf(HasSubstr(path), HasSubstr("holds texts"), HasSubstr("text file")));
    auto missing = angles();
    missing[7] = std::nan("");
    EXPECT_THAT(refusal([&](Hdf5Writer& file) { file.add(path, {missing}); }),
                AllOf(HasSubstr(path), HasSubstr("number 8 of the 90"), HasSubstr("nan"), HasSubstr("text file")));
  }
  EXPECT_THAT(refusal([](Hdf5Writer& file) {
                file.add("/process/acquisition/rotation/rotation_step", {{INFINITY}});
                file.add("/process/acquisition/rotation/num_angles", {{90}});
              }),
              AllOf(HasSubstr("rotation_step"), HasSubstr("inf")));
  // texts beside numbers are of something else
  expect_angles([](Hdf5Writer& file) {
    file.add("/exchange/theta", {angles()});
    file.add("/entry/theta", {{}, {}, {}, {"0", "2"}});
  });
}

std::string little_endian(std::uint64_t value) {
  std::string out;
  for (int n = 0; n < 8; ++n) out.push_back(static_cast<char>(value >> (8 * n)));
  return out;
}

// Volumes of 6 x 5 x 4 voxels, by ITK, in chunks of a slice or in a row; with other bytes in the place of the first
// that are the same.
class Hdf5Volumes : public testing::Test {
 protected:
  void write(bool compressed, const std::string& from = "", const std::string& to = "") {
    std::filesystem::remove(path_);
    write_itk_image(volume_, path_, compressed);
    std::ifstream in(path_, std::ios::binary);
    std::string bytes(std::istreambuf_iterator<char>(in), {});
    const auto at = bytes.find(from);
    ASSERT_NE(at, std::string::npos) << "no such bytes";
    write_text(path_, bytes.replace(at, from.size(), to));
  }
  // Header without one of its parts, and with these voxels.
  static Hdf5Writer header(const std::string& without, const std::vector<double>& voxels) {
    Hdf5Writer file;
    const std::map<std::string, Hdf5Writer::List> parts{{"Dimension", {{6, 5, 4}}},
                                                        {"Origin", {{0, 0, 0}}},
                                                        {"Spacing", {{1, 1, 1}}},
                                                        {"Directions", {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {3, 3}}},
                                                        {"VoxelData", {voxels, {4, 5, 6}}}};
    for (const auto& [name, list] : parts)
      if (name != without) file.add("/ITKImage/0/" + name, list);
    return file;
  }
  std::string refusal() {
    const std::string message = error_of([&] { read_image(path_); });
    EXPECT_EQ(message, error_of([&] { read_image_info(path_); }));
    EXPECT_THAT(message, AllOf(HasSubstr("InputError: '" + path_ + "'"), HasSubstr("/ITKImage/0/")));
    return message;
  }

  Folder folder_;
  std::string path_ = folder_ / "v.h5";
  Volume volume_{Grid{{6, 5, 4}}, 7.5f};
};

TEST_F(Hdf5Volumes, OfAShapeThatTheirDimensionContradictsAreRefused) {
  for (const bool compressed : {false, true}) {
    write(compressed);
    EXPECT_EQ(read_image(path_).voxels, volume_.voxels);
    const std::string size = little_endian(6) + little_endian(5);
    write(compressed, size + little_endian(4), size + little_endian(3));
    EXPECT_THAT(refusal(), AllOf(HasSubstr("Dimension says 6 x 5 x 3 voxels"), HasSubstr("VoxelData holds 6 x 5 x 4"),
                                 HasSubstr(".mha")));
    write(compressed, size, little_endian(5) + little_endian(6));
    EXPECT_THAT(refusal(), AllOf(HasSubstr("5 x 6 x 4"), HasSubstr("6 x 5 x 4")));
  }
}

TEST_F(Hdf5Volumes, WhoseVoxelsWereNotAllWrittenAreRefused) {
  const auto chunks = [](char count) { return std::string("TREE\1\0", 6) + count + '\0'; };
  write(true, chunks(4), chunks(2));
  EXPECT_THAT(refusal(), AllOf(HasSubstr("only 2 of the 4 chunks"), HasSubstr("zeros")));
  // in a row, of which nothing is stored
  header({}, {}).write(path_);
  EXPECT_THAT(refusal(), AllOf(HasSubstr("has 0 bytes of values"), HasSubstr("960")));
}

TEST_F(Hdf5Volumes, WithoutAPartOfTheirHeaderAreRefused) {
  for (const std::string part : {"Spacing", "Origin", "Directions", "Dimension", "VoxelData"}) {
    header(part, std::vector<double>(120)).write(path_);
    EXPECT_THAT(refusal(), HasSubstr("/ITKImage/0/" + part + " is missing"));
  }
}

}  // namespace
}  // namespace halocline::hdf5_angles_test

#endif

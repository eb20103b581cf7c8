// labels: app device error
// Image files in pieces: the same voxels as from the whole, of every type, in little memory, and nothing half done.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "apps/images/atomic_file.hpp"
#include "apps/images/image_file.hpp"
#include "apps/images/meta_image.hpp"
#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "host/system/thread_pool.hpp"
#include "host/volume/typed_volume.hpp"
#include "tests/reference/tv_reference.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/image_actions.hpp"
#include "tests/support/sanitized.hpp"
#ifdef HALOCLINE_WITH_ITK
#include "apps/images/itk_image.hpp"
#endif

namespace halocline::streamed_image_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// Whole numbers from 0 to 255 in more than one piece.
Volume counts(const std::array<std::size_t, 3>& size = {97, 61, 53}) {
  Grid grid{.size = size, .spacing = {0.5, 0.75, 2}, .origin = {1, -2, 3}};
  Volume volume(grid);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n)
    volume.voxels[n] = static_cast<float>((n * 2654435761U >> 7) % 256);
  return volume;
}

// Two balls in noise, 0 to 255.
Volume noisy_counts() {
  Volume volume = reference::two_balls(24, 0.1);
  for (auto& value : volume.voxels) value = std::clamp(std::round(100 * value + 40), 0.0f, 255.0f);
  return volume;
}

void store(const Volume& volume, const std::string& path, const ImageStorage& storage) {
  const auto image = create_image(path, volume.grid, storage);
  image->begin();
  copy_voxels(MemorySource(volume), *image);
  EXPECT_EQ(image->changed(), 0u);
  image->commit();
}

std::size_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

TEST(StreamedImage, EveryTypeComesBackFromEveryName) {
  const Volume volume = counts();
  for (const char* type :
       {"uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64", "float16"})
    for (const char* name : {"a.mha", "b.mhd", "c.raw"}) {
      SCOPED_TRACE(std::string(type) + " " + name);
      const Folder f;
      store(volume, f / name, {component_named(type), {}});
      EXPECT_EQ(f.files().size(), name[0] == 'a' ? 1u : 2u);
      const ImageInfo info = read_image_info(f / name);
      EXPECT_EQ(info.component, type);
      EXPECT_EQ(info.grid.size, volume.grid.size);
      EXPECT_EQ(info.grid.spacing, volume.grid.spacing);
      EXPECT_EQ(info.grid.origin, volume.grid.origin);
      const Volume whole = read_image(f / name);
      EXPECT_EQ(whole.voxels, volume.voxels);
      const auto source = open_image(f / name);
      EXPECT_EQ(source->data(), nullptr);  // nothing was read yet
      EXPECT_EQ(read_volume(*source).voxels, whole.voxels);
      // any piece, of any length
      for (const auto& [first, count] : {std::pair<std::size_t, std::size_t>{0, 1},
                                         {12345, 1},
                                         {77, 200001},
                                         {volume.grid.count() - 3, 3},
                                         {5, 0}}) {
        std::vector<float> piece(count);
        source->read(first, count, piece.data());
        EXPECT_TRUE(std::equal(piece.begin(), piece.end(), whole.voxels.begin() + static_cast<std::ptrdiff_t>(first)));
      }
    }
}

TEST(StreamedImage, HeadersOfOthersAndTheOtherByteOrder) {
  const Folder f;
  std::string data = "some header";
  for (int n = 0; n < 24; ++n) {
    data += static_cast<char>(n);
    data += static_cast<char>(200 - n);
  }
  write_text(f / "x.bin", data);
  for (const bool msb : {false, true}) {
    write_text(f / "x.mhd", std::string("NDims = 3\nDimSize = 4 3 2\nElementType = MET_USHORT\nHeaderSize = -1\n") +
                                "ElementByteOrderMSB = " + (msb ? "True" : "False") + "\nElementDataFile = x.bin\n");
    const auto source = open_image(f / "x.mhd");
    float values[5];
    source->read(7, 5, values);
    for (int n = 0; n < 5; ++n) EXPECT_EQ(values[n], msb ? 256 * (n + 7) + 193 - n : 256 * (193 - n) + n + 7);
    EXPECT_EQ(read_volume(*source).voxels, read_image(f / "x.mhd").voxels);
  }
}

TEST(StreamedImage, ScalingIsAppliedAndRecorded) {
  const Folder f;
  Volume volume = counts({9, 7, 5});
  for (auto& value : volume.voxels) value = static_cast<float>(0.001 * value - 0.1);
  store(volume, f / "s.mha", {Component::uint8, {0.001, -0.1}});
  EXPECT_THAT(content(f / "s.mha"), AllOf(HasSubstr("ElementToIntensityFunctionSlope = 0.001\n"),
                                          HasSubstr("ElementToIntensityFunctionOffset = -0.1\n")));
  const ImageInfo info = read_image_info(f / "s.mha");
  EXPECT_EQ(info.component, "uint8");
  EXPECT_EQ(info.scaling, (Scaling{0.001, -0.1}));
  EXPECT_EQ(read_image(f / "s.mha").voxels, volume.voxels);
  EXPECT_EQ(read_volume(*open_image(f / "s.mha")).voxels, volume.voxels);
  const std::string head = "NDims = 3\nDimSize = 1 1 1\nElementType = MET_UCHAR\n",
                    rest = "\nElementDataFile = LOCAL\nx";
  for (const char* bad : {"ElementToIntensityFunctionSlope = 0", "ElementToIntensityFunctionSlope = nan",
                          "ElementToIntensityFunctionOffset = inf"}) {
    write_text(f / "bad.mha", head + bad + rest);
    EXPECT_THAT(error_of([&] { open_image(f / "bad.mha"); }),
                AllOf(HasSubstr("InputError"), HasSubstr("bad.mha"), HasSubstr("ElementToIntensityFunction")));
  }
}

TEST(StreamedImage, FormatsThatCannotKeepItAreNamed) {
  EXPECT_NO_THROW(check_storage("a.mha", {Component::float16, {2, 1}}));
  EXPECT_NO_THROW(check_storage("a.nrrd", {Component::int32, {}}));
  EXPECT_THAT(error_of([] {
                check_storage("a.nii", {Component::float16, {}});
              }),
              AllOf(HasSubstr("InputError"), HasSubstr("a.nii"), HasSubstr("float16"), HasSubstr(".mha")));
  EXPECT_THAT(error_of([] { check_storage("a.nrrd", {Component::uint8, {2, 0}}); }), HasSubstr("slope"));
  EXPECT_THAT(error_of([] { check_storage("a.tif", {Component::float64, {}}); }), HasSubstr("float64"));
}

TEST(StreamedImage, TruncatedFilesAreFoundBeforeAnythingIsRead) {
  const Folder f;
  store(counts({9, 7, 5}), f / "v.mhd", {Component::uint16, {}});
  const auto source = open_image(f / "v.mhd");
  std::filesystem::resize_file(f / "v.raw", 9 * 7 * 5 * 2 - 1);
  EXPECT_THAT(error_of([&] { open_image(f / "v.mhd"); }),
              AllOf(HasSubstr("InputError"), HasSubstr("v.raw"), HasSubstr("found 629"), HasSubstr("expected 630")));
  // and those that shrink afterwards, when they are read
  EXPECT_THAT(error_of([&] { read_volume(*source); }), AllOf(HasSubstr("FileError"), HasSubstr("v.raw")));
}

TEST(StreamedImage, NonFiniteValuesAreFoundAsTheyAreRead) {
  const Folder f;
  for (const auto component : {Component::float32, Component::float16}) {
    Volume volume = counts();
    volume.at(90, 60, 50) = std::numeric_limits<float>::quiet_NaN();
    store(volume, f / "n.mha", {component, {}});
    const auto source = open_image(f / "n.mha");
    float first = -1;
    source->read(0, 1, &first);
    EXPECT_EQ(first, volume.voxels[0]);
    EXPECT_THAT(
        error_of([&] { read_volume(*source); }),
        AllOf(HasSubstr("n.mha"), HasSubstr("1 value is"), HasSubstr("(90,60,50)"), HasSubstr("`allow_nonfinite`")));
    volume.at(90, 60, 50) = 0;
    EXPECT_EQ(read_volume(*open_image(f / "n.mha", true)).voxels, volume.voxels);
  }
}

TEST(StreamedImage, NothingIsLeftOfWhatIsNotFinished) {
  const Folder f;
  const Volume volume = counts();
  for (const char* name : {"v.mha", "v.mhd", "v.raw"}) {
    write_text(f / name, "old");
    const auto before = f.files();
    {
      const auto image = create_image(f / name, volume.grid, {Component::uint8, {}});
      EXPECT_EQ(f.files(), before);  // no file before there is something to write
      image->begin();
      copy_voxels(MemorySource(volume), *image);
    }
    EXPECT_EQ(f.files(), before);
    {
      const auto image = create_image(f / name, volume.grid, {Component::uint8, {}});
      image->begin();
      request_interrupt(true);
      EXPECT_THROW(copy_voxels(MemorySource(volume), *image), Interrupted);
      request_interrupt(false);
    }
    EXPECT_EQ(f.files(), before);
    {
      const auto image = create_image(f / name, volume.grid, {Component::uint8, {}});
      image->begin();
      std::vector<float> some(100);
      image->write(0, 100, some.data());
      EXPECT_THROW(image->commit(), std::logic_error);
    }
    EXPECT_EQ(f.files(), before);
    EXPECT_EQ(content(f / name), "old");
    std::filesystem::remove(f / name);
  }
}

TEST(StreamedImage, AnImageThatIsBegunAgainHoldsTheSecond) {
  const Folder f;
  const Volume volume = counts({31, 17, 5});
  const auto image = create_image(f / "v.mhd", volume.grid, {Component::int8, {}});
  image->begin();
  copy_voxels(MemorySource(volume), *image);
  EXPECT_GT(image->changed(), 0u);  // above 127
  const Volume zeros(volume.grid);
  image->begin();
  copy_voxels(MemorySource(zeros), *image);
  EXPECT_EQ(image->changed(), 0u);
  image->commit();
  EXPECT_EQ(read_image(f / "v.mhd").voxels, zeros.voxels);
  EXPECT_EQ(f.files(), (Words{"v.mhd", "v.raw"}));
}

TEST(StreamedImage, AFullDiskIsAnError) {
  const Folder f;
  const Volume volume = counts();
  for (const char* name : {"v.mha", "v.mhd", "v.raw"}) {
    const int status = in_child([&] {
      std::signal(SIGXFSZ, SIG_IGN);
      const rlimit limit{100000, 100000};
      setrlimit(RLIMIT_FSIZE, &limit);
      const std::string text = error_of([&] { store(volume, f / name, {Component::uint8, {}}); });
      const bool named = text.find("FileError") == 0 && text.find(f / "v.") != std::string::npos &&
                         text.find("disk") != std::string::npos;
      if (!named) std::fprintf(stderr, "%s: %s\n", name, text.c_str());
      return named ? 0 : 1;
    });
    EXPECT_EQ(status, 0) << name;
    EXPECT_TRUE(f.files().empty()) << testing::PrintToString(f.files());
  }
}

// The error appears before the work that makes the voxels, as far as the disk shows it; and before the first of them in
// any case.
TEST(StreamedImage, ADiskThatIsTooSmallIsAnErrorBeforeTheFirstVoxel) {
  const Folder f;
  Grid grid;
  grid.size = {std::size_t{1} << 18, std::size_t{1} << 18, std::size_t{1} << 18};  // 64 PiB
  for (const char* name : {"v.mha", "v.mhd", "v.raw"})
    EXPECT_THAT(error_of([&] {
                  create_image(f / name, grid, {Component::float32, {}});
                }),
                AllOf(HasSubstr("FileError"), HasSubstr(f / "v."), HasSubstr("72057594037927936 bytes are wanted"),
                      HasSubstr("free some space"), HasSubstr("No partial file")));
  const int status = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100000, 100000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const auto image = create_image(f / "v.mha", counts().grid, {Component::uint8, {}});
    const std::string text = error_of([&] { image->begin(); });
    const bool named = text.find("FileError") == 0 && text.find(f / "v.mha") != std::string::npos &&
                       text.find("reserve") != std::string::npos && text.find("ulimit -f") != std::string::npos;
    if (!named) std::fprintf(stderr, "%s\n", text.c_str());
    return named ? 0 : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(f.files().empty()) << testing::PrintToString(f.files());
}

std::size_t bytes_on_disk(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<std::size_t>(status.st_blocks) * 512 : 0;
}

// The file that was not there before, if there is one.
std::string new_file(const Folder& f, const Words& before) {
  for (const auto& name : f.files())
    if (std::find(before.begin(), before.end(), name) == before.end()) return f / name;
  return "";
}

TEST(StreamedImage, RoomIsTakenBeforeTheFirstVoxelAndKept) {
  const Folder f;
  const Volume volume = counts();
  write_text(f / "v.mha", "old");
  {
    const auto image = create_image(f / "v.mha", volume.grid, {Component::uint16, {}});
    image->reserve();
    const std::string file = new_file(f, {"v.mha"});
    ASSERT_NE(file, "");
    if (bytes_on_disk(file) == 0) GTEST_SKIP() << "the file system of " << f.path() << " reserves nothing";
    EXPECT_GE(bytes_on_disk(file), volume.grid.count() * 2);
    const auto begun = f.files();
    for (int n = 0; n < 2; ++n) {
      image->begin();
      EXPECT_EQ(f.files(), begun) << "the room was given back";
      copy_voxels(MemorySource(volume), *image);
    }
    EXPECT_EQ(content(f / "v.mha"), "old");
    image->commit();
    EXPECT_EQ(f.files(), Words{"v.mha"});
  }
  EXPECT_EQ(read_image(f / "v.mha").voxels, volume.voxels);
}

TEST(StreamedImage, APlaceThatIsKeptTakesItsRoomAndLeavesNothingIfItIsNotUsed) {
  const Folder f;
  const Volume volume = counts();
  const ImageStorage types[] = {{}, {Component::int8, {}}};
  Words names{"v.mha", "v.mhd", "v.raw"};
#ifdef HALOCLINE_WITH_ITK
  names.push_back("v.nrrd");
#endif
  for (const auto& name : names)
    for (const auto& type : types) {
      SCOPED_TRACE(name);
      write_text(f / name, "old");
      {
        ReservedImage unused(f / name, volume.grid, type);
        EXPECT_EQ(new_file(f, {name}).empty(), name == "v.nrrd");
      }
      EXPECT_EQ(f.files(), Words{name});
      EXPECT_EQ(content(f / name), "old");
      ReservedImage image(f / name, volume.grid, type);
      const std::size_t clamped = image.write(volume);
      const Volume found = read_image(f / name);
      EXPECT_EQ(found.grid.spacing, volume.grid.spacing);
      if (type.component == Component::float32) {
        EXPECT_EQ(found.voxels, volume.voxels);
      } else {
        EXPECT_EQ(static_cast<std::ptrdiff_t>(clamped),
                  std::count(found.voxels.begin(), found.voxels.end(), 127.0f) -
                      std::count(volume.voxels.begin(), volume.voxels.end(), 127.0f));
      }
      for (const auto& file : f.files()) std::filesystem::remove(f / file);
    }
}

#ifdef HALOCLINE_WITH_ITK
TEST(StreamedImage, ADiskThatIsTooSmallForAWholeFileIsAnErrorBeforeTheWork) {
  const Folder f;
  Grid grid;
  grid.size = {std::size_t{1} << 18, std::size_t{1} << 18, std::size_t{1} << 18};  // 64 PiB
  for (const char* name : {"v.nrrd", "v.tif"}) {                                   // NIfTI has no axis so long
    const auto wanted =
        AllOf(HasSubstr("FileError"), HasSubstr(f / name), HasSubstr("72057594037927936 bytes are wanted"));
    EXPECT_THAT(error_of([&] { ReservedImage(f / name, grid); }), wanted);
    EXPECT_THAT(error_of([&] { create_image(f / name, grid, {}); }), wanted);
  }
}

TEST(StreamedImage, ALimitOnFilesIsAnErrorBeforeTheWork) {
  const Folder f;
  const Volume volume = counts();
  const std::size_t bytes = volume.grid.count() * sizeof(float), slice = volume.grid.slice() * sizeof(float);
  for (const char* name : {"v.nrrd", "v.nii", "v.tif", "v_%02d.tif"}) {
    const int status = in_child([&] {
      std::signal(SIGXFSZ, SIG_IGN);
      const bool many = std::string(name) == "v_%02d.tif";
      const std::size_t most = many ? slice - 1 : bytes - 1;
      const rlimit limit{most, most};
      setrlimit(RLIMIT_FSIZE, &limit);
      const std::string text = error_of([&] { ReservedImage(f / name, volume.grid); }),
                        wanted =
                            fmt::format("{} bytes are wanted, a limit (ulimit -f) allows files of {}", most + 1, most);
      const bool named =
          text.starts_with("FileError: cannot write '" + (f / name)) && text.find(wanted) != std::string::npos;
      if (!named) std::fprintf(stderr, "%s\n", text.c_str());
      return named ? 0 : 1;
    });
    EXPECT_EQ(status, 0) << name;
  }
  EXPECT_TRUE(f.files().empty());
}

TEST(StreamedImage, NiftiHasAnEnd) {
  const Folder f;
  Grid grid{.size = {32768, 1, 1}};
  for (const char* name : {"v.nii", "v.nii.gz"}) {
    const auto wanted =
        AllOf(HasSubstr("InputError"), HasSubstr(f / name), HasSubstr("at most 32767 voxels along an axis"));
    EXPECT_THAT(error_of([&] { create_image(f / name, grid, {}); }), wanted);
    EXPECT_THAT(error_of([&] { ReservedImage(f / name, grid); }), wanted);
    EXPECT_THAT(error_of([&] { write_image(Volume(grid, 1), f / name); }), wanted);
  }
}
#endif

// Large enough to go to the disk while it is being written.
TEST(StreamedImage, WhatWasReservedIsFilledInAnyOrder) {
  const Folder f;
  constexpr std::size_t piece = (std::size_t{1} << 20) + 321, pieces = 70;
  const auto byte_at = [](std::size_t n) { return static_cast<char>(n * 2654435761U >> 13); };
  for (const bool committed : {false, true}) {
    {
      TemporaryFile file(f / "x.bin");
      file.reserve(piece * pieces);
      parallel_parts(pieces, [&](std::size_t n) {
        const std::size_t first = (pieces - 1 - n) * piece;
        std::vector<char> bytes(piece);
        for (std::size_t b = 0; b < piece; ++b) bytes[b] = byte_at(first + b);
        file.write_at(first, bytes.data(), piece);
      });
      if (committed) file.commit();
    }
    EXPECT_EQ(f.files(), committed ? Words{"x.bin"} : Words{});
  }
  const std::string found = content(f / "x.bin");
  ASSERT_EQ(found.size(), piece * pieces);
  std::size_t wrong = 0;
  for (std::size_t n = 0; n < found.size(); ++n) wrong += found[n] == byte_at(n) ? 0 : 1;
  EXPECT_EQ(wrong, 0u);
}

// 256 MiB as float32, 64 MiB in the file.
TEST(StreamedImage, NoVolumeOfFloatsIsInMemory) {
  if (sanitized) GTEST_SKIP() << "a sanitizer keeps freed memory";
  const Folder f;
  Grid grid{.size = {512, 512, 256}};
  const std::size_t all_as_float = grid.count() * sizeof(float);
  {
    const auto image = create_image(f / "in.mha", grid, {Component::uint8, {}});
    image->begin();
    std::vector<float> slice(grid.slice());
    for (std::size_t z = 0; z < grid.size[2]; ++z) {
      std::fill(slice.begin(), slice.end(), static_cast<float>(z));
      image->write(z * slice.size(), slice.size(), slice.data());
    }
    image->commit();
  }
  const int grown_mib = in_child([&] {
    const std::size_t before = peak_bytes();
    const auto source = open_image(f / "in.mha");
    const ShiftedSource centred(*source, 100);
    const auto image = create_image(f / "out.mha", grid, {Component::uint8, {}});
    ShiftedSink sink(*image, 100);
    sink.begin();
    copy_voxels(centred, sink);
    image->commit();
    return static_cast<int>(std::min<std::size_t>((peak_bytes() - before) >> 20, 255));
  });
  EXPECT_LT(grown_mib, static_cast<int>(all_as_float / 8 >> 20));
  EXPECT_EQ(content(f / "in.mha"), content(f / "out.mha"));
}

#ifdef HALOCLINE_WITH_ITK

TEST(StreamedImage, FormatsOfItkKeepTheirType) {
  const Volume volume = counts({13, 7, 5});
  for (const char* name : {"x.nrrd", "x.nii", "x.nii.gz", "x.tif"})
    for (const char* type : {"uint8", "int16", "uint16", "float32"}) {
      SCOPED_TRACE(std::string(name) + " " + type);
      const Folder f;
      store(volume, f / name, {component_named(type), {}});
      EXPECT_EQ(f.files(), Words{name});
      EXPECT_EQ(read_image_info(f / name).component, type);
      EXPECT_EQ(read_itk_typed(f / name).component, component_named(type));
      EXPECT_EQ(read_volume(*open_image(f / name)).voxels, volume.voxels);
    }
}

// Interpretation by other programs where the format has no agreed words: see apps/images/meta_header.hpp.
TEST(StreamedImage, ItkRefusesHalvesAndLeavesScaledNumbersAlone) {
  const Folder f;
  const Volume volume = counts({9, 7, 5});
  store(volume, f / "half.mha", {Component::float16, {}});
  EXPECT_THAT(error_of([&] { to_volume(read_itk_typed(f / "half.mha")); }), HasSubstr("InputError"));
  Volume scaled = volume;
  for (auto& value : scaled.voxels) value *= 2;
  store(scaled, f / "scaled.mha", {Component::uint8, {2, 0}});
  EXPECT_EQ(read_image(f / "scaled.mha").voxels, scaled.voxels);
  EXPECT_EQ(to_volume(read_itk_typed(f / "scaled.mha")).voxels, volume.voxels);
}

#endif

class StreamedCommand : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
    store(noisy_counts(), f / "u16.mha", {Component::uint16, {}});
    store(noisy_counts(), f / "f32.mha", {Component::float32, {}});
  }
  Ran denoise(const std::string& input, const std::string& output, const Words& more = {}) const {
    return run(Words{"denoise", "-i", f / input, "--method", "pdu", "--alpha", "0.1", "--gap", "0.01", "-o", f / output,
                     "--report", f / (output + ".json")} +
               more);
  }
  nlohmann::json report(const std::string& output) const {
    return nlohmann::json::parse(content(f / (output + ".json")));
  }
  Folder f;
};

TEST_F(StreamedCommand, AFileOfWholeNumbersGivesTheBitsOfFloats) {
  ASSERT_EQ(denoise("u16.mha", "a.mha").code, 0);
  ASSERT_EQ(denoise("f32.mha", "b.mha").code, 0);
  EXPECT_EQ(content(f / "a.mha"), content(f / "b.mha"));
  EXPECT_EQ(read_image_info(f / "a.mha").component, "float32");
  EXPECT_EQ(report("a.mha")["results"]["output"]["component"], "float32");
  EXPECT_GT(report("a.mha")["host_peak_bytes"].get<double>(), 1e6);
  // streamed slabs
  ASSERT_EQ(denoise("u16.mha", "c.mha", {"--device-memory", "120K"}).code, 0);
  EXPECT_GT(report("c.mha")["runs"]["denoise"]["plan"]["slabs"].size(), 1u);
  EXPECT_EQ(content(f / "c.mha"), content(f / "b.mha"));
}

// Path of GPUs, on any device: the result of the last pass goes to the file through page-locked memory as it arrives.
TEST_F(StreamedCommand, WhatArrivesFromSlabsGoesToTheFileAtOnce) {
  const Words types[] = {{}, {"--output-type", "uint8"}, {"--output-type", "uint16", "--rescale"}};
  for (const Words& type : types)
    for (const std::string gap : {"0", "1e-9"}) {
      const Words how = type + Words{"--iterations", "20", "--gap", gap};
      const auto once = [&](const std::string& output, const Words& more) {
        return run(Words{"denoise", "-i", f / "u16.mha", "--method", "pdu", "--alpha", "0.1", "-o", f / output} + how +
                   more);
      };
      ASSERT_EQ(once("whole.mha", {}).code, 0);
      ::setenv("HALOCLINE_STAGE_TRANSFERS", "1", 1);
      const Ran staged = once("staged.mha", {"--device-memory", "120K"});
      ::unsetenv("HALOCLINE_STAGE_TRANSFERS");
      ASSERT_EQ(staged.code, 0) << staged.err;
      EXPECT_EQ(content(f / "staged.mha"), content(f / "whole.mha")) << gap;
    }
}

TEST_F(StreamedCommand, OutputTypes) {
  ASSERT_EQ(denoise("u16.mha", "float.mha").code, 0);
  const Volume exact = read_image(f / "float.mha");
  for (const char* type : {"uint8", "int16", "uint16", "float16", "same"}) {
    SCOPED_TRACE(type);
    const Ran ran = denoise("u16.mha", "x.mhd", {"--output-type", type});
    ASSERT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.err.find("warning: "), std::string::npos) << ran.err;
    const std::string stored = std::string(type) == "same" ? "uint16" : type;
    EXPECT_EQ(read_image_info(f / "x.mhd").component, stored);
    EXPECT_EQ(report("x.mhd")["results"]["output"]["clamped"], 0);
    const Volume found = read_image(f / "x.mhd");
    for (std::size_t n = 0; n < exact.voxels.size(); ++n)
      ASSERT_EQ(found.voxels[n], stored == "float16" ? float_from_half(half_from_float(exact.voxels[n]))
                                                     : std::nearbyint(exact.voxels[n]));
  }
}

TEST_F(StreamedCommand, WhatIsClampedIsCountedAndRescaleAvoidsIt) {
  Volume bright = noisy_counts();
  for (auto& value : bright.voxels) value = 3 * value - 200;
  store(bright, f / "bright.mha", {Component::float32, {}});
  ASSERT_EQ(denoise("bright.mha", "float.mha").code, 0);
  const Volume exact = read_image(f / "float.mha");
  std::size_t beyond = 0;
  for (const float value : exact.voxels) beyond += std::nearbyint(value) < 0 || std::nearbyint(value) > 255 ? 1 : 0;
  ASSERT_GT(beyond, 0u);
  const Ran clamped = denoise("bright.mha", "x.mha", {"--output-type", "uint8"});
  EXPECT_EQ(clamped.code, 0);
  EXPECT_THAT(clamped.err,
              AllOf(HasSubstr(std::to_string(beyond) + " voxels lay beyond what uint8 can hold (0 to 255)"),
                    HasSubstr("--rescale")));
  EXPECT_EQ(report("x.mha")["results"]["output"]["clamped"], beyond);

  const Ran rescaled = denoise("bright.mha", "y.mha", {"--output-type", "uint8", "--rescale"});
  EXPECT_EQ(rescaled.code, 0) << rescaled.err;
  const auto output = report("y.mha")["results"]["output"];
  EXPECT_EQ(output["clamped"], 0);
  const auto [least, greatest] = std::minmax_element(bright.voxels.begin(), bright.voxels.end());
  EXPECT_DOUBLE_EQ(output["slope"], (static_cast<double>(*greatest) - *least) / 255);
  EXPECT_DOUBLE_EQ(output["offset"], *least);
  const ImageInfo info = read_image_info(f / "y.mha");
  EXPECT_EQ(info.component, "uint8");
  EXPECT_EQ(info.scaling.slope, output["slope"].get<double>());
  const Volume back = read_image(f / "y.mha");
  for (std::size_t n = 0; n < exact.voxels.size(); ++n)
    ASSERT_NEAR(back.voxels[n], exact.voxels[n], 0.501 * info.scaling.slope);
  // the same scaling again, from the input
  ASSERT_EQ(denoise("y.mha", "z.mha", {"--output-type", "same"}).code, 0);
  EXPECT_EQ(read_image_info(f / "z.mha").scaling, info.scaling);
}

TEST_F(StreamedCommand, RoundingThatHidesTheResultIsAWarning) {
  Volume small = noisy_counts();
  for (auto& value : small.voxels) value *= 1e-4f;
  store(small, f / "small.mha", {Component::float32, {}});
  const Words base{"denoise", "-i", f / "small.mha", "--method", "pdu", "--alpha", "1000", "-o", f / "x.mha"};
  const Ran rounded = done(base + Words{"--output-type", "uint8"});
  EXPECT_THAT(rounded.err, AllOf(HasSubstr("rounding to steps of 1"), HasSubstr("--rescale")));
  const Ran rescaled = run(base + Words{"--output-type", "uint16", "--rescale"});
  EXPECT_EQ(rescaled.err.find("rounding"), std::string::npos) << rescaled.err;
}

TEST_F(StreamedCommand, ConstantVolumesCanBeRescaled) {
  Volume flat(noisy_counts().grid, 1234.5f);
  store(flat, f / "flat.mha", {Component::float32, {}});
  ASSERT_EQ(denoise("flat.mha", "x.mha", {"--output-type", "uint8", "--rescale"}).code, 0);
  EXPECT_EQ(read_image(f / "x.mha").voxels, flat.voxels);
}

TEST_F(StreamedCommand, WrongTypesAreRefusedBeforeTheWork) {
  const auto before = f.files();
  const auto refused = [&](const Words& words, const std::string& output, const std::string& part) {
    const Ran ran = denoise("u16.mha", output, words);
    EXPECT_EQ(ran.code, 2) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(part));
    EXPECT_EQ(f.files(), before);
  };
  refused({"--output-type", "uint12"}, "x.mha", "uint12");
  refused({"--rescale"}, "x.mha", "--rescale is for --output-type");
  refused({"--rescale", "--output-type", "float16"}, "x.mha", "--rescale is for");
#ifdef HALOCLINE_WITH_ITK
  refused({"--output-type", "float16"}, "x.nrrd", "float16");
  refused({"--output-type", "uint8", "--rescale"}, "x.nrrd", "slope");
#endif
  std::filesystem::resize_file(f / "u16.mha", std::filesystem::file_size(f / "u16.mha") - 1);
  refused({}, "x.mha", "truncated");
}

// A failed run has a trace, too, unless nothing was done. The limit on a file's size (16 or 32 KiB) simulates the disk.
TEST_F(StreamedCommand, AFullDiskIsFoundBeforeTheWorkAndLeavesNothing) {
  ASSERT_EQ(
      run({"geometry", "circular", "--sid", "1000", "--sdd", "1500", "--projections", "9", "-o", f / "g.xml"}).code, 0);
  const Words pixels{"--detector", "48,48", "--pixel", "1.5,1.5"};
  const Words project{"project", "-i", f / "f32.mha", "-g", f / "g.xml"}, views = project + pixels;
  ASSERT_EQ(run(views + Words{"-o", f / "p.mha"}).code, 0);
  write_text(f / "out.mha", "old");
  const auto before = f.files();
  const Words pdu{"denoise", "-i", f / "f32.mha", "--method", "pdu", "--alpha", "0.1", "--iterations", "5"},
      grid{"--like", f / "f32.mha"}, of_views{"-i", f / "p.mha", "-g", f / "g.xml"};
  for (const Words& command : {pdu, pdu + Words{"--output-type", "uint16"},  // and what is in memory until the end:
                               pdu + Words{"--png", f / "x.png"}, views, Words{"backproject"} + of_views + grid,
                               Words{"fdk"} + of_views + grid}) {
    std::string line = "ulimit -f 32; exec '" HALOCLINE_COMMAND "'";
    for (const auto& word : command + Words{"-o", f / "out.mha", "--trace", f / "trace.json", "--device", "0"})
      line += " '" + word + "'";
    SCOPED_TRACE(line);
    const int status = std::system((line + " 2>'" + (f / "log") + "' >'" + (f / "said") + "'").c_str());
    EXPECT_EQ(WEXITSTATUS(status), 1);
    EXPECT_THAT(content(f / "log"), AllOf(HasSubstr("out.mha"), HasSubstr("reserve"), HasSubstr("too large"),
                                          HasSubstr("No partial file")));
    for (const char* name : {"log", "said"}) std::filesystem::remove(f / name);
    EXPECT_EQ(f.files(), before);  // without a trace
    EXPECT_EQ(content(f / "out.mha"), "old");
  }
}

// Disk space that another program takes meanwhile costs the run nothing.
TEST_F(StreamedCommand, TheRoomOfTheResultIsKeptDuringTheRun) {
  const auto before = f.files();
  for (const Words& more : {Words{}, Words{"--png", f / "x.png"}}) {
    std::size_t kept = 0;
    std::thread other([&] {
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
      while (kept == 0 && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        kept = bytes_on_disk(new_file(f, before));
      }
      request_interrupt(true);
    });
    const Ran ran = run(Words{"denoise", "-i", f / "f32.mha", "--method", "pdu", "--alpha", "0.1", "--gap", "0",
                              "--iterations", "1000000", "-o", f / "out.mha"} +
                        more);
    other.join();
    request_interrupt(false);
    EXPECT_EQ(ran.code, 1) << ran.err;
    EXPECT_GE(kept, noisy_counts().grid.count() * sizeof(float));
    EXPECT_EQ(f.files(), before);
  }
}

}  // namespace
}  // namespace halocline::streamed_image_test

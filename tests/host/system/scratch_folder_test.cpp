// labels: unit error
// Host arrays in files of a folder: their contents, what is left, and the errors of a folder.
#include "host/system/scratch_folder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "host/system/error.hpp"
#include "host/system/process_memory.hpp"
#include "host/volume/volume.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/sanitized.hpp"

namespace halocline::scratch_folder_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

namespace fs = std::filesystem;

constexpr std::size_t mebi = std::size_t{1} << 20;

class ScratchFolderTest : public testing::Test {
 protected:
  ScratchFolderTest() : folder(fs::temp_directory_path() / ("halocline-scratch-" + std::to_string(::getpid()))) {
    fs::create_directories(folder);
  }
  ~ScratchFolderTest() override { fs::remove_all(folder); }
  bool empty() const { return fs::is_empty(folder); }
  // Mapped files of the folder.
  std::size_t mapped() const {
    std::ifstream maps("/proc/self/maps");
    std::size_t count = 0;
    for (std::string line; std::getline(maps, line);) count += line.find(folder.string()) != std::string::npos ? 1 : 0;
    return count;
  }
  fs::path folder;
};
using ScratchFolderErrors = ScratchFolderTest;

// 93 * 127 * 101 floats: no multiple of a page.
Volume counted() {
  Grid grid{.size = {93, 127, 101}};
  Volume volume = Volume::uninitialised(grid);
  std::iota(volume.voxels.begin(), volume.voxels.end(), 0.0f);
  return volume;
}

TEST_F(ScratchFolderTest, largeArraysLieInFilesWithoutNames) {
  const ScratchFolder scratch(folder);
  const UninitialisedVector<float> piece(mebi / sizeof(float));
  EXPECT_EQ(mapped(), 0u);
  {
    const Volume volume = counted();
    EXPECT_EQ(mapped(), 1u);
    EXPECT_TRUE(empty());
    const Volume copy = volume;
    EXPECT_EQ(mapped(), 2u);
    EXPECT_EQ(copy.voxels, volume.voxels);
  }
  EXPECT_EQ(mapped(), 0u);
  const std::size_t page = ::sysconf(_SC_PAGESIZE), bytes = 93 * 127 * 101 * sizeof(float);
  EXPECT_EQ(scratch.peak(), 2 * ((bytes + page - 1) / page * page));
  EXPECT_TRUE(empty());
}

TEST_F(ScratchFolderTest, whatIsGivenBackKeepsItsValues) {
  const Volume in_memory = counted();
  const ScratchFolder scratch(folder);
  const Volume volume = counted();
  const std::size_t bytes = volume.voxels.size() * sizeof(float);
  // all, a part that begins and ends within pages, nothing, and memory that is no array of the folder
  give_back(volume.voxels.data(), bytes);
  EXPECT_EQ(volume.voxels, in_memory.voxels);
  give_back(&volume.voxels[1001], 123457);
  give_back(volume.voxels.data(), 0);
  give_back(in_memory.voxels.data(), bytes);
  EXPECT_EQ(volume.voxels, in_memory.voxels);
}

TEST_F(ScratchFolderTest, arraysOutliveIt) {
  Volume volume;
  {
    const ScratchFolder scratch(folder);
    volume = counted();
  }
  EXPECT_EQ(mapped(), 1u);
  EXPECT_EQ(volume.voxels, counted().voxels);  // in memory again
  EXPECT_EQ(mapped(), 1u);
  volume = {};
  EXPECT_EQ(mapped(), 0u);
}

// A record of memory that leaves mapped files out, and finds what was held for a tenth of a second alone.
TEST_F(ScratchFolderTest, pagesOfItsFilesDoNotCountAsMemory) {
  if (sanitized) GTEST_SKIP() << "a sanitizer has memory of its own for these pages";
  constexpr std::size_t bytes = 128 * mebi;
  const auto held = [] {
    std::vector<char> array(bytes, 1);
    ::usleep(100'000);
    return array.back();
  };
  held();  // the record of the process as a whole knows no less
  const ScratchFolder scratch(folder);
  const MemoryWatch watch;
  const std::size_t before = watch.peak();
  const UninitialisedVector<char> array(2 * bytes, 1);
  ::usleep(100'000);
  EXPECT_GT(process_peak_bytes(), before + bytes / 2);  // these pages are resident
  EXPECT_LT(watch.peak(), before + 8 * mebi);
  const std::vector<char> two(bytes + 64 * mebi, 1);
  ::usleep(100'000);
  EXPECT_GT(watch.peak(), before + 32 * mebi);
}

TEST_F(ScratchFolderErrors, nameTheFolder) {
  const std::string file = folder / "file";
  std::ofstream(file) << "x";
  EXPECT_THAT(refusal_of([&] { const ScratchFolder scratch(folder / "none"); }),
              AllOf(HasSubstr("`scratch` '" + (folder / "none").string() + "' does not exist"), HasSubstr("mkdir -p")));
  EXPECT_THAT(refusal_of([&] { const ScratchFolder scratch(file); }),
              HasSubstr("`scratch` '" + file + "' is not a folder"));
  EXPECT_THAT(refusal_of([] { const ScratchFolder scratch("/proc/self"); }),  // a folder where even root makes no files
              AllOf(HasSubstr("`scratch` '/proc/self' cannot be written"), HasSubstr("may write to")));
  EXPECT_EQ(mapped(), 0u);
}

TEST_F(ScratchFolderErrors, sayHowMuchIsNeededAndFree) {
  struct statvfs disk {};
  ASSERT_EQ(::statvfs(folder.c_str(), &disk), 0);
  ScratchFolder scratch(folder);
  const std::size_t wanted = disk.f_blocks * disk.f_frsize + mebi;  // more than the disk has
  EXPECT_THAT(refusal_of([&] { scratch.reserve(wanted); }),
              AllOf(HasSubstr(folder.string()), HasSubstr(std::to_string(wanted) + " bytes"), HasSubstr("are needed"),
                    HasSubstr("free; free some space, or give a folder on another disk")));
  EXPECT_THAT(refusal_of([&] { const UninitialisedVector<char> array(wanted); }), HasSubstr("are needed"));
  EXPECT_EQ(scratch.peak(), 0u);
  EXPECT_TRUE(empty());
  scratch.reserve(mebi);  // it is good for others
}

// A limit that a file may not pass, as in a shell with `ulimit -f`.
TEST_F(ScratchFolderErrors, nameALimitOfFiles) {
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit limit{6 * mebi, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  ScratchFolder scratch(folder);
  const auto reserving = refusal_of([&] { scratch.reserve(16 * mebi); });
  const auto allocating = refusal_of([] { const UninitialisedVector<char> array(16 * mebi); });
  const UninitialisedVector<char> fits(5 * mebi, 7);
  const std::size_t files = mapped();
  ::setrlimit(RLIMIT_FSIZE, &before);
  for (const auto& text : {reserving, allocating})
    EXPECT_THAT(text, AllOf(HasSubstr(folder.string()), HasSubstr("16777216 bytes"), HasSubstr("ulimit -f")));
  EXPECT_EQ(files, 1u);
  EXPECT_EQ(fits.back(), 7);
}

struct Mounted {
  fs::path folder;
  ~Mounted() { ::umount2(folder.c_str(), MNT_DETACH); }
};

// A full disk, where the process may mount one: every byte of an array has its place before anybody writes it.
TEST_F(ScratchFolderErrors, areWhatAFullDiskGives) {
  if (::mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=24m") != 0) GTEST_SKIP() << "no disk can be mounted here";
  const Mounted disk{folder};
  ScratchFolder scratch(folder);
  EXPECT_TRUE(scratch.in_memory());
  EXPECT_THAT(refusal_of([&] { scratch.reserve(32 * mebi); }),
              AllOf(HasSubstr("33554432 bytes"), HasSubstr("are needed"), HasSubstr("25165824 bytes")));
  scratch.reserve(20 * mebi);
  std::ofstream other(folder / "other", std::ios::binary);
  other << std::string(8 * mebi, 'x') << std::flush;
  EXPECT_FALSE(other.good());  // the room is taken
  fs::remove(folder / "other");
  other.close();
  const UninitialisedVector<char> first(12 * mebi, 3), second(8 * mebi, 4);
  EXPECT_THAT(refusal_of([] { const UninitialisedVector<char> array(8 * mebi); }), HasSubstr("8388608 bytes"));
  EXPECT_EQ(first.back() + second.back(), 7);
  EXPECT_TRUE(empty());
}

}  // namespace
}  // namespace halocline::scratch_folder_test

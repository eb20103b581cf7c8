// labels: app error
// A process that reads strangers' files and crashes, hangs, takes all memory or does what readers do not: each costs an
// error that names the file, and the next file is read.
#include "apps/images/reader_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "host/system/error.hpp"
#include "host/system/interrupt.hpp"
#include "tests/support/command_process.hpp"
#include "tests/support/compressed_images.hpp"
#include "tests/support/dicom_writer.hpp"
#include "tests/support/image_actions.hpp"

namespace halocline::reader_process_test {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

constexpr std::uint64_t mebibyte = 1 << 20;
constexpr ProcessLimits usual{20, std::uint64_t{64} << 30};

// Each of these is what a hole in a library could be used for. True: it was possible.
bool is_possible(const std::string& what) {
  if (what == "network") return ::socket(AF_INET, SOCK_STREAM, 0) >= 0;
  if (what == "process") return ::fork() >= 0;
  if (what == "program") return ::execl("/bin/true", "true", nullptr) == 0;
  if (what == "signal") return ::kill(::getppid(), 0) == 0;
  if (what == "owner") return ::fcntl(STDIN_FILENO, F_SETOWN, ::getppid()) == 0;  // who gets its signals
  if (what == "write") return ::open("/tmp/halocline-reader-test", O_WRONLY | O_CREAT, 0600) >= 0;
  return ::unlink("/tmp/halocline-reader-test-none") == 0 || errno == ENOENT;
}

ReaderAnswer planted(const json& question) {
  const std::string ask = question.at("ask");
  if (ask == "crash") ::raise(SIGSEGV);
  if (ask == "short of memory") ::raise(SIGKILL);
  if (ask == "which") return {{{"process", ::getpid()}}};
  if (ask == "abort") std::abort();
  if (ask == "leave") ::_exit(0);
  if (ask == "spin")
    for (volatile bool forever = true; forever;) {
    }
  if (ask == "nap") ::usleep(300000);
  if (ask == "sleep")
    while (true) ::sleep(1);
  if (ask == "eat")
    for (std::vector<std::vector<char>> all;;) all.emplace_back(16 * mebibyte, '\1');
  if (ask == "refuse") throw InputError("'x' is wrong");
  if (ask == "voxels") {
    ReaderAnswer answer;
    const Grid grid{.size = {93, 71, 301}};
    answer.voxels = TypedVolume(grid, Component::uint16);
    for (std::size_t n = 0; n < answer.voxels.byte_count(); ++n)
      answer.voxels.bytes()[n] = static_cast<std::byte>(n * 7);
    answer.facts["voxels"] = {{"size", grid.size},     {"spacing", grid.spacing},
                              {"origin", grid.origin}, {"direction", grid.direction},
                              {"component", "uint16"}, {"slope", 2.5},
                              {"offset", -1.0}};
    return answer;
  }
  if (ask == "lie") {
    ReaderAnswer answer;
    answer.facts["voxels"] = {{"size", "many"}};
    return answer;
  }
  if (ask == "deep") {
    ReaderAnswer answer{json::array()};
    for (int n = 0; n < 1000; ++n) answer.facts = json::array({answer.facts});
    answer.facts = {{"nested", answer.facts}};
    return answer;
  }
  if (ask == "short") {
    ReaderAnswer answer;
    answer.voxels = TypedVolume(Grid{.size = {10, 10, 9}}, Component::float32);
    answer.facts["voxels"] = {{"size", {10, 10, 10}},   {"spacing", {1, 1, 1}},
                              {"origin", {0, 0, 0}},    {"direction", {1, 0, 0, 0, 1, 0, 0, 0, 1}},
                              {"component", "float32"}, {"slope", 1.0},
                              {"offset", 0.0}};
    return answer;
  }
  return {{{"possible", is_possible(ask)}}};
}

class ReaderProcessTest : public testing::Test {
 protected:
  std::string error_of_asking(const std::string& what, const ProcessLimits& limits = usual) {
    return error_of([&] { reader_.ask({{"ask", what}}, "bad.h5", limits); });
  }
  pid_t worker(const std::string& path, const ProcessLimits& limits = usual) {
    return reader_.ask({{"ask", "which"}}, path, limits).facts.at("process");
  }
  bool answers() { return reader_.ask({{"ask", "network"}}, "good.h5", usual).facts.contains("possible"); }

  ReaderProcess reader_{[](int socket) {
    const pid_t process = ::fork();
    if (process == 0) {
      ::setpgid(0, 0);
      ::syscall(SYS_close_range, STDERR_FILENO + 1, socket - 1, 0);  // as exec() would
      ::syscall(SYS_close_range, socket + 1, ~0U, 0);
      answer_questions(socket, planted);
      ::_exit(0);
    }
    ::setpgid(process, process);
    return process;
  }};
};

TEST_F(ReaderProcessTest, CrashesCostAnError) {
  for (const char* what : {"crash", "abort", "leave", "lie", "short", "deep"}) {
    EXPECT_THAT(error_of_asking(what), AllOf(HasSubstr("InputError"), HasSubstr("'bad.h5' cannot be read"))) << what;
    EXPECT_TRUE(answers()) << what;
  }
  EXPECT_THAT(error_of_asking("crash"), HasSubstr("signal 11"));
  EXPECT_THAT(error_of_asking("short of memory"),
              AllOf(HasSubstr("bad.h5"), HasSubstr("killed, as systems do when memory runs short")));
}

TEST_F(ReaderProcessTest, AWorkerServesAFolder) {
  const pid_t first = worker("scan/a.tif");
  EXPECT_EQ(worker("scan/b.tif"), first);
  EXPECT_EQ(error_of_asking("refuse", usual), "InputError: 'x' is wrong");  // of no folder
  const pid_t second = worker("scan/a.tif");
  EXPECT_NE(second, first);
  EXPECT_EQ(worker("scan/c.tif", {usual.seconds - 1, usual.bytes - 1}), second);
  const pid_t larger = worker("scan/c.tif", {usual.seconds, usual.bytes + mebibyte});
  EXPECT_NE(larger, second) << "its memory is limited by the first file";
  EXPECT_NE(worker("scan/c.tif", {usual.seconds + 1, usual.bytes}), larger) << "as is its time";
}

TEST_F(ReaderProcessTest, AWorkerKeepsTimeForTheNextFile) {
  const pid_t first = worker("scan/a.tif", {2, usual.bytes});
  reader_.ask({{"ask", "nap"}}, "scan/b.tif", {2, usual.bytes});  // a quarter of a second and more
  EXPECT_NE(worker("scan/c.tif", {2, usual.bytes}), first);
}

TEST_F(ReaderProcessTest, NoProcessIsLeft) {
  const pid_t first = worker("scan/a.tif"), second = worker("other/a.tif");
  EXPECT_EQ(::kill(first, 0), -1);
  request_interrupt(true);
  EXPECT_THROW(reader_.ask({{"ask", "sleep"}}, "other/b.tif", usual), Interrupted);
  request_interrupt(false);
  EXPECT_EQ(::kill(second, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST_F(ReaderProcessTest, TimeIsLimited) {
  EXPECT_THAT(
      error_of_asking("spin", {1, usual.bytes}),
      AllOf(HasSubstr("bad.h5"), AnyOf(HasSubstr("after 1 seconds of"), HasSubstr("no answer after 4 seconds"))));
  EXPECT_TRUE(answers());
  EXPECT_THAT(error_of_asking("sleep", {1, usual.bytes}), AllOf(HasSubstr("bad.h5"), HasSubstr("no answer after")));
  EXPECT_TRUE(answers());
}

#ifndef __SANITIZE_ADDRESS__
TEST_F(ReaderProcessTest, MemoryIsLimited) {
  EXPECT_THAT(error_of_asking("eat", {20, 1024 * mebibyte}),
              AllOf(HasSubstr("InputError"), HasSubstr("bad.h5"), HasSubstr("1024 MiB of memory")));
  EXPECT_TRUE(answers());
}
#endif

TEST_F(ReaderProcessTest, ErrorsAndVoxelsComeBack) {
  EXPECT_EQ(error_of_asking("refuse"), "InputError: 'x' is wrong");
  for (int times = 0; times < 3; ++times) {
    const ReaderAnswer answer = reader_.ask({{"ask", "voxels"}}, "good.h5", usual);
    ASSERT_EQ(answer.voxels.grid.size, (std::array<std::size_t, 3>{93, 71, 301}));
    EXPECT_EQ(answer.voxels.scaling, (Scaling{2.5, -1}));
    for (std::size_t n = 0; n < answer.voxels.byte_count(); ++n)
      ASSERT_EQ(answer.voxels.bytes()[n], static_cast<std::byte>(n * 7)) << n;
  }
}

TEST_F(ReaderProcessTest, NothingButReadingIsPossible) {
  for (const char* what : {"network", "process", "program", "signal", "owner", "write", "remove"})
    EXPECT_FALSE(reader_.ask({{"ask", what}}, "good.h5", usual).facts.at("possible").get<bool>()) << what;
}

TEST_F(ReaderProcessTest, InterruptsEndIt) {
  EXPECT_TRUE(answers());
  request_interrupt(true);
  EXPECT_THROW(reader_.ask({{"ask", "sleep"}}, "slow.h5", usual), Interrupted);
  request_interrupt(false);
  EXPECT_TRUE(answers());
}

#ifdef HALOCLINE_WITH_ITK
// The command as a program, which has ITK's formats read in a confined process, beside the same in this process.
TEST(ReaderOfTheCommand, GivesTheSameVolumes) {
  const Folder f;
  const Grid grid{.size = {7, 5, 3}, .spacing = {0.5, 0.25, 2}, .origin = {1, -2, 3}};
  Volume volume(grid);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n) volume.voxels[n] = static_cast<float>(n * n % 251);
  for (const char* name : {"v.h5", "v.tif"}) write_itk_image(volume, f / name, true);
  write_text(f / "v.nrrd", "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 2 2 1\nencoding: ascii\n\n1 2 3 4\n");
  std::filesystem::create_directory(f / "scan");
  DicomWriter dicom;
  for (int n = 0; n < 3; ++n) dicom.write(f / fmt::format("scan/{}.dcm", n), "1", n, 2.0 * n, {1, 2, 3, 4, 5, 6});
  for (const std::string name : {"v.h5", "v.tif", "v.nrrd", "scan", "scan/*.dcm"}) {
    const auto words = [&](const char* output) {
      return Words{"denoise", "-i", f / name, "--method", "gaussian", "-o", f / output, "--output-type", "float32"};
    };
    ASSERT_EQ(run(words("here.mha")).code, 0) << name;
    const Ran ran = run_child(words("there.mha"), f, [] { return true; });
    ASSERT_EQ(ran.code, 0) << name << ran.out;
    EXPECT_EQ(content(f / "there.mha"), content(f / "here.mha")) << name;
  }
}

// Another program that starts the command with the hidden word and a socket is answered like one that mistypes.
TEST(ReaderOfTheCommand, ServesNoOtherProgram) {
  const Folder f;
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const Ran ran = run_child({"read-images"}, f, [&] { return ::dup2(ends[1], STDIN_FILENO) == STDIN_FILENO; });
  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.out, HasSubstr("there is no subcommand 'read-images'"));
  ::close(ends[0]);
  ::close(ends[1]);
}

// Files over which GDCM 3.0.21 (an assertion) and HDF5 1.10.8 (a read beyond its heap) end their process: found by the
// fuzzer. Other versions may refuse them.
TEST(ReaderOfTheCommand, OutlivesFaultsOfLibraries) {
  const Folder f;
  const std::string faults = HALOCLINE_SOURCE_DIR "/tests/fuzz/faults/";
  write_itk_image(Volume(Grid{.size = {4, 4, 4}}, 1), f / "v.mha", false);
  for (const auto& [file, words] :
       {std::pair{"gdcm.tif", Words{"denoise", "-i", faults + "gdcm.tif", "--method", "median"}},
        {"hdf5.h5",
         Words{"project", "-i", f / "v.mha", "-g", faults + "hdf5.h5", "--detector", "4,4", "--pixel", "1,1"}}}) {
    const Ran ran = run_child(words + Words{"-o", f / "o.mha"}, f, [] { return true; });
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_THAT(ran.out, AllOf(HasSubstr("error: '"), HasSubstr(file)));
    EXPECT_FALSE(std::filesystem::exists(f / "o.mha"));
  }
}

// An attribute over whose text HDF5 1.10.8 never ends, found by the fuzzer. The limit of processor time is the
// command's 120 s, or that of the user.
TEST(ReaderOfTheCommand, EndsALibraryThatDoesNot) {
  const Folder f;
  const std::string file = HALOCLINE_SOURCE_DIR "/tests/fuzz/faults/hdf5-endless.h5";
  write_itk_image(Volume(Grid{.size = {4, 4, 4}}, 1), f / "v.mha", false);
  const Ran ran = run_child(
      {"project", "-i", f / "v.mha", "-g", file, "--detector", "4,4", "--pixel", "1,1", "-o", f / "o.mha"}, f, [] {
        const rlimit seconds{3, 8};
        return ::setrlimit(RLIMIT_CPU, &seconds) == 0;
      });
  EXPECT_EQ(ran.code, 2) << ran.out;
  EXPECT_THAT(ran.out, HasSubstr("hdf5-endless.h5"));
  EXPECT_FALSE(std::filesystem::exists(f / "o.mha"));
}

TEST(ReaderOfTheCommand, RefusesWithExitCode2) {
  const Folder f;
  write_text(f / "y.nrrd", "NRRD0004\ntype: uint8\ndimension: 3\nsizes: 2 2 1\nencoding: ascii\n\n1 2 3 x\n");
  const Ran ran =
      run_child({"denoise", "-i", f / "y.nrrd", "--method", "median", "-o", f / "o.mha"}, f, [] { return true; });
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.out, AllOf(HasSubstr("y.nrrd"), HasSubstr("'x', which is no")));
}
#endif

}  // namespace
}  // namespace halocline::reader_process_test

// labels: app device error
// Missing parts in containers: a home folder that can be written, /sys. PoCL alone has no devices then, or ends the
// process.
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cstdlib>

#include "tests/support/command_process.hpp"

namespace halocline::container_test {
namespace {

using testing::HasSubstr;

constexpr unsigned nobody = 65534;

// Becomes a user without a home folder, with temporary files in `folder`.
bool become_nobody(const Folder& folder) {
  for (const char* name : {"XDG_CACHE_HOME", "HALOCLINE_CACHE_DIR", "POCL_CACHE_DIR"}) ::unsetenv(name);
  ::setenv("HOME", "/nonexistent", 1);
  ::setenv("TMPDIR", folder.path().c_str(), 1);
  return ::geteuid() != 0 || (::setgroups(0, nullptr) == 0 && ::setgid(nobody) == 0 && ::setuid(nobody) == 0);
}

TEST(Container, AUserWithoutAHomeComputes) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  const Folder f;
  ::chmod(f.path().c_str(), 0777);
  const std::vector<std::string> words{"backproject", "-h"};
  if (run_child(words, f, [&] { return become_nobody(f); }).code == 127)
    GTEST_SKIP() << "other users cannot run " << HALOCLINE_COMMAND;
  ASSERT_EQ(run({"phantom", "--type", "two-balls", "--size", "12,12,12", "--spacing", "1,1,1", "-o", f / "v.mha"}).code,
            0);
  const Ran ran = run_child(
      {"denoise", "-i", f / "v.mha", "--method", "pdu", "--alpha", "2000", "--iterations", "2", "-o", f / "o.mha"}, f,
      [&] { return become_nobody(f); });
  EXPECT_EQ(ran.code, 0) << ran.out;
  // Compiled kernels are kept there for the next run, and no other user can change them.
  const auto names = f.files();
  const auto made =
      std::find_if(names.begin(), names.end(), [](const auto& name) { return name.starts_with("halocline-"); });
  ASSERT_NE(made, names.end());
  struct stat found {};
  ASSERT_EQ(::stat((f / *made).c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
}

TEST(Container, AFolderOfSomebodyElseIsNotUsed) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  const Folder f;
  ::chmod(f.path().c_str(), 0777);
  const unsigned user = ::geteuid() == 0 ? nobody : ::geteuid();
  const std::string folder = f / ("halocline-" + std::to_string(user));
  ASSERT_EQ(::mkdir(folder.c_str(), 0777), 0);
  ::chmod(folder.c_str(), 0777);  // open to all users
  const Ran ran = run_child({"devices"}, f, [&] { return become_nobody(f); });
  if (ran.code == 127) GTEST_SKIP() << "other users cannot run " << HALOCLINE_COMMAND;
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  if (ran.code != 0) {
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_THAT(ran.out, HasSubstr("set POCL_CACHE_DIR"));
  }
}

TEST(Container, WithoutSysThereIsADevice) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  const Folder f;
  const auto without_sys = [] {
    return ::unshare(::geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER) == 0 &&
           ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           ::mount("none", "/sys", "tmpfs", 0, nullptr) == 0;
  };
  if (run_child({"--help"}, f, without_sys).code == 127) GTEST_SKIP() << "/sys cannot be covered here";
  const Ran ran = run_child({"devices"}, f, without_sys);
  EXPECT_EQ(ran.code, 0) << ran.out;
}

}  // namespace
}  // namespace halocline::container_test

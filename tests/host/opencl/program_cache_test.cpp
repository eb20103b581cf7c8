// labels: unit
#include "host/opencl/program_cache.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "cl/sources.hpp"
#include "host/system/error.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::program_cache_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

class TemporaryFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "halocline-cache-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    ::unsetenv("HALOCLINE_CL_PATH");
    std::error_code ignored;
    fs::permissions(folder_, fs::perms::owner_all, ignored);
    fs::remove_all(folder_, ignored);
  }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  static std::string read(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  fs::path folder_;
};

using ProgramCacheTest = TemporaryFolder;
using KernelSourceTest = TemporaryFolder;

std::vector<unsigned char> binary(std::size_t size, unsigned seed = 0) {
  std::vector<unsigned char> result(size);
  for (std::size_t n = 0; n < size; ++n) result[n] = static_cast<unsigned char>(n * 37 + seed);
  return result;
}

TEST_F(ProgramCacheTest, givesBackWhatWasStored) {
  const ProgramCache cache(folder_ / "made" / "on demand");
  EXPECT_FALSE(cache.load("key"));
  cache.store("key", binary(1000));
  cache.store("other key", binary(0));
  EXPECT_EQ(cache.load("key"), binary(1000));
  EXPECT_EQ(cache.load("other key"), binary(0));
  cache.store("key", binary(7, 1));
  EXPECT_EQ(cache.load("key"), binary(7, 1));
  EXPECT_NE(cache.path_of("key"), cache.path_of("kez"));
}

TEST_F(ProgramCacheTest, takesKeysWithAnyBytes) {
  const ProgramCache cache(folder_);
  const std::string key("line\n/../\0\xff", 11);
  cache.store(key, binary(3));
  EXPECT_EQ(cache.load(key), binary(3));
  EXPECT_EQ(cache.path_of(key).parent_path(), folder_);
}

TEST_F(ProgramCacheTest, removesATruncatedEntry) {
  const ProgramCache cache(folder_);
  cache.store("key", binary(50));
  const auto whole = read(cache.path_of("key"));
  for (std::size_t length = 0; length < whole.size(); length += 5) {
    write(cache.path_of("key").filename().string(), whole.substr(0, length));
    EXPECT_FALSE(cache.load("key")) << length << " bytes of " << whole.size();
    EXPECT_FALSE(fs::exists(cache.path_of("key")));
  }
  write(cache.path_of("key").filename().string(), whole + "x");
  EXPECT_FALSE(cache.load("key"));
}

TEST_F(ProgramCacheTest, noticesEveryChangedByte) {
  const ProgramCache cache(folder_);
  cache.store("key", binary(20));
  const auto whole = read(cache.path_of("key"));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    auto damaged = whole;
    damaged[n] = static_cast<char>(damaged[n] ^ 0x40);
    write(cache.path_of("key").filename().string(), damaged);
    EXPECT_FALSE(cache.load("key")) << "byte " << n;
  }
  cache.store("key", binary(20));
  EXPECT_EQ(cache.load("key"), binary(20));
}

TEST_F(ProgramCacheTest, doesNotTakeAnotherProgramWithTheSameName) {
  const ProgramCache cache(folder_);
  cache.store("one", binary(20));
  fs::rename(cache.path_of("one"), cache.path_of("two"));
  EXPECT_FALSE(cache.load("two"));
}

TEST_F(ProgramCacheTest, processesThatWriteAtOnceNeverShowHalfAnEntry) {
  const ProgramCache cache(folder_);
  std::vector<pid_t> children;
  for (unsigned child = 0; child < 4; ++child) {
    const pid_t id = ::fork();
    ASSERT_GE(id, 0);
    if (id == 0) {
      for (int times = 0; times < 100; ++times) {
        cache.store("key", binary(100'000, child));
        const auto found = cache.load("key");
        // A complete file exists at any time: it is never removed, and it is one of the four.
        if (!found || found->size() != 100'000 || *found != binary(100'000, (*found)[0])) ::_exit(1);
      }
      ::_exit(0);
    }
    children.push_back(id);
  }
  for (const pid_t id : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(id, &status, 0), id);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(files(), 1u);  // no temporary file is left
}

TEST_F(ProgramCacheTest, worksWithoutAFolderItCanWrite) {
  write("file", "not a folder");
  const ProgramCache below_a_file(folder_ / "file" / "cache");
  EXPECT_NO_THROW(below_a_file.store("key", binary(10)));
  EXPECT_FALSE(below_a_file.load("key"));
  const ProgramCache nowhere("/proc/no such folder");
  EXPECT_NO_THROW(nowhere.store("key", binary(10)));
  EXPECT_FALSE(nowhere.load("key"));
  if (::geteuid() == 0) return;  // root may write anywhere
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  const ProgramCache read_only(folder_);
  EXPECT_NO_THROW(read_only.store("key", binary(10)));
  EXPECT_FALSE(read_only.load("key"));
}

TEST_F(ProgramCacheTest, takesNothingThatOthersMayHaveWritten) {
  const auto others = fs::perms::group_write | fs::perms::others_write;
  const ProgramCache cache(folder_);
  cache.store("key", binary(10));
  EXPECT_EQ(fs::status(cache.path_of("key")).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  for (const fs::path& path : {cache.path_of("key"), folder_}) {
    fs::permissions(path, fs::perms::others_write, fs::perm_options::add);
    EXPECT_FALSE(cache.load("key")) << path;
    fs::permissions(path, others, fs::perm_options::remove);
    EXPECT_EQ(cache.load("key"), binary(10)) << path;
  }
  fs::permissions(folder_, others, fs::perm_options::add);
  cache.store("other", binary(10));
  EXPECT_EQ(files(), 1u);
  const ProgramCache made(folder_ / "made");
  made.store("key", binary(10));
  EXPECT_EQ(fs::status(folder_ / "made").permissions(), fs::perms::owner_all);
}

// With a umask of 002 files are writable by the group, which Debian and Ubuntu give each user for himself.
TEST_F(ProgramCacheTest, aGroupOfThisUserAloneIsThisUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "gives files to other groups";
  const ProgramCache cache(folder_);
  cache.store("key", binary(10));
  for (const fs::path& path : {cache.path_of("key"), folder_}) {
    fs::permissions(path, fs::perms::group_write, fs::perm_options::add);
    EXPECT_EQ(cache.load("key"), binary(10)) << path;
    constexpr gid_t daemon = 1;
    ASSERT_EQ(::chown(path.c_str(), static_cast<uid_t>(-1), daemon), 0);
    EXPECT_FALSE(cache.load("key")) << path;
    fs::permissions(path, fs::perms::group_write, fs::perm_options::remove);
    EXPECT_EQ(cache.load("key"), binary(10)) << path;
  }
}

// A variable that is set until the end of the block, then restored.
class EnvironmentVariable {
 public:
  EnvironmentVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    set(value);
  }
  ~EnvironmentVariable() { set(old_ ? old_->c_str() : nullptr); }

 private:
  void set(const char* value) { value != nullptr ? ::setenv(name_, value, 1) : ::unsetenv(name_); }
  const char* name_;
  std::optional<std::string> old_;
};

TEST_F(ProgramCacheTest, findsItsFolderInTheEnvironment) {
  const EnvironmentVariable home("HOME", (folder_ / "h").c_str()), xdg("XDG_CACHE_HOME", (folder_ / "x").c_str()),
      temporary("TMPDIR", folder_.c_str()), own("HALOCLINE_CACHE_DIR", "/o");
  EXPECT_EQ(ProgramCache().path_of("k").parent_path(), "/o");
  {
    const EnvironmentVariable no_own("HALOCLINE_CACHE_DIR", nullptr);
    EXPECT_EQ(ProgramCache().path_of("k").parent_path(), folder_ / "x" / "halocline");
    const EnvironmentVariable no_xdg("XDG_CACHE_HOME", "");
    EXPECT_EQ(ProgramCache().path_of("k").parent_path(), folder_ / "h" / ".cache" / "halocline");
    for (const char* nowhere : {static_cast<const char*>(nullptr), "/proc/no such folder"}) {
      const EnvironmentVariable no_home("HOME", nowhere);
      EXPECT_EQ(ProgramCache().path_of("k").parent_path(), folder_ / ("halocline-" + std::to_string(::geteuid())));
    }
    const EnvironmentVariable no_home("HOME", nullptr), no_temporary("TMPDIR", "/proc/no such folder");
    EXPECT_NO_THROW(ProgramCache().store("k", binary(1)));
    EXPECT_FALSE(ProgramCache().load("k"));
  }
  EXPECT_EQ(ProgramCache(folder_).path_of("k").parent_path(), folder_);
}

TEST_F(KernelSourceTest, findsEmbeddedFiles) {
  ASSERT_TRUE(embedded_sources().contains("fill.cl"));
  EXPECT_THAT(kernel_source("fill.cl"), HasSubstr("fill_value"));
  for (const auto& [name, text] : embedded_sources()) {
    SCOPED_TRACE(name);
    EXPECT_THAT(kernel_source(name), Not(HasSubstr("#include \"")));
  }
}

TEST_F(KernelSourceTest, prefersTheFolderThatOverrides) {
  const std::string mine = fmt::format("#define KERNELS_VERSION {}\n// mine\n", kernels_version);
  write("fill.cl", mine);
  write("own.cl", "");  // replaces none
  ::setenv("HALOCLINE_CL_PATH", folder_.c_str(), 1);
  EXPECT_EQ(kernel_source("fill.cl"), mine);
  EXPECT_EQ(replaced_kernel_files(), (std::map<std::string, fs::path>{{"fill.cl", folder_ / "fill.cl"}}));
  fs::remove(folder_ / "fill.cl");
  EXPECT_THAT(kernel_source("fill.cl"), HasSubstr("fill_value"));  // files that it lacks are taken from the library
}

TEST_F(KernelSourceTest, refusesReplacementsOfAnotherVersion) {
  ::setenv("HALOCLINE_CL_PATH", folder_.c_str(), 1);
  for (const auto& [text, found] : std::map<std::string, std::string>{
           {"// #define KERNELS_VERSION 1\n", "one without KERNELS_VERSION"},
           {"#define KERNELS_VERSION\n", "one without KERNELS_VERSION"},
           {"// mine\n  #define KERNELS_VERSION 0  // old\n", "one with KERNELS_VERSION 0"}}) {
    write("extent.clh", text);
    for (const std::string& error : {refusal_of([] { kernel_source("copy.cl"); }),  // which includes it
                                     refusal_of([] { replaced_kernel_files(); })}) {
      EXPECT_THAT(error, HasSubstr((folder_ / "extent.clh").string()));
      EXPECT_THAT(error, HasSubstr(found));
      EXPECT_THAT(error, HasSubstr(fmt::format("expected \"#define KERNELS_VERSION {}\"", kernels_version)));
      EXPECT_THAT(error, HasSubstr("docs/kernels.md"));
    }
    EXPECT_NO_THROW(kernel_source("fill.cl"));
  }
}

TEST_F(KernelSourceTest, putsIncludedFilesInPlace) {
  write("a.cl", "before\n  #  include \"b.clh\"  // why\nafter");
  write("b.clh", "#pragma once\nb\n#include \"cl/c.clh\"\n#include \"c.clh\"\n");
  write("c.clh", "c\n");
  write("d.cl", "#include \"b.clh\"\n#include \"b.clh\"\n// #include \"nothing.clh\"\n");
  ::setenv("HALOCLINE_CL_PATH", folder_.c_str(), 1);
  EXPECT_EQ(kernel_source("a.cl"), "before\nb\nc\nc\nafter\n");
  EXPECT_EQ(kernel_source("d.cl"), "b\nc\nc\n// #include \"nothing.clh\"\n");
}

TEST_F(KernelSourceTest, namesTheFileThatIsNotThere) {
  ::setenv("HALOCLINE_CL_PATH", folder_.c_str(), 1);
  write("a.cl", "#include \"lost.clh\"\n");
  const std::string error = refusal_of([&] { kernel_source("a.cl"); });
  EXPECT_THAT(error, HasSubstr("lost.clh"));
  EXPECT_THAT(error, HasSubstr(folder_.string()));
  EXPECT_THAT(error, HasSubstr("fill.cl"));
  ::unsetenv("HALOCLINE_CL_PATH");
  EXPECT_THROW(kernel_source("a.cl"), InputError);
}

TEST_F(KernelSourceTest, refusesACircle) {
  ::setenv("HALOCLINE_CL_PATH", folder_.c_str(), 1);
  write("a.cl", "#include \"b.clh\"\n");
  write("b.clh", "#include \"a.cl\"\n");
  EXPECT_THROW(kernel_source("a.cl"), InputError);
}

TEST(KernelTexts, ThatAreNoFilesGoByTheirContents) {
  const std::string text = "#include \"extent.clh\"\n#line 1\n__kernel void k() {}\n";
  const std::string name = keep_kernel_text("mine", text);
  EXPECT_EQ(keep_kernel_text("mine", text), name);
  EXPECT_NE(keep_kernel_text("mine", text + " "), name);
  EXPECT_NE(keep_kernel_text("yours", text), name);
  EXPECT_THAT(name, HasSubstr("mine ("));
  EXPECT_THAT(kernel_source(name), HasSubstr("} Extent;"));
  EXPECT_THAT(kernel_source(name), HasSubstr("#line 1\n__kernel void k() {}\n"));
}

}  // namespace
}  // namespace halocline::program_cache_test

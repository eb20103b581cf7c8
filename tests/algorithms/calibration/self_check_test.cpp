// labels: app device error nightly
// Kernel variants against their twins: right ones pass, and are checked once only; one that a driver computes wrongly
// (the OpenCL layer of fault_layer.cpp leaves its kernel out) is found, remembered, not used and reported.
#include "algorithms/calibration/self_check.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/denoisers/fused_variants.hpp"
#include "algorithms/fdk/row_filter.hpp"
#include "algorithms/fdk/row_filter_variants.hpp"
#include "algorithms/projectors/adjoint_bricks.hpp"
#include "algorithms/projectors/backproject_tile.hpp"
#include "host/opencl/fft_library.hpp"
#include "host/opencl/program_cache.hpp"
#include "host/system/error.hpp"
#include "host/system/log.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/fault_layer.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::self_check_test {
namespace {

using testing::HasSubstr;

class SelfCheck : public testing::Test {
 protected:
  void SetUp() override {
    if (!has_device()) GTEST_SKIP() << "no OpenCL device";
    void* library = ::dlopen(HALOCLINE_FAULT_LAYER, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) GTEST_SKIP() << "the OpenCL loader has not loaded OPENCL_LAYERS=" << HALOCLINE_FAULT_LAYER;
    arm_ = reinterpret_cast<HaloclineFaultArm*>(::dlsym(library, "halocline_fault_arm"));
    calls_ = reinterpret_cast<HaloclineFaultCalls*>(::dlsym(library, "halocline_fault_calls"));
    devices_ = open_devices({});
  }
  // Forgets the findings for the tests that follow.
  void TearDown() override {
    if (arm_ == nullptr) return;
    arm_("");
    for (const Variant& variant : spoilt_) check_variant(variant, devices_.front(), true);
  }

  // A driver that does not run this kernel, but says that it did.
  void spoil(const std::string& kernel, const Variant& variant) {
    arm_(("kernel=" + kernel + ":1:0:kind").c_str());
    spoilt_.push_back(variant);
  }

  HaloclineFaultArm* arm_ = nullptr;
  HaloclineFaultCalls* calls_ = nullptr;
  std::vector<Device> devices_;
  std::vector<Variant> spoilt_;
};

TEST_F(SelfCheck, VariantsAreRightHere) {
  int taken = 0;
  for (const Variant& variant : all_variants()) {
    const Finding finding = check_variant(variant, devices_.front(), true);
    EXPECT_TRUE(finding.verdict == Verdict::right || finding.verdict == Verdict::not_taken)
        << variant.name << " " << finding.text();
    EXPECT_EQ(finding.detail.empty(), finding.verdict == Verdict::right) << variant.name;
    taken += finding.verdict == Verdict::right;
  }
  EXPECT_GE(taken, 4);  // the fused passes at least
}

TEST_F(SelfCheck, AnswersAreRemembered) {
  check_variant(fused_variant(false, 2), devices_.front(), true);
  arm_("");
  EXPECT_EQ(check_variant(fused_variant(false, 2), devices_.front()).text(), "right");
  EXPECT_EQ(calls_("enqueue"), 0);
}

TEST_F(SelfCheck, AWrongVariantIsFoundRememberedAndRefused) {
  const Variant variant = fused_variant(false, 2);
  spoil("pdu_fused_iterate", variant);
  const Finding found = check_variant(variant, devices_.front(), true);
  ASSERT_EQ(found.verdict, Verdict::wrong);
  EXPECT_THAT(found.detail, testing::AnyOf(HasSubstr("values are wrong"), HasSubstr("not finite")));  // as memory was
  arm_("");  // the driver is the same, so the answer is kept
  EXPECT_EQ(check_variant(variant, devices_.front()).text(), found.text());
  EXPECT_FALSE(variant_works(variant, devices_, "the kernels in place"));
  EXPECT_TRUE(variant_works(fused_variant(true, 2), devices_, "the kernels in place"));

  const Folder f;
  ASSERT_EQ(run({"phantom", "--type", "two-balls", "--size", "20,20,20", "--spacing", "1,1,1", "-o", f / "v.mha"}).code,
            0);
  const std::vector<std::string> denoise{"denoise", "-i",           f / "v.mha", "--method", "pdu",      "--alpha",
                                         "2000",    "--iterations", "4",         "-o",       f / "o.mha"};
  auto asked = denoise;
  asked.insert(asked.end(), {"--stages", "2"});
  const Ran refused = run(asked);
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("--stages 2: PDU, 2 iterations a pass is wrong on "));
  EXPECT_THAT(refused.err, HasSubstr(found.detail));
  EXPECT_EQ(f.files(), std::vector<std::string>{"v.mha"});
  EXPECT_EQ(run(denoise).code, 0);
}

// A search that reconstructs repeatedly checks before each time.
TEST_F(SelfCheck, AWrongVariantIsToldOfOnce) {
  const Variant variant = fused_variant(true, 2);
  spoil("pdu_fused_iterate", variant);
  ASSERT_EQ(check_variant(variant, devices_.front(), true).verdict, Verdict::wrong);
  arm_("");
  std::ostringstream said;
  auto& sinks = spdlog::default_logger()->sinks();
  sinks.push_back(std::make_shared<spdlog::sinks::ostream_sink_mt>(said));
  for (int n = 0; n < 3; ++n) EXPECT_FALSE(variant_works(variant, devices_, "the kernels in place"));
  sinks.pop_back();
  const std::string text = said.str(), part = variant.name + " is wrong on ";
  const std::size_t first = text.find(part);
  ASSERT_NE(first, std::string::npos) << text;
  EXPECT_EQ(text.find(part, first + 1), std::string::npos) << text;
}

// A kernel whose roots are rounded another way, as a compiler may choose them.
TEST_F(SelfCheck, AVariantThatDiffersInTheLastBitsServesWhereItIsAskedFor) {
  const Variant variant = fused_variant(false, 2);
  const Folder kernels, f;
  std::ofstream(kernels / "pdu_fused.cl") << "#define KERNELS_VERSION " << kernels_version << "\n"
                                          << "#define INVERSE_ROOT(x) (0.99999994f / sqrt(x))\n"
                                          << kernel_source("pdu_fused.cl");
  const Finding own = check_variant(variant, devices_.front(), true);
  ::setenv("HALOCLINE_CL_PATH", std::string(kernels / "").c_str(), 1);
  const auto devices = open_devices({});  // without compiled kernels
  const Finding found = check_variant(variant, devices.front(), true);
  const bool serves_unasked = variant_works(variant, devices, "the kernels in place");
  const Ran told = run({"devices", "--check"});
  EXPECT_EQ(run({"phantom", "--type", "two-balls", "--size", "20,20,20", "--spacing", "1,1,1", "-o", f / "v.mha"}).code,
            0);
  const Ran asked = run({"denoise", "-i", f / "v.mha", "--method", "pdu", "--alpha", "2000", "--iterations", "4",
                         "--stages", "2", "-o", f / "o.mha"});
  ::unsetenv("HALOCLINE_CL_PATH");
  EXPECT_EQ(own.text(), "right");
  EXPECT_EQ(found.verdict, Verdict::last_bits);
  EXPECT_THAT(found.detail, testing::MatchesRegex("[0-9]+ of 17480 values, at most [0-9.e-]+ instead of [0-9.e-]+"));
  const std::size_t instead = found.detail.find(" instead of "), most = found.detail.find("at most ") + 8;
  EXPECT_NE(found.detail.substr(most, instead - most), found.detail.substr(instead + 12));
  EXPECT_FALSE(serves_unasked);
  EXPECT_THAT(told.out, HasSubstr("\npdu_fused.cl is replaced by " + std::string(kernels / "pdu_fused.cl") + "\n"));
  EXPECT_THAT(told.out, testing::ContainsRegex("PDU, 2 iterations a pass +differs in the last bits: "));
  EXPECT_THAT(told.out, testing::Not(HasSubstr("wrong")));
  EXPECT_EQ(asked.code, 0) << asked.err;
}

TEST_F(SelfCheck, AWrongRowFilterIsNotUsed) {
  spoil("fdk_rows_filter", local_rows_variant());
  EXPECT_EQ(check_variant(local_rows_variant(), devices_.front(), true).verdict, Verdict::wrong);
  arm_("");
  use_fft_library(devices_.front(), FftLibrary::vkfft);  // as where clFFT does not compile
  EXPECT_EQ(longest_local_rows(devices_), 0u);
  check_variant(local_rows_variant(), devices_.front(), true);
  EXPECT_EQ(longest_local_rows(devices_), longest_rows_in(devices_.front().info()));
}

// The first of two ranks, of which the other answers what it is asked so.
class Asking : public Ranks {
 public:
  explicit Asking(std::string answer) : answer_(std::move(answer)) {}
  int size() const override { return 2; }

 protected:
  std::vector<std::string> gather_bytes(const std::string& own) override {
    return {own, own.substr(0, own.find('\n') + 1) + answer_};
  }

 private:
  std::string answer_;
};

TEST_F(SelfCheck, AFormThatIsWrongOnAnotherRankIsNotUsed) {
  const Variant variant = fused_variant(false, 1);
  check_variant(variant, devices_.front(), true);
  Asking right(""), wrong("it is wrong on a card");
  EXPECT_TRUE(variant_works(variant, devices_, "others serve", right));
  EXPECT_FALSE(variant_works(variant, devices_, "others serve", wrong));
}

TEST_F(SelfCheck, RanksThatTransformByOtherLibrariesAreRefused) {
  use_fft_library(devices_.front(), FftLibrary::vkfft);
  Asking same("VkFFT"), other("clFFT");
  EXPECT_NO_THROW(require_one_fft_library(devices_, same));
  EXPECT_THAT(refusal_of<InputError>([&] { require_one_fft_library(devices_, other); }),
              HasSubstr("rank 1 transforms rows by clFFT and rank 0 by VkFFT"));
}

// Each length is a program, and a job waits for the compiler of all that are checked.
TEST_F(SelfCheck, AJobChecksRowsOfItsOwnLengthAlone) {
  const Folder cache;
  const char* given = std::getenv("HALOCLINE_CACHE_DIR");
  const std::string before = given == nullptr ? "" : given;
  ::setenv("HALOCLINE_CACHE_DIR", std::string(cache / "").c_str(), 1);
  const auto devices = open_devices({});  // without compiled kernels
  use_fft_library(devices.front(), FftLibrary::vkfft);
  std::ostringstream said;
  const auto logger = std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::ostream_sink_mt>(said));
  logger->set_level(spdlog::level::debug);
  set_library_log(logger);
  const std::size_t longest = longest_local_rows(devices, 4096);
  set_library_log(nullptr);
  ::setenv("HALOCLINE_CACHE_DIR", before.c_str(), 1);  // empty: as not set
  if (longest_rows_in(devices.front().info()) < 4096) GTEST_SKIP() << "too little local memory";
  EXPECT_EQ(longest, longest_rows_in(devices.front().info()));
  EXPECT_THAT(said.str(), HasSubstr("cl/fdk_rows.cl compiled for "));
  EXPECT_THAT(said.str(), HasSubstr("-D LENGTH=4096 "));
  for (const char* other : {"512", "1024", "2048", "8192"})
    EXPECT_THAT(said.str(), testing::Not(HasSubstr(std::string("-D LENGTH=") + other + " ")));
}

TEST_F(SelfCheck, DevicesCheckTells) {
  spoil("pdu_fused_iterate", fused_variant(true, 2));
  spoilt_ = all_variants();
  const Ran wrong = done({"devices", "--check"});
  EXPECT_THAT(wrong.out, testing::ContainsRegex("S-PDU, 2 iterations a pass +wrong"));
  arm_("");
  const Ran right = run({"devices", "--check"});
  EXPECT_THAT(right.out, testing::ContainsRegex("S-PDU, 2 iterations a pass +right"));
  EXPECT_THAT(right.out, testing::Not(HasSubstr("wrong")));
}

// Files that no variant runs are named as such.
TEST_F(SelfCheck, DevicesCheckNamesReplacedFiles) {
  const Folder kernels;
  const std::string version = fmt::format("#define KERNELS_VERSION {}\n", kernels_version);
  std::ofstream(kernels / "median.cl") << version << kernel_source("median.cl");
  std::ofstream(kernels / "extent.clh") << version << kernel_source("extent.clh");
  ::setenv("HALOCLINE_CL_PATH", std::string(kernels / "").c_str(), 1);
  const Ran told = run({"devices", "--check"});
  std::ofstream(kernels / "median.cl") << "#define KERNELS_VERSION 0\n";
  const Ran refused = run({"devices", "--check"});
  ::unsetenv("HALOCLINE_CL_PATH");
  EXPECT_EQ(told.code, 0) << told.err;
  EXPECT_THAT(told.out, HasSubstr("\nextent.clh is replaced by " + std::string(kernels / "extent.clh") + "\n"));
  EXPECT_THAT(told.out, HasSubstr("\nmedian.cl is replaced by " + std::string(kernels / "median.cl") +
                                  "; no kernel below is of this file\n"));
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("median.cl of HALOCLINE_CL_PATH is one with KERNELS_VERSION 0"));
  EXPECT_THAT(run({"devices", "--check"}).out, testing::Not(HasSubstr("replaced")));
}

TEST_F(SelfCheck, NamesTellVariantsApart) {
  std::set<std::string> names;
  for (const Variant& variant : all_variants()) EXPECT_TRUE(names.insert(variant.name).second) << variant.name;
  constexpr std::size_t fused = 4, projections = 9, backprojections = 5, innermost = 1, rows = 3, matrix = 1;
  const std::size_t bricks = adjoint_bricks().size() + 2;  // Joseph's, and one form of each other projector
  EXPECT_EQ(names.size(),
            fused + projections + backprojections + innermost + rows + matrix + local_tiles().size() + bricks);
}

}  // namespace
}  // namespace halocline::self_check_test

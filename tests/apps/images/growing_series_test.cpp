// labels: app unit error
// Files of a series that arrive one by one: their order, those that are not whole yet, and the end of the wait.
#include "apps/images/growing_series.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "host/system/interrupt.hpp"
#include "tests/support/command_runner.hpp"
#include "tests/support/image_actions.hpp"

namespace halocline::growing_series_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

constexpr auto patient = 300s;  // never reached

std::string no_reason(const std::string&) {
  return "";
}

TEST(GrowingSeries, TakesFilesInTheOrderOfTheirNames) {
  for (const std::string pattern : {"p*.tif", "p%d.tif", ""}) {
    SCOPED_TRACE(pattern);
    const Folder f;
    const std::string name = pattern.empty() ? f.path() : f / pattern;
    GrowingSeries series(name);
    EXPECT_FALSE(series.next_so_far());
    std::thread writer([&] {
      for (int n = 8; n < 12; ++n) {
        write_text(f / fmt::format("p{}.tif.part", n), "x");
        std::filesystem::rename(f / fmt::format("p{}.tif.part", n), f / fmt::format("p{}.tif", n));
        std::this_thread::sleep_for(5ms);
      }
    });
    std::vector<std::string> taken;
    for (int n = 8; n < 12; ++n) {
      taken.push_back(series.take(patient, no_reason).path);
      std::filesystem::remove(taken.back());  // may go then
    }
    writer.join();
    EXPECT_THAT(taken, testing::ElementsAre(f / "p8.tif", f / "p9.tif", f / "p10.tif", f / "p11.tif"));
    EXPECT_EQ(series.taken(), 4u);
  }
}

TEST(GrowingSeries, WaitsForAFileThatIsNotWhole) {
  const Folder f;
  write_text(f / "p0.tif", "half");
  write_text(f / "p1.tif", "whole");  // a later one does not make it whole
  GrowingSeries series(f / "p%d.tif");
  int reads = 0;
  const auto file = series.take(patient, [&](const std::string& path) -> std::string {
    if (++reads == 3) write_text(path, "half and half");
    return content(path) == "half" ? "it is half" : "";
  });
  EXPECT_EQ(file.path, f / "p0.tif");
  EXPECT_EQ(reads, 3);
}

TEST(GrowingSeries, SaysWhatDidNotCome) {
  const Folder f;
  const auto wait = [&](GrowingSeries& series, const GrowingSeries::Read& read = no_reason) {
    return error_of([&] { series.take(10ms, read); });
  };
  GrowingSeries none(f / "p*.tif");
  none.expect(7, "");
  EXPECT_THAT(wait(none), AllOf(HasSubstr("FileError: view 0 of '" + (f / "p*.tif")), HasSubstr("no further file"),
                                HasSubstr("0 of 7 views came")));
  for (const char* name : {"p03.tif", "p04.tif", "p06.tif", "p07.tif"}) write_text(f / name, "x");
  GrowingSeries gap(f / "p%02d.tif");
  for (int n = 0; n < 2; ++n) gap.take(patient, no_reason);
  EXPECT_THAT(wait(gap), AllOf(HasSubstr("view 2 of '"), HasSubstr("p05.tif' is missing, though '" + (f / "p06.tif")),
                               HasSubstr("2 views came, '" + (f / "p04.tif") + "' the last")));
  GrowingSeries half(f / "p*.tif");
  EXPECT_THAT(wait(half, [](const std::string&) { return "it is short"; }),
              HasSubstr("p03.tif' is there, but not whole: it is short"));
  GrowingSeries one(f / "p%02d.tif");
  one.expect(4, "");
  one.take(patient, no_reason);
  std::filesystem::remove(f / "p04.tif");
  EXPECT_THAT(wait(one), HasSubstr("1 of 4 views came"));
  const Folder dicom;
  write_text(dicom / "p0.dcm", "x");
  GrowingSeries foreign(dicom.path());
  EXPECT_THAT(wait(foreign), AllOf(HasSubstr("no TIFF file"), HasSubstr("'p0.dcm' is")));
  for (const bool folder : {false, true}) {
    const Folder other;
    GrowingSeries gone(folder ? other.path() : other / "p%d.tif");
    std::filesystem::remove(other.path());
    EXPECT_THAT(wait(gone), HasSubstr("the folder '" + other.path() + "' is gone"));
  }
}

// Files that a list of the folder lacked, or that another program has written out of order.
TEST(GrowingSeries, BeginsWithTheFirstThatTwoLooksShow) {
  for (const std::string pattern : {"p*.tif", "p%02d.tif", ""}) {
    SCOPED_TRACE(pattern);
    const Folder f;
    for (const char* name : {"p03.tif", "p04.tif"}) write_text(f / name, "x");
    GrowingSeries series(pattern.empty() ? f.path() : f / pattern);
    EXPECT_EQ(series.next_so_far(), f / "p03.tif");
    for (const char* name : {"p01.tif", "p02.tif"}) write_text(f / name, "x");
    for (const char* name : {"p01.tif", "p02.tif", "p03.tif", "p04.tif"})
      EXPECT_EQ(series.take(patient, no_reason).path, f / name);
  }
}

TEST(GrowingSeries, RefusesFilesThatDoNotBelong) {
  const Folder f;
  for (const char* name : {"p3.tif", "p5.tif"}) write_text(f / name, "x");
  GrowingSeries series(f / "p*.tif");
  EXPECT_EQ(series.take(patient, no_reason).path, f / "p3.tif");
  EXPECT_EQ(series.take(patient, no_reason).path, f / "p5.tif");
  write_text(f / "p4.tif", "x");
  EXPECT_THAT(error_of([&] { series.take(patient, no_reason); }),
              AllOf(HasSubstr("InputError: '" + (f / "p4.tif") + "' came when '" + (f / "p5.tif")), HasSubstr("%04d")));
  GrowingSeries numbered(f / "p%d.tif");
  EXPECT_EQ(numbered.take(patient, no_reason).path, f / "p3.tif");
  write_text(f / "p2.tif", "x");
  numbered.take(patient, no_reason);  // p4 was present at two looks
  EXPECT_THAT(error_of([&] { numbered.take(patient, no_reason); }),
              AllOf(HasSubstr("InputError: '" + (f / "p2.tif") + "' came when the series"),
                    HasSubstr("had begun with '" + (f / "p3.tif")), Not(HasSubstr("%04d"))));
  std::filesystem::remove(f / "p2.tif");
  GrowingSeries two(f / "p*.tif");
  two.expect(2, "two are wanted");
  EXPECT_THAT(
      error_of([&] { two.take(patient, no_reason); }),
      HasSubstr("InputError: '" + (f / "p5.tif") + "' is file 3 of '" + (f / "p*.tif") + "', but two are wanted"));
  GrowingSeries late(f / "p*.tif");
  late.take(patient, no_reason);
  late.expect(3, "");
  EXPECT_THAT(error_of([&] { late.expect(2, "two are wanted"); }), HasSubstr("p5.tif' is file 3 of"));
}

TEST(GrowingSeries, CtrlCEndsTheWait) {
  const Folder f;
  GrowingSeries series(f.path());
  request_interrupt(true);
  EXPECT_THROW(series.take(patient, no_reason), Interrupted);
  request_interrupt(false);
}

TEST(GrowingSeries, HasNamesThatFilesMayComeTo) {
  const Folder f;
  write_text(f / "one.tif", "x");
  EXPECT_THAT(error_of([&] { check_growing_series(f / "one.tif"); }), HasSubstr("is one file"));
  EXPECT_THAT(error_of([&] { check_growing_series(f / "none"); }), HasSubstr("does not exist"));
  EXPECT_THAT(error_of([&] { check_growing_series(f / "none/p*.tif"); }),
              HasSubstr("there is no folder '" + (f / "none")));
  for (const std::string& name : {f.path(), f / "p*.tif", f / "p%d.tif"}) {
    EXPECT_EQ(error_of([&] { check_growing_series(name); }), "no error");
    EXPECT_TRUE(series_would_hold(name, f / "p1.tif"));
    EXPECT_TRUE(series_would_hold(name, f / "../" + std::filesystem::path(f.path()).filename().string() + "/p1.tif"));
    EXPECT_FALSE(series_would_hold(name, f / "p1.mha"));
    EXPECT_FALSE(series_would_hold(name, f / "other/p1.tif"));
  }
  std::filesystem::create_directory(f / "p[1]");
  EXPECT_EQ(error_of([&] { check_growing_series(f / "p[1]/p%d.tif"); }), "no error");  // as spelled
  for (const std::string name : {"*/p%d.tif", "p[12]/p%d.tif", "p*_%d.tif", "p%d.tif?"})
    EXPECT_THAT(error_of([&] { check_growing_series(f / name); }), HasSubstr("wildcards beside a place")) << name;
  EXPECT_EQ(error_of([&] { check_growing_series(f / "*/p*.tif"); }), "no error");
  EXPECT_FALSE(series_would_hold(f / "p%02d.tif", f / "p1.tif"));
  EXPECT_TRUE(series_would_hold(f / "*/p?.tif", f / "a/p1.tif"));
}

}  // namespace
}  // namespace halocline::growing_series_test

// labels: app device error
// --html of the commands that make images, and view.
#include <gmock/gmock.h>

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "apps/images/image_file.hpp"
#include "apps/job/job.hpp"
#include "apps/job/job_checkpoint.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::html_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

nlohmann::json about(const std::string& path) {
  const std::string html = content(path);
  const std::string begin = "id=\"about\">";
  const auto at = html.find(begin);
  if (at == std::string::npos) return {};
  return nlohmann::json::parse(html.substr(at + begin.size(), html.find("</script>", at) - at - begin.size()));
}

Words names_in(const std::string& path) {
  Words names;
  const nlohmann::json page = about(path);
  for (const auto& volume : page.at("volumes")) names.push_back(volume["name"]);
  return names;
}

// A folder with a tiny scan.
class HtmlTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(
        run({"phantom", "--type", "shepp-logan-hc", "--size", "20,16,12", "--spacing", "3,3,3", "-o", truth, "--quiet"})
            .code,
        0);
  }
  void make_scan() {
    ASSERT_EQ(run({"geometry", "circular", "--sid", "200", "--sdd", "400", "--projections", "40", "-o", xml}).code, 0);
    ASSERT_EQ(run({"project", "--phantom", "shepp-logan-hc", "--phantom-size", "40", "-g", xml, "--detector", "24,20",
                   "--pixel", "6,6", "-o", scan})
                  .code,
              0);
  }
  // Output of a command.
  Words shown(const Words& words) {
    const Ran ran = done(words + Words{"--html", page});
    EXPECT_THAT(ran.out, HasSubstr(page + ": "));
    return names_in(page);
  }

  Folder folder;
  const std::string truth = folder / "truth.mha", xml = folder / "scan.xml", scan = folder / "scan.mha",
                    page = folder / "page.html", out = folder / "out.mha";
};

TEST_F(HtmlTest, CommandsWithoutADevice) {
  EXPECT_THAT(shown({"phantom", "--type", "two-balls", "--like", truth, "-o", out}), ElementsAre("two-balls"));
  EXPECT_EQ(about(page)["volumes"][0]["unit"], "1/mm");
  EXPECT_EQ(about(page)["volumes"][0]["whole"], nlohmann::json({20, 16, 12}));
  EXPECT_THAT(content(page), HasSubstr("halocline phantom --type two-balls"));
  make_scan();
  EXPECT_THAT(shown({"project", "--phantom", "two-balls", "--phantom-size", "40", "-g", xml, "--detector", "24,20",
                     "--pixel", "6,6", "-o", out}),
              ElementsAre("projections"));
  EXPECT_EQ(about(page)["volumes"][0]["projections"], true);
  EXPECT_THAT(shown({"noise", "-i", scan, "--photons", "1e4", "-o", out}), ElementsAre("without noise", "with noise"));
  Grid detector{.size = {24, 20, 40}};
  write_image(Volume(detector, 1000), folder / "counts.mha");
  EXPECT_THAT(shown({"counts", "-i", folder / "counts.mha", "--air", "0,0,2,20", "-o", out}),
              ElementsAre("line integrals", "counts"));
  EXPECT_THAT(shown({"noise-map", "-i", truth, "-o", out}), ElementsAre(truth, "noise variance"));
}

TEST_F(HtmlTest, Reconstructions) {
  if (!has_device()) GTEST_SKIP() << "no device";
  make_scan();
  const Words grid{"--like", truth, "-o", out}, input{"-i", scan, "-g", xml};
  EXPECT_THAT(shown(Words{"fdk"} + input + grid + Words{"--variance-out", folder / "variance.mha", "--photons", "1e4"}),
              ElementsAre("FDK", "variance"));
  EXPECT_EQ(about(page)["volumes"][1]["unit"], "1/mm^2");
  EXPECT_THAT(content(page), HasSubstr("<h2>Plan and runs</h2>"));
  EXPECT_THAT(shown(Words{"fdk"} + input + grid + Words{"--denoise", "pdu"}), ElementsAre("FDK", "denoised"));
  EXPECT_THAT(content(page), HasSubstr("<h2>Certificate</h2>"));
  EXPECT_THAT(
      shown(Words{"reconstruct"} + input + grid +
            Words{"--photons", "1e4", "--lambda", "100", "--iterations", "30", "--gap-map", folder / "gap.mha"}),
      ElementsAre("start", "spdhg", "part of the gap"));
  EXPECT_THAT(content(page), HasSubstr("<svg"));
  EXPECT_THAT(shown(Words{"backproject"} + input + grid), ElementsAre("back-projection"));
  EXPECT_THAT(shown(Words{"project", "-i", truth, "-g", xml, "--detector", "24,20", "--pixel", "6,6", "-o", out}),
              ElementsAre("projections"));
  EXPECT_THAT(shown(Words{"slices"} + input +
                    Words{"--like", truth, "--plane", "axial,coronal", "-o", out + "," + (folder / "coronal.mha")}),
              ElementsAre("axial", "coronal"));
}

TEST_F(HtmlTest, Denoising) {
  if (!has_device()) GTEST_SKIP() << "no device";
  const Words denoise{"denoise", "-i", truth, "-o", out, "--method"};
  EXPECT_THAT(shown(denoise + Words{"pdu", "--alpha", "2", "--reference", truth}),
              ElementsAre("before", "after pdu", "reference"));
  EXPECT_EQ(about(page)["volumes"][0]["whole"], about(page)["volumes"][1]["whole"]);
  EXPECT_THAT(content(page), HasSubstr("<td>no image has an objective more than"));
  EXPECT_THAT(shown(denoise + Words{"median", "--preview-roi", "2,2,2,8,9,7"}), ElementsAre("before", "after median"));
  EXPECT_EQ(about(page)["volumes"][0]["whole"], about(page)["volumes"][1]["whole"]);
  EXPECT_EQ(about(page)["volumes"][0]["origin"], about(page)["volumes"][1]["origin"]);
  shown(denoise + Words{"gaussian", "--html-size", "8"});
  EXPECT_EQ(about(page)["volumes"][1]["factors"], nlohmann::json({3, 2, 2}));
}

TEST_F(HtmlTest, WhatIsWrongIsToldBeforeTheWork) {
  const Words phantom{"phantom", "--type", "blade", "--size", "8,8,8", "--spacing", "1,1,1", "-o", out};
  const auto refused = [&](const Words& words) {
    const Ran ran = run(words);
    EXPECT_EQ(ran.code, 2) << ran.out;
    EXPECT_FALSE(std::filesystem::exists(out));
    return ran.err;
  };
  EXPECT_THAT(refused(phantom + Words{"--html", folder / "page.txt"}), HasSubstr("give a name that ends with .html"));
  EXPECT_THAT(refused(phantom + Words{"--html", folder / "none/page.html"}), HasSubstr("none"));
  EXPECT_THAT(refused(phantom + Words{"--html", page, "--report", page}), HasSubstr("--report and --html both name"));
  EXPECT_THAT(refused(phantom + Words{"--html", page, "--html-size", "0"}), HasSubstr("--html-size"));
  EXPECT_THAT(refused({"metrics", "-i", truth, "--reference", truth, "--html", page}),
              HasSubstr("--html shows the images that a command makes, and 'metrics' makes none"));
  EXPECT_THAT(refused({"view", truth, "--html", page}), HasSubstr("named by -o"));
  EXPECT_EQ(run(phantom + Words{"--html", page, "--dry-run"}).code, 0);
  EXPECT_FALSE(std::filesystem::exists(page));
}

TEST_F(HtmlTest, ACheckpointIsGoodForAnyPage) {
  const Job job("denoise", {}, {{"--html", page}, {"--html-size", 64}, {"--alpha", 2}});
  const auto options = options_of_bits(job, {});
  EXPECT_TRUE(options.contains("--alpha"));
  EXPECT_FALSE(options.contains("--html") || options.contains("--html-size"));
}

TEST_F(HtmlTest, ViewWritesAPage) {
  const std::string evil = folder / "<script>x.mha";
  std::filesystem::copy(truth, evil);
  done({"view", truth, evil, "-o", page});
  EXPECT_THAT(names_in(page), ElementsAre("truth.mha", "<script>x.mha"));
  EXPECT_THAT(content(page), Not(HasSubstr("<script>x")));
  EXPECT_EQ(run({"view", truth, truth, truth, truth, truth, "-o", page}).code, 2);
  EXPECT_EQ(run({"view", truth, "-o", folder / "page.png"}).code, 2);
  EXPECT_EQ(run({"view", folder / "none.mha", "-o", page}).code, 2);
  EXPECT_THAT(run({"view", truth, "-o", page, "--dry-run"}).out, HasSubstr("would write " + page));
}

TEST_F(HtmlTest, ViewOpensTheBrowser) {
  const std::string script = folder / "browser.sh", seen = folder / "seen";
  write_text(script, "#!/bin/sh\ncp \"$1\" '" + seen + "'\n");
  std::filesystem::permissions(script, std::filesystem::perms::owner_all);
  ::setenv("BROWSER", script.c_str(), 1);
  ::setenv("TMPDIR", folder.path().c_str(), 1);
  const Ran ran = done({"view", truth});
  EXPECT_THAT(ran.out, HasSubstr("truth.html is shown in the browser"));
  EXPECT_THAT(names_in(seen), ElementsAre("truth.mha"));
  ::setenv("BROWSER", (folder / "no-such-program").c_str(), 1);
  const Ran without = done({"view", truth, "--quiet"});
  EXPECT_THAT(without.out, HasSubstr("truth.html: no browser was found"));
  ::unsetenv("BROWSER");
  ::unsetenv("TMPDIR");
}

}  // namespace
}  // namespace halocline::html_test

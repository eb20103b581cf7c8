// labels: app error
// halocline plot: curves of several runs in one picture.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "tests/support/command_runner.hpp"

namespace halocline::plot_command_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class PlotCommand : public testing::Test {
 protected:
  void SetUp() override {
    const Words grid{"--size", "19,17,7", "--spacing", "3,3,4"};
    done({"geometry", "circular", "--sid", "200", "--sdd", "300", "--projections", "12", "-o", g});
    done(Words{"phantom", "--type", "gravel", "--phantom-size", "50", "-o", truth} + grid);
    done({"project", "-i", truth, "-g", g, "--detector", "33,19", "--pixel", "3,4", "-o", p});
    const Words run = Words{"reconstruct", "-i", p, "-g", g, "-o", x} + grid;
    done(run + Words{"--method", "cgls", "--iterations", "4", "--truth", truth, "--report", cgls});
    done(run + Words{"--method", "sirt", "--iterations", "6", "--truth", truth, "--report", sirt});
    done(run + Words{"--method", "sirt", "--iterations", "3", "--report", blind});
    done({"denoise", "-i", x, "--method", "pdu", "--alpha", "300", "--report", pdu, "-o", folder / "y.mha"});
  }
  void write(const std::string& path, const std::string& text) const { std::ofstream(path) << text; }

  Folder folder;
  const std::string g = folder / "g.xml", truth = folder / "truth.mha", p = folder / "p.mha", x = folder / "x.mha",
                    cgls = folder / "cgls.json", sirt = folder / "sirt & co.json", blind = folder / "blind.json",
                    pdu = folder / "pdu.json", svg = folder / "c.svg";
};

std::ptrdiff_t count(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return std::distance(std::sregex_iterator(text.begin(), text.end(), regex), {});
}

TEST_F(PlotCommand, DrawsErrorsOverIterationsAndSeconds) {
  EXPECT_THAT(done({"plot", cgls, sirt, "-o", svg}).out, HasSubstr("of 2 runs over iterations and seconds"));
  const std::string picture = content(svg);
  EXPECT_THAT(picture, AllOf(HasSubstr(">relative error to the truth<"), HasSubstr(">PSNR to the truth, dB<"),
                             HasSubstr(">passes<"), HasSubstr(">seconds<"), HasSubstr(">cgls<"),
                             HasSubstr(">sirt &amp; co<"), Not(HasSubstr("nan"))));
  EXPECT_EQ(count(picture, "<g transform"), 4);
  EXPECT_EQ(count(picture, "<circle"), 4 * (4 + 6)) << "a dot for each record";
}

TEST_F(PlotCommand, DrawsWhatAllReportsHaveOrWhatIsNamed) {
  done({"plot", cgls, blind, "-o", svg});
  EXPECT_THAT(content(svg), AllOf(HasSubstr("residual"), Not(HasSubstr("truth"))));
  done({"plot", cgls, blind, "--value", "truth_psnr", "residual", "-o", svg});
  EXPECT_THAT(content(svg), AllOf(HasSubstr(">residual<"), HasSubstr(">PSNR to the truth, dB<")));
  EXPECT_EQ(count(content(svg), "<circle"), 2 * 4 + 2 * (4 + 3));
  done({"plot", pdu, "-o", svg});
  EXPECT_THAT(content(svg), AllOf(HasSubstr(">relative gap<"), HasSubstr(">iterations<")));
}

TEST_F(PlotCommand, RefusesWhatItCannotDraw) {
  refused({"plot", blind, "--value", "truth_rmse", "-o", svg}, {"--value truth_rmse", "--truth"});
  refused({"plot", blind, "--value", "beauty", "-o", svg}, {"--value", "truth_psnr"});
  refused({"plot", blind, "-o", folder / "c.png"}, {"-o", ".svg"});
  refused({"plot", folder / "none.json", "-o", svg}, {"none.json"});
  for (const char* text : {"", "{", "[1]", R"({"results": {"history": []}})", R"({"results": {"history": [1]}})",
                           R"({"results": {"history": [{"seconds": 1}]}})"}) {
    write(folder / "bad.json", text);
    refused({"plot", folder / "bad.json", "-o", svg}, {"bad.json", "--report"});
  }
  write(folder / "odd.json", R"({"results": {"history": [{"seconds": "a", "passes": 1, "residual": null}]}})");
  refused({"plot", folder / "odd.json", "-o", svg}, {"odd.json"});
}

}  // namespace
}  // namespace halocline::plot_command_test

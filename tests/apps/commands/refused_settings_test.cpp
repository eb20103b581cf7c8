// labels: app error
// Settings and files that commands refuse, or warn of, where they first use them: what was found and expected.
#include "apps/images/image_file.hpp"
#include "tests/support/command_runner.hpp"

namespace halocline::refused_settings_test {
namespace {

class RefusedSettings : public testing::Test {
 protected:
  void SetUp() override {
    const Grid grid{.size = {12, 12, 12}, .spacing = {4, 4, 4}, .origin = {-22, -22, -22}};
    Volume volume(grid, 0.02f);
    write_image(volume, f / "v.mha");
    std::fill(volume.voxels.begin() + 864, volume.voxels.end(), 0.04f);
    write_image(volume, f / "step.mha");
    write_image(Volume({.size = {24, 20, 36}, .spacing = {4, 4, 1}, .origin = {-46, -38, 0}}, 0.5f), f / "p.mha");
    done({"geometry", "circular", "--sid", "500", "--sdd", "750", "--projections", "36", "-o", f / "g.xml"});
    write_text(f / "own.cl", "int nothing;\n");
  }
  // Refused with all parts in the message; there are no other files than before.
  void expect_refused(const Words& words, const std::vector<std::string>& parts) const {
    const auto before = f.files();
    refused(words, parts);
    EXPECT_EQ(f.files(), before);
  }
  Words scan(const std::string& verb) const {
    return {verb,       "-i",        f / "p.mha", "--geometry", f / "g.xml",  "--size",
            "12,12,12", "--spacing", "4,4,4",     "-o",         f / "out.mha"};
  }
  Words denoise(const std::string& volume, const std::string& method) const {
    return {"denoise", "-i", f / volume, "--method", method, "-o", f / "out.mha"};
  }

  Folder f;
};

TEST_F(RefusedSettings, TablesOfProjectors) {
  const Words cgls = scan("reconstruct") + Words{"--method", "cgls", "--projector-table"};
  const std::string mu = "mu=" + f / "v.mha";
  expect_refused(cgls + Words{mu}, {"--projector-table", "a projector of your own, --projector FILE.cl"});
  expect_refused(cgls + Words{"mu", "--projector", f / "own.cl"}, {"--projector-table is \"mu\"", "NAME=FILE"});
  expect_refused(cgls + Words{mu, mu, "--projector", f / "own.cl"}, {"--projector-table is mu twice"});
}

TEST_F(RefusedSettings, TextsAndTablesOfKernelCheck) {
  expect_refused({"kernel", "check", f / "v.mha"}, {"the projector is ", "v.mha; expected", "ends in .cl"});
  expect_refused({"kernel", "check", f / "own.cl", "--table", "mu=1,2"}, {"--table is mu=1,2", "one number"});
  expect_refused({"kernel", "check", f / "own.cl", "--table", "=1"}, {"--table is =1", "NAME=VALUE"});
}

TEST_F(RefusedSettings, VolumesWithoutNoise) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  expect_refused(denoise("step.mha", "nlm"), {"no noise can be measured", "nlm", "choose another --method"});
  expect_refused(denoise("step.mha", "tvgd"), {"no noise can be measured", "give --step"});
  expect_refused(denoise("step.mha", "pdu"), {"no noise can be measured", "give --alpha a number"});
  expect_refused(denoise("step.mha", "pdu") + Words{"--alpha", "halves", "--halves", f / "v.mha" + "," + f / "v.mha"},
                 {"--halves: the two volumes are the same", "different views"});
}

TEST_F(RefusedSettings, OptionsOfOtherMethods) {
  expect_refused(denoise("v.mha", "median") + Words{"--checkpoint", f / "state"}, {"--checkpoint", "median"});
  expect_refused(denoise("v.mha", "median") + Words{"--alpha-path", "3,2"}, {"--alpha-path", "--method median"});
  expect_refused(denoise("v.mha", "pdu") + Words{"--minimum", "0.10000000001", "--maximum", "0.10000000002"},
                 {"--minimum 0.10000000001", "--maximum 0.10000000002", "no number of float32"});
  expect_refused({"plan", "--method", "tvgd", "--size", "64", "--gap", "0.1"}, {"--gap", "--method tvgd", "spdu"});
}

TEST_F(RefusedSettings, GapsOfAPathThatAreNotReached) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  const Ran ran = done(denoise("step.mha", "pdu") + Words{"--alpha-path", "3,2", "--iterations", "1", "--gap", "1e-9"});
  expect_contains(ran.err, {"alpha 3: the relative gap of 1e-09 was not reached", "alpha 2: ", "after 1 iterations"});
}

TEST_F(RefusedSettings, SlicesOnTwoDevices) {
  if (!has_device()) GTEST_SKIP() << "no OpenCL device";
  Words words = scan("slices") + Words{"--plane", "axial", "--sub-devices", "2"};
  const Ran ran = run(words);
  EXPECT_EQ(ran.code, 2);
  if (ran.err.find("--sub-devices 2") != std::string::npos) GTEST_SKIP() << "the device cannot be split: " << ran.err;
  expect_contains(ran.err, {"slices are made by one device, but 2 are chosen", "--device"});
}

TEST_F(RefusedSettings, Filters) {
  expect_refused(scan("fdk") + Words{"--filter", "1,x"}, {"--filter", "'x' as value 1", "a finite number"});
}

TEST_F(RefusedSettings, TextFiles) {
  write_text(f / "m.txt", "# format: matrices mm\n1 2 3 4\n5 6 7 8\n1 2 3 4 5 6 7 8 9 10 11 12\n");
  expect_refused({"geometry", "show", f / "m.txt"}, {"m.txt, line 4", "the matrix before has 8 numbers"});
  write_text(f / "m.json", R"({"name": 3, "devices": []})");
  expect_refused({"plan", "--machine", f / "m.json", "--method", "pdu", "--size", "64"},
                 {"m.json", "\"name\" is 3; expected text"});
  write_text(f / "angles.txt", "0\n" + std::string(1200, '0') + "7\n");
  expect_refused(
      {"geometry", "circular", "--sid", "500", "--sdd", "750", "--angles", f / "angles.txt", "-o", f / "out.xml"},
      {"angles.txt', line 2", "1201 characters"});
}

TEST_F(RefusedSettings, FoldersOfHelp) {
  expect_refused({"help", "--as", "man", "-o", f / "own.cl" + "/pages"}, {"-o '", "is no folder and cannot be made"});
}

}  // namespace
}  // namespace halocline::refused_settings_test

// labels: unit
// Reading of a user's projector: definitions in lines that count, however conditions are nested, and their lines.
#include "algorithms/projectors/projector_text.hpp"

#include <gtest/gtest.h>

#include "algorithms/support/condition.hpp"

namespace halocline::projector_text_test {
namespace {

TEST(Condition, IsDecidedAsInC) {
  KnownMacros macros;
  macros.values = {{"ONE", "1"}, {"TWO", "ONE + ONE"}, {"SAME", "(ONE)"}, {"EMPTY", std::nullopt}, {"LOOP", "LOOP"}};
  const auto value = [&](const char* text) { return condition_value(text, macros); };
  for (const char* text : {"1", "ONE", "SAME == 1", "!0", "0x10 == 16", "defined(ONE) && !defined NONE", "NONE < 1u",
                           "ONE >= 1 && (NONE || 2 > 1)", "1 || __VERSION__", "defined EMPTY", "3 != 2L", "2 <= 2"})
    EXPECT_NE(value(text).value_or(0), 0) << text;
  for (const char* text : {"0", "NONE", "!ONE", "defined(NONE)", "0 && cl_khr_fp64", "1 > 1", "1 == 2"})
    EXPECT_EQ(value(text), 0) << text;
  for (const char* text : {"__OPENCL_VERSION__ >= 120", "M_PI_F > 3", "defined FLT_MAX", "defined(cl_khr_fp64)",
                           "defined ENDS", "TWO", "EMPTY", "LOOP", "1 +", "f(2)", "(1", "1.0", "ONE ? 1 : 0", ""})
    EXPECT_EQ(value(text), std::nullopt) << text;
  for (const char sign : {'(', '!'}) EXPECT_EQ(value((std::string(1000000, sign) + "1").c_str()), std::nullopt) << sign;
}

TEST(ProjectorText, LinesThatDoNotCountAreNotRead) {
  const std::string trace = "void trace(TRACE_PARAMETERS) {}\n";
  const auto has = [&](const std::string& text) { return read_projector_text(text, {{"GIVEN", "2"}}).trace; };
  EXPECT_FALSE(has("#if 0\n" + trace + "#endif\n"));
  EXPECT_TRUE(has("#if 0\n#else\n" + trace + "#endif\n"));
  EXPECT_FALSE(has("#if 0\n#if 1\n" + trace + "#else\n" + trace + "#endif\n#endif\n"));
  EXPECT_FALSE(has("#ifdef NONE\n" + trace + "#endif\n"));
  EXPECT_TRUE(has("#ifndef NONE // a comment\n" + trace + "#endif\n"));
  EXPECT_FALSE(has("# if GIVEN == 2\n# elif 1\n" + trace + "# else\n" + trace + "# endif\n"));
  EXPECT_TRUE(has("#if GIVEN == 1\n#elif GIVEN == 2\n" + trace + "#endif\n"));
  EXPECT_FALSE(has("#define A 0\n#if A\n" + trace + "#endif\n"));
  EXPECT_TRUE(has("#define A 0\n#undef A\n#define A 1\n#if A\n" + trace + "#endif\n"));
  EXPECT_TRUE(has("#define A 1\n#if \\\n  A\n" + trace + "#endif\n"));
}

TEST(ProjectorText, BranchesThatDependOnTheCompilerAllCount) {
  const std::string trace = "void trace(TRACE_PARAMETERS) {}\n";
  const auto has = [&](const std::string& text) { return read_projector_text(text).trace; };
  EXPECT_TRUE(has("#ifdef cl_khr_fp64\n" + trace + "#else\n#endif\n"));
  EXPECT_TRUE(has("#ifdef cl_khr_fp64\n#else\n" + trace + "#endif\n"));
  EXPECT_TRUE(has("#ifdef cl_khr_fp64\n#define WIDE\n#endif\n#ifndef WIDE\n" + trace + "#endif\n"));
  EXPECT_FALSE(has("#ifdef cl_khr_fp64\n#elif 0\n" + trace + "#endif\n"));
  const auto text = read_projector_text("#if __OPENCL_VERSION__ < 200\n#define N 1\n#else\n#define N 2\n#endif\n");
  EXPECT_EQ(text.defines.at("N"), (std::vector<std::string>{"1", "2"}));
}

TEST(ProjectorText, LinesOfKernelsAreTheUsers) {
  const auto text = read_projector_text(
      "/* of\nthree\nlines */ #define A \\\n 1\n#if 0\nkernel void project(int a);\n#endif\n// a \\\n b\n"
      "__kernel void project(int a) {}\n\n  kernel void\nbackproject(int a) {}\n");
  EXPECT_EQ(text.project, 10);
  EXPECT_EQ(text.backproject, 13);
  EXPECT_EQ(text.defines.at("A").front(), "1");
  EXPECT_FALSE(text.knows_ends);
  EXPECT_TRUE(read_projector_text("f(segment);").knows_ends);
  EXPECT_FALSE(read_projector_text("// segment\n#if 0\nf(segment);\n#endif\n").knows_ends);
}

}  // namespace
}  // namespace halocline::projector_text_test

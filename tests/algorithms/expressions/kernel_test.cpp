// labels: device slab
// Kernels of users: what does not fit is named; macros, tables and work-groups.
#include "algorithms/expressions/kernel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "algorithms/expressions/context.hpp"
#include "algorithms/expressions/expression.hpp"
#include "algorithms/expressions/recording.hpp"
#include "host/system/error.hpp"
#include "scheduling/execution/program_run.hpp"
#include "tests/reference/projector_reference.hpp"
#include "tests/reference/projector_scenes.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/same_bits.hpp"

namespace halocline::expressions::kernel_test {
namespace {

using reference::device;
using testing::AllOf;
using testing::HasSubstr;

// Arrays of a plan that hold tables.
std::size_t tables_of(const Plan& plan) {
  const auto& arrays = plan.requirements.arrays;
  return static_cast<std::size_t>(std::count_if(arrays.begin(), arrays.end(), [](const ArrayNeed& each) {
    return each.kind == ArrayKind::fixed && each.name.starts_with("table ");
  }));
}

TEST(Kernels, SayWhatIsWrong) {
  const Context on(device());
  const Space space = on.volume({{4, 4, 4}});
  Array x = zeros(space), y, r = zeros(on.projections({{3, 3, 3}}));
  const Kernel broken(
      "__kernel void broken(__global float* y,\n                     Extent extent) {\n  y[0] = nothing;\n}\n",
      "broken", {out("y")});
  y = x;
  const std::string text = refusal_of<Error>([&] { broken({{"y", &y}}); });
  EXPECT_THAT(text, HasSubstr("kernel broken"));
  EXPECT_THAT(text, HasSubstr("nothing"));
  if (device().front().info().cpu()) {  // compilers of some GPUs count from the beginning of the whole text
    EXPECT_THAT(text, HasSubstr("3:10")) << "the line and column in the user's text";
  }
  EXPECT_THAT(text, HasSubstr("   3   y[0] = nothing;")) << "and the text with numbers";
  const Kernel good("__kernel void good(__global const float* x, __global float* y, Extent extent) {}", "good",
                    {in("x"), out("y")});
  EXPECT_THAT(refusal_of<Error>([&] { good({{"x", &x}}); }), HasSubstr("no y"));
  EXPECT_THAT(refusal_of<Error>([&] { good({{"x", &x}, {"y", &y}, {"z", &y}}); }), HasSubstr("z"));
  EXPECT_THAT(refusal_of<Error>([&] { good({{"x", &x}, {"y", &r}}); }), HasSubstr("arrays of one space"));
  EXPECT_THAT(refusal_of<Error>([&] { Kernel("", "k", {in("x")}); }), HasSubstr("none that it writes"));
  EXPECT_THAT(refusal_of<Error>([&] { Kernel("", "k", {inout("x")}, {.halo = 1}); }), HasSubstr("`halo`"));
}

// y = SCALE * sum of weights[n] x[n voxels on along x], 0 outside, plus a number of each column.
constexpr const char* weighted_source = R"(
__kernel void weighted(__global const float* x, __global float* y, __global const float* weights,
                       __global const float* columns, float power, Extent extent) {
  const int i = (int)get_global_id(0), j = (int)get_global_id(1), k = extent.begin + (int)get_global_id(2);
#ifdef GROUP
  if (get_local_size(0) != GROUP || get_local_size(1) != 2 || get_local_size(2) != 1) return;
#endif
  if (i >= extent.nx || j >= extent.ny || k >= extent.end) return;
  float sum = columns[i];
  for (int n = 0; n < TERMS && i + n < extent.nx; ++n) sum += SCALE weights[n] * x[AT(i + n, j, k)];
  y[AT(i, j, k)] = power * sum;
}
)";

Volume weighted_on_host(const Volume& x, const std::vector<float>& weights, const std::vector<float>& columns) {
  Volume y = x;
  const std::size_t nx = x.grid.size[0];
  for (std::size_t at = 0; at < x.voxels.size(); ++at) {
    float sum = columns[at % nx];
    for (std::size_t n = 0; n < weights.size() && at % nx + n < nx; ++n) sum += 2 * weights[n] * x.voxels[at + n];
    y.voxels[at] = 3 * sum;
  }
  return y;
}

TEST(Kernels, OfUsersHaveMacrosTablesAndGroups) {
  const std::vector<float> weights{0.5f, -1, 4}, columns{1, 2, 3, 4, 5, 6, 7};
  const KernelOptions options{.macros = {{"TERMS", "3"}, {"SCALE", "2 *"}},
                              .tables = {{"weights", weights}, {"columns", columns}}};
  KernelOptions grouped = options;
  grouped.macros["GROUP"] = "4";
  grouped.group = {4, 2, 1};
  const Kernel kernel(weighted_source, "weighted", {in("x"), out("y")}, options);
  const Kernel in_groups(weighted_source, "weighted", {in("x"), out("y")}, grouped);
  for (const int slabs : {0, 3})
    for (const bool volume : {true, false}) {
      SCOPED_TRACE(std::to_string(slabs) + (volume ? " slabs" : " slabs, projections"));
      const Volume a = reference::random_volume({{7, 50, 6}, {1, 1, 0.5}}, 1);
      const Context on(device(), {.minimum_slabs = slabs});
      const Space space = volume ? on.volume(a.grid) : on.projections(a.grid);
      const Array x = load(space, a);
      const Array before = 2 * x;  // its values outlive the plan that has no tables yet
      Array from = x, y, z;
      kernel({{"x", &from}, {"y", &y}}, {3.0});
      in_groups({{"x", &from}, {"y", &z}}, {3.0});
      EXPECT_TRUE(same_bits(read(y), weighted_on_host(a, weights, columns)));
      EXPECT_TRUE(same_bits(read(z), read(y)));
      EXPECT_TRUE(same_bits(read(before), read(Array(x + x))));
      kernel({{"x", &y}, {"y", &z}}, {3.0});
      EXPECT_TRUE(same_bits(read(z), weighted_on_host(read(y), weights, columns)));
      EXPECT_EQ(tables_of(on.plan()), 2u) << "equal tables are one array";
    }
}

TEST(Kernels, HaveTablesInPrograms) {
  const Grid grid{{7, 5, 6}, {1, 1, 1}};
  const Volume f = reference::random_volume(grid, 3);
  const std::vector<float> weights{0.5f, -1}, columns{1, 2, 3, 4, 5, 6, 7};
  const Kernel kernel(
      weighted_source, "weighted", {in("x"), out("y")},
      {.macros = {{"TERMS", "2"}, {"SCALE", "2 *"}}, .tables = {{"weights", weights}, {"columns", columns}}});
  Program begun;
  begun.needs = {.algorithm = "tables", .form = ProgramForm::steps, .size = grid.size, .iterations = 2};
  Recording on(begun, grid, grid);
  Array x = on.volume("x", Lifetime::output);
  const Array given = on.volume("f", Lifetime::input);
  on.first([&] { x = given; });
  on.each([&] {
    Array from = x, to;
    kernel({{"x", &from}, {"y", &to}}, {3.0});
    x = to;
  });
  const Program program = on.finish();
  for (const int slabs : {0, 3}) {
    RunOptions options;
    options.plan.minimum_slabs = slabs;
    const RunResult found = run_program(program, {{"f", &f}}, grid, device(), options);
    const Volume once = weighted_on_host(f, weights, columns);
    EXPECT_TRUE(same_bits(found.output, weighted_on_host(once, weights, columns)));
  }
}

TEST(Kernels, RefuseMacrosTablesAndGroupsThatCannotBe) {
  const auto error_with = [](KernelOptions options) {
    return refusal_of<Error>([&] { Kernel("", "k", {in("x"), out("y")}, std::move(options)); });
  };
  EXPECT_EQ(error_with({.macros = {{"FLAG", ""}}, .tables = {{"mu", {1}}}, .group = {8, 8, 1}}), "");
  EXPECT_THAT(error_with({.macros = {{"2nd", "1"}}}),
              AllOf(HasSubstr("`macros` of the kernel k is \"2nd\""), HasSubstr("names as C has them")));
  EXPECT_THAT(error_with({.macros = {{"A", "1\n2"}}}), HasSubstr("`macros` of the kernel k is A of several lines"));
  EXPECT_THAT(error_with({.tables = {{"a b", {1}}}}), HasSubstr("`tables` of the kernel k is \"a b\""));
  EXPECT_THAT(error_with({.tables = {{"mu", {}}}}), HasSubstr("`tables` of the kernel k is mu without numbers"));
  EXPECT_THAT(error_with({.tables = {{"x", {1}}}}), HasSubstr("x twice; expected names that no array has"));
  EXPECT_THAT(error_with({.group = {8, 0, 1}}), HasSubstr("`group` of the kernel k is 8 x 0 x 1; expected work-items"));
}

TEST(Kernels, NameTheTableThatDoesNotFit) {
  const Context on(device());
  const Array x = zeros(on.volume({{4, 4, 4}}));
  const auto error_with = [&](const std::string& arguments) {
    const Kernel kernel("__kernel void k(__global const float* x, __global float* y, " + arguments + ") {}", "k",
                        {in("x"), out("y")}, {.tables = {{"mu", {1}}}});
    Array from = x, y;
    return refusal_of<Error>([&] {
      kernel({{"x", &from}, {"y", &y}}, {1.0});
      (void)read(y);
    });
  };
  EXPECT_EQ(error_with("__global const float* mu, float power, Extent extent"), "");
  EXPECT_THAT(error_with("float power, Extent extent"),
              AllOf(HasSubstr("argument 3 of the kernel k is \"float power\""),
                    HasSubstr("expected \"__global const float* mu\"; its arguments are the arrays in their order, the "
                              "tables, the numbers")));
  EXPECT_THAT(error_with("__global const float* mu, Extent extent"), HasSubstr("expected 0 numbers"));
}

// A driver says CL_INVALID_ARG_SIZE or takes the bits of one type for another.
TEST(Kernels, NameTheArgumentThatDoesNotFit) {
  const Context on(device());
  const Array x = zeros(on.volume({{4, 4, 4}}));
  const auto error_with = [&](const std::string& arguments, const std::vector<Scalar>& numbers,
                              std::vector<ArrayAccess> arrays = {in("x"), out("y")}) {
    const Kernel kernel("__kernel void k(" + arguments + ") {}", "k", std::move(arrays));
    Array from = x, y;
    return refusal_of<Error>([&] {
      kernel({{"x", &from}, {"y", &y}}, numbers);
      (void)read(y);
    });
  };
  const std::string arrays = "__global const float* x, __global float* y, ";
  const std::string two = arrays + "float weight, float power, Extent extent";
  EXPECT_EQ(error_with(two, {1.0, 2.0}), "");
  for (const std::vector<Scalar>& numbers : {std::vector<Scalar>{}, {1.0}, {1.0, 2.0, 3.0}})
    EXPECT_THAT(error_with(two, numbers), AllOf(HasSubstr("the kernel k is one with " + std::to_string(numbers.size())),
                                                HasSubstr("expected 2 numbers (weight, power)")));
  EXPECT_THAT(error_with(arrays + "Extent extent", {1.0}), HasSubstr("expected 0 numbers"));
  for (const char* wrong : {"int count", "double weight", "float4 weights", "__global float* more"})
    EXPECT_THAT(error_with(arrays + wrong + ", Extent extent", {1.0}),
                AllOf(HasSubstr("argument 3 of the kernel k is \""), HasSubstr(wrong), HasSubstr("expected \"float ")));
  EXPECT_THAT(error_with(arrays + "float weight", {1.0}),
              AllOf(HasSubstr("float weight"), HasSubstr("expected \"Extent extent\"")));
  EXPECT_THAT(error_with("__global const int* x, __global float* y, Extent extent", {}),
              AllOf(HasSubstr("argument 1"), HasSubstr("int* x"), HasSubstr("\"__global const float* x\"")));
  EXPECT_THAT(error_with("__global float* y, __global const float* x, Extent extent", {}),
              AllOf(HasSubstr("argument 2"), HasSubstr("const float* x"), HasSubstr("\"__global float* y\"")));
  EXPECT_THAT(error_with("__global float* y, Extent extent", {}), HasSubstr("argument 2"));
  EXPECT_THAT(error_with("__global const float* x, float y, Extent extent", {}), HasSubstr("\"__global float* y\""));
}

}  // namespace
}  // namespace halocline::expressions::kernel_test

#include "apps/bench/expression_bench.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <functional>
#include <numeric>
#include <utility>

#include "apps/bench/array_statements.hpp"
#include "apps/bench/left_out.hpp"
#include "host/opencl/program_cache.hpp"
#include "host/system/error.hpp"
#include "scheduling/profiling/measure.hpp"

namespace halocline {
namespace {

namespace hx = expressions;

// Values with which every statement remains finite, however often it is repeated.
constexpr float first_x = 0, first_y = 0.5, first_z = 0.25;

// Seconds of so many runs, after one that compiles. run() returns when the device has ended it.
RunTimes times_of(int repeats, const std::function<void()>& run) {
  run();
  const auto timed = [&] {
    const auto begin = std::chrono::steady_clock::now();
    run();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  return repeat(timed, repeats);
}

void time_expression(const Device& device, const Grid& grid, const ArrayStatement& statement, int repeats,
                     ExpressionRate& rate) {
  const hx::Context on({device});
  const hx::Space space = on.volume(grid);
  const bool fused = rate.form == "fused";
  on.fuse(fused);
  StatementArrays arrays;
  arrays.x = hx::constant(space, first_x);
  if (statement.arrays > 1) arrays.y = hx::constant(space, first_y);
  if (statement.arrays > 2) arrays.z = hx::constant(space, first_z);
  on.wait();
  const auto run = [&] {
    (fused ? statement.fused : statement.unfused)(arrays);
    on.wait();
  };
  run();
  if (!on.plan().resident || on.plan().slabs.size() > 1)
    throw PlanError("its arrays do not fit the device's memory as one slab");
  const std::size_t before = on.passes();
  run();
  rate.kernels = on.passes() - before;
  rate.times = times_of(repeats, run);
}

// A kernel with an element a work-item; of a sum, group by group in local memory, the rest on the host.
std::string text_by_hand(const ArrayStatement& statement, std::size_t group) {
  const std::string arrays =
      "__global float* restrict x, __global const float* restrict y, __global const float* restrict z";
  if (!statement.sums)
    return fmt::format(
        "#pragma OPENCL FP_CONTRACT OFF\n__kernel void by_hand({}, ulong count) {{\n  const size_t i = "
        "get_global_id(0);\n  if (i < count) x[i] = {};\n}}\n",
        arrays, statement.formula);
  return fmt::format(
      "#pragma OPENCL FP_CONTRACT OFF\n__kernel void by_hand({0}, ulong count, __global float* restrict sums) {{\n"
      "  __local float part[{1}];\n  const size_t i = get_global_id(0), n = get_local_id(0);\n"
      "  part[n] = i < count ? {2} : 0;\n  for (size_t span = {1} / 2; span > 0; span /= 2) {{\n"
      "    barrier(CLK_LOCAL_MEM_FENCE);\n    if (n < span) part[n] += part[n + span];\n  }}\n"
      "  if (n == 0) sums[get_group_id(0)] = part[0];\n}}\n",
      arrays, group, statement.formula);
}

void time_by_hand(Device device, const Grid& grid, const ArrayStatement& statement, int repeats, ExpressionRate& rate) {
  const std::size_t count = grid.count(), bytes = sizeof(float) * count,
                    group = std::bit_floor(
                        std::min<std::size_t>(device.info().cpu() ? 1024 : 256, device.info().max_work_group)),
                    groups = (count + group - 1) / group;
  std::vector<Buffer> arrays;
  for (const float value : {first_x, first_y, first_z}) {
    const bool used = static_cast<int>(arrays.size()) < statement.arrays;
    arrays.push_back(device.buffer("by hand", used ? bytes : sizeof(float)));
    device.fill(arrays.back(), value, 0, arrays.back().bytes()).wait();
  }
  const Buffer sums = device.buffer("by hand", sizeof(float) * (statement.sums ? groups : 1));
  std::vector<float> parts(groups);
  std::vector<KernelArgument> arguments{&arrays[0], &arrays[1], &arrays[2], std::uint64_t{count}};
  if (statement.sums) arguments.emplace_back(&sums);
  const KernelSpec kernel{keep_kernel_text("by hand", text_by_hand(statement, group)), "by_hand", ""};
  const auto run = [&] {
    const Event done = device.launch(kernel, {count, 1, 1}, arguments, {}, std::array<std::size_t, 3>{group, 1, 1});
    if (!statement.sums) return done.wait();
    device.read(sums, 0, parts.data(), sums.bytes(), std::array{done}).wait();
    [[maybe_unused]] const volatile double sum = std::accumulate(parts.begin(), parts.end(), 0.0);
  };
  rate.kernels = 1;
  rate.times = times_of(repeats, run);
}

ExpressionRate rate_of(const Device& device, const Grid& grid, const ArrayStatement& statement, const std::string& form,
                       int repeats) {
  ExpressionRate rate;
  rate.statement = statement.text;
  rate.form = form;
  rate.bytes = statement.bytes * static_cast<double>(grid.count());
  MemoryLedger& ledger = device.ledger();
  const std::size_t before = ledger.in_use();
  ledger.reset_peak();
  if (form == "by-hand")
    time_by_hand(device, grid, statement, repeats, rate);
  else
    time_expression(device, grid, statement, repeats, rate);
  rate.peak_bytes = ledger.peak() - before;
  return rate;
}

}  // namespace

const std::vector<std::string>& expression_forms() {
  static const std::vector<std::string> forms{"fused", "unfused", "by-hand"};
  return forms;
}

ExpressionBench bench_expressions(const Device& device, const std::array<std::size_t, 3>& volume,
                                  const std::vector<std::string>& forms, int repeats, const Progress& progress) {
  ExpressionBench bench;
  bench.volume = volume;
  Grid grid;
  grid.size = volume;
  const auto copy = [&] {
    const double now = copy_bandwidth(device, sizeof(float) * grid.count());
    bench.copy_bandwidth = std::max(bench.copy_bandwidth, now);
  };
  copy();
  double done = 0;
  const double total = static_cast<double>(array_statements().size() * forms.size());
  for (const ArrayStatement& statement : array_statements())
    for (const std::string& form : forms) {
      if (form == "by-hand" && statement.formula.empty()) continue;
      if (progress) progress({"bench", done++, total, fmt::format("{}, {}", statement.text, form)});
      try {
        bench.rates.push_back(rate_of(device, grid, statement, form, repeats));
      } catch (const PlanError& error) {
        bench.left_out.push_back(left_out(fmt::format("{}, {}", statement.text, form), error.what()));
      }
    }
  copy();
  return bench;
}

}  // namespace halocline

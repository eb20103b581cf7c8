// Time and memory of statements over whole arrays, in each of their forms.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "host/opencl/device.hpp"
#include "scheduling/execution/progress.hpp"
#include "scheduling/profiling/run_times.hpp"

namespace halocline {

/// "fused": a statement is one kernel; "unfused": a kernel and a temporary array for each operator; "by-hand": a kernel
/// with an element a work-item.
const std::vector<std::string>& expression_forms();

struct ExpressionRate {
  std::string statement, form;
  double bytes = 0;  ///< that the statement has to read and write
  RunTimes times;
  std::size_t peak_bytes = 0;  ///< of the device's memory, arrays of the statement included
  std::size_t kernels = 0;     ///< that a statement takes
  double bandwidth() const { return bytes / times.least; }
};

struct ExpressionBench {
  std::array<std::size_t, 3> volume{};
  double copy_bandwidth = 0;  ///< bytes/s, the better of before and after
  std::vector<ExpressionRate> rates;
  std::vector<std::string> left_out;  ///< and why
};

/// Measures array_statements() over volumes of that size in each of the forms, each statement so many times, from an
/// idle device to the end of its kernels; compiling is not counted. Forms that do not fit the device's memory are left
/// out. Throws Interrupted after Ctrl-C.
ExpressionBench bench_expressions(const Device& device, const std::array<std::size_t, 3>& volume,
                                  const std::vector<std::string>& forms, int repeats, const Progress& progress = {});

}  // namespace halocline

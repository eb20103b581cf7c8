#include "algorithms/fdk/row_filter_variants.hpp"

#include <algorithm>
#include <set>

#include "algorithms/fdk/row_filter.hpp"
#include "algorithms/fdk/row_filter_trial.hpp"
#include "host/opencl/fft_library.hpp"

namespace halocline {
namespace {

Variant transforms(const char* name, FftLibrary library) {
  return {name,
          {},
          [](const DeviceInfo&) { return std::string(); },
          [library](const Device& device) -> Finding {
            std::string fault = fft_fault(device, library);
            return {fault.empty() ? Verdict::right : Verdict::wrong, std::move(fault)};
          }};
}

}  // namespace

// Rows of lengths of every first radix (cl/fourier.clh), and so of groups of 64, 128 and 256 work-items, and of the
// longest that a GPU has local memory for.
Variant local_rows_variant() {
  static constexpr std::size_t shortest = 512, longest = 8192;
  return {"FDK's row filter in local memory",
          {"fdk_rows.cl"},
          unless([](const DeviceInfo& info) { return longest_rows_in(info) >= shortest; }, "too little local memory"),
          [](const Device& device) -> Finding {
            const std::size_t most = std::min(longest, longest_rows_in(device.info()));
            for (const std::size_t length : std::set<std::size_t>{shortest, 1024, 2048, most}) {
              if (length > most) continue;
              const RowFilterTrial trial = row_filter_trial(device, length);
              const Finding finding = compared(trial.filtered, trial.expected, trial.tolerance);
              if (finding.verdict != Verdict::right) return finding;
            }
            return {};
          }};
}

std::vector<Variant> row_filter_variants() {
  return {local_rows_variant(), transforms("FDK's row filter by clFFT", FftLibrary::clfft),
          transforms("FDK's row filter by VkFFT", FftLibrary::vkfft)};
}

}  // namespace halocline

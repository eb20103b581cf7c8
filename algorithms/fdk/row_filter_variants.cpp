#include "algorithms/fdk/row_filter_variants.hpp"

#include <fmt/format.h>

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
Variant local_rows_variant(std::optional<std::size_t> length) {
  static constexpr std::size_t shortest = 512, longest = 8192;
  const auto lengths = [length](std::size_t most) {
    return length ? std::set<std::size_t>{*length} : std::set<std::size_t>{shortest, 1024, 2048, most};
  };
  return {"FDK's row filter in local memory" + (length ? fmt::format(", rows of {}", *length) : ""),
          {"fdk_rows.cl"},
          unless([](const DeviceInfo& info) { return longest_rows_in(info) >= shortest; }, "too little local memory"),
          [lengths](const Device& device) -> Finding {
            const std::size_t most = std::min(longest, longest_rows_in(device.info()));
            for (const std::size_t each : lengths(most)) {
              if (each > longest_rows_in(device.info())) continue;
              const RowFilterTrial trial = row_filter_trial(device, each);
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

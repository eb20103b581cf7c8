// labels: device nightly
// FDK's row filter in local memory against sums in float64, and against transforms in device memory by either library.
#include "algorithms/fdk/row_filter.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "algorithms/fdk/row_filter_trial.hpp"
#include "host/opencl/fft_library.hpp"

namespace halocline::row_filter_test {
namespace {

class RowFilter : public testing::TestWithParam<std::size_t> {
 protected:
  void expect_right(bool in_local_memory) {
    const RowFilterTrial trial = row_filter_trial(device_, GetParam(), in_local_memory);
    ASSERT_GT(trial.expected.voxels.size(), 0u);
    double farthest = 0;
    for (std::size_t n = 0; n < trial.expected.voxels.size(); ++n) {
      ASSERT_NEAR(trial.filtered.voxels[n], trial.expected.voxels[n], trial.tolerance) << n;
      farthest = std::max<double>(farthest, std::abs(trial.filtered.voxels[n] - trial.expected.voxels[n]));
    }
    RecordProperty("largest_difference", std::to_string(farthest * 1e9) + "e-9");
  }

  const Device device_ = open_devices({}).front();
};

TEST_P(RowFilter, InLocalMemoryEqualsTheSumInDouble) {
  if (GetParam() > longest_rows_in(device_.info())) GTEST_SKIP() << "too little local memory";
  expect_right(true);
}

TEST_P(RowFilter, ByClFftEqualsTheSumInDouble) {
  if (!fft_fault(device_, FftLibrary::clfft).empty()) GTEST_SKIP() << "clFFT does not work here";
  use_fft_library(device_, FftLibrary::clfft);
  expect_right(false);
}

TEST_P(RowFilter, ByVkFftEqualsTheSumInDouble) {
  use_fft_library(device_, FftLibrary::vkfft);
  expect_right(false);
}

// Lengths with every first radix, with groups of one work-item and more.
INSTANTIATE_TEST_SUITE_P(Lengths, RowFilter,
                         testing::Values(2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192));

}  // namespace
}  // namespace halocline::row_filter_test

// labels: device
// FDK's row filter in local memory against sums in float64, and against transforms in device memory by either library.
#include "algorithms/row_filter.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "algorithms/fdk.hpp"
#include "algorithms/row_filter_trial.hpp"
#include "host/fft_library.hpp"
#include "tests/case_name.hpp"
#include "tests/reference/devices.hpp"

namespace halocline {
namespace {

class RowFilter : public testing::TestWithParam<std::size_t> {};

TEST_P(RowFilter, EqualsTheSumInDouble) {
  Device device = open_devices({}).front();
  if (GetParam() > longest_rows_in(device.info())) GTEST_SKIP() << "too little local memory";
  const RowFilterTrial trial = row_filter_trial(device, GetParam());
  ASSERT_GT(trial.expected.voxels.size(), 0u);
  for (std::size_t n = 0; n < trial.expected.voxels.size(); ++n)
    ASSERT_NEAR(trial.filtered.voxels[n], trial.expected.voxels[n], trial.tolerance) << n;
}

// Of every first radix, with groups of one work-item and more.
INSTANTIATE_TEST_SUITE_P(Lengths, RowFilter, testing::Values(8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192));

}  // namespace
}  // namespace halocline

// labels: device
// Back-projection to fewer slices than a work-item of its kernel may take.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "algorithms/calibration/scan_loop.hpp"
#include "algorithms/projectors/scan_forms.hpp"
#include "algorithms/projectors/tunables.hpp"
#include "host/opencl/tuned_values.hpp"
#include "scheduling/execution/program_run.hpp"

namespace halocline::few_slices_test {
namespace {

constexpr std::size_t side = 18;

TEST(FewSlices, AreAllThatAWorkItemTakes) {
  EXPECT_EQ(filled_slices(8, 1), 1);
  EXPECT_EQ(filled_slices(8, 2), 2);
  EXPECT_EQ(filled_slices(8, 3), 4);
  EXPECT_EQ(filled_slices(16, 5), 8);
  EXPECT_EQ(filled_slices(4, 5), 4);
  EXPECT_EQ(filled_slices(16, 400), 16);
  EXPECT_EQ(filled_slices(1, 1), 1);
}

// Volumes of different heights about the same centre; lengths are exact in binary.
Scan scan_of(std::size_t slices, std::size_t rows) {
  Scan scan = bench_scan({side, side, slices}, {24, rows}, 12);
  scan.volume = default_grid({side, side, slices}, {8, 8, 8});
  return scan;
}

std::vector<float> backprojected(const ScanForm& form, const Scan& scan, const Device& device) {
  const Volume views = bench_numbers(scan.stack);
  const bool gpu = form.brick != nullptr || !device.info().cpu();
  return run_program(program_of(*make_backprojection(form, scan, gpu)), {{"raw", &views}}, scan.volume, {device})
      .output.voxels;
}

// Forms for GPUs run on CPUs, too.
bool runs(const ScanForm& form, const DeviceInfo& device) {
  if (!form.adjoint || form.innermost) return false;
  if (form.devices == ScanForm::For::cpus && !device.cpu()) return false;
  if ((form.tile != nullptr && !takes_tile(device, *form.tile)) ||
      (form.brick != nullptr && !takes_brick(device, *form.brick)))
    return false;
  return (!form.images || device.images) && (form.pack != 2 || device.texel_pairs);
}

void set_slices_of_work_items(Device device, const char* value) {
  Tuning tuning;
  for (const Tunable& tunable : tunables())
    if (tunable.name == slices_tunable) tuning.choices[tunable.key()] = value;
  use_tuning(device, tuning);
}

// Voxel-driven forms compute a voxel from its place about the centre, so they give the same bits; rays are cut at
// another index, which float32 rounds.
void expect_middle_of(const std::vector<float>& thin, const std::vector<float>& thick, bool exactly) {
  const std::size_t begin = (thick.size() - thin.size()) / 2;
  const float largest = *std::max_element(thick.begin(), thick.end());
  ASSERT_GT(largest, 0);
  std::size_t different = 0;
  for (std::size_t n = 0; n < thin.size(); ++n)
    if (std::abs(thin[n] - thick[begin + n]) > (exactly ? 0 : 1e-5f * largest)) ++different;
  EXPECT_EQ(different, 0u);
}

TEST(FewSlices, AreThoseOfAThickerVolume) {
  const Device device = open_devices({}).front();
  for (const ScanForm& form : scan_forms()) {
    if (!runs(form, device.info())) continue;
    for (const std::size_t rows : {24, 1})
      for (const std::size_t slices : {1, 2, 3, 5}) {
        // in one slice and row, distances along k do not count
        if (form.projector == Projector::distance_driven && rows == 1 && slices == 1) continue;
        SCOPED_TRACE(form.mode + ", " + std::to_string(rows) + " rows, slices: " + std::to_string(slices));
        use_tuning(device, {});
        const auto thick = backprojected(form, scan_of(slices % 2 == 0 ? 34 : 35, rows), device);
        const auto thin = backprojected(form, scan_of(slices, rows), device);
        expect_middle_of(thin, thick, !form.projector);
        set_slices_of_work_items(device, "16");
        EXPECT_TRUE(backprojected(form, scan_of(slices, rows), device) == thin);
      }
  }
}

}  // namespace
}  // namespace halocline::few_slices_test

// labels: device
// Denoising volumes that reside on devices, into such volumes: the bits of host memory, whatever the slabs.
#include <gtest/gtest.h>

#include "algorithms/denoise/denoise.hpp"
#include "host/system/error.hpp"
#include "host/volume/device_array.hpp"
#include "tests/reference/projector_scenes.hpp"

namespace halocline::kept_volume_test {
namespace {

Volume noisy(float level) {
  Grid grid{.size = {31, 27, 40}};
  Volume volume(grid);
  for (std::size_t n = 0; n < volume.voxels.size(); ++n)
    volume.voxels[n] = level * (1 + 0.3f * static_cast<float>(n * 7919 % 1000) / 1000);
  return volume;
}

std::vector<DistributedArray::Share> halves(const std::vector<Device>& devices) {
  if (devices.size() == 1) return {{devices[0], 0, 40}};
  return {{devices[0], 0, 20}, {devices[1], 20, 40}};
}

void expect_same(const std::vector<Device>& devices, const std::string& method, int slabs) {
  const Volume volume = noisy(2), variance = noisy(0.01f);
  const MemorySource f(volume), w(variance);
  DenoiseParameters parameters{.method = method};
  if (method == "pdu" || method == "spdu") parameters.alpha = 3;
  parameters.iterations = 12;
  parameters.gap = 0;
  RunOptions options{.plan = {.minimum_slabs = slabs}};
  const bool weighted = method == "spdu";
  Volume expected(volume.grid);
  MemorySink memory(expected);
  denoise_into(f, weighted ? &w : nullptr, memory, parameters, devices, options);

  DistributedArray kept_f("kept f", volume.grid, halves(devices)), kept_w("kept w", volume.grid, halves(devices)),
      kept_u("kept u", volume.grid, halves(devices));
  copy_voxels(f, kept_f);
  copy_voxels(w, kept_w);
  Volume found(volume.grid);
  MemorySink sink(found);
  denoise_into(kept_f, weighted ? &kept_w : nullptr, sink, parameters, devices, options);
  EXPECT_EQ(found.voxels, expected.voxels) << method << ", " << slabs << " slabs";
  const DenoiseResult kept = denoise_into(kept_f, weighted ? &kept_w : nullptr, kept_u, parameters, devices, options);
  const double crossed = static_cast<double>(kept_u.bus_bytes());
  if (devices.size() == 1 && kept.plan.resident && method != "tvgd") {
    EXPECT_EQ(crossed + kept.bus_bytes, 0) << method << ", " << slabs << " slabs";
  }
  EXPECT_EQ(read_volume(kept_u).voxels, expected.voxels) << method << ", " << slabs << " slabs, kept";
  kept_f.spill();
  denoise_into(kept_f, weighted ? &kept_w : nullptr, sink, parameters, devices, options);
  EXPECT_EQ(found.voxels, expected.voxels) << method << ", " << slabs << " slabs, spilled";
}

TEST(KeptVolume, IsDenoisedToTheSameBits) {
  if (list_devices().empty()) GTEST_SKIP() << "no OpenCL device";
  for (const int slabs : {0, 3, 7})
    for (const char* method : {"pdu", "spdu", "tvgd", "median"}) expect_same(reference::device(), method, slabs);
}

TEST(KeptVolume, IsDenoisedToTheSameBitsOnTwoDevices) {
  if (list_devices().empty() || !reference::device().front().info().cpu()) GTEST_SKIP() << "no CPU to be split";
  for (const int slabs : {0, 6})
    for (const char* method : {"pdu", "spdu", "tvgd"}) expect_same(reference::sub_devices(2), method, slabs);
}

}  // namespace
}  // namespace halocline::kept_volume_test

// labels: unit
#include "host/opencl/select_devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "host/opencl/device_info.hpp"
#include "host/system/error.hpp"
#include "tests/support/refusal.hpp"

namespace halocline::select_devices_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

DeviceInfo info(const std::string& name, const std::string& vendor, const std::string& platform,
                const std::string& type) {
  return {.name = name, .vendor = vendor, .platform = platform, .type = type};
}

const std::vector<DeviceInfo> devices{
    info("pthread-skylake", "GenuineIntel", "Portable Computing Language", "cpu"),
    info("NVIDIA H200", "NVIDIA Corporation", "NVIDIA CUDA", "gpu"),
    info("NVIDIA A2", "NVIDIA Corporation", "NVIDIA CUDA", "gpu"),
    info("gfx942", "Advanced Micro Devices, Inc.", "AMD Accelerated Parallel Processing", "gpu"),
    info("FPGA board", "Example", "Example", "accelerator"),
};

std::string error_of(const std::vector<DeviceInfo>& from, const std::string& selection) {
  return refusal_of([&] { select_devices(from, selection); });
}

TEST(SelectDevices, takesTheFirstGpuByDefault) {
  EXPECT_THAT(select_devices(devices, ""), ElementsAre(1));
  EXPECT_THAT(select_devices(devices, "  "), ElementsAre(1));
  EXPECT_THAT(select_devices({devices[0], devices[4]}, ""), ElementsAre(1));  // an accelerator before a CPU
  EXPECT_THAT(select_devices({devices[0], devices[0]}, ""), ElementsAre(0));
}

TEST(SelectDevices, avoidsDriversThatEndTheProcess) {
  DeviceInfo crashes = info("llvmpipe", "Mesa/X.org", "rusticl", "gpu");
  crashes.driver = "22.3.6";
  EXPECT_THAT(select_devices({crashes, devices[0]}, ""), ElementsAre(1));
  EXPECT_THAT(select_devices({crashes}, ""), ElementsAre(0));  // to be refused by name
  EXPECT_THAT(select_devices({crashes, devices[0]}, "gpu"), ElementsAre(0));
}

TEST(SelectDevices, takesIndices) {
  EXPECT_THAT(select_devices(devices, "0"), ElementsAre(0));
  EXPECT_THAT(select_devices(devices, "3,1"), ElementsAre(3, 1));
}

TEST(SelectDevices, takesTypes) {
  EXPECT_THAT(select_devices(devices, "cpu"), ElementsAre(0));
  EXPECT_THAT(select_devices(devices, "GPU"), ElementsAre(1, 2, 3));
  EXPECT_THAT(select_devices(devices, "accelerator"), ElementsAre(4));
  EXPECT_THAT(select_devices(devices, "all"), ElementsAre(0, 1, 2, 3, 4));
}

TEST(SelectDevices, takesPartsOfNamesVendorsAndPlatforms) {
  EXPECT_THAT(select_devices(devices, "h200"), ElementsAre(1));
  EXPECT_THAT(select_devices(devices, "Nvidia"), ElementsAre(1, 2));
  EXPECT_THAT(select_devices(devices, "intel"), ElementsAre(0));
  EXPECT_THAT(select_devices(devices, "amd"), ElementsAre(3));
  EXPECT_THAT(select_devices(devices, "portable computing"), ElementsAre(0));
}

TEST(SelectDevices, keepsTheOrderOfAListAndEachDeviceOnce) {
  EXPECT_THAT(select_devices(devices, "gfx942, 2 ,nvidia,3"), ElementsAre(3, 2, 1));
  EXPECT_THAT(select_devices(devices, "all,all,0"), ElementsAre(0, 1, 2, 3, 4));
}

TEST(SelectDevices, tellsOfEntriesThatAreThereTwice) {
  EXPECT_THAT(repeated_devices("0,0"), ElementsAre("`device` names '0' twice; it is used once"));
  EXPECT_THAT(repeated_devices("cpu, 1,CPU ,cpu,01,7"), ElementsAre("`device` names 'cpu' 3 times; it is used once",
                                                                    "`device` names '1' twice; it is used once"));
  EXPECT_THAT(repeated_devices("00,0"), ElementsAre(HasSubstr("'00' twice")));
  for (const char* unions : {"", "0", "0,cpu,all", "nvidia,h200,1", "1,10,100", ",,"})
    EXPECT_THAT(repeated_devices(unions), ElementsAre()) << unions;
}

TEST(SelectDevices, listsWhatThereIsWhenNothingMatches) {
  const auto text = error_of(devices, "nvidia,radeon");
  EXPECT_THAT(text, HasSubstr("\"radeon\""));
  for (const auto& device : devices) EXPECT_THAT(text, HasSubstr(device.name));
  EXPECT_THAT(error_of(devices, "5"), HasSubstr("no device matches \"5\""));
  EXPECT_THAT(error_of(devices, "200"), HasSubstr("no device matches"));  // a number is never a part of a name
  EXPECT_THAT(error_of(devices, "99999999999999999999999"), HasSubstr("no device matches"));
  EXPECT_THAT(error_of(devices, "-1"), HasSubstr("no device matches"));
  EXPECT_THAT(error_of({devices[1]}, "cpu"), HasSubstr("no device matches \"cpu\""));
}

TEST(SelectDevices, refusesEmptyEntries) {
  EXPECT_THAT(error_of(devices, "0,,1"), HasSubstr("an entry is empty"));
  EXPECT_THAT(error_of(devices, "0,"), HasSubstr("an entry is empty"));
}

TEST(SelectDevices, namesThePackageWhenThereIsNoDevice) {
  EXPECT_THAT(error_of({}, ""), HasSubstr("pocl-opencl-icd"));
  EXPECT_THAT(error_of({}, "gpu"), HasSubstr("pocl-opencl-icd"));
}

}  // namespace
}  // namespace halocline::select_devices_test
